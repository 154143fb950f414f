//! The store, opened as a session would open it.

use std::time::Duration;

use agent_core::store::{Health, Pages};

use super::{Finding, size};
use crate::paths::{NoHome, Paths};
use crate::wiring::{self, Store};

/// How long the pages of the database are checked.
const LIMIT: Duration = Duration::from_secs(5);

const CHECK: &str = "store";

/// Whether the store opens.
pub(crate) fn opens(paths: Result<&Paths, NoHome>) -> Finding {
    match open(paths) {
        Ok((paths, store)) => {
            let finding = opened(&store, paths.state.display().to_string());
            store.close();
            finding
        }
        Err(fault) => Finding::failed(CHECK, fault),
    }
}

/// Whether the store opens and is whole, and the sessions in it.
pub(crate) fn store_and_sessions(paths: Result<&Paths, NoHome>) -> Vec<Finding> {
    let (paths, store) = match open(paths) {
        Ok(opened) => opened,
        Err(fault) => return vec![Finding::failed(CHECK, fault)],
    };
    let findings = match store.health(LIMIT) {
        Ok(health) => vec![whole(&store, paths, &health), sessions(&health)],
        Err(error) => vec![Finding::failed(CHECK, format!("{:#}", anyhow::Error::new(error)))],
    };
    store.close();
    findings
}

fn open(paths: Result<&Paths, NoHome>) -> Result<(&Paths, Store), String> {
    let paths = paths.map_err(|no_home| format!("{no_home}; sessions would not be kept"))?;
    match wiring::stored(paths) {
        Ok(store) => Ok((paths, store)),
        Err(error) => Err(format!("{error:#}; sessions would not be kept")),
    }
}

fn opened(store: &Store, fine: String) -> Finding {
    match store.warning() {
        None => Finding::ok(CHECK, fine),
        Some(warning) => Finding::warning(CHECK, warning),
    }
}

fn whole(store: &Store, paths: &Paths, health: &Health) -> Finding {
    let database = paths.state.join("state.db");
    let said = format!(
        "{}, schema {}, {}",
        database.display(),
        health.schema,
        size(health.bytes)
    );
    match &health.pages {
        Pages::Whole => opened(store, format!("{said}, whole")),
        Pages::Index => Finding::warning(
            CHECK,
            format!(
                "{said}; the index for searches is damaged and is made anew when an agent writes to it, or by \
                 `agent doctor --repair`"
            ),
        ),
        Pages::Unfinished => opened(
            store,
            format!("{said}; too large to be checked whole within {} s", LIMIT.as_secs()),
        ),
        Pages::Damaged(faults) => Finding::failed(
            CHECK,
            format!(
                "{said}, is damaged ({}): end all agents, then run `agent doctor --repair`, which saves what can be read",
                faults.join("; ")
            ),
        ),
    }
}

fn sessions(health: &Health) -> Finding {
    Finding::ok("sessions", health.sessions.to_string())
}
