//! Changes of files that were shown first: written all or none, and only over what they were made from.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use agent_core::cancel::Cancel;
use agent_core::change::FileChange;
use agent_core::event::{Hash, KeptFile, OldFile};
use agent_core::plan::Place;
use agent_core::tool::{Run, ToolError};

use crate::editor::{Editor, same_text};
use crate::files::{Files, Loaded, fingerprint};
use crate::held::{Held, NewFile};
use crate::put_back::{missing_folders, mode_of};

#[cfg(test)]
mod tests;

/// What will become of one file.
pub(crate) struct Edit {
    pub(crate) place: Place,
    /// The bytes on disk; none for a file that does not exist.
    pub(crate) before: Option<Vec<u8>>,
    /// What the editor showed instead and had not saved; it was made from this then.
    pub(crate) unsaved: Option<Vec<u8>>,
    /// The bytes it will have; none for a file that goes.
    pub(crate) after: Option<Vec<u8>>,
    /// The session will know the whole new content: it wrote it, or knew the old one.
    pub(crate) known: bool,
    /// The permissions of the file, or of the one that it takes the place of; none for a new one.
    pub(crate) mode: Option<Permissions>,
    /// What people are shown.
    pub(crate) shown: FileChange,
}

/// Does all edits, or none: a failure takes back what was done before it. What the files hold is kept before the first
/// one changes. Tells where the editor saved another text than it was given, as one that formats what it saves does; a
/// sentence a file.
pub(crate) fn commit(files: &Files, edits: &[Edit], run: &Run<'_>) -> Result<Vec<String>, ToolError> {
    let starts = starts(files, edits, run.cancel)?;
    (run.keep)(edits.iter().map(Edit::old_file).collect())?;
    let others = make_all(files, edits, starts, run.cancel)?;
    if !others.is_empty() {
        let corrected = others.iter().map(|other| OldFile {
            file: KeptFile {
                after: other.after.clone(),
                ..edits[other.edit].old_file().file
            },
            bytes: None,
        });
        (run.keep)(corrected.collect())?;
    }
    Ok(others.into_iter().map(|other| other.remark).collect())
}

/// The same for what is kept already. Nothing else is known of the files afterwards than what they hold.
pub(crate) fn put(files: &Files, edits: &[Edit], cancel: &Cancel) -> Result<Vec<Other>, ToolError> {
    let starts = starts(files, edits, cancel)?;
    make_all(files, edits, starts, cancel)
}

/// A file that the editor saved otherwise.
#[derive(Debug)]
pub(crate) struct Other {
    /// Which of the edits it is.
    pub(crate) edit: usize,
    /// What it holds now.
    pub(crate) after: Option<Hash>,
    /// What is to be said about it.
    pub(crate) remark: String,
}

fn starts<'a>(files: &Files, edits: &'a [Edit], cancel: &Cancel) -> Result<Vec<Option<&'a [u8]>>, ToolError> {
    let start = |edit| start(files, edit, cancel).map_err(|fault| fault.told(files, &edit.place));
    edits.iter().map(start).collect()
}

fn make_all(
    files: &Files,
    edits: &[Edit],
    starts: Vec<Option<&[u8]>>,
    cancel: &Cancel,
) -> Result<Vec<Other>, ToolError> {
    let mut undo = Undo::default();
    let mut made = Vec::new();
    for (edit, start) in edits.iter().zip(starts) {
        match make(files, edit, start, &mut undo.folders, cancel) {
            Ok(what) => made.push(what),
            Err(fault) => return Err(undo.run(files, &fault.told(files, &edit.place))),
        }
        undo.done.push(edit);
    }
    let mut others = Vec::new();
    for (index, (edit, made)) in edits.iter().zip(made).enumerate() {
        match (&edit.after, made) {
            (Some(after), Made::AsShown) if edit.known => files.saw(&edit.place, fingerprint(after)),
            (_, Made::AsShown) => files.forget(&edit.place),
            (_, Made::Otherwise(found)) => {
                files.forget(&edit.place);
                let shown = files.places.shown(&edit.place.path);
                others.push(Other {
                    edit: index,
                    after: found.as_deref().map(Hash::of),
                    remark: format!(
                        "{shown}: the editor saved another text than it was given, perhaps since it formats what it \
                         saves; read it again before you change it further"
                    ),
                });
            }
        }
    }
    Ok(others)
}

