//! Files put back to what they held before: by the user's own command, and as carefully as any edit.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use agent_core::cancel::Cancel;
use agent_core::change::FileChange;
use agent_core::plan::Place;
use agent_core::tool::ToolError;
use agent_core::workspace::{FileNow, PutBack, SavedOtherwise};

use crate::edit::{self, Edit};
use crate::files::{Files, Loaded};
use crate::held::Held;

/// What a file holds now.
pub(crate) fn look(files: &Files, place: &Place, cancel: &Cancel) -> Result<FileNow, ToolError> {
    let found = files.look_to_change(place, cancel)?;
    Ok(FileNow {
        unsaved: found.as_ref().and_then(Loaded::unsaved).map(Into::into),
        disk: found.map(|found| found.disk.into()),
        mode: mode_of(&place.real),
        missing_folders: missing_folders(&place.real),
    })
}

/// Puts files back, all or none.
pub(crate) fn put_back(
    files: &Files,
    put_back: Vec<PutBack>,
    cancel: &Cancel,
) -> Result<Vec<SavedOtherwise>, ToolError> {
    let is_change = |file: &&PutBack| file.to.is_some() || file.now.disk.is_some();
    let edits: Vec<Edit> = put_back.iter().filter(is_change).map(to_edit).collect();
    let others = edit::put(files, &edits, cancel)?;
    for gone in put_back.iter().filter(|file| file.to.is_none()) {
        let folders = gone.place.real.ancestors().skip(1);
        for folder in folders.take(gone.folders) {
            // One that is not empty has become someone else's.
            let _ = Held::find(folder).and_then(|held| held.remove_folder());
        }
    }
    let other = |other: edit::Other| SavedOtherwise {
        place: edits[other.edit].place.clone(),
        holds: other.after,
        remark: other.remark,
    };
    Ok(others.into_iter().map(other).collect())
}

fn to_edit(file: &PutBack) -> Edit {
    let mode = file.to.as_ref().and_then(|(_, mode)| *mode);
    Edit {
        shown: FileChange::new(file.place.clone(), None, None),
        place: file.place.clone(),
        before: file.now.disk.as_deref().map(<[u8]>::to_vec),
        unsaved: file.now.unsaved.as_deref().map(<[u8]>::to_vec),
        after: file.to.as_ref().map(|(bytes, _)| bytes.to_vec()),
        // The model has not read what it holds then.
        known: false,
        mode: mode.map(Permissions::from_mode),
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
