//! A stored session as a person reads it later: turns, what was said in them, and what was done. It is made once, masked
//! and free of what could steer a terminal, and then written as text, Markdown or a page.

pub(crate) mod html;
pub(crate) mod markdown;
mod output;
mod tamed;
pub(crate) mod text;
mod words;
mod wrap;

use std::collections::HashMap;

use agent_core::approval::Mode;
use agent_core::content::Content;
use agent_core::event::{Compaction, Envelope, Event, PlanEntry, PlanStatus, SessionChange, StopReason, ToolStatus};
use agent_core::id::{ApprovalId, ToolCallId, TurnId};
use agent_core::plan::Plan;
use agent_core::provider::ThoughtLevel;
use agent_core::search::masked;
use agent_core::spending;
use agent_core::store::{Dated, SessionRecord};
use agent_core::visible;

use crate::run::people::dollars;
use crate::run::plain::plain;
use words::{decided, duration, moment, moved, spent, tone};

/// What is said of a turn without an end.
const CUT_OFF: &str = "cut off: the agent ended before this turn did";

/// A session for people.
pub(crate) struct Transcript {
    pub(crate) title: String,
    /// What is said of the whole, a name and a value each.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) turns: Vec<Turn>,
}

/// A turn, or what happened between two.
pub(crate) struct Turn {
    /// Its place among the turns; none for what happened between two.
    pub(crate) number: Option<u64>,
    /// When it began, as people write it.
    pub(crate) at: String,
    pub(crate) parts: Vec<Part>,
}

/// One thing in a turn.
pub(crate) enum Part {
    User(String),
    Agent(String),
    Thought(String),
    Call(Call),
    Plan(Vec<(PlanStatus, String)>),
    Note(Tone, String),
}

/// How a note sounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Quiet,
    Warning,
    Error,
}

/// A tool call.
pub(crate) struct Call {
    pub(crate) title: String,
    /// None for one whose end was never stored.
    pub(crate) status: Option<ToolStatus>,
    /// How long it ran, as people say it.
    pub(crate) took: Option<String>,
    /// What was asked and what was decided, and what no diff shows, a line each.
    pub(crate) approvals: Vec<String>,
    /// A unified diff of each file.
    pub(crate) diffs: Vec<String>,
    pub(crate) output: String,
    /// What of the output is not shown.
    pub(crate) cut: Option<String>,
}

impl Call {
    /// How it ended, in a word.
    pub(crate) fn state(&self) -> &'static str {
        match self.status {
            Some(ToolStatus::Completed) => "done",
            Some(ToolStatus::Failed) => "failed",
            Some(ToolStatus::Denied) => "refused",
            Some(ToolStatus::Cancelled) => "cancelled",
            None => "without an end",
        }
    }
}

impl Transcript {
    /// Makes it of a session's rows. A turn without an end was cut off, but for the last where somebody `is_at_work`.
    pub(crate) fn of(record: &SessionRecord, rows: &[Dated], is_at_work: bool) -> Self {
        let mut maker = Maker::default();
        for row in rows {
            maker.take(row);
        }
        if !is_at_work {
            maker.cut_off();
        }
        Self {
            title: line(record.title.as_deref().unwrap_or("(no title)")),
            facts: facts(record, rows),
            turns: counted(maker.turns),
        }
    }
}

fn facts(record: &SessionRecord, rows: &[Dated]) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Session", record.id.to_string()),
        ("Folder", line(&record.cwd.to_string_lossy())),
        ("Model", line(&record.model.to_string())),
        ("Mode", record.mode.name().to_owned()),
        (
            "Begun",
            format!("{} ({})", moment(record.created_ms), line(&record.source)),
        ),
        ("Last used", moment(record.updated_ms)),
        ("Messages", record.messages.to_string()),
    ];
    let tokens = record.usage.input.zip(record.usage.output);
    facts.extend(tokens.map(|(input, output)| ("Tokens", format!("{input} in, {output} out"))));
    facts.extend(record.usage.cost_nano_usd.map(|nano| ("Cost", dollars(nano))));
    let shares = spending::shares(rows.iter().map(|row| &row.envelope.event));
    if shares.len() > 1 {
        facts.extend(shares.iter().map(|share| ("Of this", line(&spent(share)))));
    }
    let parent = record.parent.as_ref();
    facts.extend(parent.map(|parent| ("Forked from", format!("{} at row {}", parent.session, parent.seq))));
    let ended = record.ended;
    facts.extend(ended.map(|ended| ("Ended", format!("{} ({})", moment(ended.at_ms), ended.reason.id()))));
    facts.extend(record.archived_ms.map(|at_ms| ("Archived", moment(at_ms))));
    facts
}

