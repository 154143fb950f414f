//! The files of one patch as they will be, worked out in memory before anything is written.

use std::fs::{self, Permissions};
use std::sync::Arc;

use agent_core::cancel::Cancel;
use agent_core::change::FileChange;
use agent_core::plan::{Location, Place};
use agent_core::tool::ToolError;

use super::apply::{Applied, Change, MatchError, apply};
use crate::coding::Coding;
use crate::edit::{self, Edit};
use crate::files::{Files, Loaded, MAX_WHOLE};
use crate::write_file::{decode, encode};

/// All files of a patch, each once, in the order it names them.
pub(crate) struct Drafts<'a> {
    files: &'a Files,
    cancel: &'a Cancel,
    drafts: Vec<Draft>,
    notes: Vec<String>,
}

struct Draft {
    place: Place,
    before: Option<Arc<[u8]>>,
    /// What the editor shows instead and has not saved.
    unsaved: Option<Arc<[u8]>>,
    mode: Option<Permissions>,
    /// The text before; none for a new file, for one that is no text, and until it is asked for.
    old: Option<String>,
    coding: Coding,
    /// What it will be.
    now: Now,
}

#[derive(Clone, PartialEq)]
enum Now {
    Absent,
    Text(String),
    /// As it is.
    Untouched,
}

/// A patch that fits.
pub(crate) struct Finished {
    pub(crate) edits: Vec<Edit>,
    pub(crate) locations: Vec<Location>,
    /// What will have been done, in words.
    pub(crate) summary: String,
}

impl<'a> Drafts<'a> {
    /// Nothing yet. After `cancel` has been set, whatever takes time fails.
    pub(crate) fn new(files: &'a Files, cancel: &'a Cancel) -> Self {
        Self {
            files,
            cancel,
            drafts: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The files that have been looked at.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.drafts.iter().map(|draft| draft.place.clone()).collect()
    }

    pub(crate) fn add(&mut self, path: &str, text: String) -> Result<(), ToolError> {
        let index = self.open(path)?;
        if self.drafts[index].now != Now::Absent {
            return Err(self.error(index, "exists already; update it instead of adding it"));
        }
        self.note(index, "created");
        self.drafts[index].now = Now::Text(text);
        Ok(())
    }

    pub(crate) fn delete(&mut self, path: &str) -> Result<(), ToolError> {
        let index = self.open(path)?;
        self.check_exists(index)?;
        self.check_no_link(index)?;
        self.note(index, "deleted");
        self.drafts[index].now = Now::Absent;
        Ok(())
    }

    pub(crate) fn change(&mut self, path: &str, change: &Change) -> Result<(), ToolError> {
        let index = self.open(path)?;
        let applied = self.applied(index, change)?;
        let places = if applied.places == 1 {
            String::new()
        } else {
            format!(", {} places", applied.places)
        };
        let how = applied
            .level
            .note()
            .map_or_else(String::new, |note| format!(" ({note})"));
        self.note(index, &format!("changed{places}{how}:"));
        self.drafts[index].now = Now::Text(applied.text);
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str, change: &Change) -> Result<(), ToolError> {
        let index = self.open(from)?;
        self.check_no_link(index)?;
        let text = match change {
            Change::Hunks(hunks) if hunks.is_empty() => self.text(index)?.to_owned(),
            Change::Hunks(_) | Change::Replace { .. } => self.applied(index, change)?.text,
        };
        let target = self.open(to)?;
        if self.drafts[target].now != Now::Absent {
            return Err(self.error(target, "exists already; delete it first or move to another path"));
        }
        let (coding, mode) = (self.drafts[index].coding, self.drafts[index].mode.clone());
        self.drafts[index].now = Now::Absent;
        let draft = &mut self.drafts[target];
        (draft.coding, draft.now) = (coding, Now::Text(text));
        draft.mode = mode;
        let shown = self.shown(target);
        self.note(index, &format!("moved to {shown}:"));
        Ok(())
    }

    /// The edits that are to be made, and what to say of them.
    pub(crate) fn finish(self) -> Result<Finished, (Vec<Place>, ToolError)> {
        let (places, notes) = (self.places(), self.notes.join("\n"));
        let (mut edits, mut locations) = (Vec::new(), Vec::new());
        for draft in self.drafts {
            if self.cancel.is_set() {
                return Err((places, ToolError::new(MatchError::Cancelled.to_string())));
            }
            let line = draft.first_change();
            match draft.into_edit(self.files) {
                Ok(None) => {}
                Ok(Some(edit)) => {
                    let path = edit.place.path.clone();
                    locations.push(Location { path, line });
                    edits.push(edit);
                }
                Err(error) => return Err((places, error)),
            }
        }
        if edits.is_empty() {
            return Err((places, ToolError::new("the patch as a whole changes nothing")));
        }
        Ok(Finished {
            edits,
            locations,
            summary: notes,
        })
    }

    /// The draft of a file, which is read when it is first named.
    fn open(&mut self, path: &str) -> Result<usize, ToolError> {
        let place = self.files.places.resolve(path)?;
        if let Some(index) = self.drafts.iter().position(|draft| draft.place.real == place.real) {
            return Ok(index);
        }
        let loaded = self.files.look_to_change(&place, self.cancel)?;
        let unsaved = loaded.as_ref().and_then(Loaded::unsaved).map(Into::into);
        let before = loaded.map(|loaded| loaded.disk);
        let size = |draft: &Draft| draft.before.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let total = self.drafts.iter().map(size).sum::<u64>() + before.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if total > 2 * MAX_WHOLE {
            return Err(ToolError::new(
                "the files of this patch are too large together; patch them one by one",
            ));
        }
        self.drafts.push(Draft {
            mode: fs::symlink_metadata(&place.real)
                .ok()
                .map(|metadata| metadata.permissions()),
            now: if before.is_some() { Now::Untouched } else { Now::Absent },
            old: None,
            coding: Coding::PLAIN,
            before,
            unsaved,
            place,
        });
        Ok(self.drafts.len() - 1)
    }

    fn applied(&mut self, index: usize, change: &Change) -> Result<Applied, ToolError> {
        let cancel = self.cancel;
        let applied = apply(self.text(index)?, change, cancel);
        applied.map_err(|error| ToolError::new(format!("{}: {error}", self.shown(index))))
    }

    /// The text that a draft has now.
    fn text(&mut self, index: usize) -> Result<&str, ToolError> {
        self.check_exists(index)?;
        if self.drafts[index].now == Now::Untouched && self.drafts[index].old.is_none() {
            edit::check_writable(self.files, &self.drafts[index].place)?;
            let bytes = self.drafts[index].base().unwrap_or_default();
            let (text, coding) = decode(&self.shown(index), bytes)?;
            let draft = &mut self.drafts[index];
            (draft.coding, draft.old) = (coding, Some(text));
        }
        let draft = &self.drafts[index];
        match (&draft.now, &draft.old) {
            (Now::Text(text), _) | (Now::Untouched, Some(text)) => Ok(text),
            (Now::Absent | Now::Untouched, _) => Err(self.error(index, "is gone by an earlier part of the patch")),
        }
    }

    fn check_exists(&self, index: usize) -> Result<(), ToolError> {
        let draft = &self.drafts[index];
        match (&draft.now, &draft.before) {
            (Now::Absent, None) => {
                let hint = self.files.hint(&draft.place);
                Err(self.error(
                    index,
                    &format!("does not exist{hint}; to make it, use write_file or Add File"),
                ))
            }
            (Now::Absent, Some(_)) => Err(self.error(index, "is deleted or moved by an earlier part of the patch")),
            (Now::Text(_) | Now::Untouched, _) => Ok(()),
        }
    }

    /// Taking away what a link leads to would leave the link, which nobody means.
    fn check_no_link(&self, index: usize) -> Result<(), ToolError> {
        match self.drafts[index].place.path.is_symlink() {
            true => Err(self.error(
                index,
                "is a symbolic link; name the file itself, or use a command for the link",
            )),
            false => Ok(()),
        }
    }

    fn shown(&self, index: usize) -> String {
        self.files.places.shown(&self.drafts[index].place.path)
    }

    fn error(&self, index: usize, what: &str) -> ToolError {
        ToolError::new(format!("{} {what}", self.shown(index)))
    }

    fn note(&mut self, index: usize, what: &str) {
        let what = what.trim_end_matches(':');
        self.notes.push(format!("{}: {what}", self.shown(index)));
    }
}

impl Draft {
    /// What it is made from.
    fn base(&self) -> Option<&[u8]> {
        self.unsaved.as_deref().or(self.before.as_deref())
    }

