//! `/undo`, `/redo` and `/rewind`: files and conversation as they were before the last turns, and back again.
//!
//! What a file held is stored before it is changed, by a turn and by an undo alike, so that each can be taken back; and
//! an undo that broke off is carried on by giving it again. Nothing is put back unless all that is meant can be.

mod files;
mod past;
mod told;

use crate::cancel::Cancel;
use crate::engine::Engine;
use crate::event::{ContextUse, Event, HistoryMove, KeptFile, OldFile, SessionChange, StopReason};
use crate::id::TurnId;
use crate::provider;
use crate::session::Session;
use crate::settings::{Settings, Standing};
use crate::store::{Kept, Store, StoreError};
use crate::workspace::{NotPutBack, PutBack, SavedOtherwise};

use files::File;
use past::{Past, TurnPast};

/// What the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The last turn is taken back.
    Undo,
    /// The last undo is.
    Redo,
    /// So many turns are.
    Rewind,
}

/// What becomes of files that someone else has changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Nothing is done if there are any.
    Careful,
    /// They stay as they are.
    Keep,
    /// They are put back too.
    Force,
}

/// One giving of a command.
struct Job<'a> {
    wish: Wish,
    /// How many turns; none to be told which there are.
    count: Option<usize>,
    session: &'a Session,
    store: &'a Store,
    settings: Settings,
    turn: TurnId,
    cancel: &'a Cancel,
    manner: Manner,
}

/// What the user is told.
pub(crate) struct Answer {
    pub(crate) text: String,
    /// How it went: done, cancelled or not done.
    pub(crate) stop: StopReason,
}

impl Answer {
    fn cancelled() -> Self {
        Self {
            text: told::CANCELLED.to_owned(),
            stop: StopReason::Cancelled,
        }
    }

    fn done(text: String) -> Self {
        let stop = StopReason::EndTurn;
        Self { text, stop }
    }

    fn not_done(text: String) -> Self {
        let stop = StopReason::NotDone;
        Self { text, stop }
    }
}

/// What there is to be taken back.
struct Share<'a> {
    /// The turns that leave the conversation, or come back to it.
    turns: &'a [TurnPast],
    /// The last row that stays.
    keep_upto: u64,
    why: HistoryMove,
}

/// Does what the user asks for, or says why not; the answer comes back. To be called before the command is stored, so
/// that it and its answer stay in the conversation.
pub(crate) fn answer(
    engine: &Engine,
    session: &Session,
    wish: Wish,
    argument: &str,
    turn: TurnId,
    cancel: &Cancel,
) -> Result<Answer, StoreError> {
    let words: Vec<&str> = argument.split_whitespace().collect();
    let (count, manner) = match (wish, words.as_slice()) {
        (Wish::Undo | Wish::Redo, rest) => (Some(1), manner(rest)),
        (Wish::Rewind, []) => (None, Some(Manner::Careful)),
        (Wish::Rewind, [count, rest @ ..]) => (count.parse().ok().filter(|count| *count > 0), manner(rest)),
    };
    let is_list = wish == Wish::Rewind && words.is_empty();
    let Some(manner) = manner.filter(|_| count.is_some() || is_list) else {
        return Ok(Answer::not_done(told::usage(wish)));
    };
    let past = Past::read(&engine.store, &session.id)?;
    let job = Job {
        wish,
        count,
        session,
        store: &engine.store,
        settings: session.settings(),
        turn,
        cancel,
        manner,
    };
    match (wish, count) {
        (Wish::Redo, _) => job.redo(&past),
        (Wish::Undo | Wish::Rewind, Some(count)) => job.undo(&past, count),
        (Wish::Undo | Wish::Rewind, None) => Ok(Answer::done(told::list(&past.turns))),
    }
}

fn manner(words: &[&str]) -> Option<Manner> {
    match words {
        [] => Some(Manner::Careful),
        ["keep"] => Some(Manner::Keep),
        ["force"] => Some(Manner::Force),
        _ => None,
    }
}

