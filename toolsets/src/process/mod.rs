//! Processes of the agent: how they are started, heard, and ended. What a command means is [`crate::command`]'s.
//!
//! Every child has a session of its own in the sense of the operating system, never sees the agent's stdin and stdout,
//! inherits no other descriptor, and dies with the agent. A command ends when its direct child does, not when
//! its pipes close.

mod environment;
mod group;
mod guard;
mod output;
mod running;
mod search_path;
mod session;
mod spawner;
mod stray;
mod sys;
mod text;

pub use environment::{Environment, Hidden};
pub use output::{Excerpt, Output, grouped};
pub use running::{End, Exit, Input, Running};
pub use search_path::search_path;
pub use session::{Background, Processes, State};
pub use spawner::spawn;
pub use text::{escaped_line, readable};