/// What is on disk now. Fails if the file, there or in the editor, is not what the edit was made from; what was not saved
/// then may be saved by now.
fn start<'a>(files: &Files, edit: &'a Edit, cancel: &Cancel) -> Result<Option<&'a [u8]>, Fault> {
    let found = files.look_to_change(&edit.place, cancel)?;
    let disk = found.as_ref().map(|found| found.disk.as_slice());
    let base = found.as_ref().and_then(Loaded::unsaved).or(disk);
    if base != edit.base() {
        return Err(Fault::Changed);
    }
    let before = [edit.before.as_deref(), edit.base()];
    before.into_iter().find(|before| *before == disk).ok_or(Fault::Changed)
}

/// How an edit was made.
enum Made {
    AsShown,
    /// The editor saved something else: this.
    Otherwise(Option<Vec<u8>>),
}

/// Makes one edit, of a file that holds `start`. The places are asked about again, since the files before this one took
/// their time.
fn make(
    files: &Files,
    edit: &Edit,
    start: Option<&[u8]>,
    folders: &mut Vec<PathBuf>,
    cancel: &Cancel,
) -> Result<Made, Fault> {
    files.check_unmoved(&edit.place)?;
    files.check_folder(&edit.place)?;
    let mut step = Step {
        from: start,
        ..edit.forth()
    };
    let found;
    if let Some((editor, after)) = edit.editor(files) {
        match by_editor(files, editor, edit, &step, after, folders, cancel)? {
            Saved::AsShown => return Ok(Made::AsShown),
            Saved::Otherwise(on_disk) => return Ok(Made::Otherwise(on_disk)),
            Saved::Not(on_disk) => found = on_disk,
        }
        step.from = found.as_deref();
    }
    // An editor that shows the file has not seen this yet.
    let _run = files.runs.begin();
    step.take(folders, |held| step.look(files, held))?;
    if let (Some(editor), Some(base)) = (&files.editor, edit.base()) {
        // What it shows is older than what is on disk now, and its unsaved changes are in there.
        editor.agrees(&edit.place, base);
    }
    Ok(Made::AsShown)
}

/// What came of having the editor write a file.
enum Saved {
    AsShown,
    Otherwise(Option<Vec<u8>>),
    /// It did not save it: this is on disk.
    Not(Option<Vec<u8>>),
}

/// Has the editor write a file, after a last look at what is on disk, and looks at what it saved.
fn by_editor(
    files: &Files,
    editor: &Editor,
    edit: &Edit,
    step: &Step<'_>,
    after: &[u8],
    folders: &mut Vec<PathBuf>,
    cancel: &Cancel,
) -> Result<Saved, Fault> {
    let held = Held::make(&edit.place.real, folders)?;
    step.look(files, &held)?;
    let says_so = editor.write(&edit.place, after, cancel);
    let found = files.load_held(&edit.place, &held)?;
    if found.as_deref() == Some(after) {
        editor.agrees(&edit.place, after);
        return Ok(Saved::AsShown);
    }
    if says_so.is_err() {
        return Err(ToolError::new("cancelled; the editor may still write the file, or have written it").into());
    }
    let is_old = found.as_deref() == step.from || found.as_deref() == edit.base();
    let has_other_ends = found.as_deref().is_some_and(|found| same_text(found, after));
    match says_so {
        Ok(true) if !is_old && !has_other_ends => Ok(Saved::Otherwise(found)),
        Ok(true) => Ok(Saved::Not(found)),
        // It may have written something all the same, and whatever that is was not asked for.
        Ok(false) | Err(_) => Ok(Saved::Not(step.from.map(<[u8]>::to_vec))),
    }
}

impl Edit {
    /// What it was made from.
    pub(crate) fn base(&self) -> Option<&[u8]> {
        self.unsaved.as_deref().or(self.before.as_deref())
    }

    /// What is to be kept before it is made.
    fn old_file(&self) -> OldFile {
        let bytes = self.base().map(Arc::<[u8]>::from);
        let before = bytes.map(|bytes| (bytes, mode_of(&self.place.real)));
        let mut old = OldFile::new(self.place.clone(), before, self.after.as_deref().map(Hash::of));
        old.file.folders = missing_folders(&self.place.real);
        old
    }

