//! Every event and every field has its place in the document.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use agent_core::change::FileChange;
use agent_core::event::Envelope;
use agent_core::id::TurnId;
use agent_core::plan::{CommandFacts, CommandPlan, Place, Plan};
use serde::Serialize;
use serde_json::Value;

use crate::events::{every_event, exact};
use crate::{document, terms};

#[test]
fn every_event_stands_in_its_row_with_its_fields() {
    let document = document();
    let mut rows: BTreeSet<&str> = document
        .lines()
        .skip_while(|line| *line != "### Events")
        .take_while(|line| *line != "### What is in them")
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| *name != "event")
        .collect();
    for event in every_event() {
        let event = json_of(&event);
        let name = event["event"].as_str().unwrap();
        assert!(rows.remove(name), "`{name}` has no row");
        let row = document.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let said = terms(row.unwrap());
        for field in event.as_object().unwrap().keys().filter(|field| *field != "event") {
            assert!(said.contains(field.as_str()), "`{field}` of `{name}` is not in its row");
        }
    }
    assert!(rows.is_empty(), "there is no event {rows:?}");
}

#[test]
fn every_field_of_every_part_is_named() {
    let command = CommandPlan {
        command: "ls".into(),
        cwd: place(),
        background: true,
        sandbox: agent_core::wall::Sandbox::Inside(agent_core::wall::Wall {
            by: "b".into(),
            writes: "w".into(),
            holds_protected: true,
            network: true,
        }),
        facts: CommandFacts {
            read_only: true,
            exact: Some(exact()),
            forbidden: Some("f".into()),
            doubt: Some("d".into()),
        },
    };
    let input = Plan::Input {
        process: "p".into(),
        command: "c".into(),
        text: "t".into(),
        forbidden: Some("f".into()),
    };
    let change = FileChange::new(place(), Some("old"), Some("new")).of_binary(1);
    let plans = [
        Plan::Read {
            places: vec![place(), nameless()],
        },
        Plan::Change { changes: vec![change] },
        Plan::Command(command),
        input,
    ];
    let mut names = BTreeSet::new();
    plans.iter().for_each(|plan| fields(&json_of(plan), &mut names));
    for event in every_event() {
        let envelope = Envelope {
            session: "s".into(),
            turn: Some(TurnId(1)),
            seq: 1,
            event,
        };
        fields(&json_of(&envelope), &mut names);
    }
    let document = document();
    let said = terms(&document);
    let missing: Vec<&String> = names.iter().filter(|name| !said.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn place() -> Place {
    Place {
        path: "/w/a".into(),
        real: "/w/a".into(),
    }
}

/// A place whose path is no text.
fn nameless() -> Place {
    let path = PathBuf::from(OsStr::from_bytes(b"/w/\xff"));
    Place {
        real: path.clone(),
        path,
    }
}

fn json_of(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap()
}

/// The names of all fields in a document, at any depth.
fn fields(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(name, value)| {
            names.insert(name.clone());
            fields(value, names);
        }),
        Value::Array(array) => array.iter().for_each(|value| fields(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
