//! Faults of the agent's own parts: a model or a tool that panics. They end what they are part of and nothing else.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use agent_core::approval::{OptionKind, UserAnswer};
use agent_core::asker::Asker;
use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::content::Content;
use agent_core::event::{Event, SessionChange, ToolKind, ToolOutput};
use agent_core::outward::{Answer, CallError};
use agent_core::plan::Plan;
use agent_core::provider::{Delta, ModelInfo, Provider, ProviderError, Reply, Request, ToolSpec};
use agent_core::runtime::Folders;
use agent_core::script::{Script, ScriptReply, ScriptStep};
use agent_core::store::Store;
use agent_core::tool::{Planned, Tool, ToolError};
use agent_core::workspace::{RuleBook, Scope, Surroundings, Workspace, Workspaces};
use serde_json::{Value, json};
use talaria_tests::stage::{Stage, local};

/// A model that panics in its first reply, after it has said something.
struct Panics {
    script: Script,
    is_over: AtomicBool,
}

impl Provider for Panics {
    fn model(&self) -> &ModelInfo {
        self.script.model()
    }

    fn complete(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        if !self.is_over.swap(true, Ordering::SeqCst) {
            let _ = sink(Delta::Text("so far".into()));
            panic!("a fault that a test makes");
        }
        self.script.complete(request, cancel, sink)
    }
}

/// Where a tool panics.
#[derive(Clone, Copy, Debug)]
enum Place {
    Title,
    Reads,
    Plan,
    Run,
}

/// A tool that panics.
struct Faulty {
    spec: ToolSpec,
    place: Place,
}

impl Faulty {
    fn new(place: Place) -> Self {
        let spec = ToolSpec {
            name: format!("{place:?}").to_lowercase(),
            description: "Panics.".into(),
            schema: json!({"type": "object"}),
        };
        Self { spec, place }
    }
}

impl Tool for Faulty {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Other
    }

    fn title(&self, _: &Value) -> String {
        assert!(!matches!(self.place, Place::Title), "a fault that a test makes");
        self.spec.name.clone()
    }

    fn only_reads(&self, _: &Value) -> bool {
        assert!(!matches!(self.place, Place::Reads), "a fault that a test makes");
        true
    }

    fn plan(&self, _: &Value, _: &Cancel) -> Result<Planned, ToolError> {
        assert!(!matches!(self.place, Place::Plan), "a fault that a test makes");
        let place = self.place;
        Ok(Planned {
            plan: Plan::Inward,
            locations: Vec::new(),
            action: Box::new(move |_| match place {
                Place::Run => panic!("a fault that a test makes"),
                Place::Title | Place::Reads | Place::Plan => Ok(ToolOutput::text("fine")),
            }),
        })
    }
}

/// A place in the world that has the faulty tools only.
struct Broken {
    tools: Vec<Arc<dyn Tool>>,
}

impl Workspaces for Broken {
    fn open(&self, _: Scope, _: &Config, _: Asker) -> Arc<dyn Workspace> {
        Arc::new(Self {
            tools: self.tools.clone(),
        })
    }
}

impl Workspace for Broken {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings::default()
    }

    fn rules(&self) -> RuleBook {
        RuleBook::default()
    }

    fn mention(&self, _: &str, _: &Cancel) -> Vec<Content> {
        panic!("a fault that a test makes")
    }
}

fn says(text: &str) -> ScriptReply {
    ScriptReply::new([ScriptStep::text(text)])
}

/// A stage whose tools are faulty, with these replies.
fn broken(replies: Vec<ScriptReply>) -> Stage {
    let places = [Place::Title, Place::Reads, Place::Plan, Place::Run];
    let tools = places.map(|place| Arc::new(Faulty::new(place)) as Arc<dyn Tool>);
    let workspaces = Arc::new(Broken { tools: tools.into() });
    let script = Arc::new(Script::from_replies(replies));
    Stage::in_workspaces(script, Config::default(), Store::memory(), workspaces)
}

