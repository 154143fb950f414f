//! The one queue to the client: updates, questions and answers in the order they came.
//!
//! Things of the core are taken only while it is short, and keep their room in the core until they are written; so a
//! client that does not read slows its turn down and costs bounded memory.

use std::collections::VecDeque;
use std::mem::discriminant;

use agent_client_protocol_schema::v1::{ContentBlock, MessageId, SessionNotification, SessionUpdate};
use agent_core::outward::Parcel;

use super::room;
use super::to_acp::PIECE;

/// Bytes that may wait before the core's things are left where they are.
const SHORT: usize = 256 * 1024;
/// Bytes that are handed to the writer at once.
const BATCH: usize = 64 * 1024;
/// Bytes that may wait at all: answers that a client asked for and does not read.
const MOST: usize = 64 * 1024 * 1024;
/// What an update costs beside its text.
const ENVELOPE: usize = 256;

/// What waits to be written.
#[derive(Default)]
pub(crate) struct Outbox {
    items: VecDeque<Item>,
    bytes: usize,
}

struct Item {
    message: Message,
    size: usize,
    /// Released when the message has been written.
    parcels: Vec<Parcel>,
}

enum Message {
    Line(Vec<u8>),
    /// A piece of a message's text, to which the next one may be joined.
    Text(Box<SessionNotification>),
}

/// What the writer gets, and what is released when it has written it.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) parcels: Vec<Parcel>,
}

impl Outbox {
    /// Adds a line.
    pub(crate) fn line(&mut self, line: Vec<u8>) {
        let size = line.len();
        self.push(Message::Line(line), size);
    }

    /// Adds an update; a piece of text is joined to the one before it in the same message, up to [`PIECE`] bytes.
    pub(crate) fn update(&mut self, mut notification: SessionNotification) {
        let Some(text) = text_of(&mut notification.update).map(|(_, text)| text.len()) else {
            return self.line(room::line(&notification));
        };
        if self.items.back_mut().is_some_and(|item| item.join(&mut notification)) {
            self.bytes += text;
        } else {
            self.push(Message::Text(Box::new(notification)), ENVELOPE + text);
        }
    }

    /// Keeps a parcel until the line added last has been written; drops it if nothing waits.
    pub(crate) fn keep(&mut self, parcel: Parcel) {
        if let Some(item) = self.items.back_mut() {
            item.parcels.push(parcel);
        }
    }

    fn push(&mut self, message: Message, size: usize) {
        self.bytes += size;
        self.items.push_back(Item {
            message,
            size,
            parcels: Vec::new(),
        });
    }

    /// What is to be written next; none if nothing waits.
    pub(crate) fn next_batch(&mut self) -> Option<Batch> {
        let mut batch = Batch::default();
        while batch.bytes.len() < BATCH
            && let Some(item) = self.items.pop_front()
        {
            self.bytes -= item.size;
            batch.bytes.append(&mut item.message.into_line());
            batch.parcels.extend(item.parcels);
        }
        (!batch.bytes.is_empty()).then_some(batch)
    }

    /// Whether more of the core's things may be taken.
    pub(crate) fn is_short(&self) -> bool {
        self.bytes < SHORT
    }

