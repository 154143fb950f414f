//! The files of an undo: what each is to hold again, and whether it may be put back as it is now.

use std::sync::Arc;

use super::past::Step;
use super::{Job, Manner};
use crate::boundary::Boundary;
use crate::event::{Hash, KeptBytes, KeptFile, OldFile};
use crate::plan::Place;
use crate::store::StoreError;
use crate::workspace::{FileNow, PutBack};

/// One file.
pub(super) struct File {
    pub(super) place: Place,
    pub(super) stand: Stand,
    /// It goes, since it was not there before.
    pub(super) goes: bool,
    /// What is kept of it, so that this can be taken back too.
    old: Option<OldFile>,
    put_back: Option<PutBack>,
}

/// How a file stands.
pub(super) enum Stand {
    /// It holds what it was left with, and is put back.
    Ready,
    /// It holds already what it is to hold.
    Already,
    /// Someone else has a share in it, in words: it is put back only if the user says so.
    Foreign(&'static str),
    /// It can't be put back; a sentence says why.
    Stuck(String),
}

/// What becomes of one file in all.
struct Change<'a> {
    place: &'a Place,
    target: Option<&'a KeptBytes>,
    /// What it may hold by what is known of it.
    expected: Vec<Option<&'a Hash>>,
    folders: usize,
    /// What it held when this was begun before, and broke off.
    begun: Option<&'a KeptFile>,
}

/// All files of these steps, each once; `broken_off` may have been done too, or not.
pub(super) fn files(job: &Job<'_>, steps: &[&Step], broken_off: &[Step]) -> Result<Vec<File>, StoreError> {
    let mut changes: Vec<Change<'_>> = Vec::new();
    for step in steps {
        let file = &step.file;
        let change = match changes.iter_mut().find(|change| change.place.real == file.place.real) {
            Some(change) => change,
            None => {
                changes.push(Change {
                    place: &file.place,
                    target: file.before.as_ref(),
                    expected: Vec::new(),
                    folders: 0,
                    begun: None,
                });
                changes.last_mut().expect("one was just pushed")
            }
        };
        change.follow(step);
    }
    for step in broken_off {
        if let Some(change) = changes
            .iter_mut()
            .find(|change| change.place.real == step.file.place.real)
        {
            change.follow(step);
            change.begun = change.begun.or(Some(&step.file));
        }
    }
    changes.iter().map(|change| change.file(job)).collect()
}

impl<'a> Change<'a> {
    fn follow(&mut self, step: &'a Step) {
        if step.is_sure {
            self.expected.clear();
        } else {
            self.expected.push(step.file.before.as_ref().map(|before| &before.data));
        }
        self.expected.push(step.file.after.as_ref());
        self.folders = self.folders.max(step.file.folders);
    }

    fn file(&self, job: &Job<'_>) -> Result<File, StoreError> {
        let file = |stand| File {
            place: self.place.clone(),
            stand,
            goes: self.target.is_none(),
            old: None,
            put_back: None,
        };
        let now = match job.settings.workspace.look(self.place, job.cancel) {
            Ok(now) => now,
            Err(why) => return Ok(file(Stand::Stuck(why))),
        };
        let holds = now.unsaved.as_deref().or(now.disk.as_deref()).map(Hash::of);
        let target = self.target.map(|target| &target.data);
        if holds.as_ref() == target && now.unsaved.is_none() {
            let begun = self.begun.filter(|begun| begun.after.as_ref() == target);
            return Ok(File {
                old: begun.map(|begun| OldFile {
                    file: begun.clone(),
                    bytes: None,
                }),
                // Its folders may be left.
                put_back: (self.folders > 0 && target.is_none()).then(|| self.put_back(now, None)),
                ..file(Stand::Already)
            });
        }
        let bytes = match self.target.map(|target| job.store.kept(&target.data)).transpose()? {
            Some(None) => return Ok(file(Stand::Stuck(format!("{} {NOT_KEPT}", self.place.path.display())))),
            Some(Some(bytes)) => Some(Arc::from(bytes)),
            None => None,
        };
        let stand = self.foreign(job, &now, holds.as_ref());
        let stand = stand.map_or(Stand::Ready, Stand::Foreign);
        let held = now.unsaved.clone().or(now.disk.clone());
        let mut old = OldFile::new(self.place.clone(), held.map(|bytes| (bytes, now.mode)), target.cloned());
        old.file.folders = now.missing_folders;
        Ok(File {
            put_back: Some(self.put_back(now, bytes)),
            old: Some(old),
            ..file(stand)
        })
    }

    fn put_back(&self, now: FileNow, bytes: Option<Arc<[u8]>>) -> PutBack {
        let mode = self.target.and_then(|target| target.mode);
        PutBack {
            place: self.place.clone(),
            now,
            to: bytes.map(|bytes| (bytes, mode)),
            folders: self.folders,
        }
    }

    fn foreign(&self, job: &Job<'_>, now: &FileNow, holds: Option<&Hash>) -> Option<&'static str> {
        let boundary = Boundary {
            roots: &job.settings.roots,
            forbidden: &[],
        };
        let is_read_only = now.mode.is_some_and(|mode| mode & 0o222 == 0) && self.target.is_some();
        let is_ours = self.expected.contains(&holds);
        if now.unsaved.is_some() && !is_ours {
            Some("has changes in the editor that are not saved")
        } else if !is_ours {
            Some(match holds {
                None => "is gone since",
                Some(_) if self.expected.iter().all(Option::is_none) => "is there again",
                Some(_) => "has changed since",
            })
        } else if is_read_only {
            Some("is read-only by now")
        } else if !boundary.is_inside(self.place) {
            Some("lies outside this session's folders")
        } else {
            None
        }
    }
}

impl File {
    /// A file of which nobody knows what it held.
    pub(super) fn unknown(place: &Place) -> Self {
        let shown = place.path.display();
        Self {
            place: place.clone(),
            stand: Stand::Stuck(format!(
                "{shown} can't be put back: what it held was not kept when it was changed"
            )),
            goes: false,
            old: None,
            put_back: None,
        }
    }

    /// Whether it is put back.
    pub(super) fn is_put_back(&self, manner: Manner) -> bool {
        match self.stand {
            Stand::Ready => true,
            Stand::Foreign(_) => manner == Manner::Force,
            Stand::Already | Stand::Stuck(_) => false,
        }
    }

    /// Whether it is left as it is though it is meant.
    pub(super) fn is_left(&self, manner: Manner) -> bool {
        match self.stand {
            Stand::Ready | Stand::Already => false,
            Stand::Foreign(_) => manner != Manner::Force,
            Stand::Stuck(_) => true,
        }
    }

    /// What is to be kept of it before anything is put back.
    pub(super) fn old(&self, manner: Manner) -> Option<OldFile> {
        self.old.clone().filter(|_| !self.is_left(manner))
    }

    /// What is to be done.
    pub(super) fn deed(&self, manner: Manner) -> Option<PutBack> {
        self.put_back.clone().filter(|_| !self.is_left(manner))
    }
}

const NOT_KEPT: &str = "can't be put back: what it held is not kept any more, since there is room for undo.max_mb of the \
                        configuration";
