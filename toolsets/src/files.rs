//! A session's files: opened safely, read whole or refused with a reason, and remembered once they were read.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::cancel::Cancel;
use agent_core::plan::Place;
use agent_core::tool::ToolError;
use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::retry_on_intr;
use sha2::{Digest, Sha256};

use crate::coding::SAMPLE;
use crate::editor::{Editor, MAX_SHOWN, View};
use crate::forbidden::Known;
use crate::held::{self, Held};
use crate::nearby;
use crate::place::Places;
use crate::runs::Runs;

/// Files above this size are read by windows only, and not changed.
pub(crate) const MAX_WHOLE: u64 = 64 * 1024 * 1024;

/// What a file held.
pub(crate) type Fingerprint = [u8; 32];

/// The files of one session; all its tools share it.
pub(crate) struct Files {
    pub(crate) places: Places,
    /// The editor, where it is to serve files.
    pub(crate) editor: Option<Editor>,
    /// When what may change files ran.
    pub(crate) runs: Arc<Runs>,
    /// What the session knows each file to hold, by its real path. One entry a file read; it ends with the session.
    seen: Mutex<HashMap<PathBuf, Fingerprint>>,
}

impl Files {
    /// The files of these places, on disk and, where there is one, as the editor shows them.
    pub(crate) fn new(places: Places, editor: Option<Editor>, runs: Arc<Runs>) -> Self {
        Self {
            places,
            editor,
            runs,
            seen: Mutex::default(),
        }
    }

    /// Opens a regular file for reading; never blocks on a pipe and never touches a device.
    pub(crate) fn open(&self, place: &Place) -> Result<(File, Metadata), ToolError> {
        self.check_unmoved(place)?;
        let held = Held::find(&place.real).map_err(|error| self.unreadable(place, &error))?;
        self.open_held(place, &held)
    }

    /// Opens a regular file whose path has just been found by walking from a checked place; `known` is what no tool
    /// touches, as that was when the walk began.
    pub(crate) fn open_real(&self, place: &Place, known: &Known) -> Result<(File, Metadata), ToolError> {
        self.open_at(place, CWD, place.real.as_os_str(), known)
    }

    fn open_held(&self, place: &Place, held: &Held) -> Result<(File, Metadata), ToolError> {
        self.open_at(place, held.folder(), held.name(), &self.places.known())
    }

