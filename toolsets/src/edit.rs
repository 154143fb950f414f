//! Changes of files that were shown first: written all or none, and only over what they were made from.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agent_core::change::FileChange;
use agent_core::plan::Place;
use agent_core::tool::ToolError;

use crate::files::{Files, fingerprint};

/// What will become of one file.
pub(crate) struct Edit {
    pub(crate) place: Place,
    /// The bytes it was made from; none for a file that does not exist.
    pub(crate) before: Option<Vec<u8>>,
    /// The bytes it will have; none for a file that goes.
    pub(crate) after: Option<Vec<u8>>,
    /// The session will know the whole new content: it wrote it, or knew the old one.
    pub(crate) known: bool,
    /// The permissions of the file, or of the one that it takes the place of; none for a new one.
    pub(crate) mode: Option<Permissions>,
    /// What people are shown.
    pub(crate) shown: FileChange,
}

/// Does all edits, or none: a failure takes back what was done before it.
pub(crate) fn commit(files: &Files, edits: &[Edit]) -> Result<(), ToolError> {
    for edit in edits {
        check_unchanged(files, edit)?;
    }
    let mut undo = Undo::default();
    for edit in edits {
        // Asked again right before the write, since the files before this one took their time.
        let done = check_unchanged(files, edit).and_then(|()| {
            let shown = files.places.shown(&edit.place.path);
            put(&edit.place.real, edit.after.as_deref(), edit.mode.as_ref(), &mut undo)
                .map_err(|error| cannot_write(&shown, &error))
        });
        if let Err(error) = done {
            return Err(undo.run(files, error));
        }
        undo.done.push(edit);
    }
    for edit in edits {
        match &edit.after {
            Some(after) if edit.known => files.saw(&edit.place, fingerprint(after)),
            Some(_) | None => files.forget(&edit.place),
        }
    }
    Ok(())
}

fn check_unchanged(files: &Files, edit: &Edit) -> Result<(), ToolError> {
    files.check_unmoved(&edit.place)?;
    if files.load(&edit.place)? == edit.before {
        return Ok(());
    }
    let shown = files.places.shown(&edit.place.path);
    Err(ToolError::new(format!(
        "{shown} has changed since it was shown; nothing was written, read it again and repeat the change"
    )))
}

/// What was done so far, to be taken back.
#[derive(Default)]
struct Undo<'a> {
    done: Vec<&'a Edit>,
    /// Folders that were made, each before those inside it.
    folders: Vec<PathBuf>,
}

impl Undo<'_> {
    /// Takes everything back and says how that went, behind the error that made it necessary.
    fn run(self, files: &Files, error: ToolError) -> ToolError {
        let mut left = Vec::new();
        for edit in self.done.iter().rev() {
            if put(
                &edit.place.real,
                edit.before.as_deref(),
                edit.mode.as_ref(),
                &mut Undo::default(),
            )
            .is_err()
            {
                left.push(files.places.shown(&edit.place.path));
            }
        }
        for folder in self.folders.iter().rev() {
            // A folder that is not empty by now has become someone else's.
            let _ = fs::remove_dir(folder);
        }
        let outcome = match left.is_empty() {
            true => "no file was changed".to_owned(),
            false => format!("these files could not be put back: {}", left.join(", ")),
        };
        ToolError::new(format!("{}; {outcome}", error.message))
    }
}

/// Gives a file these bytes, or takes it away.
fn put(path: &Path, bytes: Option<&[u8]>, mode: Option<&Permissions>, undo: &mut Undo<'_>) -> io::Result<()> {
    match bytes {
        None => fs::remove_file(path),
        Some(bytes) => {
            let folder = path.parent().unwrap_or(Path::new("/"));
            make_folders(folder, undo)?;
            replace(path, folder, bytes, mode)
        }
    }
}

fn make_folders(folder: &Path, undo: &mut Undo<'_>) -> io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    for folder in missing.into_iter().rev() {
        fs::create_dir(folder)?;
        undo.folders.push(folder.to_owned());
    }
    Ok(())
}

