//! The files of an undo: what each is to hold again, and whether it may be put back as it is now.

use std::collections::HashMap;
use std::path::Path;
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
    /// It can't be put back; why, behind its name.
    Stuck(String),
}

/// What becomes of one file in all.
struct Change<'a> {
    place: &'a Place,
    target: Option<&'a KeptBytes>,
    /// What it may hold by what is known of it.
    expected: Vec<Option<&'a Hash>>,
    /// The step before.
    last: Option<&'a Step>,
    /// Between two steps something else has changed it.
    is_shared: bool,
    /// In between it was gone, and what is there now was made anew, with permissions of its own.
    is_anew: bool,
    folders: usize,
    /// What it held when this was begun before, and broke off.
    begun: Option<&'a KeptFile>,
}

/// What becomes of all files, in the order in which they were first changed.
#[derive(Default)]
struct Changes<'a> {
    all: Vec<Change<'a>>,
    /// Where each is, by its real path.
    known: HashMap<&'a Path, usize>,
}

/// All files of these steps, each once, and of what was broken off, which may have been done or not.
pub(super) fn files(
    job: &Job<'_>,
    steps: &[&Step],
    broken_off: &[Step],
    has_commands: bool,
) -> Result<Vec<File>, StoreError> {
    let mut changes = Changes::default();
    for step in steps {
        changes.of(step).follow(step);
    }
    for step in broken_off {
        changes.of(step).carry_on(step);
    }
    let mut files = Vec::new();
    // A cancel is told by whoever asked for them.
    for change in changes.all.iter().take_while(|_| !job.cancel.is_set()) {
        files.extend(change.file(job, has_commands)?);
    }
    leave_out_neighbours(job, &mut files);
    Ok(files)
}

/// Leaves a file out for this reason; whether it was not left out before.
pub(super) fn leave_out(job: &Job<'_>, files: &mut [File], place: &Place, why: &str) -> bool {
    let is_meant = |file: &&mut File| file.place == *place && !matches!(file.stand, Stand::Stuck(_));
    let Some(file) = files.iter_mut().find(is_meant) else {
        return false;
    };
    file.stand = Stand::Stuck(why.to_owned());
    leave_out_neighbours(job, files);
    true
}

/// Where a file that can't be put back lies in the place of another one, or that in its, the other can't be either.
fn leave_out_neighbours(job: &Job<'_>, files: &mut [File]) {
    let is_stuck = |file: &File| matches!(file.stand, Stand::Stuck(_));
    let stuck: Vec<Place> = files
        .iter()
        .filter(|file| is_stuck(file))
        .map(|file| file.place.clone())
        .collect();
    for file in files.iter_mut().filter(|file| !is_stuck(file)) {
        let real = &file.place.real;
        let is_near = |other: &&Place| real.starts_with(&other.real) || other.real.starts_with(real);
        if let Some(other) = stuck.iter().find(is_near) {
            let other = job.shown(other);
            file.stand = Stand::Stuck(format!("is where {other} would be, which can't be put back"));
        }
    }
}

impl<'a> Changes<'a> {
    fn of(&mut self, step: &'a Step) -> &mut Change<'a> {
        let file = &step.file;
        let index = *self.known.entry(&file.place.real).or_insert_with(|| {
            self.all.push(Change {
                place: &file.place,
                target: file.before.as_ref(),
                expected: Vec::new(),
                last: None,
                is_shared: false,
                is_anew: false,
                folders: 0,
                begun: None,
            });
            self.all.len() - 1
        });
        &mut self.all[index]
    }
}

impl<'a> Change<'a> {
    fn follow(&mut self, step: &'a Step) {
        let before = step.file.before.as_ref().map(|before| &before.data);
        if let Some(last) = self.last
            && !step.corrects(last)
            && !self.expected.contains(&before)
        {
            self.is_shared = true;
        }
        if step.is_sure {
            self.expected.clear();
        } else {
            self.expected.push(before);
        }
        self.expected.push(step.file.after.as_ref());
        self.is_anew |= step.file.sets_mode || before.is_none();
        self.folders = self.folders.max(step.file.folders);
        self.last = Some(step);
    }

    /// What the file held when that began is not expected because of it: it may have been someone else's.
    fn carry_on(&mut self, step: &'a Step) {
        self.expected.push(step.file.after.as_ref());
        self.is_anew |= step.file.sets_mode;
        self.folders = self.folders.max(step.file.folders);
        self.begun = self.begun.or(Some(&step.file));
    }

