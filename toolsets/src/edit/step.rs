//! One file's way from what it holds to what it will hold: in one instant, and only over what it was made from.

use std::fs::Permissions;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use agent_core::plan::Place;
use agent_core::tool::ToolError;

use crate::files::Files;
use crate::held::{Bits, Held, NewFile};

/// A file's way from what it holds to what it will hold, either of which may be no file at all.
pub(super) struct Step<'a> {
    pub(super) place: &'a Place,
    pub(super) from: Option<&'a [u8]>,
    pub(super) to: Option<&'a [u8]>,
    pub(super) mode: Option<&'a Permissions>,
    /// The mode is also for a file that is there and has one.
    pub(super) sets_mode: bool,
}

/// Why a step was not taken.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The file holds something else than what the step begins with.
    Changed,
    Tool(ToolError),
    Io(io::Error),
}

impl Step<'_> {
    /// Takes the step in one instant, right after the last look at what is there. What someone writes between the two,
    /// or later through a file they had opened before, is lost with the old file: no rename can be made to depend on
    /// what a file holds.
    pub(super) fn take(
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
        let file = NewFile::write(&held, bytes, self.bits())?;
        last_look(&held)?;
        match self.from {
            None => file.create()?,
            Some(_) => file.replace()?,
        }
        Ok(())
    }

    fn bits(&self) -> Bits<'_> {
        match self.mode {
            Some(mode) if self.sets_mode => Bits::Set(mode),
            mode => Bits::Kept(mode),
        }
    }

    pub(super) fn look(&self, files: &Files, held: &Held) -> Result<(), Fault> {
        self.check(files.load_held(self.place, held)?)
    }

    fn check(&self, found: Option<Arc<[u8]>>) -> Result<(), Fault> {
        match found.as_deref() == self.from {
            true => Ok(()),
            false => Err(Fault::Changed),
        }
    }
}

impl Fault {
    pub(super) fn told(self, files: &Files, place: &Place) -> ToolError {
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
