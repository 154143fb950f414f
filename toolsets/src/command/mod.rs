//! What a command's text says about it: whether it surely only reads, whether a standing grant may cover it, whether it
//! is never run. It decides whether to ask; it is no boundary, and nothing here runs anything.

mod deny;
mod exact;
mod floor;
mod place;
mod plain;
mod reads;
mod syntax;
#[cfg(test)]
mod tests;
mod unwrap;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use agent_core::plan::CommandFacts;

pub(crate) use place::real;

/// Longer texts are not looked at for reads: nobody writes such a command to read something.
const LONGEST: usize = 16 * 1024;

/// What a command is judged against. All paths are real ones.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The folder it starts in.
    pub cwd: &'a Path,
    /// The folders the session works in.
    pub roots: &'a [PathBuf],
    /// Folders that no command may name: our own configuration and state.
    pub forbidden: &'a [PathBuf],
    /// The user's rules against commands: a program's name and, after it, words with `*` for any text.
    pub deny: &'a [String],
    /// The user's home folder.
    pub home: Option<&'a Path>,
    /// The PATH that programs are looked for in.
    pub search_path: &'a OsStr,
}

/// Reads a command's text.
pub fn classify(text: &str, ground: &Ground<'_>) -> CommandFacts {
    let script = syntax::parse(text);
    if let Some(reason) = floor::reason(text, &script, ground) {
        return CommandFacts {
            forbidden: Some(reason),
            ..CommandFacts::default()
        };
    }
    let plain = if text.len() <= LONGEST {
        plain::steps(text)
    } else {
        None
    };
    CommandFacts {
        forbidden: None,
        read_only: plain.as_ref().is_some_and(|steps| reads::only_reads(steps, ground)),
        exact: plain.as_ref().and_then(|steps| exact::command(steps, ground)),
    }
}
