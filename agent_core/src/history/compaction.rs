//! What of a conversation makes room for more: where it may be cut, and what stands in the place of what was cut.

use super::{History, size};
use crate::content::Content;
use crate::event::Compaction;
use crate::provider::Message;

/// A shorter output is left as it is, in bytes.
const SHORT: usize = 300;

/// What the model is told before a summary.
const OPENING: &str = "[What was said before was summarised to make room. The summary:]";
/// What stands as the model's answer to it: a conversation changes hands with each message.
const ANSWER: &str = "[I go on from this summary.]";

impl History {
    /// The row before which the conversation can be cut so that at most about `keep` bytes stay; none where that takes
    /// nothing out. A call is never parted from its results, and what the model has not seen yet stays.
    pub(crate) fn cut(&mut self, keep: usize) -> Option<u64> {
        let row = self.cut_all(keep)?;
        let is_open = self.turn.is_some();
        let unseen = self
            .rows
            .get(self.measured)
            .filter(|_| is_open)
            .copied()
            .unwrap_or(u64::MAX);
        Some(row.min(unseen)).filter(|row| self.index_of(*row) > 0)
    }

    /// The same, and what the model has not seen yet may go.
    pub(crate) fn cut_all(&mut self, keep: usize) -> Option<u64> {
        self.settle();
        let mut left = keep;
        let mut first = self.messages.len();
        while let Some(message) = first.checked_sub(1).map(|index| &self.messages[index]) {
            let Some(rest) = left.checked_sub(size(message)) else {
                break;
            };
            left = rest;
            first -= 1;
        }
        // The end of a group whose beginning does not fit goes with it.
        let row = self.rows.get(first.checked_sub(1)?)?;
        let next = self.rows[first..].iter().find(|next| *next > row);
        Some(next.map_or(self.seq + 1, |next| *next))
    }

    /// The newest row that has a picture; none if there is at most one such row.
    pub(crate) fn newest_picture(&mut self) -> Option<u64> {
        self.settle();
        let with_picture = |(message, row): (&Message, &u64)| has_picture(message).then_some(*row);
        let mut rows: Vec<u64> = self.messages.iter().zip(&self.rows).filter_map(with_picture).collect();
        rows.dedup();
        (rows.len() > 1).then(|| rows.pop()).flatten()
    }

    /// Tokens of the messages before a row, roughly.
    pub(crate) fn tokens_before(&mut self, row: u64) -> u64 {
        self.settle();
        let messages = &self.messages[..self.index_of(row)];
        messages.iter().map(size).sum::<usize>() as u64 / 4
    }

    /// The messages before a row as they are summed up: without long outputs and pictures.
    pub(crate) fn before(&mut self, row: u64) -> Vec<Message> {
        self.settle();
        let mut messages: Vec<Message> = self.messages[..self.index_of(row)].to_vec();
        messages.iter_mut().for_each(|message| {
            note_output(message);
            note_pictures(message);
        });
        messages
    }

    /// Bytes that go if this is done.
    pub(crate) fn freed(&mut self, before: u64, what: &Compaction) -> usize {
        let now: usize = self.messages().iter().map(size).sum();
        let mut then = Self {
            messages: self.messages.clone(),
            rows: self.rows.clone(),
            turn_start: self.turn_start,
            turn: self.turn,
            ..Self::default()
        };
        then.compact(before, what);
        now.saturating_sub(then.messages.iter().map(size).sum())
    }

    /// Does what a stored compaction says.
    pub(super) fn compact(&mut self, before: u64, what: &Compaction) {
        self.settle();
        let index = self.index_of(before);
        match what {
            Compaction::Outputs => self.messages[..index].iter_mut().for_each(|message| {
                note_output(message);
                note_pictures(message);
            }),
            Compaction::Pictures => self.messages[..index].iter_mut().for_each(note_pictures),
            Compaction::Summary { text } => self.put_summary(index, text),
        }
        self.measured = self.messages.len();
    }

    /// The summary stands first, then the last prompt if that would be gone, then what is left.
    fn put_summary(&mut self, index: usize, text: &str) {
        let row = self.rows.get(index).copied().unwrap_or(self.seq);
        let is_open = self.turn.is_some();
        let prompt = (is_open && self.turn_start < index).then(|| self.messages[self.turn_start].clone());
        let mut first = vec![Message::User(vec![Content::text(format!("{OPENING}\n\n{text}"))])];
        // Who speaks changes with each message.
        let is_next_user = prompt.is_some() || !matches!(self.messages.get(index), Some(Message::Assistant { .. }));
        if is_next_user {
            first.push(Message::Assistant {
                text: ANSWER.to_owned(),
                thought: String::new(),
                calls: Vec::new(),
                native: None,
            });
        }
        self.turn_start = match prompt.is_some() {
            true => first.len(),
            false => (self.turn_start + first.len()).saturating_sub(index),
        };
        first.extend(prompt);
        self.rows.splice(..index, first.iter().map(|_| row));
        self.messages.splice(..index, first);
    }

    fn index_of(&self, row: u64) -> usize {
        self.rows.partition_point(|other| *other < row)
    }
}

fn has_picture(message: &Message) -> bool {
    let pieces = match message {
        Message::User(content) | Message::ToolResult { images: content, .. } => content,
        Message::Assistant { .. } => return false,
    };
    pieces.iter().any(|piece| matches!(piece, Content::Image { .. }))
}

/// One line in the place of a long output.
fn note_output(message: &mut Message) {
    match message {
        Message::ToolResult { text, name, .. } if text.len() > SHORT => {
            *text = format!("[An output of {name}, {} bytes, left out to make room.]", text.len());
        }
        Message::User(content) => {
            for piece in content {
                if let Content::Resource { uri, text, .. } = piece
                    && text.len() > SHORT
                {
                    *piece = Content::text(format!("[The text of {uri}, left out to make room.]"));
                }
            }
        }
        Message::ToolResult { .. } | Message::Assistant { .. } => {}
    }
}

fn note_pictures(message: &mut Message) {
    let pieces = match message {
        Message::User(content) | Message::ToolResult { images: content, .. } => content,
        Message::Assistant { .. } => return,
    };
    for piece in pieces {
        if matches!(piece, Content::Image { .. }) {
            *piece = Content::text("[A picture, left out to make room.]");
        }
    }
}
