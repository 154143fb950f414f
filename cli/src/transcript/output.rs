//! What a call has printed, as much as is shown of it.

use agent_core::event::{Display, ToolOutput};

use super::safe;

/// The longest output of a call that is shown, in bytes; of more the beginning and the end are.
const LONGEST_OUTPUT: usize = 8 * 1024;

/// What of a call's output is shown, and what is said of the rest.
pub(super) fn shown(output: &ToolOutput, has_diff: bool) -> (String, Option<String>) {
    let text = match &output.display {
        Display::AsPlanned if has_diff => return (String::new(), None),
        Display::Instead(text) | Display::Terminal(text) => text,
        Display::Ran(ran) => &ran.shown,
        Display::Prose | Display::Verbatim | Display::Json | Display::AsPlanned => &output.text,
    };
    let text = safe(text);
    if text.len() <= LONGEST_OUTPUT {
        return (text, None);
    }
    let head = &text[..text.floor_char_boundary(LONGEST_OUTPUT / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - LONGEST_OUTPUT / 2)..];
    let cut = format!("{} bytes in {} lines in all", text.len(), text.lines().count());
    (format!("{head}\n…\n{tail}"), Some(cut))
}
