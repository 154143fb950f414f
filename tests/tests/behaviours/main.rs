//! What a session does as an editor sees it, behaviour by behaviour: on the built binary with a scripted model or a
//! model server, and on the stage where a part of the core has to fail.

#![allow(clippy::unwrap_used, reason = "tests")]

mod calls;
mod commands;
mod content;
mod deadlines;
mod declared;
mod display_terminals;
mod editor_files;
mod editor_terminals;
mod failures;
mod faults;
mod files;
mod forks;
mod gauge;
mod history;
mod imports;
mod instructions;
mod keys_in_files;
mod loads;
mod options;
mod outcomes;
mod permissions;
mod play;
mod processes;
mod progress;
mod prompts;
mod providers;
mod questions;
mod queue;
mod sandbox;
mod searching;
mod sessions;
mod steering;
mod undo;
mod web;
