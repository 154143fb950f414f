//! What a command finds in its environment: the agent's, without keys and without what would change how the shell
//! reads a command, and with what keeps programs from waiting for a person.

use std::ffi::{OsStr, OsString};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use agent_core::id::SessionId;

/// Variables that no command may see: the names of keys in the user's configuration. Whatever ends in `_API_KEY` is
/// hidden without being named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hidden(pub Vec<String>);

/// The environment of one session's commands.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    hidden: Hidden,
    session: SessionId,
    owner: String,
}

const OWNER: &str = "TALARIA_OWNER";
const COMMAND: &str = "TALARIA_COMMAND";

/// What each process of one command has in its environment and no other, as `NAME=value`.
#[derive(Clone, Debug)]
pub(super) struct Mark(String);

/// Programs that could page, ask or colour do not.
const QUIET: [(&str, &str); 6] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
];

/// They make bash run a file first, change its grammar or where `cd` goes, make ripgrep read more than it was asked for,
/// open a window for a password, or say where our own state is.
const MISLEADING: [&str; 8] = [
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "RIPGREP_CONFIG_PATH",
    "SSH_ASKPASS",
    "TALARIA_HOME",
];

impl Environment {
    /// The environment of the commands of `session`, without what is hidden.
    pub(crate) fn new(session: SessionId, hidden: Hidden) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            hidden,
            session,
            // Two programs may have the same session open; each must find its own processes only.
            owner: format!("{}{number}", owner_of_all()),
        }
    }

    /// Gives `command` this environment.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.env_clear();
        command.envs(std::env::vars_os().filter(|(name, _)| !self.hides(name)));
        command.envs(QUIET);
        command.env("TALARIA_SESSION", self.session.as_str());
        command.env(OWNER, &self.owner);
    }

    /// What a command in the editor's terminal gets beside the editor's own environment: the same switches, and nothing
    /// in the place of what is hidden or would mislead.
    pub(super) fn for_editor(&self) -> Vec<(String, String)> {
        let own = std::env::vars_os().map(|(name, _)| name);
        let hidden = own
            .filter(|name| self.hides(name))
            .filter_map(|name| name.into_string().ok());
        // An editor may have what we were not given.
        let always = ["BASH_ENV", "ENV"].map(str::to_owned);
        let mut names: Vec<String> = hidden.chain(always).collect();
        names.sort();
        names.dedup();
        // These can't be set in bash.
        names.retain(|name| !["SHELLOPTS", "BASHOPTS"].contains(&name.as_str()) && !name.starts_with("BASH_FUNC_"));
        let emptied = names.into_iter().map(|name| (name, String::new()));
        let quiet = QUIET.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let session = [("TALARIA_SESSION".to_owned(), self.session.as_str().to_owned())];
        emptied.chain(quiet).chain(session).collect()
    }

    /// The same, and marks all that the command starts as its own.
    pub(super) fn apply_marked(&self, command: &mut Command) -> Mark {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.apply(command);
        let value = format!("{}{}", owner_of_all(), NEXT.fetch_add(1, Ordering::Relaxed));
        command.env(COMMAND, &value);
        Mark(format!("{COMMAND}={value}"))
    }

    /// What each process of this session has in its environment and no other.
    pub(super) fn mark(&self) -> Mark {
        Mark(format!("{OWNER}={}", self.owner))
    }

    fn hides(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        name.to_ascii_uppercase().ends_with("_API_KEY")
            || name.starts_with("BASH_FUNC_")
            || MISLEADING.contains(&name.as_ref())
            || self.hidden.0.iter().any(|hidden| *hidden == name)
    }
}

impl Mark {
    /// Whether an environment, as the system shows it, has it.
    pub(super) fn is_in(&self, environment: &[u8]) -> bool {
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == self.0.as_bytes())
    }
}

/// What the mark of every session of this process begins with, as `NAME=value`.
pub(super) fn mark_of_all() -> String {
    format!("{OWNER}={}", owner_of_all())
}

/// The time tells this process from others of the same number: one before it, or in another container.
fn owner_of_all() -> &'static str {
    static OWNER: OnceLock<String> = OnceLock::new();
    OWNER.get_or_init(|| {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{}-{}-", std::process::id(), started.as_nanos())
    })
}

/// The variable that commands are looked for in, for whoever wants the agent's own.
pub(super) fn own_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_what_misleads_the_shell_are_hidden() {
        let environment = Environment::new(SessionId::new(), Hidden(vec!["MY_SECRET".into()]));
        for (name, expect) in [
            ("OPENAI_API_KEY", true),
            ("some_api_key", true),
            ("MY_SECRET", true),
            ("BASH_ENV", true),
            ("BASH_FUNC_ls%%", true),
            ("SSH_ASKPASS", true),
            ("MY_SECRET_2", false),
            ("HOME", false),
            ("API_KEYS", false),
        ] {
            assert_eq!(environment.hides(name.as_ref()), expect, "{name}");
        }
    }
}
