//! Changes of files that were shown first: written all or none, and only over what they were made from.

use std::fs::{self, Permissions};
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
use crate::held::Held;
use crate::put_back::{missing_folders, mode_of};

mod step;
#[cfg(test)]
mod tests;
mod way_back;

pub(crate) use step::Fault;
use step::Step;
use way_back::{Back, WayBack};

/// What will become of one file.
pub(crate) struct Edit {
    pub(crate) place: Place,
    /// The bytes on disk; none for a file that does not exist.
    pub(crate) before: Option<Arc<[u8]>>,
    /// What the editor showed instead and had not saved; it was made from this then.
    pub(crate) unsaved: Option<Arc<[u8]>>,
    /// The bytes it will have; none for a file that goes.
    pub(crate) after: Option<Arc<[u8]>>,
    /// The session will know the whole new content: it wrote it, or knew the old one.
    pub(crate) known: bool,
    /// The permissions of the file, or of the one that it takes the place of; none for a new one.
    pub(crate) mode: Option<Permissions>,
    /// The permissions that the file has now, where it is to have those instead; else it keeps its own.
    pub(crate) mode_now: Option<Permissions>,
    /// What people are shown.
    pub(crate) shown: FileChange,
}

/// Does all edits, or none: a failure takes back what was done before it. What the files hold is kept before the first
/// one changes. Tells where the editor saved another text than it was given, as one that formats what it saves does; a
/// sentence a file.
pub(crate) fn commit(files: &Files, edits: &[Edit], run: &Run<'_>) -> Result<Vec<String>, ToolError> {
    let told = |failed: Failed| failed.told(files, edits);
    let starts = starts(files, edits, run.cancel).map_err(told)?;
    (run.keep)(edits.iter().map(Edit::old_file).collect())?;
    let others = make_all(files, edits, starts, run.cancel).map_err(|stopped| told(stopped.take_back(files)))?;
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
    let remark = |other: &Other| {
        let shown = files.places.shown(&edits[other.edit].place.path);
        format!(
            "{shown}: the editor saved another text than it was given, perhaps since it formats what it saves; read it \
             again before you change it further"
        )
    };
    Ok(others.iter().map(remark).collect())
}

/// The same for what is kept already. Nothing else is known of the files afterwards than what they hold. A cancel takes
/// back what was done before it, unless that is so much that whoever cancels would have to wait: then it stays.
pub(crate) fn put(files: &Files, edits: &[Edit], cancel: &Cancel) -> Result<Vec<Other>, Failed> {
    let starts = starts(files, edits, cancel)?;
    make_all(files, edits, starts, cancel).map_err(|stopped| match cancel.is_set() && stopped.is_far() {
        true => stopped.stay(files),
        false => stopped.take_back(files),
    })
}

/// A file that the editor saved otherwise.
#[derive(Debug)]
pub(crate) struct Other {
    /// Which of the edits it is.
    pub(crate) edit: usize,
    /// What it holds now.
    pub(crate) after: Option<Hash>,
}

/// Why not all of the edits were made.
#[derive(Debug)]
pub(crate) struct Failed {
    /// The first one that was not.
    pub(crate) edit: usize,
    pub(crate) fault: Fault,
    before: Before,
}

/// What became of the edits before the one that failed.
#[derive(Debug)]
enum Before {
    /// None was made yet.
    Nothing,
    TakenBack(Back),
    /// They stay, and the editor saved these otherwise.
    Stay(Vec<Other>),
}

fn starts<'a>(files: &Files, edits: &'a [Edit], cancel: &Cancel) -> Result<Vec<Option<&'a [u8]>>, Failed> {
    let start = |(edit, made_from)| {
        let found = match cancel.is_set() {
            true => Err(cancelled()),
            false => start(files, made_from, cancel),
        };
        let before = Before::Nothing;
        found.map_err(|fault| Failed { edit, fault, before })
    };
    edits.iter().enumerate().map(start).collect()
}

fn cancelled() -> Fault {
    ToolError::new("cancelled").into()
}

/// Makes the edits until one fails.
fn make_all<'a>(
    files: &Files,
    edits: &'a [Edit],
    starts: Vec<Option<&[u8]>>,
    cancel: &Cancel,
) -> Result<Vec<Other>, Stopped<'a>> {
    let mut way_back = WayBack::default();
    let mut made = Vec::new();
    for (index, (edit, start)) in edits.iter().zip(starts).enumerate() {
        let what = match index > 0 && cancel.is_set() {
            true => Err(cancelled()),
            false => make(files, edit, start, &mut way_back.folders, cancel),
        };
        match what {
            Ok(what) => made.push(what),
            Err(fault) => return Err(Stopped { fault, made, way_back }),
        }
        way_back.done.push(edit);
    }
    Ok(settle(files, edits, made))
}

