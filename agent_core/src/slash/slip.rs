//! A slip in a command's name: such a prompt goes to the model, and the user is told.

use super::COMMANDS;
use crate::content::Content;
use crate::nearest::nearest;

/// No longer word is a slip in the name of a command, in bytes.
const LONGEST_SLIP: usize = 16;

/// The word of a prompt that may be a slip in a command's name, with the command that is very near. A path is none, nor
/// is a known command.
pub(crate) fn slip(content: &[Content]) -> Option<(&str, &'static str)> {
    let Some(Content::Text { text }) = content.first() else {
        return None;
    };
    let text = text.trim_start().strip_prefix('/')?;
    // A prompt may be one word of many megabytes, and what is compared grows with it.
    let mut begin = text.bytes().take(LONGEST_SLIP + 1);
    let end = begin.position(|byte| byte.is_ascii_whitespace()).unwrap_or(text.len());
    let word = text.get(..end).filter(|word| word.len() <= LONGEST_SLIP)?;
    if !word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let near = nearest(word, COMMANDS.iter().map(|command| command.name))?;
    (near != word).then_some((word, near))
}
