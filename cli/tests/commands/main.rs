//! The binary as a shell sees it: exit codes, streams, files. Every test has a home of its own and no network.

#![allow(clippy::unwrap_used, reason = "tests")]

mod files;
mod home;
mod menus;
mod output;
mod sessions;
mod signals;
mod terminal;

use std::time::Duration;

/// How long anything may take before a test gives up.
const LIMIT: Duration = Duration::from_secs(30);