/// The turns by their places: what tells them apart in the store is no number for people.
fn counted(mut turns: Vec<Turn>) -> Vec<Turn> {
    let numbered = turns.iter_mut().filter_map(|turn| turn.number.as_mut());
    numbered.zip(1..).for_each(|(number, place)| *number = place);
    turns
}

/// What is known of a call until its end.
struct Running {
    turn: usize,
    part: usize,
    began_ms: i64,
}

#[derive(Default)]
struct Maker {
    turns: Vec<Turn>,
    calls: HashMap<ToolCallId, Running>,
    /// Which call a question is about, and why it is asked.
    questions: HashMap<ApprovalId, String>,
    mode: Option<Mode>,
    /// Turns whose end has not come: one, and commands that were given beside it.
    open: Vec<TurnId>,
}

impl Maker {
    fn take(&mut self, row: &Dated) {
        let number = row.envelope.turn.map(|turn| turn.0);
        let is_another = number.is_some() && self.turns.last().is_none_or(|turn| turn.number != number);
        if let Some(last) = self
            .turns
            .last_mut()
            .filter(|last| last.number.is_none() && number.is_some())
            && last.parts.is_empty()
        {
            last.number = number;
        } else if is_another || self.turns.is_empty() {
            self.turns.push(Turn {
                number,
                at: moment(row.at_ms),
                parts: Vec::new(),
            });
        }
        self.follow(&row.envelope);
        self.event(&row.envelope.event, row.at_ms);
    }

    /// Knows which turns go on.
    fn follow(&mut self, envelope: &Envelope) {
        if let Event::UserMessage { command, .. } = &envelope.event {
            // A command may have been given beside a turn that went on after it.
            if !command {
                self.cut_off();
            }
            self.open.extend(envelope.turn);
        } else if envelope.event.ends_turn() {
            self.open.retain(|open| Some(*open) != envelope.turn);
        }
    }

    /// The turns that are open have no end.
    fn cut_off(&mut self) {
        for open in std::mem::take(&mut self.open) {
            let number = Some(open.0);
            if let Some(turn) = self.turns.iter_mut().rfind(|turn| turn.number == number) {
                turn.parts.push(Part::Note(Tone::Error, CUT_OFF.to_owned()));
            }
        }
    }

    fn add(&mut self, part: Part) {
        if let Some(turn) = self.turns.last_mut() {
            turn.parts.push(part);
        }
    }

    fn note(&mut self, tone: Tone, text: impl AsRef<str>) {
        self.add(Part::Note(tone, line(text.as_ref())));
    }

    fn event(&mut self, event: &Event, at_ms: i64) {
        match event {
            Event::UserMessage { content, .. } | Event::UserSteered { content, .. } => {
                self.add(Part::User(shown(content)));
            }
            Event::AgentText { text, .. } => self.add(Part::Agent(safe(text))),
            Event::AgentThought { text, .. } => self.add(Part::Thought(safe(text))),
            Event::ToolStarted { call } => self.started(call, at_ms),
            Event::ToolPlanned { id, plan, runs, .. } => self.planned(id, plan, *runs, at_ms),
            Event::ToolFinished { id, outcome } => {
                let took = self.calls.get(id).map(|running| duration(at_ms - running.began_ms));
                self.change(id, |call| {
                    call.status = Some(outcome.status);
                    call.took = took;
                    (call.output, call.cut) = output::shown(&outcome.output, !call.diffs.is_empty());
                });
            }
            Event::ApprovalRequested { approval } => {
                self.questions.insert(approval.id.clone(), line(&approval.reason));
            }
            Event::ApprovalDecided { id, call, decision, by } => {
                let reason = self.questions.remove(id).unwrap_or_default();
                let said = decided(&reason, *decision, *by);
                self.change(call, |call| call.approvals.push(said));
                if let Some(running) = self.calls.get_mut(call) {
                    running.began_ms = at_ms;
                }
            }
            Event::PlanUpdated { entries } => self.add(Part::Plan(plan(entries))),
            Event::Notice { severity, title, .. } => self.note(tone(*severity), title),
            Event::Compacted { what, .. } => self.compacted(what),
            Event::HistoryMoved { why, .. } => self.note(Tone::Quiet, moved(*why)),
            Event::SessionChanged { change } => self.changed(change),
            Event::TurnFinished { stop, .. } => self.stopped(*stop),
            Event::TurnFailed { failure } => self.note(Tone::Error, format!("error: {}", failure.message)),
            Event::ToolProgress { .. } | Event::FilesKept { .. } | Event::StepFinished { .. } => {}
        }
    }