    /// The first line that will differ.
    fn first_change(&self) -> Option<u32> {
        let (Some(old), Now::Text(new)) = (&self.old, &self.now) else {
            return None;
        };
        let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
        u32::try_from(same + 1).ok()
    }

    fn into_edit(self, files: &Files) -> Result<Option<Edit>, ToolError> {
        let shown = files.places.shown(&self.place.path);
        let base = self.unsaved.as_deref().or(self.before.as_deref());
        let new = match self.now {
            Now::Untouched => return Ok(None),
            Now::Absent => None,
            Now::Text(text) => Some(text),
        };
        let encoded = new.as_ref().map(|text| encode(&shown, text, self.coding)).transpose()?;
        if encoded.as_deref() == base {
            return Ok(None);
        }
        // A deleted file is shown with its text, if it is one.
        let old = self
            .old
            .or_else(|| base.and_then(|bytes| decode(&shown, bytes).ok()).map(|(text, _)| text));
        let is_text = old.is_some();
        let shown = FileChange::new(self.place.clone(), old.as_deref(), new.as_deref());
        drop(old);
        let after = encoded.map(|bytes| bytes.as_ref().into());
        let shown = match base {
            Some(bytes) if !is_text => shown.of_binary(bytes.len() as u64),
            Some(_) | None => shown,
        };
        Ok(Some(Edit {
            known: base.is_none_or(|base| files.knows(&self.place, base)),
            shown,
            place: self.place,
            before: self.before,
            unsaved: self.unsaved,
            after,
            mode: self.mode,
            mode_now: None,
        }))
    }
}
