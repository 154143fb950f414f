//! `agent sessions export`: a session as a file.

use std::io::Write;
use std::path::Path;

use agent_core::portable::{self, Keys};
use agent_core::search::masked;
use agent_core::store::{Dated, SessionRecord};
use agent_core::visible;

use super::{NO_TITLE, one, transcript};
use crate::args::ExportFormat;
use crate::exit::Fail;
use crate::outfile::Outfile;
use crate::terminal;
use crate::transcript::markdown;
use crate::wiring::Store;

/// What is written, and how.
pub(super) struct Wish<'a> {
    pub(super) id: &'a str,
    pub(super) format: Option<ExportFormat>,
    pub(super) to: Outfile<'a>,
    pub(super) exact: bool,
}

/// Writes a session.
pub(super) fn export(store: &Store, wish: &Wish<'_>) -> Result<(), Fail> {
    let format = wish.format.unwrap_or_else(|| by_ending(wish.to.file()));
    if wish.exact && format == ExportFormat::Md {
        return Err(Fail::usage(
            "--exact is for JSON and JSON lines: a transcript is always masked",
        ));
    }
    let (record, rows) = one(store, wish.id)?;
    let keys = match wish.exact {
        true => Keys::Exact,
        false => Keys::Masked,
    };
    let bytes = match format {
        ExportFormat::Md => {
            let mut bytes = Vec::new();
            markdown::write(&mut bytes, &transcript(store, &record, &rows)?)?;
            bytes
        }
        ExportFormat::Json => json(&record, &rows, keys)?,
        ExportFormat::Jsonl => json_lines(&rows, keys)?,
    };
    wish.to.write(&bytes)?;
    if let Some(path) = wish.to.file() {
        let title = visible::line(&masked(record.title.as_deref().unwrap_or(NO_TITLE)));
        writeln!(terminal::stderr(), "{title}: written to {}", path.display())?;
    }
    Ok(())
}

fn by_ending(path: Option<&Path>) -> ExportFormat {
    match path.and_then(Path::extension).and_then(|ending| ending.to_str()) {
        Some("md") => ExportFormat::Md,
        Some("jsonl") => ExportFormat::Jsonl,
        Some(_) | None => ExportFormat::Json,
    }
}

fn json(record: &SessionRecord, rows: &[Dated], keys: Keys) -> Result<Vec<u8>, Fail> {
    let mut bytes = serde_json::to_vec(&portable::document(record, rows, keys))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn json_lines(rows: &[Dated], keys: Keys) -> Result<Vec<u8>, Fail> {
    let mut bytes = Vec::new();
    for envelope in rows.iter().filter_map(|row| portable::envelope(row, keys)) {
        serde_json::to_writer(&mut bytes, &envelope)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}
