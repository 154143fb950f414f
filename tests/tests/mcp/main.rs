//! MCP servers of a session, on the built binary: real servers over stdio and HTTP, and a model that calls their tools.

#![allow(clippy::unwrap_used, reason = "tests")]

mod calls;
mod ends;
mod http;
mod lists;
mod permissions;
mod play;
mod starts;
