//! The turn loop: ask the model, run its calls, again.

use std::path::PathBuf;
use std::sync::Arc;

use crate::approval::Grant;
use crate::asking::{self, Answer, Fallback};
use crate::budget::{self, Spending};
use crate::calls::{self, Repeats};
use crate::cancel::Cancel;
use crate::compact::{Compactor, Made, Reason};
use crate::config::Config;
use crate::end::End;
use crate::engine::Engine;
use crate::event::{ContextUse, ErrorClass, Event, Failure, HistoryMove, OldFile, Severity, StopReason};
use crate::history::History;
use crate::id::{MessageId, ToolCallId, TurnId};
use crate::line::{Line, Voice};
use crate::provider::{self, Finish, ModelRef, Provider, ProviderError, Reply, ToolSpec, Usage};
use crate::session::{Prompt, Session};
use crate::settings::{Settings, Standing};
use crate::setup::SetupError;
use crate::slash;
use crate::store::{Kept, Store, StoreError};
use crate::tool::Tool;
use crate::visible;
use crate::workspace::Workspace;

mod beginning;
mod steering;

/// A turn that runs.
pub(crate) struct Turn<'a> {
    engine: &'a Engine,
    pub(crate) session: &'a Session,
    pub(crate) id: TurnId,
    pub(crate) cancel: Cancel,
    /// The workspace as it was when the turn began; a move takes effect with the next one.
    workspace: Arc<dyn Workspace>,
    /// Its tools, the same for the whole turn.
    tools: Vec<Arc<dyn Tool>>,
    /// The same as the model sees them.
    pub(crate) specs: Vec<ToolSpec>,
    pub(crate) history: History,
    /// The model that answers, if the session's own can't be had.
    pub(crate) fallback: Option<Fallback>,
    pub(crate) usage: Usage,
    pub(crate) spending: Spending,
    pub(crate) repeats: Repeats,
    /// What a tool wants the user to answer in their next prompt; shown when the reply's calls have ended.
    pub(crate) question: Option<String>,
    /// The user has been told of a file that is too large to be kept.
    told_unkept: bool,
    /// The user has been told that what a file held could not be stored.
    told_unsafe: bool,
    /// The user knows that there is a picture which the model can't see.
    told_unseen: bool,
    /// The row of its prompt.
    first_row: u64,
}

/// Why a turn could not come to a stop of its own.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TurnError {
    /// The model's service failed.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The past could not be read.
    #[error("can't read this session's history")]
    ReadHistory(#[from] StoreError),
    /// Another process works in this session.
    #[error("{0}")]
    Held(String),
}

/// Runs a prompt to its end. Emits everything of it but the end, which comes back: what is let go here may be at fault
/// too, and a turn has one end.
pub(crate) fn run(engine: &Engine, session: &Session, prompt: Prompt) -> End {
    let end = match slash::parse(&prompt.content) {
        Some(command) => slash::run(engine, session, &command, prompt),
        None => match Turn::begin(engine, session, prompt) {
            Ok((turn, stop)) => return turn.run(stop),
            Err(error) => Err(error),
        },
    };
    End::new(session, end, None)
}

impl<'a> Turn<'a> {
    /// Works to its end, or ends at once with a stop that is known.
    fn run(mut self, stop: Option<StopReason>) -> End {
        let end = stop.map_or_else(|| self.work(), Ok).map(|stop| (stop, self.usage));
        let model = self.provider();
        End::new(self.session, end, Some(self.history)).answered_by(model)
    }

    /// Takes the tools that the turn has. Servers that are still being started are waited for, but not for long.
    fn take_tools(&mut self) {
        let (workspace, cancel) = (Arc::clone(&self.workspace), self.cancel.clone());
        workspace.get_ready(&cancel, &mut |notice| {
            self.emit(notice);
        });
        workspace.recall_plan(self.history.plan());
        self.tools = workspace.tools();
        self.specs = self.tools.iter().map(|tool| tool.spec().clone()).collect();
    }

