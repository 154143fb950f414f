//! Agents that are killed at any moment, work on one store at once and have clocks that jump: whether all that was
//! answered is there. The tests have short forms of this, `examples/reliability.rs` the full ones.

mod beside;
mod contest;
mod crowd;
mod kills;
mod ledger;
mod mortal;
mod preload;
mod snapshots;
mod tally;
mod versions;

use std::process::Command;

use rusqlite::Connection;

use crate::client::Home;

pub use beside::{foreign_rows_beside_a_turn, lists_beside_a_turn};
pub use contest::contest;
pub use crowd::crowd;
pub use kills::{at_points, random_kills, sweep};
pub use ledger::{Ledger, load};
pub use mortal::{Died, Mortal};
pub use preload::{Clock, POINTS, Point, library};
pub use snapshots::snapshots;
pub use tally::Tally;
pub use versions::{newer_beside, old_store_opened_at_once};

/// `agent acp` with this home, where the login shell, which is asked for paths, has nothing to do.
fn agent_of(home: &Home) -> Command {
    let mut command = home.command(&["acp"]);
    command.env("HOME", home.workspace()).env("SHELL", "/bin/sh");
    command
}

/// Checks the database and its index. To be called while an agent has the store open, so that this is not the end of
/// its log.
fn check_store(home: &Home, tally: &mut Tally) {
    tally.checks += 1;
    let checked = Connection::open(home.state().join("state.db")).and_then(|connection| check(&connection));
    match checked {
        Ok(fault) if fault.is_empty() => {}
        Ok(fault) => tally.fault(format!("the database: {fault}")),
        Err(error) => tally.fault(format!("the database can't be checked: {error}")),
    }
}

/// What is wrong with it, empty for nothing.
fn check(connection: &Connection) -> rusqlite::Result<String> {
    connection.busy_timeout(std::time::Duration::from_secs(30))?;
    let integrity: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if integrity != "ok" {
        return Ok(integrity);
    }
    connection.execute("INSERT INTO search (search) VALUES ('integrity-check')", [])?;
    // What the user said is in the index, row for row.
    let count = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let said = count("SELECT count(*) FROM events WHERE kind = 'user_message' AND original IS NULL")?;
    let found = count(
        "SELECT count(*) FROM events WHERE kind = 'user_message' AND original IS NULL \
         AND id IN (SELECT id FROM search_docsize)",
    )?;
    let stray = count("SELECT count(*) FROM search_docsize WHERE id NOT IN (SELECT id FROM events)")?;
    Ok(match (said - found, stray) {
        (0, 0) => String::new(),
        (missing, stray) => format!("{missing} prompts are not in the index, and {stray} rows there are of nothing"),
    })
}

/// Ends a series: where something is wrong, its home stays, and the faults say where.
fn end(home: Home, tally: &mut Tally) {
    if !tally.faults.is_empty() {
        let kept = home.keep();
        tally.fault(format!("{}: everything is kept in {}", tally.what, kept.display()));
    }
}

/// A prompt for the offline model that nobody else says: short, long, or with a call.
fn prompt(random: &mut fastrand::Rng, name: &str) -> String {
    match random.u8(..10) {
        0 => format!("create {name}.txt with made-by-{name}"),
        1 => format!("run echo {name}; echo zwölf"),
        2..4 => format!("say {name} {}", words(random, 1_200)),
        _ => format!("say {name} {}", words(random, 12)),
    }
}

fn words(random: &mut fastrand::Rng, count: usize) -> String {
    const WORDS: [&str; 8] = ["alpha", "größer", "日本語", "naïve", "🙂", "delta", "x", "Ω"];
    let words = (0..count).map(|_| WORDS[random.usize(..WORDS.len())]);
    words.collect::<Vec<_>>().join(" ")
}
