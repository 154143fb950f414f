//! What may be sent to which client: every combination of the capabilities that are read, generated, with every event.

use std::collections::BTreeSet;

use acp_adapter::agent::to_acp::{self, Effect, Terminals, view};
use acp_adapter::agent::{Client, TerminalAuth};
use agent_core::event::{Compaction, ContextUse, Event};
use serde_json::{Value, json};

use crate::greeting::settings;
use crate::rows::rows;
use crate::schema::valid;
use crate::sessions::session_view;
use crate::{envelope, shown, terminal};

/// The capabilities of a client that change what it gets, each as a path into the parameters of `initialize`.
const CAPABILITIES: [(&str, bool); 7] = [
    (NOTICES, false),
    (COMPACTION, false),
    (PLAN, false),
    (BOOLEAN, false),
    (TERMINAL, true),
    (TERMINAL_META, true),
    (TERMINAL_OUTPUT, true),
];

const NOTICES: &str = "clientCapabilities/session/notices";
const COMPACTION: &str = "clientCapabilities/session/compaction";
const PLAN: &str = "clientCapabilities/plan";
const BOOLEAN: &str = "clientCapabilities/session/configOptions/boolean";
const TERMINAL: &str = "clientCapabilities/auth/terminal";
const TERMINAL_META: &str = "clientCapabilities/_meta/terminal-auth";
const TERMINAL_OUTPUT: &str = "clientCapabilities/_meta/terminal_output";

/// What an update needs the client to have said; none for what every client knows.
fn gate(kind: &str) -> Option<&'static str> {
    match kind {
        "notice" => Some(NOTICES),
        "terminal_info" | "terminal_output" | "terminal_exit" => Some(TERMINAL_OUTPUT),
        "compaction_update" | "compaction_summary_chunk" => Some(COMPACTION),
        "plan_update" | "plan_removed" => Some(PLAN),
        "user_message_chunk"
        | "agent_message_chunk"
        | "agent_thought_chunk"
        | "tool_call"
        | "tool_call_update"
        | "plan"
        | "available_commands_update"
        | "current_mode_update"
        | "config_option_update"
        | "session_info_update"
        | "usage_update" => None,
        other => panic!("nobody has asked for `{other}`"),
    }
}

/// A set of capabilities for each number.
fn declared(number: usize) -> BTreeSet<&'static str> {
    let is_in = |place: &usize| number >> place & 1 == 1;
    let places = (0..CAPABILITIES.len()).filter(is_in);
    places.map(|place| CAPABILITIES[place].0).collect()
}

/// The client that declares these and nothing else.
fn client(declared: &BTreeSet<&str>) -> Client {
    let mut params = json!({ "protocolVersion": 1 });
    for (path, is_flag) in CAPABILITIES {
        if declared.contains(path) {
            let mut place = &mut params;
            for name in path.split('/') {
                place = &mut place[name];
            }
            *place = if is_flag { json!(true) } else { json!({}) };
        }
    }
    Client::read(params).unwrap()
}

/// All events there are, and those whose shape depends on the client in all their shapes.
fn events() -> Vec<Event> {
    let context = ContextUse::default();
    let summary = |text: &str| Event::Compacted {
        before: 3,
        what: Compaction::Summary { text: text.into() },
        context,
    };
    let pictures = Event::Compacted {
        before: 3,
        what: Compaction::Pictures,
        context,
    };
    let no_plan = Event::PlanUpdated { entries: Vec::new() };
    let more = [
        summary("all of it"),
        summary(""),
        summary(&"€".repeat(400_000)),
        pictures,
        no_plan,
    ];
    let rows = rows().into_iter().map(|row| row.event).chain(more);
    rows.chain(terminal::events()).collect()
}

/// The kinds of updates that a client gets of an event, now and in a replay, all valid; and what of a terminal is in them.
fn kinds(event: &Event, client: &Client, terminals: &mut [Terminals; 2]) -> Vec<String> {
    let [live, replayed] = terminals;
    let now = live.live(envelope(event.clone()), client);
    let before = replayed.replay(envelope(event.clone()), client);
    let kind = |effect: Effect| -> Vec<String> {
        match effect {
            Effect::Update(update) | Effect::Note(update) => {
                let update = valid("SessionUpdate", update);
                assert!(update.to_string().len() < 1_000_000);
                let kind = update["sessionUpdate"].as_str().unwrap().to_owned();
                let meta = update["_meta"]
                    .as_object()
                    .into_iter()
                    .flat_map(|meta| meta.keys().cloned());
                std::iter::once(kind).chain(meta).collect()
            }
            other @ (Effect::Ask { .. } | Effect::Decided(_) | Effect::EndTurn(_)) => {
                shown(other);
                Vec::new()
            }
        }
    };
    now.into_iter().chain(before).flat_map(kind).collect()
}

