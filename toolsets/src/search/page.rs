//! The part of a search's hits that is told, with how many there are and how to get the rest.

use agent_core::event::{Display, ToolOutput};
use serde_json::json;

use super::Window;

/// More hits are not counted.
const MAX_COUNTED: u64 = 100_000;
/// More text is not told at once, in bytes.
const MAX_TEXT: usize = 100_000;

/// Takes hits one by one and keeps those of the window.
pub(super) struct Page {
    window: Window,
    /// What one hit is called, such as `match`, and many.
    noun: (&'static str, &'static str),
    pub(super) text: String,
    seen: u64,
    told: u64,
    /// What the summary adds, such as the number of files.
    pub(super) detail: String,
}

impl Page {
    pub(super) fn new(window: Window, noun: (&'static str, &'static str)) -> Self {
        Self {
            window,
            noun,
            text: String::new(),
            seen: 0,
            told: 0,
            detail: String::new(),
        }
    }

    /// Counts a hit; whether it is one of those that are told.
    pub(super) fn count(&mut self) -> bool {
        self.seen += 1;
        let tell = self.seen > self.window.offset && !self.is_full();
        self.told += u64::from(tell);
        tell
    }

    /// Whether counting goes on.
    pub(super) fn has_room(&self) -> bool {
        self.seen < MAX_COUNTED
    }

    /// Whether the next hit is behind the offset.
    pub(super) fn is_begun(&self) -> bool {
        self.seen >= self.window.offset
    }

    /// Whether no further hit is told.
    pub(super) fn is_full(&self) -> bool {
        self.told >= self.window.limit || self.is_over()
    }

    /// Whether there is no room for more text.
    pub(super) fn is_over(&self) -> bool {
        self.text.len() >= MAX_TEXT
    }

    pub(super) fn output(self) -> ToolOutput {
        let (one, many) = self.noun;
        let noun = if self.seen == 1 { one } else { many };
        let total = if self.has_room() {
            self.seen.to_string()
        } else {
            format!("more than {}", self.seen)
        };
        let next = self.window.offset + self.told;
        let rest = (next < self.seen).then_some(next);
        let summary = match (self.seen, self.told, rest) {
            (0, _, _) => format!("[no {many}{}]", self.detail),
            (_, 0, _) => format!(
                "[{total} {noun}{}; none from offset {}]",
                self.detail, self.window.offset
            ),
            (_, _, Some(next)) => {
                format!(
                    "[{}-{next} of {total} {noun}{}; offset={next} for the rest]",
                    self.window.offset + 1,
                    self.detail
                )
            }
            (_, _, None) => format!("[{total} {noun}{}]", self.detail),
        };
        let text = format!("{}{summary}\n", self.text);
        ToolOutput {
            display: Display::Verbatim,
            raw: Some(json!({"total": self.seen, "shown": self.told, "next_offset": rest})),
            ..ToolOutput::text(text)
        }
    }
}