    /// The editor, if it is to write this, and what it is to write. A file that takes the place of another one keeps its
    /// mode, and an editor would not know that.
    fn editor<'a>(&'a self, files: &'a Files) -> Option<(&'a Editor, &'a [u8])> {
        let (editor, after) = (files.editor.as_ref()?, self.after.as_deref()?);
        let is_moved = self.before.is_none() && self.mode.is_some();
        (!is_moved && editor.writes(&self.place, after)).then_some((editor, after))
    }

    fn forth(&self) -> Step<'_> {
        Step {
            place: &self.place,
            from: self.before.as_deref(),
            to: self.after.as_deref(),
            mode: self.mode.as_ref(),
        }
    }

    fn back(&self) -> Step<'_> {
        Step {
            from: self.after.as_deref(),
            // What was not saved before is better saved than lost.
            to: self.base(),
            ..self.forth()
        }
    }
}

/// A file's way from what it holds to what it will hold, either of which may be no file at all.
struct Step<'a> {
    place: &'a Place,
    from: Option<&'a [u8]>,
    to: Option<&'a [u8]>,
    mode: Option<&'a Permissions>,
}

/// Why a step was not taken.
enum Fault {
    /// The file holds something else than what the step begins with.
    Changed,
    Tool(ToolError),
    Io(io::Error),
}

impl Step<'_> {
    /// Takes the step in one instant, right after the last look at what is there. What someone writes between the two,
    /// or later through a file they had opened before, is lost with the old file: no rename can be made to depend on
    /// what a file holds.
    fn take(
        &self,
        folders: &mut Vec<PathBuf>,
        last_look: impl FnOnce(&Held) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let Some(bytes) = self.to else {
            let held = Held::find(&self.place.real)?;
            last_look(&held)?;
            return Ok(held.remove_file()?);
        };
        let held = Held::make(&self.place.real, folders)?;
        let file = NewFile::write(&held, bytes, self.mode)?;
        last_look(&held)?;
        match self.from {
            None => file.create()?,
            Some(_) => file.replace()?,
        }
        Ok(())
    }

    fn look(&self, files: &Files, held: &Held) -> Result<(), Fault> {
        self.check(files.load_held(self.place, held)?)
    }

    fn check(&self, found: Option<Vec<u8>>) -> Result<(), Fault> {
        match found.as_deref() == self.from {
            true => Ok(()),
            false => Err(Fault::Changed),
        }
    }
}

impl Fault {
    fn told(self, files: &Files, place: &Place) -> ToolError {
        match self {
            Self::Changed => {
                let shown = files.places.shown(&place.path);
                ToolError::new(format!(
                    "{shown} has changed since it was shown and was left as it is; read it again and repeat the change"
                ))
            }
            Self::Tool(error) => error,
            Self::Io(error) => files.failed(place, "write", &error),
        }
    }
}

impl From<ToolError> for Fault {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
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
    fn run(self, files: &Files, error: &ToolError) -> ToolError {
        let (mut left, mut changed) = (Vec::new(), Vec::new());
        for edit in self.done.iter().rev() {
            let step = edit.back();
            let shown = || files.places.shown(&edit.place.path);
            match step.take(&mut Vec::new(), |held| step.look(files, held)) {
                Ok(()) => {}
                Err(Fault::Changed) => changed.push(shown()),
                Err(fault @ (Fault::Tool(_) | Fault::Io(_))) => {
                    left.push(format!("{} ({})", shown(), fault.told(files, &edit.place)));
                }
            }
        }
        for folder in self.folders.iter().rev() {
            // A folder that is not empty by now has become someone else's.
            let _ = Held::find(folder).and_then(|held| held.remove_folder());
        }
        let mut message = error.message.clone();
        if left.is_empty() && changed.is_empty() {
            message += "; no file was changed";
        }
        if !left.is_empty() {
            message += &format!("; these files could not be put back: {}", left.join(", "));
        }
        if !changed.is_empty() {
            let changed = changed.join(", ");
            message +=
                &format!("; these files were changed by this call and then by someone else, and stay so: {changed}");
        }
        ToolError::new(message)
    }
}

/// What was done, and what is to be said about it.
pub(crate) fn told(mut done: String, remarks: &[String]) -> String {
    for remark in remarks {
        done.push('\n');
        done.push_str(remark);
    }
    done
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