#[test]
fn every_client_gets_what_it_has_asked_for_and_no_other_kind() {
    let events = events();
    // Clients that are the same to us are tried once.
    let mut tried: Vec<(Client, BTreeSet<String>)> = Vec::new();
    for number in 0..1 << CAPABILITIES.len() {
        let declared = declared(number);
        let client = client(&declared);
        let known = tried.iter().position(|(other, _)| *other == client);
        let place = known.unwrap_or_else(|| {
            let mut terminals = [Terminals::default(), Terminals::default()];
            let kinds = events.iter().flat_map(|event| kinds(event, &client, &mut terminals));
            let kinds = kinds.collect();
            assert!(terminals.iter().all(Terminals::is_empty), "each ends with its call");
            tried.push((client, kinds));
            tried.len() - 1
        });
        let kinds = &tried[place].1;
        for kind in kinds {
            let gate = gate(kind);
            assert!(gate.is_none_or(|gate| declared.contains(gate)), "{kind}: {declared:?}");
        }
        assert_eq!(kinds.contains("notice"), declared.contains(NOTICES));
        assert_eq!(
            kinds.contains("compaction_summary_chunk"),
            declared.contains(COMPACTION)
        );
        for meta in ["terminal_info", "terminal_output", "terminal_exit"] {
            assert_eq!(kinds.contains(meta), declared.contains(TERMINAL_OUTPUT), "{meta}");
        }
        assert_eq!(kinds.contains("plan_update"), declared.contains(PLAN));
        assert_eq!(kinds.contains("plan"), !declared.contains(PLAN), "one or the other");
        check_greeting(&client, &declared);
    }
    assert!(tried.len() > 8, "the capabilities are read");
}

/// The greeting of a client, and the answers that open a session, hold nothing that it could not read.
fn check_greeting(client: &Client, declared: &BTreeSet<&str>) {
    let greeting = valid("InitializeResponse", settings().greeting(client));
    let methods = greeting["authMethods"].as_array().unwrap();
    let in_terminal = methods.iter().any(|method| method["type"] == "terminal");
    let asks = declared.contains(TERMINAL) || declared.contains(TERMINAL_META);
    assert_eq!(in_terminal, asks, "{declared:?}");
    assert_eq!(client.terminal_auth != TerminalAuth::None, asks);
    let options = valid("NewSessionResponse", view::created(&session_view()))["configOptions"].clone();
    let is_boolean = |option: &Value| option["type"] == "boolean";
    assert!(!options.as_array().unwrap().iter().any(is_boolean));
}

#[test]
fn a_compaction_is_shown_by_its_row_and_with_all_of_its_summary() {
    let client = client(&BTreeSet::from([COMPACTION]));
    let text = "word ".repeat(3000);
    let event = Event::Compacted {
        before: 3,
        what: Compaction::Summary { text: text.clone() },
        context: ContextUse::default(),
    };
    let now: Vec<Value> = to_acp::live(envelope(event.clone()), &client)
        .into_iter()
        .map(shown)
        .collect();
    let before: Vec<Value> = to_acp::replay(envelope(event), &client)
        .into_iter()
        .map(shown)
        .collect();
    assert_eq!(now, before);
    assert!(now.iter().all(|update| update["compactionId"] == "compaction-9"));
    let said: String = now
        .iter()
        .filter_map(|update| update["content"]["text"].as_str())
        .collect();
    assert_eq!(said, text);
    let status = |update: &Value| update["status"].clone();
    assert_eq!(
        (status(&now[0]), now.last().map(status)),
        (json!("in_progress"), Some(json!("completed")))
    );
}

#[test]
fn a_plan_without_entries_is_taken_away_by_its_name() {
    let client = client(&BTreeSet::from([PLAN]));
    let event = Event::PlanUpdated { entries: Vec::new() };
    let effects = to_acp::live(envelope(event), &client);
    let gone = json!({ "sessionUpdate": "plan_removed", "planId": "todo" });
    assert_eq!(effects.into_iter().map(shown).collect::<Vec<_>>(), [gone]);
}
