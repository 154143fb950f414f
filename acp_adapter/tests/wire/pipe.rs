//! The agent's stdin and stdout in memory.

use std::io::{self, Read, Write};

use crossbeam_channel::{Receiver, Sender};

/// The agent's stdin; ends when the sender is gone.
pub(crate) struct Input {
    pub(crate) chunks: Receiver<Vec<u8>>,
    pub(crate) rest: Vec<u8>,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = self.chunks.recv().unwrap_or_default();
        }
        let count = buffer.len().min(self.rest.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

/// The agent's stdout; broken when the receiver is gone, and waits where the receiver does not read.
pub(crate) struct Output(pub(crate) Sender<Vec<u8>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
