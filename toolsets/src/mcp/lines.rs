//! The lines that a server's process and the agent say to each other, a message each.

use std::io;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncBufReadExt, BufReader, Empty, empty};
use tokio::net::unix::pipe;

use super::unread::{self, LONGEST, Outline};

/// The way to a server's process and back. An answer that can't be read is an error for its call, where the library would
/// pass over it.
pub(super) struct Lines {
    stdout: BufReader<pipe::Receiver>,
    line: Line,
    stdin: AsyncRwTransport<RoleClient, Empty, pipe::Sender>,
}

/// The line that is being read. It is kept here, since whoever reads may stop in the middle of it and come back.
#[derive(Default)]
struct Line {
    /// All of it, while it is not too long.
    text: Vec<u8>,
    /// How long it is.
    size: usize,
    /// What is kept of one that is too long.
    outline: Option<Outline>,
}

impl Lines {
    /// Speaks over a process's pipes.
    pub(super) fn new(stdout: pipe::Receiver, stdin: pipe::Sender) -> Self {
        Self {
            stdout: BufReader::new(stdout),
            line: Line::default(),
            stdin: AsyncRwTransport::new_client(empty(), stdin),
        }
    }

    /// The next line that is a message; none at the end.
    async fn next(&mut self) -> io::Result<Option<ServerJsonRpcMessage>> {
        loop {
            // Nothing is taken from it before it is put into the line, so that this may be dropped at any wait.
            let piece = self.stdout.fill_buf().await?;
            if piece.is_empty() {
                return Ok(None);
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            self.line.push(&piece[..end.unwrap_or(piece.len())]);
            let taken = end.map_or(piece.len(), |end| end + 1);
            self.stdout.consume(taken);
            if end.is_some()
                && let Some(message) = std::mem::take(&mut self.line).read()
            {
                return Ok(Some(message));
            }
        }
    }
}

impl Line {
    fn push(&mut self, piece: &[u8]) {
        self.size += piece.len();
        if self.size <= LONGEST {
            self.text.extend_from_slice(piece);
            return;
        }
        let outline = self.outline.get_or_insert_with(|| {
            let mut outline = Outline::default();
            outline.push(&std::mem::take(&mut self.text));
            outline
        });
        outline.push(piece);
    }

    fn read(self) -> Option<ServerJsonRpcMessage> {
        let Some(outline) = self.outline else {
            let text = self.text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&self.text);
            return unread::read(text);
        };
        let id = outline.answers()?;
        Some(unread::answer(id, &unread::too_long(&self.size.to_string())))
    }
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.stdin.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.next().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "what an MCP server says can't be read");
            None
        })
    }

    async fn close(&mut self) -> io::Result<()> {
        self.stdin.close().await
    }
}
