//! What the user is told of an undo, as Markdown.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

use super::files::{File, Stand};
use super::past::TurnPast;
use super::{Job, Manner, Share, Wish};
use crate::event::HistoryMove;
use crate::fence::code;
use crate::plan::Place;
use crate::store::Parent;
use crate::visible;
use crate::workspace::{NotPutBack, SavedOtherwise};

/// Turns that are listed.
const LISTED: usize = 20;

pub(super) const NOTHING_TO_REDO: &str =
    "There is nothing to redo: `/redo` takes back the last `/undo`, as long as no new prompt has come since.";

const GONE: &str = " (it is gone)";

pub(super) const CANCELLED: &str = "Cancelled; nothing was changed.";

pub(super) fn usage(wish: Wish) -> String {
    match wish {
        Wish::Undo | Wish::Redo => {
            let name = wish.name();
            format!(
                "Nothing was done. `{name}` takes no argument but `keep`, which leaves files alone that someone else has \
                 changed since, or `force`, which overwrites them."
            )
        }
        Wish::Rewind => "Nothing was done. `/rewind` lists the last turns; `/rewind N` takes the last N back, and \
                         `/rewind N keep` or `/rewind N force` says what becomes of files that someone else has \
                         changed since."
            .to_owned(),
    }
}

pub(super) fn list(turns: &[TurnPast]) -> String {
    if turns.is_empty() {
        return too_few(0);
    }
    let mut text = "`/rewind N` takes the last N of these turns back, with what they changed:\n\n".to_owned();
    for (number, turn) in (1..).zip(turns.iter().rev().take(LISTED)) {
        let files = match turn.steps.is_empty() {
            true => "",
            false => " (changed files)",
        };
        line(&mut text, &format!("{number}: {}{files}", words(turn)));
    }
    if let more @ 1.. = turns.len().saturating_sub(LISTED) {
        line(&mut text, &format!("and {more} before these"));
    }
    text
}

pub(super) fn too_few(turns: usize) -> String {
    match turns {
        0 => "There is no turn to take back.".to_owned(),
        1 => "Nothing was done: there is only one turn to take back.".to_owned(),
        turns => format!("Nothing was done: there are only {turns} turns to take back."),
    }
}

/// Nothing was done, and why.
pub(super) fn refused(job: &Job<'_>, files: &[File]) -> String {
    let name = job.command();
    let mut text = "Nothing was changed, since these files can't just be put back:\n\n".to_owned();
    left(&mut text, job, files);
    let is_stuck = files.iter().any(|file| matches!(file.stand, Stand::Stuck(_)));
    let _ = write!(text, "\n`{name} keep` leaves them as they are and puts back the rest.");
    if !is_stuck {
        let back = match job.wish {
            Wish::Undo | Wish::Rewind => "/redo",
            Wish::Redo => "/undo",
        };
        let _ = write!(
            text,
            " `{name} force` puts these back too; `{back}` then brings back what they hold now."
        );
    }
    text
}

/// What the files hold could not be stored.
pub(super) fn not_safe(job: &Job<'_>, why: &str) -> String {
    format!(
        "Nothing was changed, since what the files hold now could not be kept before: {} Try again when that is over: \
         `{}`.",
        visible::line(why),
        job.given()
    )
}

/// Putting back failed.
pub(super) fn failed(job: &Job<'_>, failed: &NotPutBack) -> String {
    let name = job.command();
    let mut text = format!(
        "The conversation stays as it is, since the files could not be put back: {} {}",
        job.shown(&failed.place),
        failed.why
    );
    match &failed.left {
        None => text.push_str("; no file was changed."),
        Some(left) => {
            let _ = write!(text, "; {}.", visible::line(left));
        }
    }
    let _ = write!(
        text,
        " `{}` tries again; `{name} keep` leaves out what can't be put back.",
        job.given()
    );
    text
}

/// A cancel came when these files had been put back.
pub(super) fn stopped(job: &Job<'_>, files: &[File], done: &[Place]) -> String {
    let done: HashSet<&Path> = done.iter().map(|place| place.real.as_path()).collect();
    let is_done = |file: &&File| done.contains(file.place.real.as_path());
    let rest = files.iter().filter(|file| file.is_put_back(job.manner));
    let given = job.given();
    let back = match job.wish {
        Wish::Undo | Wish::Rewind => "; `/redo` then brings all of it back",
        Wish::Redo => "",
    };
    let mut text = format!(
        "Cancelled. {} of {} files are put back already; the others and the conversation are as they were. `{given}` \
         goes on from there{back}.\n\nFiles put back:\n\n",
        done.len(),
        rest.count(),
    );
    for file in files.iter().filter(is_done) {
        line(
            &mut text,
            &format!("{}{}", job.shown(&file.place), if file.goes { GONE } else { "" }),
        );
    }
    text
}

