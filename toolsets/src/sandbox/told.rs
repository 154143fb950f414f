//! What people are told of the sandbox.

use agent_core::config::SandboxMode;
use agent_core::event::{Event, Severity};
use agent_core::wall::{self, Sandbox as State};

use super::found::Wall;
use super::{Sandbox, no_wall};

impl Sandbox {
    pub(super) fn told(&self, wall: &Wall, holds_protected: bool) -> wall::Wall {
        let folders = self
            .roots
            .iter()
            .chain(&self.more)
            .map(|folder| folder.display().to_string());
        let tmp = match wall {
            Wall::Bubblewrap(_) => "a /tmp of its own",
            Wall::Kernel(_) | Wall::Seatbelt => "its TMPDIR",
        };
        let has_history = self.lends_history(wall) && self.roots.iter().any(|root| root.join(".git").is_dir());
        let more = [
            (has_history, "with `.git` but for its configuration and hooks"),
            (self.network, "package caches"),
            (true, tmp),
        ];
        let more = more.into_iter().filter(|(is_so, _)| *is_so);
        let folders: Vec<String> = folders.chain(more.map(|(_, text)| text.to_owned())).collect();
        wall::Wall {
            by: wall.name(),
            writes: folders.join(", "),
            holds_protected,
            network: self.network,
        }
    }

    /// What people are told of it, as a sentence.
    pub(crate) fn sentence(&self) -> String {
        match self.wall() {
            Ok(wall) => {
                let told = self.told(wall, wall.holds_protected()).sentence();
                match self.in_editor {
                    true => format!("{told}. Commands in terminals of the editor have none"),
                    false => told,
                }
            }
            Err(why) if self.mode == SandboxMode::Required => no_wall(why),
            Err(why) => State::None { why: why.to_owned() }.sentence(),
        }
    }

    /// What the user should know once a session: that less is held in than the configuration seems to say.
    pub(crate) fn notice(&self) -> Option<Event> {
        let network = "`network = false` under [sandbox] holds for web_fetch only";
        let reach = "Commands and MCP servers still reach the network";
        let (title, detail) = match (self.wall(), self.mode) {
            (Err(why), SandboxMode::Required) => {
                ("no command and no MCP server can be started".to_owned(), no_wall(why))
            }
            (Err(why), _) if !self.network => (network.to_owned(), format!("{reach}: there is no sandbox: {why}.")),
            (Err(_), SandboxMode::Off) => return None,
            (Err(why), SandboxMode::Auto) => (
                "commands and MCP servers run without a sandbox".to_owned(),
                format!("What one does is up to it: {why}. `mode = \"off\"` under [sandbox] says that this is known."),
            ),
            (Ok(_), _) if self.in_editor && !self.network => (
                "`network = false` under [sandbox] does not hold for commands in terminals of the editor".to_owned(),
                "They have no sandbox: `backend = \"local\"` under [terminal] runs commands inside it.".to_owned(),
            ),
            (Ok(_), _) => return None,
        };
        Some(Event::Notice {
            severity: Severity::Warning,
            title,
            detail: Some(detail),
        })
    }
}