    /// Whether the client has left more answers unread than can be kept.
    pub(crate) fn is_overfull(&self) -> bool {
        self.bytes > MOST
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl Item {
    /// Appends the text of `next` if it goes on with the same message; says whether it did.
    fn join(&mut self, next: &mut SessionNotification) -> bool {
        let Message::Text(own) = &mut self.message else {
            return false;
        };
        let same_kind = discriminant(&own.update) == discriminant(&next.update);
        if own.session_id != next.session_id || !same_kind {
            return false;
        }
        let (Some((own_id, own_text)), Some((next_id, next_text))) =
            (text_of(&mut own.update), text_of(&mut next.update))
        else {
            return false;
        };
        if own_id != next_id || own_text.len() + next_text.len() > PIECE {
            return false;
        }
        own_text.push_str(next_text);
        self.size += next_text.len();
        true
    }
}

impl Message {
    fn into_line(self) -> Vec<u8> {
        match self {
            Self::Line(line) => line,
            Self::Text(notification) => room::line(&notification),
        }
    }
}

/// The text of what the model says or thinks, with its message's id.
fn text_of(update: &mut SessionUpdate) -> Option<(&MessageId, &mut String)> {
    let (SessionUpdate::AgentMessageChunk(chunk) | SessionUpdate::AgentThoughtChunk(chunk)) = update else {
        return None;
    };
    match (&chunk.message_id, &mut chunk.content) {
        (Some(id), ContentBlock::Text(text)) => Some((id, &mut text.text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use agent_client_protocol_schema::v1::ContentChunk;
    use agent_core::outward::{Answer, CallId, Outward, outlet};
    use serde_json::Value;

    fn said(session: &'static str, id: &'static str, text: &str) -> SessionNotification {
        let chunk = ContentChunk::new(text.into()).message_id(MessageId::new(id));
        SessionNotification::new(session, SessionUpdate::AgentMessageChunk(chunk))
    }

    fn thought(id: &'static str, text: &str) -> SessionNotification {
        let chunk = ContentChunk::new(text.into()).message_id(MessageId::new(id));
        SessionNotification::new("s", SessionUpdate::AgentThoughtChunk(chunk))
    }

    fn drain(outbox: &mut Outbox) -> Vec<Value> {
        let mut bytes = Vec::new();
        while let Some(batch) = outbox.next_batch() {
            bytes.extend(batch.bytes);
        }
        assert_eq!((outbox.bytes, outbox.is_empty()), (0, true));
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    fn texts(lines: &[Value]) -> Vec<&str> {
        lines
            .iter()
            .map(|line| line["params"]["update"]["content"]["text"].as_str().unwrap_or("-"))
            .collect()
    }

    #[test]
    fn adjacent_text_of_one_message_is_joined_and_nothing_else() {
        let mut outbox = Outbox::default();
        outbox.update(said("s", "m", "a"));
        outbox.update(said("s", "m", "b"));
        outbox.update(said("s", "n", "c"));
        outbox.update(said("t", "n", "d"));
        outbox.update(thought("n", "e"));
        outbox.update(thought("n", "f"));
        outbox.line(b"{}\n".to_vec());
        outbox.update(thought("n", "g"));
        assert_eq!(texts(&drain(&mut outbox)), ["ab", "c", "d", "ef", "-", "g"]);
    }

    #[test]
    fn joined_text_stays_under_its_limit() {
        let mut outbox = Outbox::default();
        for _ in 0..100 {
            outbox.update(said("s", "m", &"x".repeat(100)));
        }
        let lines = drain(&mut outbox);
        let lengths: Vec<usize> = texts(&lines).iter().map(|text| text.len()).collect();
        assert_eq!(lengths, [4000, 4000, 2000]);
    }

    #[test]
    fn it_is_short_until_enough_waits_and_overfull_at_its_limit() {
        let mut outbox = Outbox::default();
        outbox.line(vec![b' '; SHORT]);
        assert!(!outbox.is_short() && !outbox.is_overfull());
        outbox.line(vec![b' '; MOST]);
        assert!(outbox.is_overfull());
        outbox.next_batch();
        outbox.next_batch();
        assert!(outbox.is_short() && !outbox.is_overfull());
    }

    #[test]
    fn a_parcel_is_kept_until_the_last_of_its_lines_is_taken() {
        let (outlet, inlet) = outlet();
        let mut outbox = Outbox::default();
        let send = || {
            outlet.send(Outward::Answer {
                call: CallId(1),
                result: Ok(Answer::Closed),
            })
        };
        send();
        outbox.keep(inlet.recv().unwrap());
        assert!(outbox.next_batch().is_none(), "nothing waits, so nothing is kept");
        send();
        outbox.line(vec![b' '; BATCH]);
        outbox.line(b"{}\n".to_vec());
        outbox.keep(inlet.recv().unwrap());
        assert_eq!(outbox.next_batch().unwrap().parcels.len(), 0);
        assert_eq!(outbox.next_batch().unwrap().parcels.len(), 1);
    }
}