    /// The file as it stands. None if only something that broke off was to change it and has not, or someone has since.
    fn file(&self, job: &Job<'_>, has_commands: bool) -> Result<Option<File>, StoreError> {
        let file = |stand| File {
            place: self.place.clone(),
            stand,
            goes: self.target.is_none(),
            old: None,
            put_back: None,
        };
        let now = match job.settings.workspace.look(self.place, job.cancel) {
            Ok(now) => now,
            Err(why) => return Ok(Some(file(Stand::Stuck(why)))),
        };
        let disk = now.disk.as_deref().map(Hash::of);
        if self.last.is_none() && !self.expected.contains(&disk.as_ref()) {
            return Ok(None);
        }
        let target = self.target.map(|target| &target.data);
        // What is being carried on has kept what the file held before.
        let begun = self.begun.filter(|begun| now.unsaved.is_none() && begun.after == disk);
        let sets_mode = self.sets_mode(&now);
        if disk.as_ref() == target && now.unsaved.is_none() && !sets_mode {
            return Ok(Some(File {
                old: begun.map(|begun| OldFile {
                    file: begun.clone(),
                    bytes: None,
                }),
                // Its folders may be left.
                put_back: (self.folders > 0 && target.is_none()).then(|| self.put_back(now, None)),
                ..file(Stand::Already)
            }));
        }
        if now.unsaved.is_some() && disk.as_ref() != target && !self.expected.contains(&disk.as_ref()) {
            return Ok(Some(file(Stand::Stuck(TWO_TEXTS.to_owned()))));
        }
        let bytes = match self.target.map(|target| job.store.kept(&target.data)).transpose()? {
            Some(None) => {
                let is_damaged = self
                    .target
                    .map(|target| job.store.is_damaged(&target.data))
                    .transpose()?;
                let why = if is_damaged == Some(true) { DAMAGED } else { NOT_KEPT };
                return Ok(Some(file(Stand::Stuck(why.to_owned()))));
            }
            Some(Some(bytes)) => Some(bytes),
            None => None,
        };
        let unsaved = now.unsaved.as_deref().map(Hash::of);
        let stand = self.foreign(job, &now, disk.as_ref(), unsaved.as_ref(), has_commands);
        let stand = stand.map_or(Stand::Ready, Stand::Foreign);
        let held = unsaved.or(disk).zip(now.unsaved.clone().or(now.disk.clone()));
        let held = held.map(|(data, bytes)| (KeptBytes { data, mode: now.mode }, bytes));
        let mut old = OldFile::of(self.place.clone(), held, target.cloned());
        old.file.folders = now.missing_folders;
        old.file.sets_mode = sets_mode;
        if let Some(begun) = begun {
            old.file.before.clone_from(&begun.before);
            old.bytes = None;
        }
        Ok(Some(File {
            put_back: Some(self.put_back(now, bytes)),
            old: Some(old),
            ..file(stand)
        }))
    }

    /// Whether the file that is there now is to have other permissions.
    fn sets_mode(&self, now: &FileNow) -> bool {
        let mode = self.target.and_then(|target| target.mode);
        self.is_anew && now.disk.is_some() && mode.is_some() && mode != now.mode
    }

    fn put_back(&self, now: FileNow, bytes: Option<Arc<[u8]>>) -> PutBack {
        let mode = self.target.and_then(|target| target.mode);
        PutBack {
            sets_mode: self.sets_mode(&now),
            place: self.place.clone(),
            now,
            to: bytes.map(|bytes| (bytes, mode)),
            folders: self.folders,
        }
    }

    fn foreign(
        &self,
        job: &Job<'_>,
        now: &FileNow,
        disk: Option<&Hash>,
        unsaved: Option<&Hash>,
        has_commands: bool,
    ) -> Option<&'static str> {
        let boundary = Boundary {
            roots: &job.settings.roots,
            forbidden: &[],
        };
        let is_read_only = now.mode.is_some_and(|mode| mode & 0o222 == 0) && self.target.is_some();
        if unsaved.is_some() && !self.expected.contains(&unsaved) {
            Some("has changes in the editor that are not saved")
        } else if unsaved.is_none() && !self.expected.contains(&disk) {
            Some(match (disk, has_commands) {
                (None, false) => "is gone since",
                (None, true) => "is gone since, perhaps by a command of the turn",
                (Some(_), _) if self.expected.iter().all(Option::is_none) => "is there again",
                (Some(_), false) => "has changed since",
                (Some(_), true) => "has changed since, perhaps by a command of the turn",
            })
        } else if self.is_shared {
            Some("was changed in between by something else: by someone, or by a command")
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
        Self {
            place: place.clone(),
            stand: Stand::Stuck("can't be put back: what it held was not kept when it was changed".to_owned()),
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

const DAMAGED: &str = "can't be put back: what it held is damaged in the history's file, for which there is \
                       `agent doctor --repair`";
const NOT_KEPT: &str = "can't be put back: what it held is not kept any more: there is room for undo.max_mb of the \
                        configuration, and a repair of the history lets go what is damaged";

const TWO_TEXTS: &str = "has changed on disk since, and your editor shows another text: save or reload it there before";
