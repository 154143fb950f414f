#![allow(clippy::unwrap_used, reason = "tests")]

use agent_core::content::Content;
use agent_core::event::{Envelope, Event, SessionChange};
use agent_core::id::{MessageId, TurnId};
use agent_core::store::{Durability, SessionRecord};

use super::*;
use crate::testing::call;

fn user(text: &str) -> Event {
    Event::UserMessage {
        id: MessageId::from("m"),
        content: vec![Content::text(text)],
        context: Vec::new(),
        command: false,
    }
}

/// A tool of the session `own`, beside another session `other`.
fn tool(texts: &[&str]) -> SessionSearch {
    let store = Store::memory();
    for id in ["own", "other"] {
        store.create(SessionRecord {
            source: "acp".into(),
            ..SessionRecord::new(id.into(), "/w/app".into(), 1)
        });
        let title = Event::SessionChanged {
            change: SessionChange::Title(format!("About {id}")),
        };
        let events = std::iter::once(title).chain(texts.iter().map(|text| user(text)));
        let envelopes = (1..).zip(events).map(|(seq, event)| Envelope {
            session: id.into(),
            turn: Some(TurnId(1)),
            seq,
            event,
        });
        store.append(&id.into(), envelopes.collect(), Durability::Disk);
    }
    SessionSearch::new(store, "own".into())
}

fn ask(tool: &SessionSearch, input: Value) -> Result<String, String> {
    let output = call(tool, input).map_err(|error| error.message)?;
    assert_eq!(output.raw, Some(json!({FROM_HISTORY: true})));
    Ok(output.text)
}

#[test]
fn the_other_sessions_are_found_read_and_listed() {
    let tool = tool(&["one apple", "two apple", "three", "four", "five", "six", "seven"]);
    let found = ask(&tool, json!({"query": "apple"})).unwrap();
    assert!(found.starts_with("session other around "), "{found}");
    assert!(
        found.contains(", 2 matches: About other (/w/app)\n  two **apple**\n"),
        "{found}"
    );
    assert_eq!(found.lines().count(), 2, "{found}");
    let around = ask(&tool, json!({"session": "other", "around": "8"})).unwrap();
    let rows: Vec<&str> = around.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(rows, ["[3", "[4", "[5", "[6", "[7", "[8"]);
    let ends = ask(&tool, json!({"session": "other"})).unwrap();
    let rows: Vec<&str> = ends.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(rows, ["[2", "[3", "[4", "[6", "[7", "[8"]);
    let recent = ask(&tool, json!({"query": "", "session": null})).unwrap();
    assert_eq!(recent.lines().count(), 1, "{recent}");
    assert!(recent.starts_with("session other, ") && recent.ends_with(", 7 messages: About other (/w/app)\n"));
}

#[test]
fn what_can_not_be_done_is_said() {
    let tool = tool(&["apple"]);
    let check = |input: Value, part: &str| {
        let said = ask(&tool, input.clone()).unwrap_or_else(|error| error);
        assert!(said.contains(part), "{input}: {said}");
    };
    check(json!({"query": "pear"}), "Nothing is found");
    check(json!({"query": "-apple"}), "no word");
    check(json!({"session": "own"}), "this session");
    check(json!({"session": "none"}), "there is no session");
    check(json!({"session": "o"}), "several sessions");
    check(json!({"query": "apple", "session": "other"}), "**apple**");
    check(json!({"query": "apple", "offset": 1}), "Nothing is found");
    check(json!({"query": 3}), "`query`");
    check(
        json!({"query": "apple role:assistant"}),
        "role:assistant was searched for as text; role: takes user, agent, tool",
    );
}

#[test]
fn a_history_that_can_not_be_read_is_not_said_to_have_nothing() {
    let store = Store::memory_in_place("/home/me/state.db is no database".to_owned());
    let tool = SessionSearch::new(store, "own".into());
    for input in [json!({"query": "apple"}), json!({"session": "other"}), json!({})] {
        let error = ask(&tool, input.clone()).unwrap_err();
        assert!(error.contains("/home/me/state.db is no database"), "{input}: {error}");
    }
}

#[test]
fn what_is_long_is_cut_and_a_key_is_masked() {
    let long = format!("sk-proj-abcdef0123456789XYZ {}", "apple ".repeat(5_000));
    let tool = tool(&[long.as_str(); 12]);
    for input in [
        json!({"query": "apple"}),
        json!({"session": "other"}),
        json!({"session": "other", "around": 6}),
    ] {
        let text = ask(&tool, input).unwrap();
        assert!(text.len() < OUTPUT + 100, "{}", text.len());
        assert!(!text.contains("abcdef0123456789"), "{text}");
    }
}