#[test]
fn a_model_that_panics_fails_its_turn_and_the_next_one_works() {
    let model = Panics {
        script: Script::from_replies(vec![says("fine")]),
        is_over: AtomicBool::new(false),
    };
    let mut stage = Stage::with(Arc::new(model), Config::default(), Store::memory());
    let lines = stage.turn("go", |_, _, _| {});
    let failed = "text m1: so far\nturn failed: Internal: a fault of the agent ended this turn";
    assert!(lines.contains(failed), "{lines}");
    let lines = stage.turn("again", |_, _, _| {});
    assert!(
        lines.ends_with("text m2: fine\nstep 1: Stop\nturn: EndTurn\n"),
        "{lines}"
    );
    let replay = stage.replay();
    assert!(replay.contains(failed) && replay.contains("m2: fine"), "{replay}");
}

#[test]
fn prompts_that_wait_behind_a_panic_still_run() {
    let model = Panics {
        script: Script::from_replies(vec![says("two"), says("three")]),
        is_over: AtomicBool::new(false),
    };
    let mut stage = Stage::with(Arc::new(model), Config::default(), Store::memory());
    stage.prompt("one");
    stage.prompt("two");
    let last = stage.prompt("three");
    let lines = stage.until(
        |_, _, _| {},
        |envelope| envelope.turn == Some(last) && envelope.event.ends_turn(),
    );
    assert_eq!(lines.matches("turn failed").count(), 1, "{lines}");
    assert_eq!(lines.matches("turn: EndTurn").count(), 2, "{lines}");
}

#[test]
fn a_tool_that_panics_is_a_failed_call_or_a_failed_turn_and_the_next_one_works() {
    let call = |name: &str| ScriptStep::call(name, json!({}));
    let mut stage = broken(vec![
        ScriptReply::new([call("plan"), call("run")]),
        says("I see"),
        ScriptReply::new([call("title")]),
        says("after title"),
        ScriptReply::new([call("run"), call("reads")]),
        says("after reads"),
    ]);
    let lines = stage.turn("go", |_, _, _| {});
    assert_eq!(
        lines.matches(": Failed The tool failed by a fault of its own").count(),
        2,
        "{lines}"
    );
    assert!(
        lines.ends_with("text m1: I see\nstep 2: Stop\nturn: EndTurn\n"),
        "{lines}"
    );
    for word in ["after title", "after reads"] {
        let lines = stage.turn("go", |_, _, _| {});
        let count = |what: &str| lines.lines().filter(|line| line.starts_with(what)).count();
        assert_eq!(count("call "), count("end "), "{lines}");
        assert!(lines.contains("turn failed: Internal"), "{lines}");
        let lines = stage.turn("again", |_, _, _| {});
        assert!(lines.contains(word) && lines.ends_with("turn: EndTurn\n"), "{lines}");
    }
}

#[test]
fn a_prompt_that_can_not_be_prepared_fails_and_the_session_is_idle() {
    let mut stage = broken(vec![says("fine")]);
    let link = Content::Link {
        uri: "file:///a".into(),
        name: "a".into(),
    };
    let turn = stage.runtime.prompt(&stage.session, vec![link]).unwrap();
    let lines = stage.until(
        |_, _, _| {},
        |envelope| envelope.turn == Some(turn) && envelope.event.ends_turn(),
    );
    assert!(lines.contains("turn failed: Internal"), "{lines}");
    assert!(stage.turn("again", |_, _, _| {}).ends_with("turn: EndTurn\n"));
}

/// Workspaces on the local disk. The first of them panics when it is let go, or the second when it is opened.
struct Fragile {
    opened: AtomicUsize,
    fault: Fault,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    FirstLetGo,
    SecondOpened,
}

impl Workspaces for Fragile {
    fn open(&self, scope: Scope, config: &Config, asker: Asker) -> Arc<dyn Workspace> {
        let local = local().open(scope, config, asker);
        match (self.opened.fetch_add(1, Ordering::SeqCst), self.fault) {
            (0, Fault::FirstLetGo) => Arc::new(Falling { local }),
            (1, Fault::SecondOpened) => panic!("a fault that a test makes"),
            _ => local,
        }
    }
}

