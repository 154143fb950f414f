//! A session as the client has seen it: what was said and called, in order. A load has to show the same.

use serde_json::Value;

/// Something that is seen of a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Said {
        message: String,
        text: String,
    },
    Called {
        call: String,
        title: String,
        end: Option<Value>,
    },
}

/// What was seen, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Transcript(pub(crate) Vec<Item>);

impl Transcript {
    /// Takes an update in, live or replayed.
    pub(crate) fn take(&mut self, update: &Value) {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk" | "agent_thought_chunk") => self.say(update),
            Some("tool_call") => self.0.push(Item::Called {
                call: word(&update["toolCallId"]),
                title: word(&update["title"]),
                end: None,
            }),
            Some("tool_call_update") => self.end(update),
            _ => {}
        }
    }

    fn say(&mut self, update: &Value) {
        let (id, piece) = (word(&update["messageId"]), word(&update["content"]["text"]));
        // Neither is a part of what a model said: one is live only, the other stands for an error's answer.
        if piece.starts_with("Note: ") || id.starts_with("failure-") {
            return;
        }
        let same = self.0.iter_mut().rev().find_map(|item| match item {
            Item::Said { message, text } if *message == id => Some(text),
            Item::Said { .. } | Item::Called { .. } => None,
        });
        match same {
            Some(text) => text.push_str(&piece),
            None => self.0.push(Item::Said {
                message: id,
                text: piece,
            }),
        }
    }

    fn end(&mut self, update: &Value) {
        if !is_end(update) {
            return;
        }
        for item in &mut self.0 {
            if let Item::Called { call, end, .. } = item
                && update["toolCallId"] == **call
            {
                *end = Some(serde_json::json!([update["status"], update["rawOutput"]]));
            }
        }
    }

    /// Whether this is what came after something: its own end, or all of it.
    pub(crate) fn is_end_of(&self, whole: &Self) -> bool {
        whole.0.ends_with(&self.0)
    }

    /// Whether this is what came before something. What had no end yet may have any.
    pub(crate) fn is_beginning_of(&self, whole: &Self) -> bool {
        self.0.len() <= whole.0.len() && self.0.iter().zip(&whole.0).all(|(own, other)| own == other)
    }
}

/// Whether an update of a call is its end.
pub(crate) fn is_end(update: &Value) -> bool {
    update["status"] == "completed" || update["status"] == "failed"
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