    /// The loop.
    fn work(&mut self) -> Result<StopReason, TurnError> {
        self.take_tools();
        if self.cancel.is_set() {
            return Ok(StopReason::Cancelled);
        }
        let mut empty_replies = 0;
        let last_step = self.settings().config.agent.max_steps;
        for step in 1..=last_step {
            let answer = match self.make_room(Reason::Full) {
                // A summary costs too.
                Ok(_) if self.has_cost(step) && budget::is_spent(self) => return Ok(StopReason::Budget),
                Ok(_) => {
                    self.take_in(self.session.take_steers());
                    asking::ask(self)
                }
                Err(error) => Err(error),
            };
            let Answer { mut reply, spoke } = match answer {
                Ok(answer) => answer,
                Err(ProviderError::Cancelled) => return Ok(StopReason::Cancelled),
                Err(error @ ProviderError::Failed(_)) => return Err(error.into()),
            };
            if reply.calls.len() > calls::MOST {
                return Err(too_many_calls(reply.calls.len()));
            }
            let finish = reply.finish;
            let calls = std::mem::take(&mut reply.calls);
            let remark = reply.remark.take();
            let has_calls = !calls.is_empty();
            self.finish_step(step, reply);
            if let Some(remark) = remark {
                self.warn(&remark, "It may lack its end. Prompt again to go on.");
            }
            let is_empty = !has_calls && !spoke;
            let mut is_stuck = false;
            // What a refused reply asked for is not done: its turn leaves the history, and nobody would know of it.
            if !matches!(finish, Finish::Refusal | Finish::ContentFilter) {
                is_stuck = calls::run(self, calls);
            }
            if self.cancel.is_set() {
                return Ok(StopReason::Cancelled);
            }
            if is_stuck {
                self.warn(
                    "stopped: the model makes the same call again and again",
                    "Tell it what to do instead, or choose another model.",
                );
                return Ok(StopReason::MaxSteps);
            }
            if let Some(question) = self.question.take() {
                self.say(question);
                return Ok(StopReason::EndTurn);
            }
            match finish {
                Finish::Length => return Ok(StopReason::MaxTokens),
                Finish::Refusal | Finish::ContentFilter => return Ok(self.refuse()),
                Finish::Stop | Finish::ToolCalls if is_empty && empty_replies == 0 => empty_replies += 1,
                Finish::Stop | Finish::ToolCalls if is_empty => {
                    self.warn(
                        "the model gave no answer, twice",
                        "Ask again in other words, or choose another model.",
                    );
                    return Ok(StopReason::EndTurn);
                }
                Finish::Stop | Finish::ToolCalls if !has_calls => {
                    if step == last_step || !self.is_steered_on() {
                        return Ok(StopReason::EndTurn);
                    }
                }
                Finish::Stop | Finish::ToolCalls => {}
            }
        }
        Ok(StopReason::MaxSteps)
    }

    /// Whether the turn has cost something before this step.
    fn has_cost(&self, step: u32) -> bool {
        step > 1 || self.usage.cost_nano_usd.is_some()
    }

    fn finish_step(&mut self, step: u32, reply: Reply) {
        let model = self.provider();
        let usage = budget::priced(reply.usage, model.model());
        self.usage = self.usage.plus(usage);
        let context = ContextUse {
            used: tokens(&usage).unwrap_or_else(|| self.history.tokens(self.fixed_size())),
            window: model.model().context_window,
            cost_nano_usd: self.session.spent(usage.cost_nano_usd),
        };
        self.session
            .change_standing(|standing| standing.context = Some(context));
        self.emit(Event::StepFinished {
            step,
            model: Some(model.model().name.clone()),
            usage,
            context,
            finish: reply.finish,
            native: reply.native,
        });
        budget::note(self, usage.cost_nano_usd);
    }

    /// Bytes of what each request has beside the messages.
    pub(crate) fn fixed_size(&self) -> usize {
        provider::fixed_size(&self.session.standing().system.unwrap_or_default(), &self.specs)
    }

    /// Takes the prompt and what followed out of the model's history; what was said stays on screen.
    fn refuse(&mut self) -> StopReason {
        self.emit(Event::HistoryMoved {
            keep_upto: self.first_row.saturating_sub(1),
            why: HistoryMove::Refusal,
        });
        self.session.change_standing(Standing::forget_notes);
        StopReason::Refusal
    }

    /// Says something in the model's place.
    fn say(&mut self, text: String) {
        let mut speech = self.session.line.speak(Some(self.id), MessageId::new(), Voice::Text);
        speech.say(text, &self.cancel);
        if let Some(said) = speech.end() {
            self.history.follow(&said);
        }
    }

    /// Tells the user of something that is not as it should be, and what to do.
    fn warn(&mut self, title: &str, detail: &str) {
        self.emit(Event::Notice {
            severity: Severity::Warning,
            title: title.into(),
            detail: Some(detail.into()),
        });
    }

    /// Tells the user, once a turn, of pictures that the model can't see: of the prompt, of a tool, or from when another
    /// model was asked. The provider tells the model.
    pub(crate) fn tell_unseen(&mut self) {
        let provider = self.provider();
        let model = provider.model();
        if self.told_unseen || model.images || !self.history.has_pictures() {
            return;
        }
        self.told_unseen = true;
        self.warn(
            &format!("{} doesn't see pictures", model.name),
            "It was told that there is one. Choose a model that sees, or put it in words.",
        );
    }