/// Writes beside the file and renames over it, so that a reader never sees half of it.
fn replace(path: &Path, folder: &Path, bytes: &[u8], mode: Option<&Permissions>) -> io::Result<()> {
    let old = fs::symlink_metadata(path).ok();
    // The process's umask takes its part of this, as for any new file.
    let usual = Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new()
        .prefix(".write-")
        .permissions(usual)
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(old) = &old {
        let new = file.as_file().metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            let (owner, group) = (
                rustix::fs::Uid::from_raw(old.uid()),
                rustix::fs::Gid::from_raw(old.gid()),
            );
            // Without the right to give files away, the file becomes ours, as with any editor that saves like this.
            let _ = rustix::fs::fchown(file.as_file(), Some(owner), Some(group));
        }
    }
    if let Some(mode) = old.as_ref().map(std::fs::Metadata::permissions).as_ref().or(mode) {
        file.as_file().set_permissions(mode.clone())?;
    }
    file.as_file().sync_data()?;
    if old.is_some() {
        file.persist(path)?;
        return Ok(());
    }
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        // Some file systems can't rename without replacing; there the check before has to do.
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists && !path.exists() => {
            error.file.persist(path)?;
            Ok(())
        }
        Err(error) => Err(error.error),
    }
}

fn cannot_write(shown: &str, error: &io::Error) -> ToolError {
    ToolError::new(format!("cannot write {shown}: {error}"))
}

/// Fails for a file that its owner has made read-only; renaming over it would not ask.
pub(crate) fn check_writable(files: &Files, place: &Place) -> Result<(), ToolError> {
    match fs::symlink_metadata(&place.real) {
        Ok(metadata) if metadata.permissions().mode() & 0o222 == 0 => {
            let shown = files.places.shown(&place.path);
            Err(ToolError::new(format!(
                "{shown} is read-only; make it writable first if it really should change"
            )))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::Room;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_file_is_written_where_its_plan_said(
            names in prop::collection::vec(prop::sample::select(vec!["a", "..", ".", "out", "in", "up", "dangling", ""]), 1..6),
        ) {
            let room = Room::new();
            let other = tempfile::tempdir().unwrap();
            let outside = other.path().canonicalize().unwrap();
            fs::create_dir(room.path("inside")).unwrap();
            for (target, name) in [(outside.as_path(), "out"), (Path::new("inside"), "in"), (Path::new("inside/.."), "up")] {
                symlink(target, room.path(name)).unwrap();
            }
            symlink(outside.join("new/file"), room.path("dangling")).unwrap();
            let name = names.join("/") + "/file";
            // A path that climbs out of the room would write into the test's own folder.
            let place = room.files.places.resolve(name.trim_start_matches('/')).unwrap();
            prop_assume!(place.real.starts_with(room.path("")) || place.real.starts_with(&outside));
            let mut edit = edit(&room, "x", Some("text"));
            edit.place = place.clone();
            prop_assume!(commit(&room.files, &[edit]).is_ok());
            prop_assert_eq!(fs::canonicalize(&place.path).unwrap(), place.real.clone());
            prop_assert_eq!(fs::read_to_string(&place.real).unwrap(), "text");
        }
    }

    fn edit(room: &Room, name: &str, after: Option<&str>) -> Edit {
        let place = room.files.places.resolve(name).unwrap();
        Edit {
            before: room.files.load(&place).unwrap(),
            after: after.map(|text| text.as_bytes().to_vec()),
            known: true,
            mode: None,
            shown: FileChange::new(place.clone(), None, after),
            place,
        }
    }

    #[test]
    fn a_later_failure_takes_back_what_was_written() {
        let room = Room::new();
        room.write("a", "a1");
        room.write("gone", "g1");
        // A file where the last one needs a folder: its write fails after the others are done.
        let names = [
            ("a", Some("a2")),
            ("gone", None),
            ("new/deep/b", Some("b")),
            ("x", Some("x")),
            ("x/y", Some("y")),
        ];
        let edits = names.map(|(name, after)| edit(&room, name, after));
        let error = commit(&room.files, &edits).unwrap_err();
        assert!(error.message.contains("no file was changed"), "{error}");
        assert_eq!((room.text("a"), room.text("gone")), ("a1".to_owned(), "g1".to_owned()));
        assert!(!room.path("new").exists() && !room.path("x").exists());
    }

    #[test]
    fn nothing_is_written_over_what_was_not_shown() {
        let room = Room::new();
        room.write("a", "a1");
        room.write("b", "b1");
        let edits = [
            edit(&room, "b", Some("b2")),
            edit(&room, "a", Some("a2")),
            edit(&room, "c", Some("c2")),
        ];
        for (name, content) in [("a", "other"), ("c", "other")] {
            room.write(name, content);
            let error = commit(&room.files, &edits).unwrap_err();
            assert!(error.message.contains("has changed since it was shown"), "{error}");
            assert_eq!((room.text(name), room.text("b")), ("other".to_owned(), "b1".to_owned()));
            room.write("a", "a1");
        }
    }
}
