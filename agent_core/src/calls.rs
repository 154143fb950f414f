//! A reply's tool calls: announced, planned, judged, run, ended.
//!
//! The turn's thread is the only one that emits. Each lane (the calls of one tool, in order) is a named thread that
//! plans and runs; between the two it waits for a go. Calls that only read go side by side; any other begins when all
//! before it have ended and ends before any after it begins.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, never, select, unbounded};
use parking_lot::Mutex;
use serde_json::Value;

use crate::approval::{Approval, ApprovalOption, DecidedBy, Decision, Grant, OptionKind, UserAnswer};
use crate::boundary::Boundary;
use crate::cancel::Cancel;
use crate::event::{
    CallInput, Event, PlanEntry, PlannedCall, Progress, Severity, ToolCall, ToolKind, ToolOutcome, ToolOutput,
    ToolStatus,
};
use crate::id::{ApprovalId, ToolCallId};
use crate::line::Line;
use crate::plan::{Location, Plan};
use crate::policy::{Policy, Verdict};
use crate::provider::Call;
use crate::tool::{Report, Run, Tool, ToolError};
use crate::turn::Turn;

/// What a call gets after a cancel to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a reply's calls. When it returns, each of them has its end.
pub(crate) fn run(turn: &mut Turn<'_>, calls: Vec<Call>) {
    let tools = turn.tools();
    let announced: Vec<Announced> = calls.into_iter().map(|call| announce(turn, &tools, call)).collect();
    for wave in waves(announced) {
        Wave::begin(turn, wave).run();
    }
}

/// An announced call that is to be run, or the reason why it can't be.
struct Announced {
    guard: CallGuard,
    call: ToolCall,
    work: Result<(Arc<dyn Tool>, Value), String>,
}

impl Announced {
    fn only_reads(&self) -> bool {
        match &self.work {
            Ok((tool, input)) => tool.only_reads(input),
            Err(_) => true,
        }
    }
}

fn announce(turn: &mut Turn<'_>, tools: &[Arc<dyn Tool>], call: Call) -> Announced {
    let tool = tools.iter().find(|tool| tool.spec().name == call.name);
    let title = match (tool, &call.input) {
        (Some(tool), CallInput::Json(input)) => tool.title(input),
        (Some(_), CallInput::Malformed(_)) | (None, _) => call.name.chars().take(100).collect(),
    };
    let work = match (tool, &call.input) {
        (None, _) => Err(unknown_tool(tools, &call.name)),
        (Some(_), CallInput::Malformed(text)) => Err(malformed(&call.name, text)),
        (Some(tool), CallInput::Json(input)) => Ok((tool.clone(), input.clone())),
    };
    let call = ToolCall {
        id: ToolCallId::new(),
        given_id: call.id,
        name: call.name,
        title,
        kind: tool.map_or(ToolKind::Other, |tool| tool.kind()),
        input: call.input,
    };
    turn.emit(Event::ToolStarted { call: call.clone() });
    let guard = CallGuard {
        line: turn.line().clone(),
        turn: turn.id(),
        id: call.id.clone(),
        open: true,
    };
    Announced { guard, call, work }
}

fn unknown_tool(tools: &[Arc<dyn Tool>], name: &str) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    format!(
        "There is no tool `{name}` in this session. The tools are: {}.",
        names.join(", ")
    )
}

fn malformed(name: &str, text: &str) -> String {
    let error = serde_json::from_str::<Value>(text).err();
    let why = error.map_or_else(String::new, |error| format!(" ({error})"));
    format!("The arguments of `{name}` are not valid JSON{why}, so it was not run. Call it again with valid arguments.")
}

/// Calls that may run at the same time: a run of reads, or one other.
fn waves(calls: Vec<Announced>) -> Vec<Vec<Announced>> {
    let mut waves: Vec<Vec<Announced>> = Vec::new();
    let mut reading = false;
    for call in calls {
        let reads = call.only_reads();
        match waves.last_mut() {
            Some(wave) if reading && reads => wave.push(call),
            Some(_) | None => waves.push(vec![call]),
        }
        reading = reads;
    }
    waves
}

/// An announced call that has no end yet. Finishing consumes it; one that is dropped ends as failed, so that a call
/// without an end can't be written.
pub(crate) struct CallGuard {
    line: Line,
    turn: crate::id::TurnId,
    id: ToolCallId,
    open: bool,
}

impl CallGuard {
    fn finish(mut self, turn: &mut Turn<'_>, outcome: ToolOutcome) {
        self.open = false;
        turn.emit(Event::ToolFinished {
            id: self.id.clone(),
            outcome,
        });
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        if self.open {
            let outcome = ended(
                ToolStatus::Failed,
                "The call ended without a result, by a fault of the agent.",
            );
            let id = self.id.clone();
            self.line.emit(Some(self.turn), Event::ToolFinished { id, outcome });
        }
    }
}

fn ended(status: ToolStatus, text: &str) -> ToolOutcome {
    ToolOutcome {
        status,
        output: ToolOutput::text(text),
    }
}

/// Calls that run at the same time.
struct Wave<'t, 'a> {
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
}

struct Question {
    approval: ApprovalId,
    options: Vec<ApprovalOption>,
    deadline: Option<Instant>,
}

