//! The editor's side of a session's files: what it shows of one, what that means beside what is on disk, and writing
//! through it. An editor that fails or is slow is left alone for a while, so that nothing ever waits for it again and
//! again.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use agent_core::asker::{AskError, Asker};
use agent_core::boundary::is_secret_name;
use agent_core::cancel::Cancel;
use agent_core::plan::Place;
use parking_lot::Mutex;

use crate::coding::{self, Coding};
use crate::files::{Fingerprint, fingerprint};
use crate::lines::LineEnd;
use crate::runs::Runs;

/// A larger file stays on disk: some editors take no longer line, and none shows it in time.
pub(crate) const MAX_SHOWN: u64 = 2 * 1024 * 1024;
/// How long an editor is left alone that was slow, or has failed too often.
const REST: Duration = Duration::from_secs(60);
/// So many errors in a row are too often. One is nothing: the editor may have no view of just this file.
const ERRORS: u32 = 3;

/// The editor, as far as it serves files.
pub(crate) struct Editor {
    asker: Asker,
    /// Real paths of the session's folders.
    roots: Vec<PathBuf>,
    runs: Arc<Runs>,
    /// The text, line ends aside, that the editor showed of a file when it had nothing that was not on disk too. One entry
    /// a file that was looked at; it ends with the session.
    agreed: Mutex<HashMap<PathBuf, Fingerprint>>,
    patience: Mutex<Patience>,
}

#[derive(Default)]
struct Patience {
    errors: u32,
    rests_until: Option<Instant>,
    told: bool,
}

/// What an editor shows of a file, beside what is on disk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum View {
    /// The same, or it was not asked, or it did not say.
    Same,
    /// What the user has not saved yet: it goes before the disk.
    Unsaved(Vec<u8>),
    /// What was on disk before it changed there: the disk goes before it.
    Stale,
    /// Something else, and the file may have changed on disk by a command: neither may be written over the other.
    Unclear,
}

impl View {
    /// What a model is told about it.
    pub(crate) fn note(&self) -> Option<&'static str> {
        match self {
            Self::Same => None,
            Self::Unsaved(_) => Some("[the editor's text, with changes that are not saved yet]\n"),
            Self::Stale => Some("[from disk; the editor still shows the text from before the file changed]\n"),
            Self::Unclear => Some(
                "[from disk; the editor shows another text, perhaps with changes that are not saved: before this file can \
                 be changed, the user has to save or reload it there]\n",
            ),
        }
    }
}

impl Editor {
    /// The editor behind `asker`, for files in these folders.
    pub(crate) fn new(asker: Asker, roots: &[PathBuf], runs: Arc<Runs>) -> Self {
        let real = |root: &PathBuf| root.canonicalize().unwrap_or_else(|_| root.clone());
        Self {
            asker,
            roots: roots.iter().map(real).collect(),
            runs,
            agreed: Mutex::default(),
            patience: Mutex::default(),
        }
    }

    /// What it shows of a file that holds `disk`.
    pub(crate) fn view(&self, place: &Place, disk: &[u8], cancel: &Cancel) -> View {
        let Some(text) = plain(disk).filter(|_| self.asker.abilities().reads_files && self.serves(place)) else {
            return View::Same;
        };
        // Before it is asked: what changes from now on is seen the next time.
        let changed = changed_at(&place.real);
        let asked = self.asker.read_file(place.path.clone(), cancel);
        match self.heard("read", asked) {
            Some(shown) => self.compare(place, text, &shown, changed),
            None => View::Same,
        }
    }

    fn compare(&self, place: &Place, disk: &str, shown: &str, changed: Option<SystemTime>) -> View {
        let (on_disk, on_screen) = (mark(disk), mark(shown));
        let mut agreed = self.agreed.lock();
        if on_disk == on_screen {
            agreed.insert(place.real.clone(), on_disk);
            return View::Same;
        }
        let agreed = agreed.get(&place.real);
        let unsaved = || View::Unsaved(as_on_disk(disk, shown).into_bytes());
        if agreed == Some(&on_screen) {
            View::Stale
        } else if agreed == Some(&on_disk) {
            unsaved()
        } else if changed.is_none_or(|changed| self.runs.ran_at(changed)) {
            View::Unclear
        } else {
            unsaved()
        }
    }

