//! Copies what can be read of a damaged database into a new one, and makes that agree with itself.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::layout::{KEYED, schema_of, tables};
use super::pages::Pages;
use super::table::{self, Copied, LAST_ID};
use super::{Salvaged, body, finish_messages, listed, named, recount, scan};
use crate::store::{index, schema, titles, value};

/// The tables whose rows are known when they are met without their table.
const SCANNED: [&str; 4] = ["sessions", "events", "blobs", "grants"];

/// Copies; both files are closed then, and nothing of the new one is in a log. `free_head` is what the old header said of
/// free pages.
pub(super) fn copy(image: &Path, new: &Path, free_head: Option<[u8; 8]>, network: bool) -> rusqlite::Result<Salvaged> {
    let opened = open_image(image);
    let source = opened.as_ref().ok();
    let known = source.and_then(schema_of);
    let pages = Pages::open(image, free_head).ok();
    let steps = known.or_else(|| scan::steps(pages.as_ref()?));
    let mut connection = schema::lay_out(new, network, steps.unwrap_or(schema::STEPS.len()))?;
    let mut salvaged = Salvaged::default();
    if let Some(steps) = steps {
        connection
            .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; BEGIN")?;
        let source = Source {
            image: source.filter(|_| known.is_some()),
            pages: pages.as_ref(),
            steps,
        };
        source.copy_all(&connection, &mut salvaged)?;
        connection.execute_batch("COMMIT")?;
    }
    schema::finish(&mut connection)?;
    connection.execute_batch("BEGIN")?;
    put_right(&connection, &mut salvaged)?;
    connection.execute_batch("COMMIT; PRAGMA synchronous = FULL")?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    if let Ok(image) = &opened
        && let Err(error) = image.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    {
        tracing::debug!(%error, "the copy of the log stays beside the copy of the database");
    }
    Ok(salvaged)
}

/// Opens the copy. A first statement may fail at a schema that is damaged in part; the next ones see the rest of it.
fn open_image(path: &Path) -> rusqlite::Result<Connection> {
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.execute_batch("PRAGMA writable_schema = ON; PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF;")?;
        if connection.prepare("SELECT 1 FROM sqlite_schema").is_err() {
            tracing::debug!("a part of the schema can't be read");
        }
        Ok(connection)
    };
    let connection = open()?;
    if schema_of(&connection).is_some() {
        return Ok(connection);
    }
    mend_schema(&connection)?;
    drop(connection);
    open()
}

/// Puts our own words back into the schema of a copy.
fn mend_schema(image: &Connection) -> rusqlite::Result<()> {
    let version: i64 = image
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap_or(0);
    let known = usize::try_from(version)
        .ok()
        .filter(|steps| (1..=schema::STEPS.len()).contains(steps));
    let layout = schema::layout(known.unwrap_or(schema::STEPS.len()))?;
    let mut statement = layout.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, name, table): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let sql: Option<String> = row.get(3)?;
        image.execute(
            "UPDATE sqlite_schema SET type = ?1, tbl_name = ?3, sql = ?4 WHERE name = ?2",
            params![kind, name, table, sql],
        )?;
    }
    Ok(())
}

/// Where the rows come from.
struct Source<'a> {
    /// The copy of the old database, where SQLite can read its schema.
    image: Option<&'a Connection>,
    /// Its pages.
    pages: Option<&'a Pages>,
    steps: usize,
}

