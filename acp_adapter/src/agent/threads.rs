//! The plain threads at the edges: stdin, stdout, and the bridge from the core's channel. None is ever joined: a read
//! can't be interrupted, and the end of the process waits for neither side.

use std::io::{self, Read, Write};
use std::thread::Builder;

use agent_core::outward::Parcel;
use crossbeam_channel::{Receiver, Sender, bounded};
use tokio::sync::mpsc;

use super::framer::{Framer, Line};
use super::serve::ServeError;

/// Parcels that cross the bridge at once.
const BATCH: usize = 64;

/// What a client says, line by line; read by a thread of its own, which ends with the input.
pub struct Lines(mpsc::Receiver<Line>);

impl Lines {
    /// Begins to read: best before all else, so that the first line comes while the rest is made ready.
    ///
    /// # Errors
    /// When the thread can't be started.
    pub fn read(input: impl Read + Send + 'static) -> Result<Self, ServeError> {
        // The channel holds one, since a line may be large.
        let (sender, lines) = mpsc::channel(1);
        let reading = Builder::new().name("acp-read".into()).spawn(move || {
            let mut framer = Framer::new(input);
            loop {
                let line = match framer.next_line() {
                    Ok(Some(line)) => line,
                    Ok(None) => return,
                    Err(error) => return tracing::warn!(%error, "the input can't be read any more"),
                };
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        reading.map_err(ServeError::Start)?;
        Ok(Self(lines))
    }

    /// The next line; none after the end of the input.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        self.0.recv().await
    }
}

/// Brings parcels from the core's channel to the task, in batches; at most two are on their way.
pub(crate) struct Bridge {
    inlet: Receiver<Parcel>,
    batches: mpsc::Sender<Vec<Parcel>>,
}

impl Bridge {
    /// A bridge that nothing crosses yet, and its far end.
    pub(crate) fn new(inlet: Receiver<Parcel>) -> (Self, mpsc::Receiver<Vec<Parcel>>) {
        let (batches, parcels) = mpsc::channel(1);
        (Self { inlet, batches }, parcels)
    }

    /// Starts its thread, which ends when the core or the task is gone.
    pub(crate) fn start(self) -> io::Result<()> {
        let Self { inlet, batches } = self;
        Builder::new().name("acp-bridge".into()).spawn(move || {
            while let Ok(first) = inlet.recv() {
                let batch = std::iter::once(first).chain(inlet.try_iter().take(BATCH - 1)).collect();
                if batches.blocking_send(batch).is_err() {
                    return;
                }
            }
        })?;
        Ok(())
    }
}

/// The writer's ends: one batch of bytes in, one result out.
pub(crate) struct Writer {
    batches: Sender<Vec<u8>>,
    results: mpsc::Receiver<io::Result<()>>,
}

impl Writer {
    /// Starts the thread that owns the output. It ends when the writer is dropped, or at the first failure.
    pub(crate) fn start(mut output: impl Write + Send + 'static) -> io::Result<Self> {
        let (batches, inbox) = bounded::<Vec<u8>>(1);
        let (sender, results) = mpsc::channel(1);
        Builder::new().name("acp-write".into()).spawn(move || {
            for bytes in inbox {
                let result = output.write_all(&bytes).and_then(|()| output.flush());
                let failed = result.is_err();
                if sender.blocking_send(result).is_err() || failed {
                    return;
                }
            }
        })?;
        Ok(Self { batches, results })
    }

    /// Hands over bytes. Only when the result of the last ones has come, so that this never waits.
    pub(crate) fn give(&self, bytes: Vec<u8>) {
        // An error means that the thread has ended, which the next result tells.
        let _ = self.batches.try_send(bytes);
    }

    /// Waits until the bytes are written, or can't be.
    pub(crate) async fn result(&mut self) -> io::Result<()> {
        let gone = || Err(io::Error::new(io::ErrorKind::BrokenPipe, "the writer has ended"));
        self.results.recv().await.unwrap_or_else(gone)
    }
}
