//! The records of a single page of a database, read from its bytes alone, as the file format says. SQLite comes to a page
//! only through the pages above it; what lies below a bad one is read here.
//!
//! Nothing of a page is believed: each place is looked up with its bounds, and what does not fit is passed over.

use std::collections::HashSet;

use rusqlite::types::Value;

/// A page of a table: its rows.
const TABLE: u8 = 0x0d;
/// Pages of an index, or of a table that is one.
const INDEX: u8 = 0x0a;
const INDEX_INNER: u8 = 0x02;

/// The header of the file lies before that of its first page.
const FILE_HEADER: usize = 100;

/// No value is longer, so that a page of noise does not make us read the whole file.
const LONGEST: u64 = 1 << 30;

/// A row of a table, or of a table that is an index.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    /// Its place on its page.
    pub(super) cell: usize,
    /// Its number; none in an index.
    pub(super) rowid: Option<i64>,
    /// What it holds.
    pub(super) values: Vec<Value>,
}

/// A page of a file.
#[derive(Clone, Copy)]
pub(super) struct Page<'a> {
    /// From 1.
    pub(super) number: u32,
    /// As long as all pages of the file.
    pub(super) bytes: &'a [u8],
    /// Finds other pages, for what is too long for one.
    pub(super) others: &'a dyn Fn(u32) -> Option<Vec<u8>>,
}

impl Page<'_> {
    /// All records that can be read.
    pub(super) fn records(&self) -> Vec<Record> {
        (0..self.cells()).filter_map(|cell| self.record(cell)).collect()
    }

    /// The record at a place.
    pub(super) fn record(&self, cell: usize) -> Option<Record> {
        let kind = self.kind()?;
        let header = if kind == INDEX_INNER { 12 } else { 8 };
        let mut at = usize::from(u16_at(self.bytes, self.begin() + header + 2 * cell)?);
        if kind == INDEX_INNER {
            at = at.checked_add(4)?;
        }
        let length = varint(self.bytes, &mut at)?;
        let rowid = match kind {
            TABLE => Some(varint(self.bytes, &mut at)?.cast_signed()),
            _ => None,
        };
        let payload = self.payload(at, length, rowid.is_some())?;
        Some(Record {
            cell,
            rowid,
            values: values(&payload)?,
        })
    }

    /// So many records the page says it has, as far as there is room for that.
    fn cells(&self) -> usize {
        let said = u16_at(self.bytes, self.begin() + 3).map_or(0, usize::from);
        said.min(self.bytes.len() / 2)
    }

    fn begin(&self) -> usize {
        if self.number == 1 { FILE_HEADER } else { 0 }
    }

    fn kind(&self) -> Option<u8> {
        let kind = *self.bytes.get(self.begin())?;
        matches!(kind, TABLE | INDEX | INDEX_INNER).then_some(kind)
    }

    /// The bytes of a record: those on the page, and those on others.
    fn payload(&self, at: usize, length: u64, is_of_table: bool) -> Option<Vec<u8>> {
        if length > LONGEST {
            return None;
        }
        let length = usize::try_from(length).ok()?;
        let size = self.bytes.len();
        let most = match is_of_table {
            true => size.checked_sub(35)?,
            false => (size.checked_sub(12)? * 64 / 255).checked_sub(23)?,
        };
        if length <= most {
            return self.bytes.get(at..at.checked_add(length)?).map(<[u8]>::to_vec);
        }
        let least = (size.checked_sub(12)? * 32 / 255).checked_sub(23)?;
        let here = least + (length - least) % size.checked_sub(4)?;
        let here = if here <= most { here } else { least };
        let end = at.checked_add(here)?;
        let mut payload = self.bytes.get(at..end)?.to_vec();
        let mut next = u32_at(self.bytes, end)?;
        let mut seen = HashSet::new();
        while payload.len() < length {
            if next == 0 || !seen.insert(next) {
                return None;
            }
            let page = (self.others)(next)?;
            next = u32_at(&page, 0)?;
            let piece = page.get(4..)?;
            payload.extend_from_slice(&piece[..piece.len().min(length - payload.len())]);
        }
        Some(payload)
    }
}

/// The values of a record, which must fill it to the last byte.
fn values(payload: &[u8]) -> Option<Vec<Value>> {
    let mut at = 0;
    let end = usize::try_from(varint(payload, &mut at)?).ok()?;
    let types = payload.get(..end)?;
    let mut body = payload.get(end..)?;
    let mut values = Vec::new();
    while at < end {
        let kind = varint(types, &mut at)?;
        let (value, length) = value(kind, body)?;
        body = body.get(length..)?;
        values.push(value);
    }
    (body.is_empty() && at == end).then_some(values)
}

/// A value of a type, and how long it is.
fn value(kind: u64, body: &[u8]) -> Option<(Value, usize)> {
    let integer = |length: usize| {
        let bytes = body.get(..length)?;
        let is_negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
        let begin = if is_negative { -1 } else { 0 };
        let number = bytes
            .iter()
            .fold(begin, |number, byte| (number << 8) | i64::from(*byte));
        Some((Value::Integer(number), length))
    };
    match kind {
        0 => Some((Value::Null, 0)),
        1..=4 => integer(usize::try_from(kind).ok()?),
        5 => integer(6),
        6 => integer(8),
        7 => Some((Value::Real(f64::from_be_bytes(body.get(..8)?.try_into().ok()?)), 8)),
        8 => Some((Value::Integer(0), 0)),
        9 => Some((Value::Integer(1), 0)),
        10 | 11 => None,
        _ => {
            let length = usize::try_from((kind - 12) / 2).ok()?;
            let bytes = body.get(..length)?.to_vec();
            let value = match kind.is_multiple_of(2) {
                true => Value::Blob(bytes),
                false => Value::Text(String::from_utf8(bytes).ok()?),
            };
            Some((value, length))
        }
    }
}