    fn open_at(
        &self,
        place: &Place,
        folder: BorrowedFd<'_>,
        name: &OsStr,
        known: &Known,
    ) -> Result<(File, Metadata), ToolError> {
        // Before it is opened: closing a file of the history again is what does the harm.
        if fs::symlink_metadata(&place.real).is_ok_and(|facts| known.is(&facts)) {
            return Err(self.places.refusal(&place.path));
        }
        let failed = |error: io::Error| self.unreadable(place, &error);
        let facts = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| failed(error.into()))?;
        self.check_kind(place, FileType::from_raw_mode(facts.st_mode))?;
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file =
            retry_on_intr(|| openat(folder, name, flags, Mode::empty())).map_err(|error| failed(error.into()))?;
        let file = File::from(file);
        // Asked again of the open file: another one may stand there by now.
        let facts = fstat(&file).map_err(|error| failed(error.into()))?;
        self.check_kind(place, FileType::from_raw_mode(facts.st_mode))?;
        let metadata = file.metadata().map_err(failed)?;
        if known.is(&metadata) {
            return Err(self.places.refusal(&place.path));
        }
        Ok((file, metadata))
    }

    /// Reads a whole file; none if there is no such file.
    pub(crate) fn load(&self, place: &Place) -> Result<Option<Arc<[u8]>>, ToolError> {
        self.check_unmoved(place)?;
        match Held::find(&place.real) {
            Ok(held) => self.load_held(place, &held),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.check_folder(place)?;
                Ok(None)
            }
            Err(error) => Err(self.unreadable(place, &error)),
        }
    }

    /// The same where the place's folder is held already.
    pub(crate) fn load_held(&self, place: &Place, held: &Held) -> Result<Option<Arc<[u8]>>, ToolError> {
        let failed = |error: io::Error| self.unreadable(place, &error);
        if !held.exists().map_err(failed)? {
            self.check_folder(place)?;
            return Ok(None);
        }
        let (file, metadata) = self.open_held(place, held)?;
        if metadata.len() > MAX_WHOLE {
            return Err(self.too_large(place, metadata.len()));
        }
        let bytes = whole(file.take(MAX_WHOLE + 1), metadata.len()).map_err(failed)?;
        if bytes.len() as u64 > MAX_WHOLE {
            return Err(self.too_large(place, bytes.len() as u64));
        }
        Ok(Some(bytes))
    }

    /// Reads a whole file, and what the editor shows of it; none if there is no such file on disk.
    pub(crate) fn look(&self, place: &Place, cancel: &Cancel) -> Result<Option<Loaded>, ToolError> {
        let disk = self.load(place)?;
        Ok(disk.map(|disk| Loaded {
            view: self.view(place, &disk, cancel),
            disk,
        }))
    }

    /// The same for a file that is to be changed.
    pub(crate) fn look_to_change(&self, place: &Place, cancel: &Cancel) -> Result<Option<Loaded>, ToolError> {
        let loaded = self.look(place, cancel)?;
        if loaded.as_ref().is_none_or(|loaded| loaded.view != View::Unclear) {
            return Ok(loaded);
        }
        let shown = self.places.shown(&place.path);
        Err(ToolError::new(format!(
            "{shown} has changed on disk, and the editor shows another text that may hold changes which are not saved; \
             nothing was done: ask the user to save or to reload it in the editor, then read it again"
        )))
    }

    fn view(&self, place: &Place, disk: &[u8], cancel: &Cancel) -> View {
        let view = |editor: &Editor| editor.view(place, disk, cancel);
        self.editor.as_ref().map_or(View::Same, view)
    }

    /// A file that is open and of which `head` was read, as it goes before: from disk, or what the editor shows.
    pub(crate) fn current(&self, place: &Place, head: Vec<u8>, mut rest: File, cancel: &Cancel) -> io::Result<Current> {
        if self.editor.is_none() || rest.metadata()?.len() > MAX_SHOWN {
            let rest = Box::new(rest);
            return Ok(Current { head, rest, note: None });
        }
        let mut disk = head;
        (&mut rest).take(MAX_SHOWN).read_to_end(&mut disk)?;
        let view = self.view(place, &disk, cancel);
        let note = view.note();
        let mut head = match view {
            View::Unsaved(text) => text,
            View::Same | View::Stale | View::Unclear => disk,
        };
        let behind = head.split_off(head.len().min(SAMPLE));
        Ok(Current {
            head,
            rest: Box::new(io::Cursor::new(behind)),
            note,
        })
    }

    /// Fails if the path leads elsewhere than it did when the call was planned.
    pub(crate) fn check_unmoved(&self, place: &Place) -> Result<(), ToolError> {
        if self.places.locate(&place.path)?.real == place.real {
            return Ok(());
        }
        Err(self.moved(place))
    }

    fn moved(&self, place: &Place) -> ToolError {
        let shown = self.places.shown(&place.path);
        ToolError::new(format!(
            "{shown} has changed since it was shown: it leads to another file now; nothing was done, call again"
        ))
    }

    /// Fails for a place in the session's folder if that is gone: whoever took it away does not want it made anew.
    pub(crate) fn check_folder(&self, place: &Place) -> Result<(), ToolError> {
        let folder = self.places.cwd();
        if !place.path.starts_with(folder) || folder.is_dir() {
            return Ok(());
        }
        let folder = folder.display();
        Err(ToolError::new(format!(
            "the session's folder {folder} is gone; nothing was done, ask the user to put it back or to begin a session elsewhere"
        )))
    }

    /// Remembers what the session knows a file to hold.
    pub(crate) fn saw(&self, place: &Place, fingerprint: Fingerprint) {
        self.seen.lock().insert(place.real.clone(), fingerprint);
    }

    /// Forgets a file that is gone.
    pub(crate) fn forget(&self, place: &Place) {
        self.seen.lock().remove(&place.real);
    }

    /// Whether the session has read the file when it held just this.
    pub(crate) fn knows(&self, place: &Place, bytes: &[u8]) -> bool {
        self.seen.lock().get(&place.real) == Some(&fingerprint(bytes))
    }

    fn check_kind(&self, place: &Place, kind: FileType) -> Result<(), ToolError> {
        let Some((kind, hint)) = special_kind(kind) else {
            return Ok(());
        };
        let shown = self.places.shown(&place.path);
        Err(ToolError::new(format!("{shown} is {kind}, not a file; {hint}")))
    }

    fn too_large(&self, place: &Place, size: u64) -> ToolError {
        let shown = self.places.shown(&place.path);
        ToolError::new(format!(
            "{shown} has {size} bytes, more than the {MAX_WHOLE} that are read or changed as a whole; use a command instead"
        ))
    }

    /// The sentence for a file that could not be opened or read.
    pub(crate) fn unreadable(&self, place: &Place, error: &io::Error) -> ToolError {
        let shown = self.places.shown(&place.path);
        if error.kind() != io::ErrorKind::NotFound {
            return self.failed(place, "read", error);
        }
        ToolError::new(format!("{shown} does not exist{}", self.hint(place)))
    }

    /// The sentence for something that could not be done with a file.
    pub(crate) fn failed(&self, place: &Place, what: &str, error: &io::Error) -> ToolError {
        if held::is_link(error) {
            return self.moved(place);
        }
        let shown = self.places.shown(&place.path);
        ToolError::new(format!("cannot {what} {shown}: {error}"))
    }

    /// What may have been meant by the path of a file that does not exist.
    pub(crate) fn hint(&self, place: &Place) -> String {
        let near: Vec<String> = nearby::names(self.places.cwd(), &place.path)
            .iter()
            .filter(|path| !self.places.forbids_name(path))
            .map(|path| self.places.shown(path))
            .collect();
        match near.is_empty() {
            true => "; look for it with search_files (target \"files\")".to_owned(),
            false => format!("; similar: {}", near.join(", ")),
        }
    }
}