    /// Whether it is asked to write this text to this place.
    pub(crate) fn writes(&self, place: &Place, text: &[u8]) -> bool {
        plain(text).is_some() && self.asker.abilities().writes_files && self.serves(place)
    }

    /// Has it write a file. `false`: it did not say that it has.
    ///
    /// # Errors
    /// At a cancel or when it leaves; it may still write.
    pub(crate) fn write(&self, place: &Place, text: &[u8], cancel: &Cancel) -> Result<bool, AskError> {
        let Some(text) = plain(text) else { return Ok(false) };
        let asked = self.asker.write_file(place.path.clone(), text.to_owned(), cancel);
        match asked {
            Err(error @ (AskError::Cancelled | AskError::Gone)) => Err(error),
            asked => Ok(self.heard("write", asked).is_some()),
        }
    }

    /// It shows what is on disk now.
    pub(crate) fn agrees(&self, place: &Place, disk: &[u8]) {
        if let Some(text) = plain(disk) {
            self.agreed.lock().insert(place.real.clone(), mark(text));
        }
    }

    /// Whether a place is one that it is asked about now. A secret is nobody's but the disk's.
    fn serves(&self, place: &Place) -> bool {
        let is_inside = self.roots.iter().any(|root| place.real.starts_with(root));
        let is_secret = is_secret_name(&place.path) || is_secret_name(&place.real);
        is_inside && !is_secret && place.path.to_str().is_some() && !self.rests()
    }

    fn rests(&self) -> bool {
        let until = self.patience.lock().rests_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    /// What it answered; an error costs some patience.
    fn heard<T>(&self, what: &str, answer: Result<T, AskError>) -> Option<T> {
        let mut patience = self.patience.lock();
        let error = match answer {
            Ok(answer) => {
                patience.errors = 0;
                return Some(answer);
            }
            Err(AskError::Cancelled | AskError::Gone | AskError::Unable) => return None,
            Err(error) => error,
        };
        patience.errors += 1;
        if error == AskError::TimedOut || patience.errors >= ERRORS {
            patience.rests_until = Some(Instant::now() + REST);
            patience.errors = 0;
        }
        if std::mem::replace(&mut patience.told, true) {
            tracing::debug!(%error, what, "the editor did not serve a file");
        } else {
            tracing::warn!(%error, what, "the editor did not serve a file; the disk does. Told once a session");
        }
        None
    }
}

/// A text that an editor can be given and shows as it is: plain UTF-8, and not too long.
fn plain(bytes: &[u8]) -> Option<&str> {
    if bytes.len() as u64 > MAX_SHOWN || Coding::detect(bytes, true) != Some(Coding::PLAIN) {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

/// When a file changed last, in any way: also by taking the place of another one.
fn changed_at(real: &Path) -> Option<SystemTime> {
    let metadata = fs::symlink_metadata(real).ok()?;
    let seconds = Duration::from_secs(u64::try_from(metadata.ctime()).ok()?);
    let rest = Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).ok()?);
    Some(SystemTime::UNIX_EPOCH + seconds + rest)
}

/// A text's identity, line ends aside: editors keep them apart from the text.
fn mark(text: &str) -> Fingerprint {
    fingerprint(with_plain_ends(text).as_bytes())
}

fn with_plain_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// What an editor shows, with the line ends that the file has.
fn as_on_disk(disk: &str, shown: &str) -> String {
    if shown.contains('\r') {
        return shown.to_owned();
    }
    LineEnd::of(disk).apply(shown)
}

/// Whether two contents are the same text but for its line ends.
pub(crate) fn same_text(one: &[u8], other: &[u8]) -> bool {
    let text = |bytes| coding::decode(bytes).map(|(text, _)| with_plain_ends(&text));
    text(one).is_some_and(|one| text(other) == Some(one))
}
