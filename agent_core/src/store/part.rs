//! A part of an id, as people name a session: its beginning, its end, or the beginning of the end that a list shows.

use rusqlite::{Connection, params};

use crate::id::SessionId;

/// The least of an id's end that a list shows for the whole. The beginning would not do: it is the time, which sessions of
/// one day have in common.
pub const SHOWN: usize = 8;

/// Whether an id may be meant, where a list shows so much of its end.
pub(super) fn names(part: &str, id: &str, shown: usize) -> bool {
    let is_begun = |length: usize| {
        let end = id.len().checked_sub(length).and_then(|from| id.get(from..));
        end.is_some_and(|end| end.starts_with(part))
    };
    id.starts_with(part) || id.ends_with(part) || (SHOWN..=shown).any(is_begun)
}

/// The stored sessions that may be meant, the newest ids first.
pub(super) fn find(connection: &Connection, part: &str) -> rusqlite::Result<Vec<SessionId>> {
    let shown = shown(connection)?;
    let mut statement = connection.prepare("SELECT id FROM sessions ORDER BY id DESC")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get_ref(0)?.as_str()?;
        if names(part, id, shown) {
            found.push(SessionId::from(id));
        }
    }
    Ok(found)
}

/// The most of the ids' ends that a list shows: as much as tells them apart.
fn shown(connection: &Connection) -> rusqlite::Result<usize> {
    const LONGEST: usize = 32;
    let mut statement = connection.prepare("SELECT count(DISTINCT substr(id, -?1)) = count(*) FROM sessions")?;
    for length in SHOWN..LONGEST {
        if statement.query_row(params![i64::try_from(length).unwrap_or(0)], |row| row.get(0))? {
            return Ok(length);
        }
    }
    Ok(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_named_by_either_end_of_its_id_or_the_beginning_of_what_is_shown() {
        let check = |part: &str, shown: usize, expect: bool| {
            assert_eq!(names(part, "0199c3aabbcc7dddeeff", shown), expect, "{part} {shown}");
        };
        for part in ["0199", "eeff", "7ddd", "7", "7dddeeff", "0199c3aabbcc7dddeeff"] {
            check(part, SHOWN, true);
        }
        for part in ["199c", "dddee", "c7dd", "8", "7dddeeff0"] {
            check(part, SHOWN, false);
        }
        check("c7dd", 9, true);
        check("7ddd", 9, true);
    }
}
