//! How many tokens a request has, and how many its model's context leaves for the reply. This is the one place where
//! that is estimated: whoever makes room and whoever limits a reply must mean the same.

use super::{Call, Message, ModelInfo, Request, ToolSpec};
use crate::content::Content;
use crate::event::CallInput;

/// Bytes a token where no service has counted yet: few, since too many tokens are estimated rather than too few.
const UNCOUNTED: u64 = 3;
/// No text has more bytes a token, whatever a service says.
const MOST_BYTES: u64 = 8;
/// And no byte is more tokens than this, whatever a service says.
const MOST_TOKENS: u64 = 8;
/// A context is full at this share of its window, in percent.
const FULL: u128 = 80;
/// One part in so many of a window stays free: tokens are estimated and not known.
const MARGIN: u64 = 64;

/// What a service counted of an earlier request of the same conversation. It tells how many bytes its tokens have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    tokens: u64,
    bytes: usize,
    by_another: bool,
}

impl Counted {
    /// A request of so many bytes had so many tokens.
    pub fn new(tokens: u64, bytes: usize) -> Self {
        Self {
            tokens,
            bytes,
            by_another: false,
        }
    }

    /// The same of a request that had so many bytes more.
    #[must_use]
    pub(crate) fn beside(self, bytes: usize) -> Self {
        Self {
            bytes: self.bytes + bytes,
            ..self
        }
    }

    /// The same where another model is asked now, which may count otherwise.
    #[must_use]
    pub(crate) fn by_another(self) -> Self {
        Self {
            by_another: true,
            ..self
        }
    }
}

impl Request<'_> {
    /// About how many tokens it has: those that its service counted of an earlier one, and by them what came since.
    pub fn tokens(&self) -> u64 {
        let messages: usize = self.messages.iter().map(Message::size).sum();
        tokens(fixed_size(self.system, self.tools) + messages, self.counted)
    }

    /// Tokens that the reply may have, where anybody has said what the model can: no more than its context still holds.
    pub fn reply_limit(&self, model: &ModelInfo) -> Option<u64> {
        let most = model.max_output?;
        Some(self.room(model).map_or(most, |room| most.min(room)))
    }

    /// Tokens that the context still holds beside the request, where its size is known. It is never so few that a reply
    /// would be cut after a few words; if the context does not hold them, the service says so and room is made.
    pub fn room(&self, model: &ModelInfo) -> Option<u64> {
        let window = model.context_window?;
        let left = window.saturating_sub(self.tokens() + window / MARGIN);
        Some(left.max(model.least_reply(window)))
    }

    /// Whether the context holds the request and a reply of so many tokens, as far as anybody knows.
    pub(crate) fn leaves(&self, reply: u64, model: &ModelInfo) -> bool {
        let holds = |window| self.tokens() + reply + window / MARGIN <= window;
        model.context_window.is_none_or(holds)
    }
}

impl ModelInfo {
    /// Whether a request of so many tokens leaves too little of the context.
    pub(crate) fn is_full(&self, tokens: u64) -> bool {
        self.context_window.is_some_and(|window| {
            let with_reply = tokens + self.least_reply(window) + window / MARGIN;
            u128::from(tokens) * 100 >= u128::from(window) * FULL || with_reply > window
        })
    }

    /// Tokens of the shortest reply that is worth asking for.
    fn least_reply(&self, window: u64) -> u64 {
        let least = (window / 16).max(1024).min(window / 4);
        self.max_output.map_or(least, |most| most.min(least))
    }
}

impl Message {
    /// Bytes that it takes of a request.
    pub(crate) fn size(&self) -> usize {
        let pieces = match self {
            Self::User(content) => content.iter().map(Content::room).sum(),
            Self::Assistant {
                text, calls, native, ..
            } => {
                let native = native.as_ref().map_or(0, |native| native.item.len());
                text.len() + native + calls.iter().map(Call::size).sum::<usize>()
            }
            Self::ToolResult { text, images, .. } => text.len() + images.iter().map(Content::room).sum::<usize>(),
        };
        FRAME + pieces
    }
}

/// What stands around a message or a call in every dialect, in bytes.
pub(crate) const FRAME: usize = 24;

impl Call {
    /// Bytes that it takes of a request.
    pub(crate) fn size(&self) -> usize {
        let input = match &self.input {
            CallInput::Json(input) => input.to_string().len(),
            CallInput::Malformed(text) => text.len(),
        };
        FRAME + self.name.len() + input
    }
}

impl Content {
    /// Bytes that it takes of a request; a picture by the tokens that services count for one, whatever its bytes.
    pub(crate) fn room(&self) -> usize {
        const PICTURE: usize = 4500;
        match self {
            Self::Text { text } => text.len(),
            Self::Resource { uri, text, .. } => uri.len() + text.len(),
            Self::Link { uri, name } => uri.len() + name.len(),
            Self::Image { .. } => PICTURE,
        }
    }
}

/// Bytes of what is the same in each request of a session.
pub(crate) fn fixed_size(system: &str, tools: &[ToolSpec]) -> usize {
    system.len() + tools.iter().map(ToolSpec::size).sum::<usize>()
}

impl ToolSpec {
    /// Bytes that it takes of each request.
    pub fn size(&self) -> usize {
        FRAME + self.name.len() + self.description.len() + self.schema.to_string().len()
    }
}

/// Tokens of a request of so many bytes.
pub(crate) fn tokens(bytes: usize, counted: Option<Counted>) -> u64 {
    let now = bytes as u64;
    let Some(counted) = counted else {
        return now / UNCOUNTED;
    };
    let then = counted.bytes.max(1) as u64;
    let mut known = counted
        .tokens
        .clamp(then / MOST_BYTES, then.saturating_mul(MOST_TOKENS));
    if counted.by_another {
        known += known / 4;
    }
    match now.checked_sub(then) {
        None | Some(0) => known * now / then,
        // What nobody has counted may have more of them than what was.
        Some(new) => known + new * known.min(then) / then * 5 / 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Provider;

    #[test]
    fn what_a_service_counted_says_what_the_rest_has() {
        let counted = Counted::new(1000, 4000);
        for (bytes, counted, expect) in [
            (3000, None, 1000),
            (4000, Some(counted), 1000),
            // Less is less in proportion, and what is new is estimated with care.
            (2000, Some(counted), 500),
            (8000, Some(counted), 2250),
            (4000, Some(counted.by_another()), 1250),
            (7000, Some(counted.beside(3000)), 1000),
            // Nobody counts so few, nor so many of a text.
            (8000, Some(Counted::new(1, 4000)), 1125),
            (5000, Some(Counted::new(8000, 4000)), 9250),
            (4000, Some(Counted::new(u64::MAX, 4000)), 32_000),
        ] {
            assert_eq!(tokens(bytes, counted), expect, "{bytes} {counted:?}");
        }
    }

    #[test]
    fn a_window_is_as_large_as_somebody_says() {
        let offline = crate::offline::Offline::new();
        let model = |window| ModelInfo {
            context_window: Some(window),
            ..offline.model().clone()
        };
        assert!(!model(u64::MAX).is_full(u64::MAX / 4));
        assert!(model(1000).is_full(990));
    }
}
