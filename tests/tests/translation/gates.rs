//! What may be sent to which client: every combination of the protocol's capabilities, generated, with every event.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use acp_adapter::agent::to_acp::{self, Effect, Terminals, view};
use acp_adapter::agent::{Client, TerminalAuth};
use agent_core::event::{Compaction, ContextUse, Event};
use agent_core::surface::Abilities;
use serde::Serialize;
use serde_json::{Value, json};
use talaria_tests::capabilities::{
    self, ALL, AUTH_META, AUTH_REQUEST_META, AUTH_TERMINAL, COMPACTION, FORM, NOTICES, PLAN, READS, TERMINAL,
    TERMINAL_OUTPUT, WRITES, gate, greeting, parts_of_update,
};
use talaria_tests::schema::{self, valid};

use crate::greeting::settings;
use crate::rows::rows;
use crate::sessions::session_view;
use crate::{envelope, shown, terminal};

/// A set of capabilities for each number.
fn declared(number: usize) -> BTreeSet<&'static str> {
    let is_in = |place: &usize| number >> place & 1 == 1;
    let places = (0..ALL.len()).filter(is_in);
    places.map(|place| ALL[place].0).collect()
}

/// The client that declares these and nothing else.
fn client(declared: &BTreeSet<&str>) -> Client {
    Client::read(greeting(declared)).unwrap()
}

/// A client as it must be read, by what it has declared: each field that there is, so that a new one must be thought of.
fn expected(declared: &BTreeSet<&str>) -> Client {
    let has = |path: &str| declared.contains(path);
    Client {
        notices: has(NOTICES),
        compaction: has(COMPACTION),
        plan: has(PLAN),
        terminals: has(TERMINAL_OUTPUT),
        terminal_auth: match (has(AUTH_META) || has(AUTH_REQUEST_META), has(AUTH_TERMINAL)) {
            (true, _) => TerminalAuth::Meta,
            (false, true) => TerminalAuth::Method,
            (false, false) => TerminalAuth::None,
        },
        abilities: Abilities {
            reads_files: has(READS),
            writes_files: has(WRITES),
            has_terminals: has(TERMINAL),
            shows_forms: has(FORM),
        },
    }
}

#[test]
fn all_capabilities_of_the_protocol_are_combined() {
    let paths = ALL
        .iter()
        .filter_map(|(path, _)| path.strip_prefix("clientCapabilities/"));
    let named = paths.filter(|path| !path.starts_with("_meta/")).map(str::to_owned);
    assert_eq!(named.collect::<BTreeSet<_>>(), schema::capabilities());
    for (path, _) in ALL {
        let params = greeting(&BTreeSet::from([path]));
        assert_eq!(capabilities::declared(&params).collect::<Vec<_>>(), [path]);
    }
}

fn summary(text: String) -> Event {
    Event::Compacted {
        before: 3,
        what: Compaction::Summary { text },
        context: ContextUse::default(),
    }
}

/// All events there are, and those whose shape depends on the client in all their shapes.
fn events() -> Vec<Event> {
    let context = ContextUse::default();
    let summary = |text: &str| summary(text.into());
    let pictures = Event::Compacted {
        before: 3,
        what: Compaction::Pictures,
        context,
    };
    let no_plan = Event::PlanUpdated { entries: Vec::new() };
    let more = [summary("all of it"), summary(""), pictures, no_plan];
    let rows = rows().into_iter().map(|row| row.event).chain(more);
    rows.chain(terminal::events()).collect()
}

/// What was found valid already: most of what clients get is the same.
#[derive(Default)]
struct Seen(HashMap<u64, BTreeSet<String>>);

impl Seen {
    /// The parts of an update that a client may not know, once it is known to be valid.
    fn parts(&mut self, update: impl Serialize) -> BTreeSet<String> {
        let text = serde_json::to_string(&update).unwrap();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let parts = self.0.entry(hasher.finish()).or_insert_with(|| {
            assert!(text.len() < 1_000_000);
            parts_of_update(&valid("SessionUpdate", update)).into_iter().collect()
        });
        parts.clone()
    }
}

/// The parts of what a client gets of an event, now and in a replay, all valid.
fn shown_parts(event: &Event, client: &Client, terminals: &mut [Terminals; 2], seen: &mut Seen) -> BTreeSet<String> {
    let [live, replayed] = terminals;
    let now = live.live(envelope(event.clone()), client);
    let before = replayed.replay(envelope(event.clone()), client);
    let parts = |effect: Effect| match effect {
        Effect::Update(update) | Effect::Note(update) => seen.parts(update),
        other @ (Effect::Ask { .. } | Effect::Decided(_) | Effect::EndTurn(_)) => {
            let ask = json!({ "params": shown(other)["ask"] });
            capabilities::parts(&ask).into_iter().collect()
        }
    };
    now.into_iter().chain(before).flat_map(parts).collect()
}

#[test]
fn every_client_gets_what_it_has_asked_for_and_no_other_kind() {
    let (events, large) = (events(), summary("€".repeat(400_000)));
    let mut seen = Seen::default();
    // Clients that are the same to us are tried once.
    let mut tried: Vec<(Client, BTreeSet<String>)> = Vec::new();
    for number in 0..1 << ALL.len() {
        let declared = declared(number);
        let client = client(&declared);
        assert_eq!(client, expected(&declared), "{declared:?}");
        let known = tried.iter().position(|(other, _)| *other == client);
        let place = known.unwrap_or_else(|| {
            let mut terminals = [Terminals::default(), Terminals::default()];
            // A summary of this size takes long; what the client does for tools is nothing to it.
            let large = (client.abilities == Abilities::default()).then_some(&large);
            let parts = events
                .iter()
                .chain(large)
                .flat_map(|event| shown_parts(event, &client, &mut terminals, &mut seen));
            let parts = parts.collect();
            assert!(terminals.iter().all(Terminals::is_empty), "each ends with its call");
            tried.push((client, parts));
            check_greeting(&client, &declared);
            tried.len() - 1
        });
        let parts = &tried[place].1;
        for part in parts {
            let gate = gate(part);
            let is_open = gate.is_empty() || gate.iter().any(|path| declared.contains(path));
            assert!(is_open, "{part}: {declared:?}");
        }
        let gets = |part: &str| parts.contains(part);
        assert_eq!(gets("notice"), declared.contains(NOTICES));
        assert_eq!(gets("compaction_summary_chunk"), declared.contains(COMPACTION));
        for meta in ["terminal_info", "terminal_output", "terminal_exit"] {
            assert_eq!(gets(meta), declared.contains(TERMINAL_OUTPUT), "{meta}");
        }
        assert_eq!(gets("plan_update"), declared.contains(PLAN));
        assert_eq!(gets("plan"), !declared.contains(PLAN), "one or the other");
    }
    assert_eq!(tried.len(), 3 << 8, "the capabilities are read");
}

/// The greeting of a client, and the answers that open a session, hold nothing that it could not read.
fn check_greeting(client: &Client, declared: &BTreeSet<&str>) {
    let greeting = valid("InitializeResponse", settings().greeting(client));
    let methods = greeting["authMethods"].as_array().unwrap();
    let in_terminal = methods.iter().any(|method| method["type"] == "terminal");
    let asks = gate("sign-in: terminal").iter().any(|path| declared.contains(path));
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
