//! Changes of files that were shown first: written all or none, and only over what they were made from.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use agent_core::change::FileChange;
use agent_core::plan::Place;
use agent_core::tool::ToolError;

use crate::files::{Files, fingerprint};
use crate::held::{Held, NewFile};

#[cfg(test)]
mod tests;

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
        let step = edit.forth();
        step.check(files.load(step.place)?)
            .map_err(|fault| fault.told(files, step.place))?;
    }
    let mut undo = Undo::default();
    for edit in edits {
        if let Err(fault) = make(files, edit, &mut undo.folders) {
            return Err(undo.run(files, &fault.told(files, &edit.place)));
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

/// Makes one edit. The places are asked about again, since the files before this one took their time.
fn make(files: &Files, edit: &Edit, folders: &mut Vec<PathBuf>) -> Result<(), Fault> {
    files.check_unmoved(&edit.place)?;
    files.check_folder(&edit.place)?;
    let step = edit.forth();
    step.take(folders, |held| step.look(files, held))
}

impl Edit {
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
            to: self.before.as_deref(),
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
