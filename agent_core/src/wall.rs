//! What holds a command in while it runs, as plain data: policy reads it, and a question says it. Building walls is a
//! workspace's work.

use serde::{Deserialize, Serialize};

/// Whether a command runs behind a wall of the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Sandbox {
    /// It does.
    Inside(Wall),
    /// It does not, though there is a wall: the call asks for that.
    Left,
    /// There is none.
    None {
        /// Why, in a few words.
        why: String,
    },
}

/// A wall around a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wall {
    /// What of the system it is made of: `bubblewrap`, `Landlock`.
    pub by: String,
    /// Where the command may write, for people.
    pub writes: String,
    /// Protected files inside the workspace that are there when the command starts stay as they are.
    pub holds_protected: bool,
    /// The command reaches the network.
    pub network: bool,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::None { why: String::new() }
    }
}

impl Sandbox {
    /// Whether nothing of what is run in it can matter outside of the workspace's own files: nothing protected
    /// changes, and nothing gets out.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Inside(wall) => wall.holds_protected && !wall.network,
            Self::Left | Self::None { .. } => false,
        }
    }

    /// How a question says it, as a sentence of its own.
    pub fn sentence(&self) -> String {
        match self {
            Self::Inside(wall) => wall.sentence(),
            Self::Left => "OUTSIDE the sandbox: nothing holds in what it writes or reaches".to_owned(),
            Self::None { why } if why.is_empty() => "No sandbox".to_owned(),
            Self::None { why } => format!("No sandbox: {why}"),
        }
    }
}

impl Wall {
    /// How people are told of it.
    pub fn sentence(&self) -> String {
        let network = if self.network { "on" } else { "off" };
        let protected = match self.holds_protected {
            true => "",
            false => ", protected files there too",
        };
        format!(
            "In the sandbox ({}): writes only in {}{protected}; network {network}",
            self.by, self.writes
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(holds_protected: bool, network: bool) -> Sandbox {
        Sandbox::Inside(Wall {
            by: "bubblewrap".into(),
            writes: "/w".into(),
            holds_protected,
            network,
        })
    }

    #[test]
    fn a_wall_is_said_in_a_sentence() {
        let check = |sandbox: &Sandbox, expect: &str, is_closed: bool| {
            assert_eq!((sandbox.sentence().as_str(), sandbox.is_closed()), (expect, is_closed));
        };
        check(
            &wall(true, false),
            "In the sandbox (bubblewrap): writes only in /w; network off",
            true,
        );
        check(
            &wall(false, false),
            "In the sandbox (bubblewrap): writes only in /w, protected files there too; network off",
            false,
        );
        check(
            &wall(true, true),
            "In the sandbox (bubblewrap): writes only in /w; network on",
            false,
        );
        check(&Sandbox::default(), "No sandbox", false);
        check(&Sandbox::None { why: "x".into() }, "No sandbox: x", false);
        assert!(!Sandbox::Left.is_closed());
    }
}
