//! The log: to stderr and to a daily file, never to stdout. Both are written by threads of their own that drop lines
//! rather than wait, since a reader of stderr may have stopped reading.

mod background;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_core::folder::private_folder;
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::paths::private_file;
use background::Background;

/// Files that are kept, one a day.
const KEPT: usize = 7;

/// What the lines that wait at the end get to be written, all writers together.
const LAST_LINES: Duration = Duration::from_millis(300);

/// Keeps the log going; dropping it writes what still waits.
#[must_use = "the log ends when this is dropped"]
pub(crate) struct Logging {
    writers: Vec<Arc<Background>>,
}

impl Drop for Logging {
    fn drop(&mut self) {
        let deadline = Instant::now() + LAST_LINES;
        for writer in &self.writers {
            writer.end(deadline);
        }
    }
}

/// Who reads our stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// An editor, which keeps it as a log.
    Editor,
    /// A person, who is told of trouble with the history in our own words.
    Person,
}

impl Reader {
    /// What is logged there where nobody asks for something else.
    fn usual(self) -> &'static str {
        match self {
            Self::Editor => "warn,rmcp=off",
            Self::Person => "warn,rmcp=off,agent_core::store=off",
        }
    }
}

/// Starts the log. Nothing here can fail the program: without a folder there is no file.
pub(crate) fn start(folder: Option<PathBuf>, reader: Reader) -> Logging {
    let stderr = Arc::new(Background::new("log-stderr", io::stderr()));
    let mut writers = vec![stderr.clone()];
    let to_stderr = fmt::layer()
        .with_writer(stderr)
        .without_time()
        .with_target(false)
        .with_ansi(false)
        .with_filter(filter(reader.usual()));
    let to_file = folder.map(|folder| {
        let file = Arc::new(Background::new("log-file", DailyFile::new(folder, today)));
        writers.push(file.clone());
        let ours = "warn,rmcp=off,agent=info,agent_core=info,acp_adapter=info,providers=info,toolsets=info";
        fmt::layer()
            .with_writer(file)
            .with_ansi(false)
            .with_filter(filter(ours))
    });
    // An error means that a log is there already, as in tests.
    let _ = tracing_subscriber::registry().with(to_stderr).with(to_file).try_init();
    Logging { writers }
}

/// What the environment asks for, or else `usual`. A filter that makes no sense counts as none. The crate that speaks
/// with MCP servers is off unless it is asked for by its name: it writes out whole messages, and addresses with the keys in them.
fn filter(usual: &str) -> EnvFilter {
    let asked = ["TALARIA_LOG", "RUST_LOG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    let asked = asked.and_then(|asked| asked_for(&asked));
    asked.unwrap_or_else(|| EnvFilter::new(usual))
}

fn asked_for(asked: &str) -> Option<EnvFilter> {
    let wants_rmcp = asked.contains("rmcp");
    let quiet = if wants_rmcp {
        asked.to_owned()
    } else {
        format!("{asked},rmcp=off")
    };
    EnvFilter::try_new(quiet).ok()
}

/// Where lines of today are written.
pub(crate) fn file_of_today(folder: &Path) -> PathBuf {
    file_of(folder, &today())
}

fn file_of(folder: &Path, day: &str) -> PathBuf {
    folder.join(format!("agent.{day}.log"))
}

/// Today's date in UTC, as it is written in file names.
fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// A log file a day, made at its first line. What can't be written is dropped: a log is no reason to fail.
struct DailyFile {
    folder: PathBuf,
    today: fn() -> String,
    open: Option<(String, File)>,
}

impl DailyFile {
    fn new(folder: PathBuf, today: fn() -> String) -> Self {
        Self {
            folder,
            today,
            open: None,
        }
    }

    fn file(&mut self) -> Option<&mut File> {
        let day = (self.today)();
        if self.open.as_ref().is_none_or(|(open, _)| *open != day) {
            // First the one above: it may be no place for files of ours.
            self.folder.parent().map_or(Ok(()), private_folder).ok()?;
            private_folder(&self.folder).ok()?;
            let file = private_file(&file_of(&self.folder, &day)).ok()?;
            self.open = Some((day, file));
            prune(&self.folder);
        }
        self.open.as_mut().map(|(_, file)| file)
    }
}

impl Write for DailyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = self.file() {
            // Dropped, as said above.
            let _ = file.write_all(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Deletes all but the newest files; dates in names sort by age.
fn prune(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut logs: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_log(path))
        .collect();
    logs.sort();
    for old in logs.iter().rev().skip(KEPT) {
        // Another process may have been quicker.
        let _ = fs::remove_file(old);
    }
}

fn is_log(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("agent.") && name.ends_with(".log")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn seven_days_are_kept_private_and_other_files_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("logs");
        fs::create_dir(&folder).unwrap();
        for day in 10..20 {
            fs::write(folder.join(format!("agent.2026-11-{day}.log")), "").unwrap();
        }
        fs::write(folder.join("mine.txt"), "").unwrap();
        let mut log = DailyFile::new(folder.clone(), || "2026-11-30".into());
        log.write_all(b"one\n").unwrap();
        log.write_all(b"two\n").unwrap();
        let written = folder.join("agent.2026-11-30.log");
        assert_eq!(fs::read_to_string(&written).unwrap(), "one\ntwo\n");
        assert_eq!(fs::metadata(&written).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), KEPT + 1);
        assert!(!folder.join("agent.2026-11-13.log").exists());
        assert!(folder.join("agent.2026-11-14.log").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_is_no_fault() {
        let home = tempfile::tempdir().unwrap();
        let blocked = home.path().join("logs");
        fs::write(&blocked, "").unwrap();
        let mut log = DailyFile::new(blocked, || "2026-11-30".into());
        log.write_all(b"one\n").unwrap();
    }
}