/// A workspace that panics when it is let go.
struct Falling {
    local: Arc<dyn Workspace>,
}

impl Drop for Falling {
    fn drop(&mut self) {
        panic!("a fault that a test makes");
    }
}

impl Workspace for Falling {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.local.tools()
    }

    fn surroundings(&self) -> Surroundings {
        self.local.surroundings()
    }

    fn rules(&self) -> RuleBook {
        self.local.rules()
    }

    fn mention(&self, uri: &str, cancel: &Cancel) -> Vec<Content> {
        self.local.mention(uri, cancel)
    }
}

/// A stage with this fault in its workspaces, and these replies.
fn fragile(fault: Fault, replies: Vec<ScriptReply>) -> Stage {
    let script = Arc::new(Script::from_replies(replies));
    let workspaces = Fragile {
        opened: AtomicUsize::new(0),
        fault,
    };
    Stage::in_workspaces(script, Config::default(), Store::memory(), Arc::new(workspaces))
}

#[test]
fn a_fault_behind_a_turn_leaves_it_one_end_and_the_next_one_works() {
    let write = ScriptStep::call("write_file", json!({"path": "a.txt", "content": "x"}));
    let mut stage = fragile(
        Fault::FirstLetGo,
        vec![
            ScriptReply::new([write]),
            says("done"),
            says("fine"),
            says("fine again"),
        ],
    );
    let elsewhere = tempfile::tempdir().unwrap();
    let folders = Folders {
        cwd: elsewhere.path().to_owned(),
        extra_roots: Vec::new(),
        servers: Vec::new(),
    };
    let mut question = None;
    // The session moves while its turn waits, so that the turn is the last to have the old workspace.
    stage.prompt("go");
    let queued = stage.prompt("and on");
    let lines = stage.until(
        |runtime, session, event| {
            if let Event::ApprovalRequested { approval } = event {
                question = Some(approval.id.clone());
                runtime.open(session.clone(), Some(folders.clone()), None, false);
            } else if let Event::SessionChanged {
                change: SessionChange::Cwd(_),
            } = event
            {
                let allow = UserAnswer::Chose(OptionKind::AllowOnce);
                runtime.decide(session, question.as_ref().unwrap(), allow);
            }
        },
        |envelope| envelope.turn == Some(queued) && envelope.event.ends_turn(),
    );
    let ends = |lines: &str| lines.lines().filter(|line| line.starts_with("turn")).count();
    assert_eq!(ends(&lines), 2, "{lines}");
    assert!(lines.ends_with(": fine\nstep 1: Stop\nturn: EndTurn\n"), "{lines}");
    let lines = stage.turn("again", |_, _, _| {});
    assert!(
        lines.ends_with(": fine again\nstep 1: Stop\nturn: EndTurn\n"),
        "{lines}"
    );
    let replay = stage.replay();
    assert_eq!(ends(&replay), 3, "{replay}");
}

#[test]
fn a_fault_as_a_session_goes_or_comes_leaves_it_to_be_opened_again() {
    for fault in [Fault::FirstLetGo, Fault::SecondOpened] {
        let half = ScriptReply::new([ScriptStep::text("half"), ScriptStep::WaitCancel]);
        let mut stage = fragile(fault, vec![half, says("fine")]);
        stage.prompt("go");
        stage.until(
            |_, _, _| {},
            |envelope| matches!(envelope.event, Event::AgentText { .. }),
        );
        let close = stage.runtime.close(stage.session.clone());
        // Asked for while the session is closing.
        let open = stage.runtime.open(stage.session.clone(), None, None, false);
        assert!(matches!(stage.answer(close), Ok(Answer::Closed)));
        match fault {
            Fault::FirstLetGo => assert!(stage.answer(open).is_ok()),
            Fault::SecondOpened => assert!(matches!(stage.answer(open), Err(CallError::Internal(_)))),
        }
        assert!(!stage.replay().is_empty());
        let lines = stage.turn("again", |_, _, _| {});
        assert!(lines.ends_with(": fine\nstep 1: Stop\nturn: EndTurn\n"), "{lines}");
    }
}
