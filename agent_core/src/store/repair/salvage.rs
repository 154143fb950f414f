//! Copies what can be read of a damaged database into a new one, row by row, and passes over what can't.
//!
//! SQLite stops a query at the first page it can't read. So a table is read from both ends, and what lies in between by
//! asking for each number that a row may have.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OpenFlags, Row, Statement, ToSql, params, params_from_iter};

use super::{Salvaged, finish_messages, named, recount};
use crate::provider::ModelRef;
use crate::store::{index, schema, titles, value};

/// The most numbers that are asked for in one table.
const PROBES: i64 = 20_000_000;

/// No row has a number beyond this one, unless a bit of it has fallen over.
const LAST_ID: i64 = 1 << 48;

/// The schema of the first version that names sessions by a number.
pub(super) const KEYED: usize = 7;

/// Copies; both files are closed then, and nothing of the new one is in a log.
pub(super) fn copy(image: &Path, new: &Path, network: bool) -> rusqlite::Result<Salvaged> {
    let image = open_image(image);
    let source = image.as_ref().ok().and_then(|image| Some((image, schema_of(image)?)));
    let steps = source.map_or(schema::STEPS.len(), |(_, steps)| steps);
    let mut connection = schema::lay_out(new, network, steps)?;
    let mut salvaged = Salvaged::default();
    if let Some((image, steps)) = source {
        connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; BEGIN")?;
        copy_all(image, &connection, steps, &mut salvaged)?;
        connection.execute_batch("COMMIT")?;
    }
    schema::finish(&mut connection)?;
    connection.execute_batch("BEGIN")?;
    put_right(&connection, &mut salvaged)?;
    connection.execute_batch("COMMIT; PRAGMA synchronous = FULL")?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    if let Ok(image) = &image
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

/// The schema that a database has by its tables, whatever its header says; none if it is not ours.
pub(super) fn schema_of(image: &Connection) -> Option<usize> {
    (1..=schema::STEPS.len())
        .rev()
        .find(|steps| has_schema(image, *steps).unwrap_or(false))
}

fn has_schema(image: &Connection, steps: usize) -> rusqlite::Result<bool> {
    let layout = schema::layout(steps)?;
    let has_all = |table: &String| -> rusqlite::Result<bool> {
        let sql = format!("SELECT {} FROM {table} LIMIT 0", columns(&layout, table)?.join(", "));
        let is_needed = matches!(table.as_str(), "sessions" | "events");
        let is_there = || image.prepare(&format!("SELECT 1 FROM {table} LIMIT 0")).is_ok();
        Ok(image.prepare(&sql).is_ok() || (!is_needed && !is_there()))
    };
    for table in tables(&layout)? {
        if !has_all(&table)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a database has all tables, columns, indexes and triggers of the schema that its header names.
pub(super) fn can_work(connection: &Connection) -> rusqlite::Result<bool> {
    let steps = schema::steps_done(connection)?;
    let layout = schema::layout(steps)?;
    let names = "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'search%'";
    let read = |connection: &Connection| -> rusqlite::Result<HashSet<String>> {
        connection.prepare(names)?.query_map([], |row| row.get(0))?.collect()
    };
    if !read(&layout)?.is_subset(&read(connection)?) {
        return Ok(false);
    }
    // To prepare a change is to read its triggers.
    let works = |table: &String| -> rusqlite::Result<bool> {
        let columns = columns(&layout, table)?.join(", ");
        let marks = columns.split(", ").map(|_| "NULL").collect::<Vec<_>>().join(", ");
        let changes = [
            format!("SELECT {columns} FROM {table}"),
            format!("INSERT INTO {table} ({columns}) VALUES ({marks})"),
            format!("DELETE FROM {table}"),
        ];
        Ok(changes.iter().all(|sql| connection.prepare(sql).is_ok()))
    };
    for table in tables(&layout)? {
        if !works(&table)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tables of a layout that are copied.
fn tables(layout: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rootpage";
    layout.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn columns(layout: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = layout.prepare("SELECT name FROM pragma_table_info(?1)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

fn copy_all(image: &Connection, new: &Connection, steps: usize, salvaged: &mut Salvaged) -> rusqlite::Result<()> {
    // They would work on rows that are not all there yet.
    let triggers: Vec<(String, String)> = new
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (name, _) in &triggers {
        new.execute_batch(&format!("DROP TRIGGER {name}"))?;
    }
    for table in tables(new)?.iter().filter(|table| *table != "leases") {
        let copied = Copying::of(image, new, table)?.run()?;
        match table.as_str() {
            "events" => salvaged.lost_rows += copied.refused + copied.missing(new, steps)?,
            "sessions" | "partials" => {}
            _ if copied.is_whole && copied.refused == 0 => {}
            _ => salvaged.doubtful.push(table.clone()),
        }
    }
    if steps >= KEYED {
        salvaged.lost_rows += recount::coerce(new)?;
    }
    named::name_sessions(image, new, steps, salvaged)?;
    keep_numbers(image, new)?;
    for (_, sql) in &triggers {
        new.execute_batch(sql)?;
    }
    Ok(())
}

/// A value as it is, also where it is no text that Rust knows.
struct Raw<'a>(ValueRef<'a>);

impl ToSql for Raw<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(self.0))
    }
}

/// One table on its way.
struct Copying<'a> {
    image: &'a Connection,
    new: &'a Connection,
    table: &'a str,
    columns: Vec<String>,
    /// What a row is asked for by, and its order: `rowid`, or the columns of the primary key of a table without.
    key: String,
    has_rowid: bool,
    /// The numbers that were met.
    seen: HashSet<i64>,
    /// Rows whose number is another's, or none that we give.
    strays: Vec<Vec<Value>>,
    copied: Copied,
}

/// What came of a table.
struct Copied {
    /// All of it could be read.
    is_whole: bool,
    /// Rows that were read and contradict others.
    refused: u64,
}

impl Copied {
    /// The rows that sessions should have by their own count, and don't. A table without damage lacks none.
    fn missing(&self, new: &Connection, steps: usize) -> rusqlite::Result<u64> {
        if self.is_whole {
            return Ok(0);
        }
        let of = if steps < KEYED {
            "session_id = sessions.id"
        } else {
            "session = sessions.key"
        };
        let sql = format!(
            "SELECT coalesce(sum(max(0, last_seq - (SELECT count(*) FROM events WHERE {of}))), 0) FROM sessions"
        );
        new.query_row(&sql, [], |row| row.get(0).map(value::count))
    }
}

impl<'a> Copying<'a> {
    fn of(image: &'a Connection, new: &'a Connection, table: &'a str) -> rusqlite::Result<Self> {
        let has_rowid = new.prepare(&format!("SELECT rowid FROM {table} LIMIT 0")).is_ok();
        let mut key = new.prepare("SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk")?;
        let key: Vec<String> = key
            .query_map([table], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(Self {
            image,
            new,
            table,
            columns: columns(new, table)?,
            key: if has_rowid { "rowid".to_owned() } else { key.join(", ") },
            has_rowid,
            seen: HashSet::new(),
            strays: Vec::new(),
            copied: Copied {
                is_whole: true,
                refused: 0,
            },
        })
    }

    fn run(mut self) -> rusqlite::Result<Copied> {
        if self.image.prepare(&self.select("")).is_err() {
            self.copied.is_whole = false;
            return Ok(self.copied);
        }
        let forward = format!("ORDER BY {}", self.key);
        if !self.scan(&forward)? {
            self.copied.is_whole = false;
            let backward = self.key.split(", ").map(|column| format!("{column} DESC"));
            self.scan(&format!("ORDER BY {}", backward.collect::<Vec<_>>().join(", ")))?;
            match self.has_rowid {
                true => self.probe_numbers()?,
                false => self.probe_hashes()?,
            }
        }
        self.add_strays()?;
        Ok(self.copied)
    }

    fn select(&self, rest: &str) -> String {
        let rowid = if self.has_rowid { "rowid" } else { "NULL" };
        format!("SELECT {rowid}, {} FROM {} {rest}", self.columns.join(", "), self.table)
    }

    /// Takes rows in this order until one can't be read; whether all could.
    fn scan(&mut self, order: &str) -> rusqlite::Result<bool> {
        let image = self.image;
        let Ok(mut statement) = image.prepare(&self.select(order)) else {
            return Ok(false);
        };
        let Ok(mut rows) = statement.query([]) else {
            return Ok(false);
        };
        loop {
            match rows.next() {
                Ok(Some(row)) => self.take(row)?,
                Ok(None) => return Ok(true),
                Err(_) => return Ok(false),
            }
        }
    }

    fn probe_numbers(&mut self) -> rusqlite::Result<()> {
        let given = self
            .image
            .query_row("SELECT seq FROM sqlite_sequence WHERE name = ?1", [self.table], |row| {
                row.get(0)
            });
        let met = self.seen.iter().copied().filter(|id| *id < LAST_ID).max();
        let last = given.unwrap_or(0).max(met.unwrap_or(0)).clamp(0, PROBES);
        let image = self.image;
        let mut statement = image.prepare(&self.select("WHERE rowid = ?1"))?;
        for id in (1..=last).filter(|id| !self.seen.contains(id)).collect::<Vec<_>>() {
            if !self.probe(&mut statement, &id)? {
                self.take_pieces(id)?;
            }
        }
        Ok(())
    }

    /// Takes what can be read of a row that can't be read whole: each column by itself.
    fn take_pieces(&mut self, id: i64) -> rusqlite::Result<()> {
        let image = self.image;
        let mut found = false;
        let values = self.columns.iter().map(|column| {
            let mut statement =
                image.prepare_cached(&format!("SELECT {column} FROM {} WHERE rowid = ?1", self.table))?;
            let piece = statement.query_row([id], |row| row.get::<_, Value>(0));
            found |= piece.is_ok() && column != "id";
            Ok(piece.unwrap_or_else(|_| instead_of(column)))
        });
        let values = values.collect::<rusqlite::Result<Vec<_>>>()?;
        if found
            && self
                .new
                .prepare_cached(&self.insertion())?
                .execute(params_from_iter(values))?
                > 0
        {
            self.seen.insert(id);
        }
        Ok(())
    }

    /// Only bytes have a key that others know: their hash.
    fn probe_hashes(&mut self) -> rusqlite::Result<()> {
        if self.table != "blobs" {
            return Ok(());
        }
        let image = self.image;
        let Ok(mut uses) = image.prepare("SELECT sha256 FROM blob_uses") else {
            return Ok(());
        };
        let mut hashes = HashSet::new();
        let mut rows = uses.query([])?;
        while let Ok(Some(row)) = rows.next() {
            hashes.extend(row.get::<_, String>(0));
        }
        let mut statement = image.prepare(&self.select("WHERE sha256 = ?1"))?;
        for hash in hashes {
            self.probe(&mut statement, &hash)?;
        }
        Ok(())
    }

    /// Takes the row of this key if it is there; whether that could be read.
    fn probe(&mut self, statement: &mut Statement<'_>, key: &dyn ToSql) -> rusqlite::Result<bool> {
        let Ok(mut rows) = statement.query([key]) else {
            return Ok(false);
        };
        match rows.next() {
            Ok(Some(row)) => self.take(row)?,
            Ok(None) => {}
            Err(_) => return Ok(false),
        }
        Ok(true)
    }

    /// Takes a row that was read, unless it was met before.
    fn take(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        if self.has_rowid {
            let id: i64 = row.get(0)?;
            if !self.seen.insert(id) {
                return self.take_again(row);
            }
            if !(1..LAST_ID).contains(&id) {
                return self.keep_stray(row);
            }
        }
        if self.insert(row)? || !self.has_rowid {
            return Ok(());
        }
        self.keep_stray(row)
    }

    /// A row whose number was met before: mostly the same one, met from the other end.
    fn take_again(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let same = self
            .columns
            .iter()
            .map(|column| format!("{column} IS ?"))
            .collect::<Vec<_>>()
            .join(" AND ");
        let sql = format!("SELECT 1 FROM {} WHERE {same}", self.table);
        let values = (1..=self.columns.len()).map(|index| row.get_ref(index).map(Raw));
        let values = values.collect::<rusqlite::Result<Vec<_>>>()?;
        let found = self.new.prepare_cached(&sql)?.exists(params_from_iter(values))?;
        if found { Ok(()) } else { self.keep_stray(row) }
    }

    fn keep_stray(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let values = (1..=self.columns.len()).map(|index| {
            let value = row.get_ref(index)?;
            Ok(Value::try_from(value).unwrap_or(Value::Null))
        });
        self.strays.push(values.collect::<rusqlite::Result<_>>()?);
        Ok(())
    }

    fn insert(&self, row: &Row<'_>) -> rusqlite::Result<bool> {
        let values = (1..=self.columns.len()).map(|index| row.get_ref(index).map(Raw));
        let values = values.collect::<rusqlite::Result<Vec<_>>>()?;
        let inserted = self
            .new
            .prepare_cached(&self.insertion())?
            .execute(params_from_iter(values))?;
        Ok(inserted > 0)
    }

    fn insertion(&self) -> String {
        let marks = vec!["?"; self.columns.len()].join(", ");
        format!(
            "INSERT OR IGNORE INTO {} ({}) VALUES ({marks})",
            self.table,
            self.columns.join(", ")
        )
    }

    /// Gives them numbers of their own.
    fn add_strays(&mut self) -> rusqlite::Result<()> {
        for mut values in std::mem::take(&mut self.strays) {
            if let Some(id) = self.columns.iter().position(|column| column == "id")
                && self.table != "sessions"
            {
                values[id] = Value::Null;
            }
            if self
                .new
                .prepare_cached(&self.insertion())?
                .execute(params_from_iter(values))?
                == 0
            {
                self.copied.refused += 1;
            }
        }
        Ok(())
    }
}

/// What a column gets that can't be read. A row without its text, or without its session, is none.
fn instead_of(column: &str) -> Value {
    match column {
        "at_ms" | "created_ms" | "updated_ms" | "messages" | "last_seq" | "last_turn" | "activity" => Value::Integer(0),
        "kind" | "system" => Value::Text(String::new()),
        "source" => Value::Text("acp".to_owned()),
        "cwd" | "real_cwd" => Value::Text("/".to_owned()),
        "extra_roots" => Value::Text("[]".to_owned()),
        "mode" => Value::Text("default".to_owned()),
        "model" => Value::Text(ModelRef::offline().to_string()),
        "origin" => Value::Text(recount::no_origin()),
        _ => Value::Null,
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
    let count = |sql| new.query_row(sql, [], |row| row.get(0).map(value::count));
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
         UPDATE events SET kind = json_extract(body, '$.event')
         WHERE json_valid(body) AND json_type(body, '$.event') = 'text' AND kind IS NOT json_extract(body, '$.event');
         UPDATE events SET original = NULL
         WHERE original IS NOT NULL AND original NOT IN (SELECT id FROM events);",
    )?;
    recount::recount(new)?;
    titles::mend(new)?;
    index::rebuild(new)?;
    finish_messages(new)?;
    salvaged.sessions = count("SELECT count(*) FROM sessions")?;
    salvaged.rows = count("SELECT count(*) FROM events")?;
    Ok(())
}
