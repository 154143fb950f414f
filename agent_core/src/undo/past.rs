//! A session's turns as an undo sees them: what each changed, and which are taken back already. A fold of its events.

use std::collections::{HashMap, HashSet};

use crate::approval::Decision;
use crate::content::{Content, is_blank, plain_text};
use crate::event::{Envelope, Event, HistoryMove, KeptFile, ToolStatus};
use crate::id::{SessionId, ToolCallId, TurnId};
use crate::plan::{Place, Plan};
use crate::store::{Store, StoreError};
use crate::visible;

/// Rows read at a time.
const PAGE: usize = 512;

/// The most characters of a command or a prompt that are told.
const WORDS: usize = 100;

/// All of it.
#[derive(Default)]
pub(super) struct Past {
    /// The turns that stand, in order.
    pub(super) turns: Vec<TurnPast>,
    /// What can be redone, the last one to be redone first at the end.
    pub(super) undone: Vec<Undone>,
    /// What was begun to be taken back, or redone, and broke off: perhaps partly done.
    pub(super) broken_off: Vec<Step>,
    /// What follows of it is in the same turn.
    begun: Vec<Begun>,
    /// The calls whose plan is known and that have not begun.
    planned: HashMap<ToolCallId, String>,
    /// The files of the calls that change some and have not ended.
    changing: HashMap<ToolCallId, Vec<Place>>,
}

/// A turn.
pub(super) struct TurnPast {
    id: TurnId,
    /// The row of its prompt.
    pub(super) row: u64,
    /// How its prompt begins.
    pub(super) words: String,
    /// What it changed, in order.
    pub(super) steps: Vec<Step>,
    /// Files that it changed without a word of what they held: a version that kept nothing did, or it could not be stored.
    pub(super) unknown: Vec<Place>,
    /// What ran in it whose changes are not kept.
    pub(super) commands: Vec<String>,
}

/// A change of one file.
#[derive(Clone)]
pub(super) struct Step {
    pub(super) file: KeptFile,
    call: Option<ToolCallId>,
    /// It was made. Else it may have been, or not.
    pub(super) is_sure: bool,
}

/// An undo that stands.
pub(super) struct Undone {
    /// Its first row.
    pub(super) row: u64,
    /// The turns that it took back.
    pub(super) turns: Vec<TurnPast>,
    /// What it changed.
    pub(super) steps: Vec<Step>,
}

/// A change of the user's own command, until it is known whether that came to its end.
struct Begun {
    turn: Option<TurnId>,
    row: u64,
    step: Step,
}

impl Past {
    pub(super) fn read(store: &Store, session: &SessionId) -> Result<Self, StoreError> {
        let (mut past, mut read) = (Self::default(), 0);
        loop {
            let rows = store.events(session, read, PAGE)?;
            for row in &rows {
                read = row.seq;
                past.follow(row);
            }
            if rows.len() < PAGE {
                past.broken_off = past.begun.drain(..).map(|begun| begun.step).collect();
                return Ok(past);
            }
        }
    }

