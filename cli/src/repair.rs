//! `agent doctor --repair`: has the session database repaired, and says in plain words what came of it.

use std::io::Write;
use std::path::Path;

use agent_core::search::masked;
use agent_core::store::Lost;
use agent_core::visible;

use crate::exit::{Exit, Fail};
use crate::paths::{NoHome, Paths};
use crate::sessions::NO_TITLE;
use crate::terminal;
use crate::wiring::{self, Repair, Salvaged, Tidied};

/// Repairs what is damaged. It is done if the database is whole afterwards, whatever was lost before.
pub(crate) fn repair(paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let paths = paths.map_err(|no_home| Fail::new(Exit::Failed, no_home))?;
    let label = jiff::Timestamp::now().strftime("%Y-%m-%d-%H%M%SZ").to_string();
    let repair = wiring::repaired(paths, &label)?;
    let mut out = terminal::stdout();
    for line in said(&paths.state.join("state.db"), &repair) {
        writeln!(out, "{line}")?;
    }
    Ok(Exit::Done)
}

fn said(database: &Path, repair: &Repair) -> Vec<String> {
    let place = database.display();
    let mut lines = match repair {
        Repair::Nothing => vec![format!("There is no history in {place} yet: nothing to repair.")],
        Repair::Whole(tidied) if *tidied == Tidied::default() => {
            vec![format!("{place} is whole: nothing was changed.")]
        }
        Repair::Whole(_) => vec![format!("{place} is whole.")],
        Repair::Reindexed(_) => vec![format!(
            "Only the index for searches in {place} was damaged. It was made anew; nothing is lost."
        )],
        Repair::Salvaged(salvaged) => salvage(database, salvaged),
    };
    match repair {
        Repair::Whole(tidied) | Repair::Reindexed(tidied) => lines.extend(tidy(tidied)),
        Repair::Nothing | Repair::Salvaged(_) => {}
    }
    lines
}

fn tidy(tidied: &Tidied) -> Vec<String> {
    let lines = [
        (tidied.leases > 0).then(|| format!("{} that agents held when they died: free now.", sessions(tidied.leases))),
        (tidied.unfinished > 0).then(|| {
            format!(
                "{} had a message that was never finished: what was said of it is kept.",
                sessions(tidied.unfinished)
            )
        }),
    ];
    lines.into_iter().flatten().collect()
}

fn salvage(database: &Path, salvaged: &Salvaged) -> Vec<String> {
    let mut lines = vec![
        format!("{} was damaged: {}.", database.display(), salvaged.faults.join("; ")),
        format!("Kept: {} with {}.", sessions(salvaged.sessions), rows(salvaged.rows)),
    ];
    let bare = salvaged.bare_sessions;
    if bare > 0 {
        lines.push(format!(
            "Of {} among them only the messages were left: the folder is not known, model and mode are those of a new session. \
             Go on with one by `agent run --session ID --cwd DIR`, or in an editor.",
            sessions(bare)
        ));
    }
    if salvaged.empty_sessions > 0 {
        lines.push(format!(
            "Of {} more no message is left, only what was set in them.",
            sessions(salvaged.empty_sessions)
        ));
    }
    let more = match salvaged.lost_rows {
        0 => "an unknown number of rows",
        _ => "an unknown number of rows beside them",
    };
    let lost: Vec<String> = [
        (salvaged.lost_sessions, sessions(salvaged.lost_sessions)),
        (salvaged.lost_rows, rows(salvaged.lost_rows)),
        (u64::from(salvaged.more_rows_lost), more.to_owned()),
        (
            salvaged.lost_bytes,
            format!(
                "{} or what files held before a change",
                counted(salvaged.lost_bytes, "picture")
            ),
        ),
    ]
    .into_iter()
    .filter_map(|(count, said)| (count > 0).then_some(said))
    .collect();
    match (lost.as_slice(), salvaged.sessions + salvaged.rows) {
        ([], 0) => lines.push("Lost: all that it held, if it held anything.".to_owned()),
        ([], _) => lines.push("Lost: nothing that is known of.".to_owned()),
        (lost, _) => lines.push(format!("Lost, as far as is known: {}.", lost.join(", "))),
    }
    lines.extend(named(&salvaged.lost));
    if !salvaged.doubtful.is_empty() {
        let names: Vec<&str> = salvaged.doubtful.iter().map(|table| in_words(table)).collect();
        lines.push(format!("Could not be read to the end: {}.", names.join(", ")));
    }
    let old = salvaged.old.display();
    lines.push(match salvaged.old.exists() {
        true => {
            format!("The old database is {old} (and what has the same name and -wal). Remove it when you miss nothing.")
        }
        false => format!("What is left of the old database is {old}-wal. Remove it when you miss nothing."),
    });
    lines
}

/// The sessions that are named.
const NAMED: usize = 20;

fn named(lost: &[Lost]) -> Vec<String> {
    let line = |lost: &Lost| {
        let title = visible::line(&masked(lost.title.as_deref().unwrap_or(NO_TITLE)));
        format!("  {}  {}  {title}", lost.session, rows(lost.rows))
    };
    let mut lines: Vec<String> = lost.iter().take(NAMED).map(line).collect();
    if lost.len() > NAMED {
        lines.push(format!("  and {} more", lost.len() - NAMED));
    }
    lines
}

/// What a table holds.
fn in_words(table: &str) -> &str {
    match table {
        "grants" => "standing permissions",
        "blobs" => "pictures, and what files held before a change",
        "blob_uses" => "which session uses which of them (found again)",
        other => other,
    }
}

fn sessions(count: u64) -> String {
    counted(count, "session")
}

fn rows(count: u64) -> String {
    counted(count, "row")
}

fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(number: u64) -> Vec<Lost> {
        let one = |rows: u64| Lost {
            session: format!("s{rows}").as_str().into(),
            title: (rows > 1).then(|| format!("Title\nsk-{}", "a1".repeat(20))),
            rows,
        };
        (1..=number).map(one).collect()
    }

    #[test]
    fn twenty_sessions_that_have_lost_rows_are_named_and_the_others_counted() {
        assert!(named(&[]).is_empty());
        let lines = named(&lost(2));
        assert_eq!(lines[0], "  s1  1 row  (no title)");
        assert!(
            lines[1].starts_with("  s2  2 rows  Title sk-") && !lines[1].contains("a1a1a1a1"),
            "{lines:?}"
        );
        assert_eq!(named(&lost(20)).len(), 20);
        let lines = named(&lost(23));
        assert_eq!((lines.len(), lines[20].as_str()), (21, "  and 3 more"));
    }
}