impl<'t, 'a> Wave<'t, 'a> {
    /// Starts the lanes.
    fn begin(turn: &'t mut Turn<'a>, calls: Vec<Announced>) -> Self {
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
    fn run(mut self) {
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
                    // All lanes are gone; what is still open ends as it is dropped.
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
            FromLane::Finished { id, result } => self.finished(&id, result),
        }
    }

    fn planned(&mut self, id: &ToolCallId, plan: Plan, locations: Vec<Location>) {
        if !self.open.contains_key(id) {
            return;
        }
        self.turn.emit(Event::ToolPlanned {
            id: id.clone(),
            plan: plan.clone(),
            locations: locations.clone(),
        });
        match self.judge(&plan) {
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
            is_granted: &|exact| {
                let grants = root.map(|root| store.grants(root)).transpose();
                let grants = grants.unwrap_or_else(|error| {
                    tracing::warn!(%error, "can't read the standing grants; asking instead");
                    None
                });
                let covers = |grant: &Grant| matches!(grant, Grant::Command { command, .. } if command == exact);
                grants.unwrap_or_default().iter().any(covers)
            },
        };
        policy.judge(plan)
    }

    fn go(&mut self, id: &ToolCallId) {
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
        if let Some(open) = self.open.remove(id) {
            open.guard.finish(self.turn, outcome);
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
            tracing::warn!(call = %id, tool = name, "abandoned: it did not end within 2 s of the cancel");
            self.turn.emit(Event::Notice {
                severity: Severity::Warning,
                title: format!("`{name}` did not stop within 2 s and was left behind"),
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
const CLOSED: &str = "Not run: the question whether it may run was closed, and the turn with it.";
const ABANDONED: &str = "Cancelled, but it did not stop in time. Whether it took effect is unknown.";
const UNANSWERED: &str = "Not run: nobody answered the question whether it may run. That is no refusal by the user.";

fn rejection(by: DecidedBy) -> &'static str {
    match by {
        DecidedBy::User => {
            "The user refused this call. Don't try to reach the same in another way; ask or go on without."
        }
        DecidedBy::Timeout | DecidedBy::Cancel | DecidedBy::Default => {
            "Not run: the answer to the question whether it may run made no sense, which counts as a refusal."
        }
    }
}

/// What an answer means. Whatever is not an option that was offered is a rejection.
fn decide<'o>(options: &'o [ApprovalOption], answer: &UserAnswer) -> (Decision, DecidedBy, Option<&'o Grant>) {
    match answer {
        UserAnswer::Cancelled => (Decision::Cancelled, DecidedBy::User, None),
        UserAnswer::Invalid => (Decision::Rejected, DecidedBy::Default, None),
        UserAnswer::Chose(kind) => match options.iter().find(|option| option.kind == *kind) {
            None => (Decision::Rejected, DecidedBy::Default, None),
            Some(option) => match option.kind {
                OptionKind::AllowOnce => (Decision::Allowed, DecidedBy::User, None),
                OptionKind::AllowAlways => (Decision::AllowedAlways, DecidedBy::User, option.grant.as_ref()),
                OptionKind::RejectOnce => (Decision::Rejected, DecidedBy::User, None),
            },
        },
    }
}

/// One call as its lane knows it.
struct Job {
    id: ToolCallId,
    tool: Arc<dyn Tool>,
    input: Value,
    may_go: Receiver<()>,
    /// The newest progress that the turn has not seen yet; a slow surface skips the ones before.
    progress: Arc<Mutex<Option<Progress>>>,
    cancel: Cancel,
}

/// What a lane tells the turn. A turn that has left hears nothing more; that is not the lane's concern.
enum FromLane {
    Planned {
        id: ToolCallId,
        plan: Plan,
        locations: Vec<Location>,
    },
    Progress {
        id: ToolCallId,
    },
    Todo {
        entries: Vec<PlanEntry>,
    },
    Finished {
        id: ToolCallId,
        result: Result<ToolOutput, ToolError>,
    },
}

impl Job {
    fn work(self, to_turn: &Sender<FromLane>) {
        if self.cancel.is_set() {
            return;
        }
        let result = catch_unwind(AssertUnwindSafe(|| self.plan_and_run(to_turn)));
        let result = result.unwrap_or_else(|_| Some(Err(ToolError::new(FAULT))));
        if let Some(result) = result {
            let _ = to_turn.send(FromLane::Finished { id: self.id, result });
        }
    }

    /// The result, or nothing if the call got no go.
    fn plan_and_run(&self, to_turn: &Sender<FromLane>) -> Option<Result<ToolOutput, ToolError>> {
        let planned = match self.tool.plan(&self.input) {
            Ok(planned) => planned,
            Err(error) => return Some(Err(error)),
        };
        let _ = to_turn.send(FromLane::Planned {
            id: self.id.clone(),
            plan: planned.plan,
            locations: planned.locations,
        });
        self.may_go.recv().ok()?;
        let report = |report| self.report(report, to_turn);
        Some((planned.action)(&Run {
            cancel: &self.cancel,
            report: &report,
        }))
    }

    fn report(&self, report: Report, to_turn: &Sender<FromLane>) {
        let message = match report {
            Report::Todo(entries) => FromLane::Todo { entries },
            Report::Progress(progress) => {
                // One message for all that the turn has not taken yet.
                if self.progress.lock().replace(progress).is_some() {
                    return;
                }
                FromLane::Progress { id: self.id.clone() }
            }
        };
        let _ = to_turn.send(message);
    }
}

const FAULT: &str = "The tool failed by a fault of its own; the fault is in the log. Try another way.";
