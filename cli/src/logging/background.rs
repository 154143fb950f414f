//! A writer behind a thread of its own, which begins with the first line: most runs write none. Lines are dropped rather
//! than waited for. The writer must not hold back what it is given, since nobody flushes it.

use std::io::{self, Write};
use std::mem;
use std::thread::Builder;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

/// Lines that may wait for the writer.
const WAITING: usize = 512;

/// Takes lines for a writer: each call of `write` is one.
pub(super) struct Background(Mutex<Stage>);

enum Stage {
    /// Nothing has come yet.
    Idle {
        thread: &'static str,
        writer: Box<dyn Write + Send>,
    },
    /// The thread writes.
    Writing {
        lines: Sender<Vec<u8>>,
        /// Nothing is sent on it; it closes when all is written.
        ended: Receiver<()>,
    },
    /// Nothing is written any more, or nothing could be.
    Ended,
}

impl Background {
    /// Starts nothing yet; the thread will have this name.
    pub(super) fn new(thread: &'static str, writer: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Stage::Idle {
            thread,
            writer: Box::new(writer),
        }))
    }

    /// Waits until all is written, or until the deadline. What comes after this is dropped.
    pub(super) fn end(&self, deadline: Instant) {
        let stage = mem::replace(&mut *self.0.lock(), Stage::Ended);
        if let Stage::Writing { lines, ended } = stage {
            drop(lines);
            // An error either way: all is written, or the time is up.
            let _ = ended.recv_deadline(deadline);
        }
    }

    /// Where lines go; nowhere after the end, or without a thread.
    fn lines(&self) -> Option<Sender<Vec<u8>>> {
        let mut stage = self.0.lock();
        *stage = match mem::replace(&mut *stage, Stage::Ended) {
            Stage::Idle { thread, writer } => begin(thread, writer).unwrap_or(Stage::Ended),
            stage @ (Stage::Writing { .. } | Stage::Ended) => stage,
        };
        match &*stage {
            Stage::Writing { lines, .. } => Some(lines.clone()),
            Stage::Idle { .. } | Stage::Ended => None,
        }
    }
}

/// Starts the thread. It ends when no line can come any more.
fn begin(thread: &'static str, mut writer: Box<dyn Write + Send>) -> io::Result<Stage> {
    let (lines, inbox) = bounded::<Vec<u8>>(WAITING);
    let (writing, ended) = bounded(0);
    Builder::new().name(thread.into()).spawn(move || {
        let _writing: Sender<()> = writing;
        for line in inbox {
            // A log that can't be written is no reason to fail, and the next line may be luckier.
            let _ = writer.write_all(&line);
        }
    })?;
    Ok(Stage::Writing { lines, ended })
}

impl Write for &Background {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(lines) = self.lines() {
            // Dropped where too many wait.
            let _ = lines.try_send(line.to_vec());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    /// Keeps what it is given, once it may.
    struct Gated {
        may: Receiver<()>,
        kept: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Gated {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // An error means that it may from now on.
            let _ = self.may.recv();
            self.kept.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    fn gated() -> (Background, Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let (gate, may) = bounded(0);
        let kept = Arc::default();
        let writer = Gated {
            may,
            kept: Arc::clone(&kept),
        };
        (Background::new("test-log", writer), gate, kept)
    }

    #[test]
    fn lines_are_written_in_order_before_the_end_and_none_after() {
        let (log, gate, kept) = gated();
        drop(gate);
        for line in ["one\n", "two\n", "three\n"] {
            (&log).write_all(line.as_bytes()).unwrap();
        }
        log.end(later());
        (&log).write_all(b"late\n").unwrap();
        log.end(later());
        assert_eq!(*kept.lock(), b"one\ntwo\nthree\n");
    }

    #[test]
    fn a_writer_that_hangs_costs_lines_and_no_time() {
        let (log, gate, kept) = gated();
        for _ in 0..2 * WAITING {
            (&log).write_all(b".").unwrap();
        }
        drop(gate);
        log.end(later());
        // Beside those that wait, the writer may hold one.
        let written = kept.lock().len();
        assert!((WAITING..=WAITING + 1).contains(&written), "{written}");
    }

    #[test]
    fn the_end_does_not_wait_for_a_writer_that_hangs() {
        let (log, gate, kept) = gated();
        (&log).write_all(b"one\n").unwrap();
        // With the gate closed this comes back only because its time is over, and then the line is not written.
        log.end(Instant::now());
        assert!(kept.lock().is_empty());
        drop(gate);
    }
}
