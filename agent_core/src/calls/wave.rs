//! Calls that run at the same time, as the turn's thread follows them: judged, asked about, let go, ended.

mod ending;
mod judged;

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, never, select, unbounded};
use parking_lot::Mutex;

use super::announce::Announced;
use super::guard::ended;
use super::lane::{FromLane, Job, Lane};
use super::open::{Deadline, OpenCall, OwnCancel};
use crate::approval::UserAnswer;
use crate::asker::Terminal;
use crate::event::{Event, Progress, ToolStatus};
use crate::id::{ApprovalId, ToolCallId};
use crate::tool::Limit;
use crate::turn::Turn;
use ending::NOT_BEGUN;

/// Calls that run at the same time.
pub(super) struct Wave<'t, 'a> {
    turn: &'t mut Turn<'a>,
    open: HashMap<ToolCallId, OpenCall>,
    from_lanes: Receiver<FromLane>,
    answers: Receiver<(ApprovalId, UserAnswer)>,
    to_answers: Sender<(ApprovalId, UserAnswer)>,
    /// When running calls are given up; set by a cancel.
    give_up: Option<Instant>,
}

impl<'t, 'a> Wave<'t, 'a> {
    /// Starts the lanes.
    pub(super) fn begin(turn: &'t mut Turn<'a>, calls: Vec<Announced>) -> Self {
        let (to_turn, from_lanes) = unbounded();
        let (to_answers, answers) = unbounded();
        let mut wave = Self {
            turn,
            open: HashMap::new(),
            from_lanes,
            answers,
            to_answers,
            give_up: None,
        };
        // Each with the calls of one tool, in order.
        let mut lanes: Vec<(String, Vec<Job>)> = Vec::new();
        for announced in calls {
            if let Some((name, job)) = wave.take_in(announced) {
                match lanes.iter_mut().find(|(lane, _)| *lane == name) {
                    Some((_, jobs)) => jobs.push(job),
                    None => lanes.push((name, vec![job])),
                }
            }
        }
        for (name, jobs) in lanes {
            let ids: Vec<ToolCallId> = jobs.iter().map(|job| job.id.clone()).collect();
            let lane = Arc::new(Lane::new(name, jobs, to_turn.clone()));
            for id in ids {
                if let Some(open) = wave.open.get_mut(&id) {
                    open.lane = Arc::downgrade(&lane);
                }
            }
            wave.start(&lane);
        }
        wave
    }

    /// Opens a call; one that can't be run or comes after a cancel ends at once.
    fn take_in(&mut self, announced: Announced) -> Option<(String, Job)> {
        let Announced { guard, call, work } = announced;
        let (tool, input) = match work {
            Ok(work) => work,
            Err(why) => {
                guard.finish(self.turn, ended(ToolStatus::Failed, &why));
                return None;
            }
        };
        let cancel = self.turn.cancel().clone();
        tool.get_ready(&cancel, &mut |notice| {
            self.turn.emit(notice);
        });
        if cancel.is_set() {
            guard.finish(self.turn, ended(ToolStatus::Cancelled, NOT_BEGUN));
            return None;
        }
        let (go, may_go) = bounded(1);
        let progress = Arc::new(Mutex::new(None));
        let limit = self.limit(tool.limit(&input));
        let cancel = OwnCancel::below(self.turn.cancel());
        let job = Job {
            id: call.id.clone(),
            tool,
            input,
            may_go,
            progress: progress.clone(),
            cancel: cancel.handle(),
        };
        let name = call.name.clone();
        let open = OpenCall {
            guard,
            call,
            go: Some(go),
            progress,
            question: None,
            terminal: None,
            lane: Weak::new(),
            limit,
            cancel,
            deadline: Deadline::None,
            shows_its_plan: false,
            running: None,
        };
        self.open.insert(job.id.clone(), open);
        Some((name, job))
    }

