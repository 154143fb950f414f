//! One table on its way into the new database.
//!
//! SQLite stops a query at the first page it can't read. So a table is read from both ends, and what lies in between by
//! asking for each number that a row may have.

use std::collections::HashSet;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Row, Statement, ToSql, params_from_iter};

use super::layout::columns;
use super::recount;
use crate::provider::ModelRef;

/// The most numbers that are asked for in one table.
const PROBES: i64 = 20_000_000;

/// No row has a number beyond this one, unless a bit of it has fallen over.
pub(super) const LAST_ID: i64 = 1 << 48;

/// Copies all rows of a table that can be read.
pub(super) fn copy(image: &Connection, new: &Connection, table: &str) -> rusqlite::Result<Copied> {
    Copying::of(image, new, table)?.run()
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
#[derive(Default)]
pub(super) struct Copied {
    /// All of it could be read.
    pub(super) is_whole: bool,
    /// Rows that were read and contradict others.
    pub(super) refused: u64,
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
        // One by one: damage may say that there were millions, of which a list would take a quarter of a gigabyte.
        for id in 1..=last {
            if !self.seen.contains(&id) && !self.probe(&mut statement, &id)? {
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
        "cwd" | "real_cwd" => Value::Text(recount::NO_FOLDER.to_owned()),
        "extra_roots" => Value::Text("[]".to_owned()),
        "mode" => Value::Text("default".to_owned()),
        "model" => Value::Text(ModelRef::offline().to_string()),
        "origin" => Value::Text(recount::no_origin()),
        _ => Value::Null,
    }
}
