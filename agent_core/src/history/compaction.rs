//! What of a conversation makes room for more: where it may be cut, and what stands in the place of what was cut.

use super::History;
use crate::content::Content;
use crate::event::Compaction;
use crate::provider::{FRAME, Message};

/// A shorter output is left as it is, in bytes.
const SHORT: usize = 300;

/// What the model is told before a summary.
const OPENING: &str = "[What was said before was summarised to make room. The summary:]";
/// What stands as the model's answer to it: a conversation changes hands with each message.
const ANSWER: &str = "[I go on from this summary.]";
/// What stands as its answer to a prompt whose own one is in the summary.
const ANSWERED: &str = "[I have answered this; the summary says how.]";
/// What stands for a picture.
const PICTURE: &str = "[A picture, left out to make room.]";

impl History {
    /// The row before which the conversation can be cut so that at most about `keep` bytes stay; none where that takes
    /// nothing out. A call is never parted from its results, and what the model has not seen yet stays.
    pub(crate) fn cut(&mut self, keep: usize) -> Option<u64> {
        let row = self.cut_all(keep)?;
        let is_open = self.turn.is_some();
        let unseen = self
            .rows
            .get(self.seen)
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
            let Some(rest) = left.checked_sub(message.size()) else {
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

    /// The rows that have a picture.
    pub(crate) fn picture_rows(&mut self) -> Vec<u64> {
        self.settle();
        let with_picture = |(message, row): (&Message, &u64)| pictures(message).next().map(|_| *row);
        let mut rows: Vec<u64> = self.messages.iter().zip(&self.rows).filter_map(with_picture).collect();
        rows.dedup();
        rows
    }

    /// The messages before a row.
    pub(crate) fn before(&mut self, row: u64) -> &[Message] {
        self.settle();
        &self.messages[..self.index_of(row)]
    }

    /// Bytes that the messages take once this is done.
    pub(crate) fn bytes_after(&mut self, before: u64, what: &Compaction) -> usize {
        let all = self.bytes();
        let index = self.index_of(before);
        let old = &self.messages[..index];
        let (takes, puts) = match what {
            Compaction::Outputs => (old.iter().map(Message::size).sum(), old.iter().map(noted_size).sum()),
            Compaction::Pictures => {
                let pictures = old.iter().flat_map(pictures);
                pictures.fold((0, 0), |(takes, puts), picture| {
                    (takes + picture.room(), puts + PICTURE.len())
                })
            }
            Compaction::Summary { text } => {
                let takes: usize = old.iter().map(Message::size).sum();
                (takes, self.in_place(index, text).iter().map(Message::size).sum())
            }
        };
        all - takes + puts
    }

    /// Does what a stored compaction says.
    pub(super) fn compact(&mut self, before: u64, what: &Compaction) {
        self.settle();
        let index = self.index_of(before);
        match what {
            Compaction::Outputs => self.messages[..index].iter_mut().for_each(note_all),
            Compaction::Pictures => {
                let old = self.messages[..index].iter_mut();
                old.for_each(|message| take_pictures(message, PICTURE));
            }
            Compaction::Summary { text } => self.put_summary(index, text),
        }
        self.weigh();
    }

    /// Puts a summary in the place of the messages before `index`.
    fn put_summary(&mut self, index: usize, text: &str) {
        let row = self.rows.get(index).copied().unwrap_or(self.seq);
        let first = self.in_place(index, text);
        let prompt = self.lost_prompt(index);
        self.turn_start = match first.iter().position(|message| Some(message) == prompt) {
            Some(prompt) => prompt,
            None => (self.turn_start + first.len()).saturating_sub(index),
        };
        self.seen = self.seen.max(index) - index + first.len();
        self.rows.splice(..index, first.iter().map(|_| row));
        self.messages.splice(..index, first);
    }

    /// What comes in the place of the messages before `index`: the summary, then the last prompt if that would be gone.
    fn in_place(&self, index: usize, text: &str) -> Vec<Message> {
        let mut first = vec![Message::User(vec![Content::text(format!("{OPENING}\n\n{text}"))])];
        // Who speaks changes with each message.
        let next_speaks = matches!(self.messages.get(index), Some(Message::Assistant { .. }));
        let prompt = self.lost_prompt(index);
        if prompt.is_some() || !next_speaks {
            first.push(answer(ANSWER));
        }
        first.extend(prompt.cloned());
        if prompt.is_some() && self.turn.is_none() && index == self.messages.len() {
            first.push(answer(ANSWERED));
        }
        first
    }

    /// The last prompt, if it is among the messages before `index`.
    fn lost_prompt(&self, index: usize) -> Option<&Message> {
        self.messages[..index].get(self.turn_start)
    }

    fn index_of(&self, row: u64) -> usize {
        self.rows.partition_point(|other| *other < row)
    }
}

fn answer(text: &str) -> Message {
    Message::Assistant {
        text: text.to_owned(),
        thought: String::new(),
        calls: Vec::new(),
        native: None,
    }
}

/// Whether a message holds a picture.
pub(super) fn has_pictures(message: &Message) -> bool {
    pictures(message).next().is_some()
}

fn pictures(message: &Message) -> impl Iterator<Item = &Content> {
    let pieces: &[Content] = match message {
        Message::User(content) | Message::ToolResult { images: content, .. } => content,
        Message::Assistant { .. } => &[],
    };
    pieces.iter().filter(|piece| matches!(piece, Content::Image { .. }))
}

/// One line in the place of each long output, linked text and picture.
pub(crate) fn note_all(message: &mut Message) {
    match message {
        Message::ToolResult { text, name, .. } if text.len() > SHORT => *text = output_note(name, text),
        Message::User(content) => {
            for piece in content {
                if let Some(note) = resource_note(piece) {
                    *piece = Content::text(note);
                }
            }
        }
        Message::ToolResult { .. } | Message::Assistant { .. } => {}
    }
    take_pictures(message, PICTURE);
}

/// Bytes that a message has once [`note_all`] is done with it.
fn noted_size(message: &Message) -> usize {
    let piece_size = |piece: &Content| match piece {
        Content::Image { .. } => PICTURE.len(),
        Content::Text { .. } | Content::Resource { .. } | Content::Link { .. } => {
            resource_note(piece).map_or_else(|| piece.room(), |note| note.len())
        }
    };
    let pieces = match message {
        Message::User(content) => content.iter().map(piece_size).sum(),
        Message::ToolResult { text, name, images, .. } => {
            let text = match text.len() {
                ..=SHORT => text.len(),
                _ => output_note(name, text).len(),
            };
            text + images.iter().map(piece_size).sum::<usize>()
        }
        Message::Assistant { .. } => return message.size(),
    };
    FRAME + pieces
}

fn output_note(name: &str, text: &str) -> String {
    format!("[An output of {name}, {} bytes, left out to make room.]", text.len())
}

fn resource_note(piece: &Content) -> Option<String> {
    match piece {
        Content::Resource { uri, text, .. } if text.len() > SHORT => {
            Some(format!("[The text of {uri}, left out to make room.]"))
        }
        Content::Resource { .. } | Content::Text { .. } | Content::Image { .. } | Content::Link { .. } => None,
    }
}

/// A note in the place of each picture.
pub(super) fn take_pictures(message: &mut Message, note: &str) {
    let pieces = match message {
        Message::User(content) | Message::ToolResult { images: content, .. } => content,
        Message::Assistant { .. } => return,
    };
    for piece in pieces {
        if matches!(piece, Content::Image { .. }) {
            *piece = Content::text(note);
        }
    }
}
