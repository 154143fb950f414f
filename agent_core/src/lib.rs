//! The runtime of the agent: sessions, turns, tools, approvals and their history, without any surface.
//!
//! Calls go inward as methods of [`runtime::Runtime`]; what happens comes outward as [`event::Event`]s. Nothing here
//! is async, speaks HTTP or a protocol, reads the environment or the home folder, or prints.
//!
//! Reading order: [`event`] (the contract), [`runtime`] (what may be asked), [`provider`], [`tool`], [`workspace`] and
//! [`setup`] (the ports), [`store`].

pub mod approval;
pub mod cancel;
pub mod change;
pub mod config;
pub mod content;
pub mod event;
mod fence;
pub mod id;
mod inline;
pub mod offline;
pub mod outward;
pub mod plan;
pub mod prompt;
pub mod provider;
pub mod runtime;
pub mod script;
pub mod setup;
pub mod slash;
pub mod store;
pub mod title;
pub mod tool;
pub mod workspace;
