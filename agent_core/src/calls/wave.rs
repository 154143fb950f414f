//! Calls that run at the same time, as the turn's thread follows them: judged, asked about, let go, ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, never, select, unbounded};
use parking_lot::Mutex;

use super::announce::Announced;
use super::guard::{CallGuard, ended};
use super::lane::{FromLane, Job};
use super::question::{CLOSED, Question, UNANSWERED, decide, rejection};
use crate::approval::{Approval, ApprovalOption, DecidedBy, Decision, UserAnswer};
use crate::asker::Terminal;
use crate::boundary::Boundary;
use crate::event::{Event, PlannedCall, Progress, Severity, ToolCall, ToolOutcome, ToolOutput, ToolStatus};
use crate::id::{ApprovalId, ToolCallId};
use crate::plan::{Location, Plan};
use crate::policy::{Policy, Verdict};
use crate::tool::ToolError;
use crate::turn::Turn;

/// What a call gets after a cancel to end by itself.
const GRACE: Duration = Duration::from_millis(1500);

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

struct OpenCall {
    guard: CallGuard,
    call: ToolCall,
    /// Sent on once: the call may run. Dropped: it may not.
    go: Option<Sender<()>>,
    progress: Arc<Mutex<Option<Progress>>>,
    question: Option<Question>,
    /// The surface's terminal that it runs in. It goes back with this, when the call's end has been told.
    terminal: Option<Terminal>,
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
            wave.start_lane(&name, jobs, to_turn.clone());
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
        if self.turn.cancel().is_set() {
            guard.finish(self.turn, ended(ToolStatus::Cancelled, NOT_BEGUN));
            return None;
        }
        let (go, may_go) = bounded(1);
        let progress = Arc::new(Mutex::new(None));
        let job = Job {
            id: call.id.clone(),
            tool,
            input,
            may_go,
            progress: progress.clone(),
            cancel: self.turn.cancel().clone(),
        };
        let name = call.name.clone();
        let open = OpenCall {
            guard,
            call,
            go: Some(go),
            progress,
            question: None,
            terminal: None,
        };
        self.open.insert(job.id.clone(), open);
        Some((name, job))
    }

    fn start_lane(&mut self, name: &str, jobs: Vec<Job>, to_turn: Sender<FromLane>) {
        let ids: Vec<ToolCallId> = jobs.iter().map(|job| job.id.clone()).collect();
        let lane = move || jobs.into_iter().for_each(|job| job.work(&to_turn));
        if let Err(error) = thread::Builder::new().name(format!("tool {name}")).spawn(lane) {
            for id in ids {
                let why = format!("`{name}` was not run: no thread could be started for it ({error}). Try again.");
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
        let questions = self.open.values().filter_map(|open| open.question.as_ref()?.deadline);
        questions.chain(self.give_up).min()
    }

    fn hear(&mut self, message: FromLane) {
        match message {
            FromLane::Planned { id, plan, locations } => self.planned(&id, plan, locations),
            FromLane::Progress { id } => self.progressed(id),
            FromLane::Todo { entries } => {
                self.turn.emit(Event::PlanUpdated { entries });
            }
            FromLane::Terminal { id, terminal } => self.goes_on_in(id, terminal),
            FromLane::Question { text } => self.turn.question = Some(text),
            FromLane::Finished { id, result } => self.finished(&id, result),
        }
    }

    fn planned(&mut self, id: &ToolCallId, plan: Plan, locations: Vec<Location>) {
        if !self.open.contains_key(id) {
            return;
        }
        let verdict = self.judge(&plan);
        self.turn.emit(Event::ToolPlanned {
            id: id.clone(),
            plan: plan.clone(),
            locations: locations.clone(),
            runs: verdict == Verdict::Allow,
        });
        match verdict {
            Verdict::Allow => self.go(id),
            Verdict::Refuse(why) => self.end(id, ended(ToolStatus::Denied, &why)),
            Verdict::Ask { reason, options } => self.ask(id, plan, locations, reason, options),
        }
    }

    fn judge(&self, plan: &Plan) -> Verdict {
        let settings = self.turn.settings();
        let store = self.turn.store();
        let root = settings.roots.first();
        let policy = Policy {
            mode: settings.mode,
            boundary: Boundary {
                roots: &settings.roots,
                forbidden: self.turn.forbidden(),
            },
            edits_granted: settings.edits_granted,
            hosts_granted: &settings.hosts_granted,
            is_granted: &|wanted| {
                let grants = root.map(|root| store.grants(root)).transpose();
                let grants = grants.unwrap_or_else(|error| {
                    tracing::warn!(%error, "can't read the standing grants; asking instead");
                    None
                });
                grants.unwrap_or_default().iter().any(|grant| grant.covers(wanted))
            },
        };
        policy.judge(plan)
    }

    fn go(&mut self, id: &ToolCallId) {
        // The cancel may have come while the call was shown; its turn in the loop ends the call.
        if self.turn.cancel().is_set() {
            return;
        }
        if let Some(go) = self.open.get_mut(id).and_then(|open| open.go.take()) {
            // An error means that the lane is gone; its end is seen as a message or as the end of all lanes.
            let _ = go.send(());
        }
    }

    fn ask(
        &mut self,
        id: &ToolCallId,
        plan: Plan,
        locations: Vec<Location>,
        reason: String,
        options: Vec<ApprovalOption>,
    ) {
        let Some(open) = self.open.get_mut(id) else { return };
        let approval = ApprovalId::new();
        let timeout = self.turn.settings().config.approvals.timeout_s;
        open.question = Some(Question {
            approval: approval.clone(),
            options: options.clone(),
            deadline: (timeout > 0).then(|| Instant::now() + Duration::from_secs(timeout)),
        });
        let shown = PlannedCall {
            call: open.call.clone(),
            plan,
            locations,
        };
        // Before the question goes out, so that no answer can come too early.
        self.turn.session().ask(approval.clone(), self.to_answers.clone());
        self.turn.emit(Event::ApprovalRequested {
            approval: Approval {
                id: approval,
                call: id.clone(),
                reason,
                options,
                shown: Some(Arc::new(shown)),
            },
        });
    }

    fn answered(&mut self, approval: &ApprovalId, answer: &UserAnswer) {
        let of_this = |open: &OpenCall| open.question.as_ref().is_some_and(|asked| asked.approval == *approval);
        let Some((id, open)) = self.open.iter().find(|(_, open)| of_this(open)) else {
            return;
        };
        let options = open.question.as_ref().map_or(&[][..], |asked| &asked.options);
        let (id, decision, by, grant) = {
            let (decision, by, grant) = decide(options, answer);
            (id.clone(), decision, by, grant.cloned())
        };
        if let Some(grant) = grant {
            self.turn.grant(grant);
        }
        self.decided(&id, decision, by);
    }

    /// Ends a question, and with it the call unless it may run.
    fn decided(&mut self, id: &ToolCallId, decision: Decision, by: DecidedBy) {
        let Some(question) = self.open.get_mut(id).and_then(|open| open.question.take()) else {
            return;
        };
        self.turn.session().settle(&question.approval);
        self.turn.emit(Event::ApprovalDecided {
            id: question.approval,
            call: id.clone(),
            decision,
            by,
        });
        match decision {
            Decision::Allowed | Decision::AllowedAlways => self.go(id),
            Decision::Rejected => self.end(id, ended(ToolStatus::Denied, rejection(by))),
            Decision::Unanswered => self.end(id, ended(ToolStatus::Denied, UNANSWERED)),
            Decision::Cancelled => {
                self.end(id, ended(ToolStatus::Cancelled, CLOSED));
                self.turn.cancel().set();
            }
        }
    }

    fn progressed(&mut self, id: ToolCallId) {
        let progress = self.open.get(&id).and_then(|open| open.progress.lock().take());
        if let Some(progress) = progress {
            self.turn.emit(Event::ToolProgress { id, progress });
        }
    }

    fn goes_on_in(&mut self, id: ToolCallId, terminal: Terminal) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let progress = Progress {
            terminal: Some(terminal.id().clone()),
            ..Progress::default()
        };
        open.terminal = Some(terminal);
        self.turn.emit(Event::ToolProgress { id, progress });
    }

    fn finished(&mut self, id: &ToolCallId, result: Result<ToolOutput, ToolError>) {
        let outcome = match result {
            Ok(output) => ToolOutcome {
                status: ToolStatus::Completed,
                output,
            },
            Err(error) => ToolOutcome {
                status: if self.turn.cancel().is_set() {
                    ToolStatus::Cancelled
                } else {
                    ToolStatus::Failed
                },
                output: error.output.unwrap_or_else(|| ToolOutput::text(error.message)),
            },
        };
        self.end(id, outcome);
    }

    fn end(&mut self, id: &ToolCallId, outcome: ToolOutcome) {
        if let Some(OpenCall { guard, terminal, .. }) = self.open.remove(id) {
            guard.finish(self.turn, outcome);
            drop(terminal);
        }
    }

    /// Ends what is not running, and gives the rest a time.
    fn cancel(&mut self) {
        self.give_up = Some(Instant::now() + GRACE);
        let asked = self.ids(|open| open.question.is_some());
        for id in asked {
            self.decided(&id, Decision::Cancelled, DecidedBy::Cancel);
        }
        // A call that has no go yet will not get one.
        for id in self.ids(|open| open.go.is_some()) {
            self.end(&id, ended(ToolStatus::Cancelled, NOT_BEGUN));
        }
    }

    /// The same where nothing runs any more.
    fn cancel_all(&mut self) {
        self.cancel();
        for id in self.ids(|_| true) {
            self.end(&id, ended(ToolStatus::Cancelled, ABANDONED));
        }
    }

    fn time_is_up(&mut self) {
        let now = Instant::now();
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        for id in self.ids(|open| open.question.as_ref().is_some_and(|asked| due(asked.deadline))) {
            self.decided(&id, Decision::Unanswered, DecidedBy::Timeout);
        }
        if due(self.give_up) {
            for id in self.ids(|_| true) {
                self.abandon(&id);
            }
        }
    }

    fn abandon(&mut self, id: &ToolCallId) {
        if let Some(open) = self.open.get(id) {
            let name = open.call.name.clone();
            tracing::warn!(call = %id, tool = name, "abandoned: it did not end in time after the cancel");
            self.turn.emit(Event::Notice {
                severity: Severity::Warning,
                title: format!("`{name}` did not stop in time and was left behind"),
                detail: None,
            });
            self.end(id, ended(ToolStatus::Cancelled, ABANDONED));
        }
    }

    fn ids(&self, is_meant: impl Fn(&OpenCall) -> bool) -> Vec<ToolCallId> {
        let meant = self.open.iter().filter(|(_, open)| is_meant(open));
        meant.map(|(id, _)| id.clone()).collect()
    }
}

const NOT_BEGUN: &str = "Not run: the turn was cancelled before it began.";
const ABANDONED: &str = "Cancelled, but it did not stop in time. Whether it took effect is unknown.";