/// Edits of which one failed, and those before it stand.
struct Stopped<'a> {
    fault: Fault,
    made: Vec<Made>,
    way_back: WayBack<'a>,
}

impl Stopped<'_> {
    /// It would take long to take back what was done.
    fn is_far(&self) -> bool {
        self.way_back.is_long()
    }

    fn take_back(self, files: &Files) -> Failed {
        Failed {
            edit: self.made.len(),
            fault: self.fault,
            before: Before::TakenBack(self.way_back.run(files)),
        }
    }

    fn stay(self, files: &Files) -> Failed {
        Failed {
            edit: self.made.len(),
            fault: self.fault,
            before: Before::Stay(settle(files, self.way_back.done, self.made)),
        }
    }
}

/// Notes what files are known to hold by now; those that the editor saved otherwise.
fn settle<'a>(files: &Files, edits: impl IntoIterator<Item = &'a Edit>, made: Vec<Made>) -> Vec<Other> {
    let mut others = Vec::new();
    for (index, (edit, made)) in edits.into_iter().zip(made).enumerate() {
        match (&edit.after, made) {
            (Some(after), Made::AsShown) if edit.known => files.saw(&edit.place, fingerprint(after)),
            (_, Made::AsShown) => files.forget(&edit.place),
            (_, Made::Otherwise(found)) => {
                files.forget(&edit.place);
                others.push(Other {
                    edit: index,
                    after: found.as_deref().map(Hash::of),
                });
            }
        }
    }
    others
}

/// What is on disk now. Fails if the file, there or in the editor, is not what the edit was made from; what was not saved
/// then may be saved by now.
fn start<'a>(files: &Files, edit: &'a Edit, cancel: &Cancel) -> Result<Option<&'a [u8]>, Fault> {
    let found = files.look_to_change(&edit.place, cancel)?;
    let disk = found.as_ref().map(|found| &*found.disk);
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
    Otherwise(Option<Arc<[u8]>>),
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
    Otherwise(Option<Arc<[u8]>>),
    /// It did not save it: this is on disk.
    Not(Option<Arc<[u8]>>),
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
        Ok(false) | Err(_) => Ok(Saved::Not(step.from.map(Into::into))),
    }
}

impl Edit {
    /// What it was made from.
    pub(crate) fn base(&self) -> Option<&[u8]> {
        self.unsaved.as_deref().or(self.before.as_deref())
    }

    /// What is to be kept before it is made.
    fn old_file(&self) -> OldFile {
        let bytes = self.unsaved.as_ref().or(self.before.as_ref());
        let before = bytes.map(|bytes| (Arc::clone(bytes), mode_of(&self.place.real)));
        let mut old = OldFile::new(self.place.clone(), before, self.after.as_deref().map(Hash::of));
        old.file.folders = missing_folders(&self.place.real);
        old
    }

    /// The editor, if it is to write this, and what it is to write. A file that takes the place of another one keeps its
    /// mode, and an editor would not know that.
    fn editor<'a>(&'a self, files: &'a Files) -> Option<(&'a Editor, &'a [u8])> {
        let (editor, after) = (files.editor.as_ref()?, self.after.as_deref()?);
        let sets_mode = self.mode_now.is_some() || self.before.is_none() && self.mode.is_some();
        (!sets_mode && editor.writes(&self.place, after)).then_some((editor, after))
    }

    fn forth(&self) -> Step<'_> {
        Step {
            place: &self.place,
            from: self.before.as_deref(),
            to: self.after.as_deref(),
            mode: self.mode.as_ref(),
            sets_mode: self.mode_now.is_some(),
        }
    }

    fn back(&self) -> Step<'_> {
        Step {
            from: self.after.as_deref(),
            // What was not saved before is better saved than lost.
            to: self.base(),
            mode: self.mode_now.as_ref().or(self.mode.as_ref()),
            ..self.forth()
        }
    }
}

impl Failed {
    /// What is not as it was before, but for edits that stay; none if all is.
    pub(crate) fn rest(&self) -> Option<String> {
        match &self.before {
            Before::TakenBack(back) => back.rest(),
            Before::Nothing | Before::Stay(_) => None,
        }
    }

    /// The edits before it that stay, where they do, and what the editor saved otherwise of them.
    pub(crate) fn stay(self) -> Option<Vec<Other>> {
        match self.before {
            Before::Stay(others) => Some(others),
            Before::Nothing | Before::TakenBack(_) => None,
        }
    }

    /// As the model is told.
    fn told(self, files: &Files, edits: &[Edit]) -> ToolError {
        let error = self.fault.told(files, &edits[self.edit].place);
        match self.before {
            Before::TakenBack(back) => back.behind(&error.message),
            Before::Nothing | Before::Stay(_) => error,
        }
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
