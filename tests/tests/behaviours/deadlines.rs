//! Calls that never end: by their deadline they do, the turn goes on, and what they bring later is nothing.

use std::sync::Arc;

use agent_core::asker::Asker;
use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::content::Content;
use agent_core::event::{PlanEntry, PlanStatus, ToolKind, ToolOutput};
use agent_core::plan::Plan;
use agent_core::provider::ToolSpec;
use agent_core::script::{Script, ScriptReply, ScriptStep};
use agent_core::store::Store;
use agent_core::tool::{Limit, Planned, Report, Tool, ToolError};
use agent_core::workspace::{RuleBook, Scope, Surroundings, Workspace, Workspaces};
use crossbeam_channel::{Receiver, Sender, bounded};
use serde_json::{Value, json};
use talaria_tests::stage::Stage;

/// How a call takes its time.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Ends when it is told to.
    Obeys,
    /// Hears nothing while it runs, until the test lets it.
    Deaf,
    /// The same while it is planned.
    DeafPlan,
    /// Ends at once.
    Quick,
}

/// A tool whose calls go this way by their argument `way`.
struct Slow {
    spec: ToolSpec,
    let_go: Receiver<()>,
    limit: Limit,
}

fn way(input: &Value) -> Way {
    match input["way"].as_str().unwrap_or_default() {
        "obeys" => Way::Obeys,
        "deaf" => Way::Deaf,
        "deaf_plan" => Way::DeafPlan,
        _ => Way::Quick,
    }
}

impl Tool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Other
    }

    fn title(&self, input: &Value) -> String {
        format!("{:?}", way(input))
    }

    fn only_reads(&self, _: &Value) -> bool {
        true
    }

    fn limit(&self, _: &Value) -> Limit {
        self.limit
    }

    fn plan(&self, input: &Value, _: &Cancel) -> Result<Planned, ToolError> {
        let (way, let_go) = (way(input), self.let_go.clone());
        if let Way::DeafPlan = way {
            let_go.recv().unwrap();
        }
        Ok(Planned {
            plan: Plan::Inward,
            locations: Vec::new(),
            action: Box::new(move |run| {
                match way {
                    Way::Obeys => {
                        run.cancel.closed().recv().unwrap_err();
                        return Err(ToolError::new("it obeyed"));
                    }
                    Way::Deaf => let_go.recv().unwrap(),
                    Way::DeafPlan | Way::Quick => return Ok(ToolOutput::text("quick")),
                }
                let entry = PlanEntry {
                    id: "1".into(),
                    content: "a late entry".into(),
                    status: PlanStatus::Pending,
                };
                (run.report)(Report::Todo(vec![entry]));
                (run.report)(Report::Question("a late question".into()));
                Ok(ToolOutput::text("a late result"))
            }),
        })
    }
}

struct Place(Arc<dyn Tool>);

impl Workspaces for Place {
    fn open(&self, _: Scope, _: &Config, _: Asker) -> Arc<dyn Workspace> {
        Arc::new(Self(self.0.clone()))
    }
}

impl Workspace for Place {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![self.0.clone()]
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings::default()
    }

    fn rules(&self) -> RuleBook {
        RuleBook::default()
    }

    fn mention(&self, _: &str, _: &Cancel) -> Vec<Content> {
        Vec::new()
    }
}

/// A stage where calls may take a second by the configuration or by their `limit`, and what lets deaf ones go.
fn stage(steps: &[&str], limit: Limit, then: ScriptReply) -> (Stage, Sender<()>) {
    let (to_go, let_go) = bounded(8);
    let spec = ToolSpec {
        name: "slow".into(),
        description: "Takes its time.".into(),
        schema: json!({"type": "object"}),
    };
    let call = |way: &&str| ScriptStep::call("slow", json!({ "way": way }));
    let reply = ScriptReply::new(steps.iter().map(call).collect::<Vec<_>>());
    let script = Arc::new(Script::from_replies(vec![reply, then, says("next")]));
    let mut config = Config::default();
    config.agent.tool_timeout_s = 1;
    let tool = Arc::new(Slow { spec, let_go, limit });
    let stage = Stage::in_workspaces(script, config, Store::memory(), Arc::new(Place(tool)));
    (stage, to_go)
}

fn says(text: &str) -> ScriptReply {
    ScriptReply::new([ScriptStep::text(text)])
}

#[test]
fn a_call_whose_time_is_up_is_told_to_stop_and_the_turn_goes_on() {
    let (mut stage, _to_go) = stage(&["obeys", "quick"], Limit::Usual, says("I see"));
    let lines = stage.turn("go", |_, _, _| {});
    assert!(
        lines.contains("end c1: Failed It did not end within 1 s. It was stopped"),
        "{lines}"
    );
    assert!(lines.contains("end c2: Completed quick"), "{lines}");
    assert!(
        !lines.contains("it obeyed") && lines.ends_with("turn: EndTurn\n"),
        "{lines}"
    );
}

#[test]
fn a_call_that_does_not_stop_is_left_behind_and_nothing_of_it_comes_later() {
    for way in ["deaf", "deaf_plan"] {
        let (mut stage, to_go) = stage(&[way, "quick", "obeys"], Limit::Usual, says("I see"));
        let mut left = 0;
        let lines = stage.turn("go", |_, _, event| {
            // Its late words come while the others of its kind still run.
            if matches!(event, agent_core::event::Event::Notice { .. }) {
                left += 1;
                to_go.send(()).unwrap();
            }
        });
        assert_eq!(left, 1, "{lines}");
        assert!(
            lines.contains("end c1: Failed It did not end within 1 s. It did not stop either"),
            "{lines}"
        );
        assert!(
            lines.contains("end c2: Completed quick"),
            "another thread goes on: {lines}"
        );
        assert!(
            lines.contains("end c3: Failed It did not end within 1 s. It was stopped"),
            "{lines}"
        );
        assert!(!lines.contains("late") && lines.ends_with("turn: EndTurn\n"), "{lines}");
        let lines = stage.turn("again", |_, _, _| {});
        assert!(!lines.contains("late") && lines.ends_with("turn: EndTurn\n"), "{lines}");
    }
}

#[test]
fn a_tool_with_a_limit_of_its_own_has_that() {
    use std::time::Duration;
    let own = Limit::Own(Duration::from_millis(200));
    let (mut stage, _to_go) = stage(&["obeys"], own, says("I see"));
    let lines = stage.turn("go", |_, _, _| {});
    assert!(lines.contains("end c1: Failed It did not end within 0.2 s."), "{lines}");
}

#[test]
fn a_cancel_ends_a_call_that_has_no_limit() {
    let (mut stage, _to_go) = stage(&["obeys"], Limit::None, says("never"));
    let lines = stage.turn("go", |runtime, session, event| {
        if matches!(event, agent_core::event::Event::ToolPlanned { .. }) {
            runtime.cancel(session);
        }
    });
    assert!(lines.contains("end c1: Cancelled"), "{lines}");
    assert!(lines.ends_with("turn: Cancelled\n"), "{lines}");
}