    fn started(&mut self, call: &agent_core::event::ToolCall, at_ms: i64) {
        self.add(Part::Call(Call {
            title: line(&call.title),
            status: None,
            took: None,
            approvals: Vec::new(),
            diffs: Vec::new(),
            output: String::new(),
            cut: None,
        }));
        let Some(turn) = self.turns.len().checked_sub(1) else {
            return;
        };
        let running = Running {
            turn,
            part: self.turns[turn].parts.len() - 1,
            began_ms: at_ms,
        };
        self.calls.insert(call.id.clone(), running);
    }

    fn planned(&mut self, id: &ToolCallId, plan: &Plan, runs: bool, at_ms: i64) {
        if let Some(running) = self.calls.get_mut(id).filter(|_| runs) {
            running.began_ms = at_ms;
        }
        if let Plan::Change { changes } = plan {
            let unshown = changes
                .iter()
                .filter_map(|change| Some(line(&format!("{}: {}", change.place.path.display(), change.unshown()?))));
            let unshown: Vec<String> = unshown.collect();
            let diffs = changes.iter().map(|change| safe(&change.unified())).collect();
            self.change(id, |call| {
                call.approvals.extend(unshown);
                call.diffs = diffs;
            });
        }
    }

    fn change(&mut self, id: &ToolCallId, change: impl FnOnce(&mut Call)) {
        let Some(running) = self.calls.get(id) else { return };
        if let Some(Part::Call(call)) = self.turns[running.turn].parts.get_mut(running.part) {
            change(call);
        }
    }

    fn compacted(&mut self, what: &Compaction) {
        self.note(
            Tone::Quiet,
            match what {
                Compaction::Outputs => "room was made: long outputs became notes for the model",
                Compaction::Pictures => "room was made: pictures became notes for the model",
                Compaction::Summary { .. } => "room was made: the model goes on from a summary",
            },
        );
        if let Compaction::Summary { text } = what {
            self.add(Part::Thought(safe(text)));
        }
    }

    fn changed(&mut self, change: &SessionChange) {
        match change {
            SessionChange::Mode(mode) if self.mode.replace(*mode) == Some(*mode) => {}
            SessionChange::Mode(mode) => self.note(Tone::Quiet, format!("mode: {}", mode.name())),
            SessionChange::Title(title) => self.note(Tone::Quiet, format!("title: {title}")),
            SessionChange::Thought(level) => {
                let level = level.map_or("as the service has it", ThoughtLevel::id);
                self.note(Tone::Quiet, format!("thought level: {level}"));
            }
            SessionChange::Model(model) => self.note(Tone::Quiet, format!("model: {model}")),
            SessionChange::Cwd(cwd) => self.note(Tone::Quiet, format!("folder: {}", cwd.display())),
            SessionChange::Told(_)
            | SessionChange::Spent(_)
            | SessionChange::Context(_)
            | SessionChange::Prompted(_) => {}
        }
    }

    fn stopped(&mut self, stop: StopReason) {
        let said = match stop {
            // Of a command that was not done the answer says it.
            StopReason::EndTurn | StopReason::NotDone => return,
            StopReason::MaxTokens => "stopped: the reply reached its length limit",
            StopReason::MaxSteps => "stopped: the turn used up its model calls",
            StopReason::Budget => "stopped: going on would have cost more than a turn may",
            StopReason::Refusal => "stopped: the model refused",
            StopReason::Cancelled => "cancelled",
        };
        self.note(Tone::Warning, said);
    }
}

fn plan(entries: &[PlanEntry]) -> Vec<(PlanStatus, String)> {
    entries
        .iter()
        .map(|entry| (entry.status, line(&entry.content)))
        .collect()
}

/// The mark of an entry of a to-do list.
pub(crate) fn mark(status: PlanStatus) -> &'static str {
    match status {
        PlanStatus::Pending => "[ ]",
        PlanStatus::InProgress => "[>]",
        PlanStatus::Completed => "[x]",
        PlanStatus::Cancelled => "[-]",
    }
}

/// A message as one text.
fn shown(content: &[Content]) -> String {
    let pieces: Vec<String> = content
        .iter()
        .map(|piece| match piece {
            Content::Text { text } => safe(text),
            Content::Image { mime_type, .. } => format!("[picture, {}]", line(mime_type)),
            Content::Resource { uri, .. } | Content::Link { uri, .. } => format!("[{}]", line(uri)),
        })
        .collect();
    pieces.join("\n")
}

/// Foreign text as it may be shown: without what looks like a key, and without what steers a terminal.
fn safe(text: &str) -> String {
    // Before and after: what is taken out can hide a key, or have stood in one.
    masked(&plain(&masked(text))).into_owned()
}

/// The same in one line.
fn line(text: &str) -> String {
    visible::line(&safe(text))
}

#[cfg(test)]
mod tests;