    /// Emits an event of this turn when the surface has room, and takes it into the model's history. Its row's number
    /// comes back.
    pub(crate) fn emit(&mut self, event: Event) -> u64 {
        self.session.line.wait_for_room(&self.cancel);
        let envelope = self.session.line.emit(Some(self.id), event);
        self.history.follow(&envelope);
        envelope.seq
    }

    /// Keeps what files hold before a call changes them. A file that is larger than all that may be kept is told of.
    pub(crate) fn keep(&mut self, call: ToolCallId, mut files: Vec<OldFile>) {
        let limit = self.settings().config.undo.limit();
        let is_large = |bytes: &Arc<[u8]>| bytes.len() as u64 > limit;
        let mut too_large = None;
        for file in &mut files {
            if file.bytes.take_if(|bytes| is_large(bytes)).is_some() {
                too_large = Some(file.file.place.path.clone());
            }
        }
        if let Some(path) = too_large.filter(|_| limit > 0 && !self.told_unkept) {
            self.told_unkept = true;
            self.warn(
                &format!("what {} held is not kept, and /undo can't put it back", path.display()),
                "It is larger than undo.max_mb of the configuration.",
            );
        }
        let mut overwritten = files.iter().filter(|file| file.bytes.is_some());
        let overwritten = overwritten.next().map(|file| file.file.place.path.clone());
        self.session.line.wait_for_room(&self.cancel);
        let (envelope, kept) = self.session.line.emit_kept(self.id, Some(call), files, limit);
        self.history.follow(&envelope);
        if let Some(path) = overwritten.filter(|_| !self.told_unsafe) {
            let path = visible::title(&path.display().to_string(), usize::MAX);
            let (title, reason) = match kept {
                Kept::Stored => return,
                Kept::Waiting(reason) => (
                    format!("what {path} held is not kept yet, and /undo may not be able to put it back"),
                    reason,
                ),
                Kept::Lost(reason) => (
                    format!("what {path} held is not kept, and /undo can't put it back"),
                    reason,
                ),
            };
            self.told_unsafe = true;
            self.warn(&title, &reason);
        }
    }

    /// Stores a permission the user gave.
    pub(crate) fn grant(&self, grant: Grant) {
        match &grant {
            Grant::EditsThisSession => self.session.change_settings(|settings| settings.edits_granted = true),
            Grant::HostThisSession { host } => self.session.change_settings(|settings| {
                Arc::make_mut(&mut settings.hosts_granted).insert(host.clone());
            }),
            Grant::Command { .. } | Grant::Tool { .. } => self.engine.store.grant(&grant),
        }
    }

    pub(crate) fn id(&self) -> TurnId {
        self.id
    }

    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    pub(crate) fn session(&self) -> &Session {
        self.session
    }

    pub(crate) fn line(&self) -> &Line {
        &self.session.line
    }

    pub(crate) fn settings(&self) -> Settings {
        self.session.settings()
    }

    /// The model that answers now.
    pub(crate) fn provider(&self) -> Arc<dyn Provider> {
        let own = self.settings().provider;
        self.fallback(&own.model().name)
            .map_or_else(|| Arc::clone(&own), |fallback| Arc::clone(&fallback.provider))
    }

    /// What answers in place of this model.
    pub(crate) fn fallback(&self, model: &ModelRef) -> Option<&Fallback> {
        self.fallback.as_ref().filter(|fallback| fallback.is_for(model))
    }

    /// Makes room in the model's context. Says whether there is more than before.
    pub(crate) fn make_room(&mut self, reason: Reason) -> Result<bool, ProviderError> {
        let compactor = Compactor {
            session: self.session,
            turn: self.id,
            cancel: &self.cancel,
            provider: self.provider(),
            tools: &self.specs,
            history: &mut self.history,
            usage: &mut self.usage,
        };
        match compactor.make_room(reason, "") {
            Ok(made) => Ok(matches!(made, Made::Room { .. })),
            // The step itself may still go through, or another model take it; else it says why not.
            Err(ProviderError::Failed(failure)) if reason == Reason::Full => {
                tracing::warn!(failure = failure.message, "no room was made");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens another model.
    pub(crate) fn open(&self, config: &Config, model: &ModelRef) -> Result<Arc<dyn Provider>, SetupError> {
        self.engine.setup.provider(config, model)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.engine.store
    }

    pub(crate) fn forbidden(&self) -> &[PathBuf] {
        &self.engine.forbidden
    }

    pub(crate) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }
}

fn too_many_calls(calls: usize) -> TurnError {
    let message = format!(
        "the model made {calls} calls in one reply, and at most {} are run; ask for smaller steps",
        calls::MOST
    );
    ProviderError::Failed(Box::new(Failure::new(ErrorClass::Protocol, message))).into()
}

/// What the service said of the context's size, if it said anything.
fn tokens(usage: &Usage) -> Option<u64> {
    usage.input.map(|input| input + usage.output.unwrap_or(0))
}