/// Reads a number of one to nine bytes, and goes behind it.
fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if place == 8 {
            return Some((number << 8) | u64::from(byte));
        }
        number = (number << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::collections::HashMap;
    use std::path::Path;

    use proptest::prelude::*;
    use rusqlite::Connection;

    use super::*;

    /// A small database of all types and sizes of values: its pages, and the rows that SQLite reads.
    struct Sample {
        pages: Vec<Vec<u8>>,
        rows: HashMap<i64, Vec<Value>>,
        keys: HashMap<String, Vec<u8>>,
    }

    fn make(path: &Path, size: usize, rows: i64) -> Sample {
        let connection = Connection::open(path).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA page_size = {size};
                 CREATE TABLE rows (id INTEGER PRIMARY KEY, a, b, c);
                 CREATE TABLE keyed (k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID;"
            ))
            .unwrap();
        for n in 0..rows {
            let number = (1_i64 << (n % 64)).wrapping_sub(n % 3 + 1);
            let number = if n % 2 == 0 { number } else { number.wrapping_neg() };
            connection
                .execute(
                    "INSERT INTO rows VALUES (?1, ?2, ?3, ?4)",
                    (
                        n * 7 + 1,
                        number,
                        0.5,
                        "é".repeat(usize::try_from(n * n % 9000).unwrap()),
                    ),
                )
                .unwrap();
            let bytes = vec![1_u8; usize::try_from(n * 37 % 5000).unwrap()];
            connection
                .execute("INSERT INTO keyed VALUES (?1, ?2)", (format!("{n}"), bytes))
                .unwrap();
        }
        let values = |row: &rusqlite::Row<'_>| -> rusqlite::Result<(i64, Vec<Value>)> {
            Ok((row.get(0)?, vec![Value::Null, row.get(1)?, row.get(2)?, row.get(3)?]))
        };
        let mut rows = connection.prepare("SELECT * FROM rows").unwrap();
        let rows = rows.query_map([], values).unwrap().map(Result::unwrap).collect();
        let mut keys = connection.prepare("SELECT * FROM keyed").unwrap();
        let keys = keys.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let keys = keys.map(Result::unwrap).collect();
        let bytes = std::fs::read(path).unwrap();
        let pages = bytes.chunks(size).map(<[u8]>::to_vec).collect();
        Sample { pages, rows, keys }
    }

    fn records(pages: &[Vec<u8>]) -> Vec<Record> {
        let others = |number: u32| pages.get(usize::try_from(number).unwrap().checked_sub(1)?).cloned();
        let numbered = (1..).zip(pages);
        let found = numbered.flat_map(|(number, bytes)| {
            Page {
                number,
                bytes,
                others: &others,
            }
            .records()
        });
        found.collect()
    }

    #[test]
    fn all_rows_are_read_as_sqlite_reads_them() {
        for size in [512, 1024, 4096, 8192, 65_536] {
            let folder = tempfile::tempdir().unwrap();
            let sample = make(&folder.path().join("db"), size, 300);
            let (mut rows, mut keys) = (sample.rows, sample.keys);
            for record in records(&sample.pages) {
                match (record.rowid, record.values.as_slice()) {
                    (Some(id), values) if values.len() == 4 => assert_eq!(rows.remove(&id).unwrap(), values),
                    (None, [Value::Text(key), Value::Blob(bytes)]) => assert_eq!(keys.remove(key).unwrap(), *bytes),
                    _ => {}
                }
            }
            assert!(
                rows.is_empty() && keys.is_empty(),
                "{size}: {} {}",
                rows.len(),
                keys.len()
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn noise_is_no_trouble(bytes in proptest::collection::vec(any::<u8>(), 0..2000), kind in 0_usize..4, number in 1_u32..3) {
            let mut bytes = bytes;
            let begin = if number == 1 { FILE_HEADER } else { 0 };
            if let Some(first) = bytes.get_mut(begin) {
                *first = [TABLE, INDEX, INDEX_INNER, 0][kind];
            }
            let others = |_| Some(bytes.clone());
            let _ = Page { number, bytes: &bytes, others: &others }.records();
        }

        #[test]
        fn damage_is_no_trouble(spots in proptest::collection::vec((0_usize..100_000, any::<u8>()), 1..200)) {
            thread_local! {
                static SAMPLE: Vec<Vec<u8>> = {
                    let folder = tempfile::tempdir().unwrap();
                    make(&folder.path().join("db"), 1024, 40).pages
                };
            }
            let mut pages = SAMPLE.with(Clone::clone);
            for (at, byte) in spots {
                let count = pages.len();
                pages[at / 1024 % count][at % 1024] = byte;
            }
            let _ = records(&pages);
        }
    }
}