    fn follow(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::UserMessage {
                content,
                command: false,
                ..
            } if !is_blank(content) => self.begin(envelope, content),
            Event::ToolPlanned { id, plan, runs, .. } => self.plan(envelope.turn, id, plan, *runs),
            Event::ApprovalDecided { call, decision, .. } => {
                if matches!(decision, Decision::Allowed | Decision::AllowedAlways) {
                    self.run(envelope.turn, call);
                }
            }
            Event::FilesKept { call, files } => self.change(envelope, call.as_ref(), files),
            Event::ToolFinished { id, outcome } => {
                self.planned.remove(id);
                let places = self.changing.remove(id);
                if outcome.status == ToolStatus::Completed {
                    self.make_sure(envelope.turn, id, places.unwrap_or_default());
                }
            }
            Event::HistoryMoved { keep_upto, why } => self.moved(envelope, *keep_upto, *why),
            Event::UserMessage { .. }
            | Event::UserSteered { .. }
            | Event::AgentText { .. }
            | Event::AgentThought { .. }
            | Event::ToolStarted { .. }
            | Event::ToolProgress { .. }
            | Event::ApprovalRequested { .. }
            | Event::PlanUpdated { .. }
            | Event::StepFinished { .. }
            | Event::Notice { .. }
            | Event::Compacted { .. }
            | Event::SessionChanged { .. }
            | Event::TurnFinished { .. }
            | Event::TurnFailed { .. } => {}
        }
    }

    fn begin(&mut self, envelope: &Envelope, content: &[Content]) {
        let Some(id) = envelope.turn else { return };
        // The user has gone on from where that was left.
        self.undone.clear();
        let begun = std::mem::take(&mut self.begun).into_iter().map(|begun| begun.step);
        // Whichever turn comes before the next one; the first one has it itself.
        let mut steps = Vec::new();
        match self.turns.last_mut() {
            Some(last) => last.steps.extend(begun),
            None => steps.extend(begun),
        }
        let text = plain_text(content);
        let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        self.turns.push(TurnPast {
            id,
            row: envelope.seq,
            words: visible::title(line.trim(), WORDS),
            steps,
            unknown: Vec::new(),
            commands: Vec::new(),
        });
    }

    fn turn(&mut self, id: Option<TurnId>) -> Option<&mut TurnPast> {
        self.turns.iter_mut().rev().find(|turn| Some(turn.id) == id)
    }

    fn plan(&mut self, turn: Option<TurnId>, call: &ToolCallId, plan: &Plan, runs: bool) {
        if let Plan::Change { changes } = plan {
            let places = changes.iter().map(|change| change.place.clone()).collect();
            self.changing.insert(call.clone(), places);
        }
        if let Some(text) = changes_unseen(plan) {
            self.planned.insert(call.clone(), text);
            if runs {
                self.run(turn, call);
            }
        }
    }

    fn run(&mut self, turn: Option<TurnId>, call: &ToolCallId) {
        let Some(text) = self.planned.remove(call) else { return };
        if let Some(turn) = self.turn(turn)
            && !turn.commands.contains(&text)
        {
            turn.commands.push(text);
        }
    }

    fn change(&mut self, envelope: &Envelope, call: Option<&ToolCallId>, files: &[KeptFile]) {
        let steps = files.iter().map(|file| Step {
            file: file.clone(),
            call: call.cloned(),
            is_sure: false,
        });
        match self.turn(envelope.turn) {
            Some(turn) => turn.steps.extend(steps),
            None => self.begun.extend(steps.map(|step| Begun {
                turn: envelope.turn,
                row: envelope.seq,
                step,
            })),
        }
    }

    fn make_sure(&mut self, turn: Option<TurnId>, call: &ToolCallId, places: Vec<Place>) {
        if let Some(turn) = self.turn(turn) {
            let own = turn.steps.iter_mut().filter(|step| step.call.as_ref() == Some(call));
            let kept = own.map(|step| step.is_sure = true).count();
            if kept == 0 {
                turn.unknown.extend(places);
            }
        }
    }

    /// Where a redo has left something else than the turn had, as an editor does that formats what it saves, the turn has
    /// left that.
    fn correct(&mut self, redone: &[Begun]) {
        for (index, begun) in redone.iter().enumerate() {
            let mut before = redone[..index].iter();
            let Some(first) = before.find(|first| begun.turn == first.turn && begun.step.corrects(&first.step)) else {
                continue;
            };
            let steps = self.turns.iter_mut().rev().flat_map(|turn| turn.steps.iter_mut().rev());
            let mut same = steps.filter(|step| step.file.place == begun.step.file.place);
            if let Some(step) = same.next().filter(|step| step.file.after == first.step.file.after) {
                step.file.after.clone_from(&begun.step.file.after);
            }
        }
    }

    fn moved(&mut self, envelope: &Envelope, keep_upto: u64, why: HistoryMove) {
        match why {
            HistoryMove::Clear => *self = Self::default(),
            // What the turn changed it has changed all the same.
            HistoryMove::Refusal => {}
            HistoryMove::Undo => {
                let stay = self.turns.partition_point(|turn| turn.row <= keep_upto);
                let own = std::mem::take(&mut self.begun).into_iter();
                let own: Vec<Begun> = own.filter(|begun| begun.turn == envelope.turn).collect();
                self.undone.push(Undone {
                    row: own.first().map_or(envelope.seq, |begun| begun.row),
                    turns: self.turns.split_off(stay),
                    steps: own.into_iter().map(Begun::done).collect(),
                });
            }
            HistoryMove::Redo => {
                let own = std::mem::take(&mut self.begun);
                let mut turns = self.undone.pop().map(|undone| undone.turns).unwrap_or_default();
                take_over(&mut turns, &own);
                self.turns.extend(turns);
                self.correct(&own);
            }
        }
    }
}

/// What a redo has overwritten is what its turns have changed from then on, so that an undo brings it back.
fn take_over(turns: &mut [TurnPast], redone: &[Begun]) {
    let mut known = HashSet::new();
    for begun in redone {
        let real = &begun.step.file.place.real;
        let mut steps = turns.iter_mut().flat_map(|turn| &mut turn.steps);
        let first = steps.find(|step| step.file.place.real == *real);
        if let Some(first) = first.filter(|_| known.insert(real)) {
            first.file.before.clone_from(&begun.step.file.before);
        }
    }
}

impl Step {
    /// Whether it says otherwise what became of the same change.
    pub(super) fn corrects(&self, other: &Self) -> bool {
        let before = |step: &Self| step.file.before.as_ref().map(|before| before.data.clone());
        self.call == other.call && self.file.place == other.file.place && before(self) == before(other)
    }
}

impl Begun {
    fn done(self) -> Step {
        Step {
            is_sure: true,
            ..self.step
        }
    }
}

/// What a call runs, where that may change files unseen.
fn changes_unseen(plan: &Plan) -> Option<String> {
    let text = match plan {
        Plan::Command(plan) if !plan.facts.read_only => plan.command.clone(),
        Plan::Input { process, command, .. } => format!("{command} ({process})"),
        Plan::Foreign(tool) => format!("{} of the MCP server {}", tool.tool, tool.server),
        Plan::Command(_) | Plan::Inward | Plan::Read { .. } | Plan::Change { .. } | Plan::Fetch { .. } => return None,
    };
    Some(visible::title(&text, WORDS))
}
