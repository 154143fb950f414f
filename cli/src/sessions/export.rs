//! `agent sessions export` and `import`: a session as a file, and back.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use agent_core::id::SessionId;
use agent_core::portable::{self, Keys};
use agent_core::search::masked;
use agent_core::store::{Dated, SessionRecord};
use agent_core::visible;

use super::{NO_TITLE, SessionJson, one, print_json, transcript};
use crate::args::ExportFormat;
use crate::exit::{Exit, Fail};
use crate::outfile::Outfile;
use crate::terminal;
use crate::transcript::markdown;
use crate::wiring::Store;

/// The largest file that is read.
const LARGEST: u64 = 512 * 1024 * 1024;

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

/// Stores a session from a file.
pub(super) fn import(store: &Store, file: &Path, as_new: bool, json: bool) -> Result<(), Fail> {
    let fail = |why: String| Fail::new(Exit::Failed, format!("can't import {}: {why}", file.display()));
    let bytes = read(file).map_err(|error| fail(error.to_string()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(fail(format!("it has more than {} MiB", LARGEST >> 20)));
    }
    let mut import = portable::read(&bytes).map_err(|error| fail(error.to_string()))?;
    if as_new {
        import = portable::as_new(import, &SessionId::new());
    }
    let id = import.record.id.clone();
    if store.session(&id)?.is_some() {
        if portable::has_all(&store.rows(&id, 0, usize::MAX)?, &import.rows) {
            writeln!(terminal::stderr(), "{id} is stored already, with all of this")?;
            return told(store, &id, json);
        }
        return Err(fail(format!(
            "there is a session {id} with other content: add --as-new to store this one beside it"
        )));
    }
    if import.rows.is_empty() {
        return Err(fail("it has no events".to_owned()));
    }
    let rows = import.rows.len();
    store.import(import).map_err(|error| fail(error.to_string()))?;
    writeln!(terminal::stderr(), "imported, {rows} events")?;
    told(store, &id, json)
}

fn told(store: &Store, id: &SessionId, json: bool) -> Result<(), Fail> {
    let Some(session) = store.session(id)? else {
        return Ok(());
    };
    if json {
        return print_json(&SessionJson::from(&session));
    }
    writeln!(terminal::stdout(), "{id}")?;
    Ok(())
}

/// All of a file, and one byte more than may be.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    // Before it is opened: a pipe that nobody writes to has no end.
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    File::open(file)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
