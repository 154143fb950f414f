//! The tools of a session over the files and programs of this machine.
//!
//! Reading order: [`LocalWorkspaces`] (the port's implementation), `files` and `place` (what the file tools share), then
//! a module a tool. Nothing here asks the user anything: a tool says what it would do, and policy decides.

mod ask_user;
mod coding;
mod command;
mod edit;
mod editor;
mod files;
mod forbidden;
mod git;
mod held;
mod input;
mod lines;
mod mcp;
mod mention;
mod nearby;
mod patch;
mod picture;
mod place;
mod private;
mod process;
mod process_tool;
mod put_back;
mod read_file;
mod rules;
mod runs;
mod sandbox;
mod search;
mod session_search;
mod surroundings;
mod terminal;
#[cfg(test)]
mod testing;
mod title;
mod tls;
mod todo;
mod web_fetch;
mod window;
mod workspace;
mod write_file;

pub use command::deny_rule_fault;
pub use mcp::Edge;
pub use process::bash;
pub use surroundings::{os, program};
pub use workspace::{LocalWorkspaces, TOOLS, look_at_sandbox, look_at_servers};
