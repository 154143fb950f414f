//! The tables and columns that a database has, beside those that its schema says.

use std::collections::HashSet;

use rusqlite::Connection;

use crate::store::schema;

/// The schema of the first version that names sessions by a number.
pub(super) const KEYED: usize = 7;

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
pub(super) fn tables(layout: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rootpage";
    layout.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// The columns of one of its tables.
pub(super) fn columns(layout: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = layout.prepare("SELECT name FROM pragma_table_info(?1)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}