/// What was done.
pub(super) fn done(
    job: &Job<'_>,
    share: &Share<'_>,
    files: &[File],
    others: &[SavedOtherwise],
    parent: Option<&Parent>,
) -> String {
    let is_redo = share.why == HistoryMove::Redo;
    let mut text = match (share.turns, is_redo) {
        ([turn], false) => format!("Taken back: {}\n", words(turn)),
        ([turn], true) => format!("There again: {}\n", words(turn)),
        (turns, false) => format!("Taken back: the last {} turns.\n", turns.len()),
        (turns, true) => format!("There again: {} turns.\n", turns.len()),
    };
    let put_back: Vec<&File> = files
        .iter()
        .filter(|file| file.is_put_back(job.manner) || matches!(file.stand, Stand::Already))
        .collect();
    if put_back.is_empty() {
        text.push_str("\nNo file was changed.\n");
    } else {
        text.push_str("\nFiles put back:\n\n");
    }
    for file in &put_back {
        let remark = match (&file.stand, file.goes) {
            (Stand::Already, _) => " (it held that already)",
            (_, true) => GONE,
            (_, false) => "",
        };
        line(&mut text, &format!("{}{remark}", job.shown(&file.place)));
    }
    if files.iter().any(|file| file.is_left(job.manner)) {
        text.push_str("\nLeft as they are:\n\n");
        left(&mut text, job, files);
    }
    for other in others {
        let _ = write!(
            text,
            "\n{}: the editor saved another text than it was given, perhaps since it formats what it saves.\n",
            job.shown(&other.place)
        );
    }
    commands(&mut text, share, is_redo);
    let is_shared = |parent: &&Parent| share.turns.iter().any(|turn| turn.row <= parent.seq);
    if let Some(parent) = parent.filter(is_shared).filter(|_| !put_back.is_empty()) {
        let _ = write!(
            text,
            "\nThis session was forked from {}, whose files these may be too.\n",
            parent.session
        );
    }
    if !is_redo {
        text.push_str("\n`/redo` brings this back, as long as no new prompt has come.\n");
    }
    text
}

fn commands(text: &mut String, share: &Share<'_>, is_redo: bool) {
    let mut commands: Vec<&String> = Vec::new();
    for command in share.turns.iter().flat_map(|turn| &turn.commands) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    if commands.is_empty() {
        return;
    }
    text.push_str(match is_redo {
        false => "\nWhat a command changed is not kept and stays as it is. These ran:\n\n",
        true => "\nThese are not run again:\n\n",
    });
    for command in commands {
        line(text, &code(command));
    }
}

/// The files that are left as they are, and why.
fn left(text: &mut String, job: &Job<'_>, files: &[File]) {
    // Whoever is careful is told of all of them.
    let manner = match job.manner {
        Manner::Careful | Manner::Keep => Manner::Keep,
        Manner::Force => Manner::Force,
    };
    for file in files.iter().filter(|file| file.is_left(manner)) {
        match &file.stand {
            Stand::Foreign(why) => line(text, &format!("{} {why}", job.shown(&file.place))),
            Stand::Stuck(why) => line(text, &format!("{} {why}", job.shown(&file.place))),
            Stand::Ready | Stand::Already => {}
        }
    }
}

fn line(text: &mut String, what: &str) {
    let _ = writeln!(text, "- {what}");
}

fn words(turn: &TurnPast) -> String {
    match turn.words.as_str() {
        "" => "a turn without words".to_owned(),
        words => code(words),
    }
}

impl Job<'_> {
    /// A file as the user knows it.
    pub(super) fn shown(&self, place: &Place) -> String {
        let path = place.path.strip_prefix(&self.settings.folders.cwd);
        let path = path.unwrap_or(&place.path).display().to_string();
        code(&visible::title(&path, usize::MAX))
    }

    /// The command as the user gave it.
    fn given(&self) -> String {
        let command = self.command();
        match self.manner {
            Manner::Careful => command,
            Manner::Keep => format!("{command} keep"),
            Manner::Force => format!("{command} force"),
        }
    }

    /// The command as the user gave it, but for its manner.
    fn command(&self) -> String {
        match self.count {
            Some(count) if self.wish == Wish::Rewind => format!("{} {count}", self.wish.name()),
            Some(_) | None => self.wish.name().to_owned(),
        }
    }
}

impl Wish {
    fn name(self) -> &'static str {
        match self {
            Self::Undo => "/undo",
            Self::Redo => "/redo",
            Self::Rewind => "/rewind",
        }
    }
}