impl Job<'_> {
    fn undo(&self, past: &Past, count: usize) -> Result<Answer, StoreError> {
        let Some(stay) = past.turns.len().checked_sub(count).filter(|_| count > 0) else {
            return Ok(Answer::not_done(told::too_few(past.turns.len())));
        };
        let turns = &past.turns[stay..];
        let steps: Vec<_> = turns.iter().flat_map(|turn| &turn.steps).collect();
        let has_commands = turns.iter().any(|turn| !turn.commands.is_empty());
        let mut files = files::files(self, &steps, &past.broken_off, has_commands)?;
        files.extend(turns.iter().flat_map(|turn| &turn.unknown).map(File::unknown));
        let share = Share {
            turns,
            keep_upto: turns[0].row - 1,
            why: HistoryMove::Undo,
        };
        self.take_back(&share, files)
    }

    fn redo(&self, past: &Past) -> Result<Answer, StoreError> {
        let Some(undone) = past.undone.last() else {
            return Ok(Answer::not_done(told::NOTHING_TO_REDO.to_owned()));
        };
        let steps: Vec<_> = undone.steps.iter().collect();
        let files = files::files(self, &steps, &past.broken_off, false)?;
        let share = Share {
            turns: &undone.turns,
            keep_upto: undone.row - 1,
            why: HistoryMove::Redo,
        };
        self.take_back(&share, files)
    }

    /// Puts the files back and moves the history, or does neither.
    fn take_back(&self, share: &Share<'_>, mut files: Vec<File>) -> Result<Answer, StoreError> {
        if self.cancel.is_set() {
            return Ok(Answer::cancelled());
        }
        if self.manner != Manner::Keep && files.iter().any(|file| file.is_left(self.manner)) {
            return Ok(Answer::not_done(told::refused(self, &files)));
        }
        let old: Vec<OldFile> = files.iter().filter_map(|file| file.old(self.manner)).collect();
        if !old.is_empty()
            && let Err(why) = self.keep(old.clone())
        {
            return Ok(Answer::not_done(told::not_safe(self, &why)));
        }
        let others = match self.put_back(&mut files) {
            Ok(others) => others,
            Err(failed) => {
                self.correct(&old, &failed.others);
                return Ok(self.not_put_back(&files, &failed));
            }
        };
        self.correct(&old, &others);
        let kept = old.iter().filter_map(|old| old.bytes.as_ref());
        self.move_history(share, kept.map(|bytes| bytes.len() as u64).sum())?;
        let parent = self.store.session(&self.session.id)?.and_then(|record| record.parent);
        Ok(Answer::done(told::done(self, share, &files, &others, parent.as_ref())))
    }

    /// Keeps what an editor has saved otherwise than it was told to.
    fn correct(&self, old: &[OldFile], others: &[SavedOtherwise]) {
        let corrected = others.iter().filter_map(|other| {
            let file = old.iter().find(|old| old.file.place == other.place)?;
            let after = other.holds.clone();
            let file = KeptFile {
                after,
                ..file.file.clone()
            };
            Some(OldFile { file, bytes: None })
        });
        let corrected: Vec<OldFile> = corrected.collect();
        if !corrected.is_empty() {
            // There are no bytes among these that could be lost.
            let _ = self.keep(corrected);
        }
    }

    fn not_put_back(&self, files: &[File], failed: &NotPutBack) -> Answer {
        let is_cancelled = self.cancel.is_set();
        let text = match is_cancelled && failed.left.is_none() {
            true if failed.done.is_empty() => return Answer::cancelled(),
            true => told::stopped(self, files, &failed.done),
            false => told::failed(self, failed),
        };
        let stop = match is_cancelled {
            true => StopReason::Cancelled,
            false => StopReason::NotDone,
        };
        Answer { text, stop }
    }

    /// Puts back what is to be, all or none but for a cancel. Whoever wants to keep what can't be put back has such files
    /// left out.
    fn put_back(&self, files: &mut [File]) -> Result<Vec<SavedOtherwise>, NotPutBack> {
        loop {
            let deeds: Vec<PutBack> = files.iter().filter_map(|file| file.deed(self.manner)).collect();
            let failed = match self.settings.workspace.put_back(deeds, self.cancel) {
                Ok(others) => return Ok(others),
                Err(failed) => failed,
            };
            let can_go_on = self.manner == Manner::Keep && failed.left.is_none() && !self.cancel.is_set();
            if !can_go_on || !files::leave_out(self, files, &failed.place, &failed.why) {
                return Err(failed);
            }
        }
    }

    /// Stores what files hold, or says why that is not safe. Nothing that is kept already goes for this: it may be what
    /// is being put back.
    fn keep(&self, files: Vec<OldFile>) -> Result<(), String> {
        match self.session.line.emit_kept(self.turn, None, files, u64::MAX).1 {
            Kept::Stored => Ok(()),
            Kept::Waiting(why) | Kept::Lost(why) => Err(why),
        }
    }

    /// So many bytes were kept for this. They stay until the next command, whatever the limit; what is older makes room.
    fn move_history(&self, share: &Share<'_>, kept: u64) -> Result<(), StoreError> {
        let (session, why) = (self.session, share.why);
        let keep_upto = share.keep_upto;
        let before = session.take_history().read_on(self.store, &session.id)?;
        let plan = before.plan().to_vec();
        let limit = self.settings.config.undo.limit().max(kept);
        let moved = Event::HistoryMoved { keep_upto, why };
        session.line.emit_bounded(self.turn, moved, limit);
        let history = before.read_on(self.store, &session.id)?;
        if *history.plan() != plan {
            let entries = history.plan().to_vec();
            session.line.emit(Some(self.turn), Event::PlanUpdated { entries });
        }
        let system = session.standing().system.unwrap_or_default();
        let fixed = provider::fixed_size(&system, &self.settings.specs());
        let context = ContextUse {
            used: if history.is_empty() { 0 } else { history.tokens(fixed) },
            window: None,
            cost_nano_usd: session.spent(None),
        };
        session.keep_history(history);
        session.change_standing(|standing| {
            Standing::forget_notes(standing);
            standing.context = Some(context);
        });
        let change = SessionChange::Context(context);
        session.line.emit(Some(self.turn), Event::SessionChanged { change });
        session.show_context();
        Ok(())
    }
}
