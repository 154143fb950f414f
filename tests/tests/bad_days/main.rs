//! What goes wrong on bad days, on the built binary: configuration, model service, disk, other processes.

#![allow(clippy::unwrap_used, reason = "tests")]

mod clock;
mod configuration;
mod disk;
mod full_disk;
mod looks;
mod other_names;
mod processes;
mod repair;
mod service;
mod unreadable;
mod versions;