    fn limit(&self, limit: Limit) -> Option<Duration> {
        match limit {
            Limit::Usual => {
                let seconds = self.turn.settings().config.agent.tool_timeout_s;
                (seconds > 0).then(|| Duration::from_secs(seconds))
            }
            Limit::Own(limit) => Some(limit),
            Limit::None => None,
        }
    }

    fn start(&mut self, lane: &Arc<Lane>) {
        if let Err(error) = lane.begin() {
            for id in lane.waiting() {
                let why = format!("It was not run: no thread could be started for it ({error}). Try again.");
                self.end(&id, ended(ToolStatus::Failed, &why));
            }
        }
    }

    /// Follows the lanes until all calls have ended.
    pub(super) fn run(mut self) {
        let mut cancelled = self.turn.cancel().closed().clone();
        let no_message = never();
        while !self.open.is_empty() {
            let wait = self
                .next_deadline()
                .map(|at| at.saturating_duration_since(Instant::now()));
            let timer = wait.map_or_else(never, crossbeam_channel::after);
            let from_lanes = self.from_lanes.clone();
            select! {
                recv(from_lanes) -> message => match message {
                    Ok(message) => self.hear(message),
                    // All lanes are gone: at a cancel by themselves, else by a fault, and what is open ends as it drops.
                    Err(_) if self.turn.cancel().is_set() => self.cancel_all(),
                    Err(_) => return,
                },
                recv(self.answers) -> answer => {
                    if let Ok((approval, answer)) = answer {
                        self.answered(&approval, &answer);
                    }
                }
                recv(cancelled) -> _ => {
                    cancelled = no_message.clone();
                    self.cancel();
                }
                recv(timer) -> _ => self.time_is_up(),
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let looks = self.open.values().filter_map(OpenCall::next_look);
        looks.chain(self.give_up).min()
    }

    fn hear(&mut self, message: FromLane) {
        match message {
            FromLane::Begun { id } => self.begun(&id),
            FromLane::Planned { id, plan, locations } => self.planned(&id, plan, locations),
            FromLane::Progress { id } => self.progressed(id),
            FromLane::Todo { id, entries } if self.open.contains_key(&id) => {
                self.turn.emit(Event::PlanUpdated { entries });
            }
            FromLane::Terminal { id, terminal } => self.goes_on_in(id, terminal),
            FromLane::Question { id, text } if self.open.contains_key(&id) => self.turn.question = Some(text),
            FromLane::Keep { id, files, kept } if self.open.contains_key(&id) => {
                self.turn.keep(id, files);
                let _ = kept.send(());
            }
            FromLane::Todo { .. } | FromLane::Question { .. } | FromLane::Keep { .. } => {
                tracing::debug!("a call that was left behind goes on")
            }
            FromLane::Finished { id, result } => self.finished(&id, result),
        }
    }

    /// From here on it may not take for ever to say what it would do.
    fn begun(&mut self, id: &ToolCallId) {
        let limit = self.limit(Limit::Usual);
        if let Some(open) = self.open.get_mut(id) {
            open.deadline = Deadline::within(limit);
        }
    }

    fn progressed(&mut self, id: ToolCallId) {
        let progress = self.open.get(&id).and_then(|open| open.progress.lock().take());
        if let Some(progress) = progress {
            self.show(id, progress);
        }
    }

    fn goes_on_in(&mut self, id: ToolCallId, terminal: Terminal) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let progress = Progress {
            terminal: Some(terminal.id().clone()),
            ..Progress::default()
        };
        open.terminal = Some(terminal);
        self.show(id, progress);
    }

    fn show(&mut self, id: ToolCallId, progress: Progress) {
        if let Some(running) = self.open.get_mut(&id).and_then(|open| open.running.as_mut()) {
            running.shown(&progress);
        }
        self.turn.emit(Event::ToolProgress { id, progress });
    }

    fn ids(&self, is_meant: impl Fn(&OpenCall) -> bool) -> Vec<ToolCallId> {
        let meant = self.open.iter().filter(|(_, open)| is_meant(open));
        meant.map(|(id, _)| id.clone()).collect()
    }
}
