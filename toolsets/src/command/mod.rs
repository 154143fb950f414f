//! What a command's text says about it: whether it surely only reads, whether a standing grant may cover it, whether it
//! is never run. It decides whether to ask; it is no boundary, and nothing here runs anything.

mod deny;
mod exact;
mod floor;
mod place;
mod plain;
mod reads;
mod runs;
mod syntax;
#[cfg(test)]
mod tests;
mod unwrap;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use agent_core::config::Config;
use agent_core::plan::CommandFacts;
use agent_core::workspace::Scope;
use syntax::Deadline;

pub use deny::deny_rule_fault;
pub(crate) use place::real;

/// Longer texts are never run: looking through one for what is never run would take too long, and nobody hears a cancel
/// meanwhile. No shell takes such a text as an argument anyway.
const LONGEST: usize = 128 * 1024;

/// What a command is judged against. All paths are real ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    /// The folder it starts in.
    pub(crate) cwd: &'a Path,
    /// The folders the session works in.
    pub(crate) roots: &'a [PathBuf],
    /// Folders that no command may name: our own configuration and state.
    pub(crate) forbidden: &'a [PathBuf],
    /// The user's rules against commands: a program's name and, after it, words with `*` for any text.
    pub(crate) deny: &'a [String],
    /// The user's home folder.
    pub(crate) home: Option<&'a Path>,
    /// The PATH that programs are looked for in.
    pub(crate) search_path: &'a OsStr,
}

/// What all commands of one session are judged by, wherever they start.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) forbidden: Vec<PathBuf>,
    pub(crate) deny: Vec<String>,
}

impl Judge {
    /// Real paths of the scope's folders and of ours, and the user's rules.
    pub(crate) fn new(scope: &Scope, config: &Config, forbidden: &[PathBuf]) -> Self {
        Self {
            roots: scope.roots().map(|root| real(root)).collect(),
            forbidden: forbidden.iter().map(|folder| real(folder)).collect(),
            deny: config.approvals.deny.clone(),
        }
    }

    /// Reads the text of a command that starts in `cwd`.
    pub(crate) fn classify(&self, text: &str, cwd: &Path, search_path: &OsStr) -> CommandFacts {
        classify(text, &self.ground(cwd, std::env::home_dir().as_deref(), search_path))
    }

    /// The reason why a text is never given to a command that started in `cwd`, if there is one.
    pub(crate) fn forbidden(&self, text: &str, cwd: &Path) -> Option<String> {
        let home = std::env::home_dir();
        let ground = self.ground(cwd, home.as_deref(), OsStr::new(""));
        forbidden(text, &ground, Deadline::begin())
    }

    fn ground<'a>(&'a self, cwd: &'a Path, home: Option<&'a Path>, search_path: &'a OsStr) -> Ground<'a> {
        Ground {
            cwd,
            roots: &self.roots,
            forbidden: &self.forbidden,
            deny: &self.deny,
            home,
            search_path,
        }
    }
}

/// The reason why a text is never run, if there is one.
fn forbidden(text: &str, ground: &Ground<'_>, deadline: Deadline) -> Option<String> {
    let length = text.len();
    if length > LONGEST {
        return Some(format!(
            "it has {length} bytes, more than {LONGEST}, and can't be looked through: write it to a file"
        ));
    }
    let read = syntax::parse(text, deadline)
        .and_then(|script| unwrap::all_commands(&script, deadline).map(|commands| (script, commands)));
    match read {
        Some((script, commands)) => floor::reason(text, &script, &commands, ground),
        None => Some("it can't be looked through in time: write it to a file, or take it apart".to_owned()),
    }
}

/// Reads a command's text.
pub(crate) fn classify(text: &str, ground: &Ground<'_>) -> CommandFacts {
    let deadline = Deadline::begin();
    if let Some(reason) = forbidden(text, ground, deadline) {
        return CommandFacts {
            forbidden: Some(reason),
            ..CommandFacts::default()
        };
    }
    let plain = plain::steps(text, deadline);
    let doubt = match &plain {
        Ok(steps) => reads::doubt(steps, ground),
        Err(why) => Some((*why).to_owned()),
    };
    CommandFacts {
        forbidden: None,
        read_only: doubt.is_none(),
        exact: plain.ok().and_then(|steps| exact::command(&steps, ground)),
        doubt,
    }
}
