//! A command that is ready to be started: by which thread, and as what kind of group leader.

use std::process::Command;
use std::sync::Arc;

use super::spawner::Spawner;

/// A command that is ready to be started.
pub(crate) struct Ready {
    pub(super) command: Command,
    pub(super) spawner: Spawner,
    pub(super) leader: Leader,
    /// Dropped when it has ended.
    pub(super) life: Option<Arc<()>>,
}

/// What the leader of a command's group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leader {
    /// The command itself, which is asked to end like all others of its group.
    Command,
    /// A program that waits for the command and takes all of it along when it ends: it is ended last, and never asked.
    Keeper,
}

impl Ready {
    /// A command that `spawner` starts.
    pub(crate) fn new(command: Command, spawner: Spawner, leader: Leader) -> Self {
        Self {
            command,
            spawner,
            leader,
            life: None,
        }
    }

    /// The same; `life` is dropped when it has ended, or could not be started.
    pub(crate) fn living(mut self, life: Option<Arc<()>>) -> Self {
        self.life = life;
        self
    }

    /// The command, for what it is to have in its environment.
    pub(crate) fn command(&mut self) -> &mut Command {
        &mut self.command
    }
}

/// Behind no wall.
impl From<Command> for Ready {
    fn from(command: Command) -> Self {
        Self::new(command, Spawner::of_all(), Leader::Command)
    }
}