/// A whole file, and what the editor shows of it.
pub(crate) struct Loaded {
    pub(crate) disk: Arc<[u8]>,
    pub(crate) view: View,
}

impl Loaded {
    /// What the editor has not saved yet.
    pub(crate) fn unsaved(&self) -> Option<&[u8]> {
        match &self.view {
            View::Unsaved(text) => Some(text),
            View::Same | View::Stale | View::Unclear => None,
        }
    }
}

/// A file to be read from its beginning on.
pub(crate) struct Current {
    pub(crate) head: Vec<u8>,
    pub(crate) rest: Box<dyn Read>,
    /// What is to be said about where it comes from.
    pub(crate) note: Option<&'static str>,
}

/// Reads to the end, into memory that is shared from then on. A file of the size that it was said to have takes that size
/// and no more.
fn whole(mut file: impl Read, size: u64) -> io::Result<Arc<[u8]>> {
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, usize::try_from(size).unwrap_or_default()).collect();
    let room = Arc::get_mut(&mut bytes).expect("nobody else has it yet");
    let mut read = 0;
    while read < room.len() {
        match file.read(&mut room[read..]) {
            Ok(0) => return Ok(bytes[..read].into()),
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut more = Vec::new();
    file.read_to_end(&mut more)?;
    Ok(match more.is_empty() {
        true => bytes,
        false => [&bytes, more.as_slice()].concat().into(),
    })
}

/// The identity of a file's content.
pub(crate) fn fingerprint(bytes: &[u8]) -> Fingerprint {
    Sha256::digest(bytes).into()
}

/// What a thing is that is no regular file, and what to do with it instead.
fn special_kind(kind: FileType) -> Option<(&'static str, &'static str)> {
    match kind {
        FileType::RegularFile => None,
        FileType::Directory => Some((
            "a folder",
            "list it with search_files (target \"files\") or name a file in it",
        )),
        FileType::Fifo => Some((
            "a named pipe",
            "reading it could wait for ever; use a command if you must",
        )),
        FileType::Socket => Some(("a socket", "use a command if you must")),
        FileType::Symlink => Some(("a symbolic link by now", "call again")),
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
            Some(("a device", "use a command if you must"))
        }
    }
}

/// The last part of a path, for a person.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}
