//! How paths and counts stand in columns.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};

/// A path: text, or a blob where it is no UTF-8, so that each path has one form and equality in SQL is equality.
pub(super) struct PathColumn<'a>(pub(super) &'a Path);

impl ToSql for PathColumn<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self.0.to_str() {
            Some(text) => ValueRef::Text(text.as_bytes()),
            None => ValueRef::Blob(self.0.as_os_str().as_bytes()),
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

/// A path that was read.
pub(super) struct StoredPath(pub(super) PathBuf);

impl FromSql for StoredPath {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(Self(PathBuf::from(OsStr::from_bytes(bytes)))),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Err(FromSqlError::InvalidType),
        }
    }
}

/// A count as SQLite keeps it. Nothing real comes near the end of its range.
pub(super) fn column(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count that was read; a negative one, which we never write, is 0.
pub(super) fn count(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}
