//! The runtime of the agent: sessions, turns, tools, approvals and their history, without any surface.
//!
//! Calls go inward as methods of [`runtime::Runtime`]; what happens comes outward as [`event::Event`]s. Nothing here
//! is async, speaks HTTP or a protocol, reads the environment or the home folder, or prints.
//!
//! Reading order: [`event`] (the contract), [`runtime`] (what may be asked), `turn`, `asking`, `compact` and `calls` (the loop), `history`
//! (the model's view), [`provider`], [`tool`], [`workspace`] and [`setup`] (the ports), [`surface`] and [`asker`] (what tools
//! ask of an editor), [`store`].

pub mod approval;
pub mod asker;
mod asking;
mod backlog;
pub mod boundary;
mod budget;
mod calls;
pub mod cancel;
pub mod change;
mod claim;
mod clock;
mod compact;
pub mod config;
pub mod content;
pub mod count;
mod deleting;
mod end;
mod engine;
pub mod event;
mod fence;
pub mod folder;
mod forking;
mod history;
pub mod id;
mod inline;
mod json_path;
mod line;
mod naming;
pub mod nearest;
mod news;
pub mod offline;
mod opening;
mod options;
pub mod outward;
mod patience;
pub mod plan;
mod policy;
mod pool;
pub mod portable;
pub mod prompt;
pub mod provider;
mod replay;
mod resting;
mod retry;
pub mod runtime;
pub mod script;
pub mod search;
pub mod server;
mod session;
mod settings;
pub mod setup;
pub mod slash;
pub mod spending;
pub mod store;
pub mod surface;
mod title;
pub mod tool;
mod turn;
mod undo;
pub mod values;
pub mod visible;
mod waiting;
pub mod wall;
pub mod workspace;