impl Source<'_> {
    fn copy_all(&self, new: &Connection, salvaged: &mut Salvaged) -> rusqlite::Result<()> {
        // They would work on rows that are not all there yet.
        let triggers: Vec<(String, String)> = new
            .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        for (name, _) in &triggers {
            new.execute_batch(&format!("DROP TRIGGER {name}"))?;
        }
        let (mut whole, refused) = self.copy_tables(new, salvaged)?;
        if body::remove_bad_bytes(new)? > 0 {
            whole.remove("blobs");
        }
        let is_listed = listed::note(self.image, new, self.steps)?;
        if listed::missing(new, self.steps)? > 0 {
            whole.remove("events");
        }
        if SCANNED.iter().any(|table| !whole.contains(*table)) {
            self.scan(new, &whole, is_listed)?;
        }
        if self.steps >= KEYED {
            recount::coerce(new)?;
        }
        body::remove_unreadable(new, self.steps)?;
        salvaged.lost_rows = listed::missing(new, self.steps)?;
        listed::note_lost(new, self.steps)?;
        if !is_listed {
            salvaged.lost_rows += refused;
            salvaged.more_rows_lost = !whole.contains("events");
        }
        named::name_sessions(self.image, new, self.steps, salvaged)?;
        if let Some(image) = self.image {
            keep_numbers(image, new)?;
        }
        for (_, sql) in &triggers {
            new.execute_batch(sql)?;
        }
        Ok(())
    }

    /// Copies what SQLite finds in tables; those that it has read from one end to the other, and how many rows contradict
    /// others.
    fn copy_tables(&self, new: &Connection, salvaged: &mut Salvaged) -> rusqlite::Result<(HashSet<String>, u64)> {
        let (mut whole, mut refused) = (HashSet::new(), 0);
        for table in tables(new)?.into_iter().filter(|table| table != "leases") {
            let copied = match self.image {
                Some(image) => table::copy(image, new, &table)?,
                None => Copied::default(),
            };
            match table.as_str() {
                "events" => refused = copied.refused,
                "sessions" | "partials" => {}
                _ if copied.is_whole && copied.refused == 0 => {}
                _ => salvaged.doubtful.push(table.clone()),
            }
            if copied.is_whole {
                whole.insert(table);
            }
        }
        Ok((whole, refused))
    }

    fn scan(&self, new: &Connection, whole: &HashSet<String>, is_listed: bool) -> rusqlite::Result<()> {
        let Some(pages) = self.pages else { return Ok(()) };
        let known = scan::Known {
            steps: self.steps,
            is_listed,
            sessions: self.image.and_then(named::all_ids),
            whole,
        };
        scan::add(pages, new, &known)
    }
}

/// A number is never given twice, not even that of a row that is gone.
fn keep_numbers(image: &Connection, new: &Connection) -> rusqlite::Result<()> {
    let given = image.query_row("SELECT seq FROM sqlite_sequence WHERE name = 'events'", [], |row| {
        row.get::<_, i64>(0)
    });
    if let Ok(given) = given
        && given < LAST_ID
    {
        new.execute(
            "UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'events'",
            [given],
        )?;
    }
    Ok(())
}

/// Makes the new database agree with itself, in the newest schema.
fn put_right(new: &Connection, salvaged: &mut Salvaged) -> rusqlite::Result<()> {
    let count = |sql: &str| new.query_row(sql, [], |row| row.get(0).map(value::count));
    // What events name may have been let go long before the damage; what is in use must be there.
    salvaged.lost_bytes =
        count("SELECT count(DISTINCT sha256) FROM blob_uses WHERE sha256 NOT IN (SELECT sha256 FROM blobs)")?;
    // Uses are added before any is removed, since bytes go with their last one.
    new.execute_batch(
        "INSERT OR IGNORE INTO blob_uses (sha256, session_id)
         SELECT substr(piece.atom, 8), sessions.id
         FROM events JOIN sessions ON sessions.key = events.session,
             json_tree(CASE WHEN json_valid(events.body) THEN events.body ELSE 'null' END) AS piece
         WHERE instr(events.body, '\"sha256:') > 0 AND piece.key = 'data' AND substr(piece.atom, 1, 7) = 'sha256:'
           AND substr(piece.atom, 8) IN (SELECT sha256 FROM blobs);
         DELETE FROM blob_uses
         WHERE session_id NOT IN (SELECT id FROM sessions) OR sha256 NOT IN (SELECT sha256 FROM blobs);
         DELETE FROM blobs WHERE sha256 NOT IN (SELECT sha256 FROM blob_uses);
         UPDATE events SET kind = json_extract(body, '$.event')
         WHERE json_valid(body) AND json_type(body, '$.event') = 'text' AND kind IS NOT json_extract(body, '$.event');
         UPDATE events SET original = NULL
         WHERE original IS NOT NULL AND original NOT IN (SELECT id FROM events);",
    )?;
    recount::recount(new)?;
    titles::mend(new)?;
    index::rebuild(new)?;
    finish_messages(new)?;
    const HAS_ROWS: &str = "EXISTS (SELECT 1 FROM events WHERE session = sessions.key)";
    salvaged.sessions = count(&format!("SELECT count(*) FROM sessions WHERE {HAS_ROWS}"))?;
    salvaged.empty_sessions = count(&format!("SELECT count(*) FROM sessions WHERE NOT {HAS_ROWS}"))?;
    salvaged.rows = count("SELECT count(*) FROM events")?;
    salvaged.lost = listed::lost(new)?;
    Ok(())
}
