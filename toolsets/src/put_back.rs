//! Files put back to what they held before: by the user's own command, and as carefully as any edit.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use agent_core::cancel::Cancel;
use agent_core::change::FileChange;
use agent_core::plan::Place;
use agent_core::visible;
use agent_core::workspace::{FileNow, NotPutBack, PutBack, SavedOtherwise};

use crate::edit::{self, Edit, Fault};
use crate::editor::View;
use crate::files::{Files, Loaded, MAX_WHOLE};
use crate::held::Held;

/// What a file holds now, or why that can't be put back, for people and behind its name.
pub(crate) fn look(files: &Files, place: &Place, cancel: &Cancel) -> Result<FileNow, String> {
    if let Some(why) = obstacle(files, place) {
        return Err(why.to_owned());
    }
    let found = files.look(place, cancel).map_err(|error| {
        let what = format!("cannot read {}: ", files.places.shown(&place.path));
        let why = error.message.strip_prefix(&what).unwrap_or(&error.message);
        format!("can't be read: {}", visible::line(why))
    })?;
    if found.as_ref().is_some_and(|found| found.view == View::Unclear) {
        return Err(UNCLEAR.to_owned());
    }
    Ok(FileNow {
        unsaved: found.as_ref().and_then(Loaded::unsaved).map(Into::into),
        disk: found.map(|found| found.disk),
        mode: mode_of(&place.real),
        missing_folders: missing_folders(&place.real),
    })
}

const UNCLEAR: &str = "has changed on disk, and your editor shows another text that may hold changes which are not saved: \
                       save or reload it there before";

/// What stands in a file's place.
fn obstacle(files: &Files, place: &Place) -> Option<&'static str> {
    const MOVED: &str = "leads to another file now";
    if files.places.locate(&place.path).ok()?.real != place.real {
        return Some(MOVED);
    }
    if files.check_folder(place).is_err() {
        return Some("lies in this session's folder, which is gone");
    }
    let metadata = match fs::symlink_metadata(&place.real) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Some("lies in a folder that is a file by now");
        }
        Err(_) => return None,
    };
    let kind = metadata.file_type();
    if kind.is_dir() {
        Some("is a folder by now")
    } else if kind.is_symlink() {
        Some(MOVED)
    } else if !kind.is_file() {
        Some("is no file by now but a pipe, a socket or a device")
    } else if metadata.len() > MAX_WHOLE {
        Some("is larger by now than the 64 MiB that are put back")
    } else {
        None
    }
}

/// Puts files back, all or none; after a cancel perhaps only some.
pub(crate) fn put_back(
    files: &Files,
    put_back: Vec<PutBack>,
    cancel: &Cancel,
) -> Result<Vec<SavedOtherwise>, NotPutBack> {
    let is_change = |file: &&PutBack| file.to.is_some() || file.now.disk.is_some();
    let edits: Vec<Edit> = put_back.iter().filter(is_change).map(to_edit).collect();
    let others = edit::put(files, &edits, cancel).map_err(|failed| not_put_back(files, &edits, failed))?;
    for gone in put_back.iter().filter(|file| file.to.is_none()) {
        let folders = gone.place.real.ancestors().skip(1);
        for folder in folders.take(gone.folders) {
            // One that is not empty has become someone else's.
            let _ = Held::find(folder).and_then(|held| held.remove_folder());
        }
    }
    Ok(saved_otherwise(&edits, others))
}

fn not_put_back(files: &Files, edits: &[Edit], failed: edit::Failed) -> NotPutBack {
    let first = failed.edit;
    let place = edits[first].place.clone();
    let (left, why) = (failed.rest(), why_not(files, &place, &failed.fault));
    let stay = failed.stay();
    let done = stay.as_ref().map_or(&[][..], |_| &edits[..first]);
    NotPutBack {
        place,
        why,
        left,
        done: done.iter().map(|edit| edit.place.clone()).collect(),
        others: saved_otherwise(edits, stay.unwrap_or_default()),
    }
}

fn saved_otherwise(edits: &[Edit], others: Vec<edit::Other>) -> Vec<SavedOtherwise> {
    let other = |other: edit::Other| SavedOtherwise {
        place: edits[other.edit].place.clone(),
        holds: other.after,
    };
    others.into_iter().map(other).collect()
}

/// Why a file could not be put back, for people and behind its name.
fn why_not(files: &Files, place: &Place, fault: &Fault) -> String {
    match (fault, obstacle(files, place)) {
        (_, Some(why)) => why.to_owned(),
        (Fault::Changed, None) => "has changed meanwhile".to_owned(),
        (Fault::Tool(error), None) => format!("can't be written: {}", visible::line(&error.message)),
        (Fault::Io(error), None) => format!("can't be written: {error}"),
    }
}

fn to_edit(file: &PutBack) -> Edit {
    let mode = file.to.as_ref().and_then(|(_, mode)| *mode);
    Edit {
        shown: FileChange::new(file.place.clone(), None, None),
        place: file.place.clone(),
        before: file.now.disk.clone(),
        unsaved: file.now.unsaved.clone(),
        after: file.to.as_ref().map(|(bytes, _)| Arc::clone(bytes)),
        // The model has not read what it holds then.
        known: false,
        mode: mode.map(Permissions::from_mode),
        mode_now: file.now.mode.filter(|_| file.sets_mode).map(Permissions::from_mode),
    }
}

/// A file's permissions; none where there is no file.
pub(crate) fn mode_of(real: &Path) -> Option<u32> {
    let metadata = fs::symlink_metadata(real).ok()?;
    Some(metadata.permissions().mode() & 0o7777)
}

/// How many of the folders of a place are not there.
pub(crate) fn missing_folders(real: &Path) -> usize {
    let folders = real.ancestors().skip(1);
    folders
        .take_while(|folder| fs::symlink_metadata(folder).is_err())
        .count()
}
