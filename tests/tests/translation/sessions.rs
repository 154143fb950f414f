//! A session in the answers that open, change and list it.

use acp_adapter::agent::to_acp::view;
use agent_core::approval::Mode;
use agent_core::event::ContextUse;
use agent_core::outward::{SessionPage, SessionSummary, SessionView};
use agent_core::provider::ModelRef;
use agent_core::slash::CommandInfo;
use serde_json::{Value, json};
use talaria_tests::schema::valid;

pub(crate) fn session_view() -> SessionView {
    SessionView {
        id: "s".into(),
        title: None,
        mode: Mode::Default,
        thought: None,
        model: ModelRef::offline(),
        models: vec![ModelRef::offline(), "local/a/b".parse().unwrap()],
        commands: vec![
            CommandInfo {
                name: "help",
                description: "Shows help",
                hint: None,
            },
            CommandInfo {
                name: "mode",
                description: "Sets the mode",
                hint: Some("a mode"),
            },
        ],
        context: Some(ContextUse {
            used: 5,
            window: Some(10),
            cost_nano_usd: None,
        }),
    }
}

#[test]
fn a_session_is_answered_with_its_modes_and_options() {
    let view = session_view();
    let created = valid("NewSessionResponse", view::created(&view));
    assert_eq!(created["sessionId"], "s");
    assert_eq!(created["modes"]["currentModeId"], "default");
    let options = &created["configOptions"];
    assert_eq!(
        (&options[0]["id"], &options[0]["category"]),
        (&json!("mode"), &json!("mode"))
    );
    assert_eq!(
        (&options[1]["id"], &options[1]["category"]),
        (&json!("model"), &json!("model"))
    );
    assert_eq!(options[1]["currentValue"], "offline/offline");
    assert_eq!(options[1]["options"][1]["value"], "local/a/b");
    assert_eq!(valid("ForkSessionResponse", view::forked(&view)), created);
    for kind in ["LoadSessionResponse", "ResumeSessionResponse"] {
        let opened = valid(kind, view::opened(&view));
        assert_eq!(
            (&opened["modes"], &opened["configOptions"]),
            (&created["modes"], options)
        );
    }
    assert_eq!(
        &valid("SetSessionConfigOptionResponse", view::option_set(&view))["configOptions"],
        options
    );
    let update = valid("SessionUpdate", view::options_changed(&view));
    assert_eq!(
        (&update["sessionUpdate"], &update["configOptions"]),
        (&json!("config_option_update"), options)
    );
}

#[test]
fn commands_then_usage_follow_the_answer() {
    let announced = |view: &SessionView| -> Vec<Value> {
        view::announced(view)
            .into_iter()
            .map(|update| valid("SessionUpdate", update))
            .collect()
    };
    let mut view = session_view();
    let commands = json!([
        { "name": "help", "description": "Shows help" },
        { "name": "mode", "description": "Sets the mode", "input": { "hint": "a mode" } },
    ]);
    let commands = json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands });
    let usage = json!({ "sessionUpdate": "usage_update", "used": 5, "size": 10 });
    assert_eq!(announced(&view), [commands.clone(), usage]);
    view.context = None;
    assert_eq!(announced(&view), [commands]);
}

#[test]
fn a_list_has_its_times_in_iso_8601() {
    let summary = SessionSummary {
        id: "s".into(),
        cwd: "/w".into(),
        extra_roots: vec!["/x".into()],
        title: Some("t".into()),
        source: "run".into(),
        model: ModelRef::offline(),
        created_ms: 0,
        updated_ms: 1_795_000_000_123,
        messages: 2,
        is_archived: false,
    };
    let page = SessionPage {
        sessions: vec![summary],
        next: Some("n".into()),
    };
    let session = json!({ "sessionId": "s", "cwd": "/w", "additionalDirectories": ["/x"], "title": "t",
        "updatedAt": "2026-11-18T11:06:40.123Z" });
    let expect = json!({ "sessions": [session], "nextCursor": "n" });
    assert_eq!(valid("ListSessionsResponse", view::listed(&page)), expect);
}
