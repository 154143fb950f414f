//! The beginning and the end of a stream of bytes; the middle is counted.

use std::collections::VecDeque;

/// What is kept.
pub(super) struct Kept {
    /// Bytes of the beginning, and as many of the end.
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// A part of the stream, from some byte on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// What comes before the gap.
    pub(crate) head: Vec<u8>,
    /// How many bytes were not kept.
    pub(crate) left_out: u64,
    /// What comes after the gap.
    pub(crate) tail: Vec<u8>,
    /// Bytes of the stream so far; where the next excerpt begins.
    pub(crate) total: u64,
}

impl Kept {
    /// Nothing yet.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.total += chunk.len() as u64;
        let (first, rest) = chunk.split_at(chunk.len().min(self.limit - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.limit)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.limit);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// Bytes so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The stream from byte `start` on.
    pub(super) fn since(&self, start: u64) -> Excerpt {
        let head_end = self.head.len() as u64;
        let gap_end = self.total - self.tail.len() as u64;
        let in_head = usize::try_from(start.min(head_end)).expect("the head is small");
        let in_tail = usize::try_from(start.min(self.total).saturating_sub(gap_end)).expect("the tail is small");
        Excerpt {
            head: self.head[in_head..].to_vec(),
            left_out: gap_end.saturating_sub(start.max(head_end)),
            tail: self.tail.iter().skip(in_tail).copied().collect(),
            total: self.total,
        }
    }
}

impl Excerpt {
    /// What was kept, without a mark where the gap is.
    pub(crate) fn bytes(mut self) -> Vec<u8> {
        self.head.append(&mut self.tail);
        self.head
    }
}
