//! The agent's side of ACP v1: requests come in as lines, the core is called, its events go out as lines.
//!
//! Reading order: `framer` (bytes to lines), `envelope` (lines to messages), `handshake` and `settings`, `call` (messages
//! to typed calls), `from_acp`, `instructions`, `steering`, [`to_acp`] and `asks` (the translation), `pending`, `notes` and
//! `outbox` (all the state there is), `connection` (one match on each thing that can come), `serve` (threads and the one
//! task).

pub mod asks;
mod call;
mod connection;
mod envelope;
mod fault;
mod framer;
mod from_acp;
mod handshake;
mod instructions;
mod notes;
mod outbox;
mod params;
mod pending;
mod room;
mod serve;
mod settings;
mod silence;
mod steering;
mod threads;
pub mod to_acp;

pub use handshake::{Client, TerminalAuth};
pub use serve::{ServeError, serve};
pub use settings::Settings;
pub use threads::Lines;
