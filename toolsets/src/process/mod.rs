//! Processes of the agent: how they are started, heard, and ended. What a command means is [`crate::command`]'s.
//!
//! Every child has a session of its own in the sense of the operating system, never sees the agent's stdin and stdout,
//! inherits no other descriptor, and dies with the agent. A command ends when its direct child does, not when
//! its pipes close.

mod environment;
mod group;
mod guard;
mod kept;
mod orphans;
mod output;
mod ready;
mod running;
mod screen;
mod search_path;
mod session;
mod spawner;
mod stray;
mod sys;
mod text;

pub(crate) use environment::{Environment, Hidden};
pub(crate) use output::Output;
pub(crate) use ready::{Leader, Ready};
pub(crate) use running::{End, Exit, Running, last_words};
pub use session::bash;
pub(crate) use session::{Background, Foreground, Processes, State};
pub(crate) use spawner::Spawner;
pub(crate) use text::readable;
