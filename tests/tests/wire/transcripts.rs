//! Whole exchanges with the binary, line by line: `> sent`, `< expected`, in `data/wire/*.acp`. `UPDATE=1` writes
//! what came.

use std::path::Path;

use serde_json::Value;
use talaria_tests::client::{Client, Home};

use crate::exchange::exchange;

/// Plays a transcript in a new home. `$WORK` stands for the workspace, `$SESSION` for the first session's id.
fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/wire").join(name);
    let expect = std::fs::read_to_string(&path).unwrap();
    let home = Home::new();
    let mut client = Client::start(&home);
    let mut session = None;
    let mut got = String::new();
    for line in expect.lines().filter(|line| !line.starts_with('<')) {
        got.push_str(line);
        got.push('\n');
        let Some(sent) = line.strip_prefix("> ") else { continue };
        let work = home.workspace().display().to_string();
        let sent = sent
            .replace("$WORK", &work)
            .replace("$SESSION", session.as_deref().unwrap_or("$SESSION"));
        for message in exchange(&mut client, sent.as_bytes()) {
            if session.is_none() {
                session = message["result"]["sessionId"].as_str().map(str::to_owned);
            }
            let shown = normalised(message)
                .to_string()
                .replace(&work, "$WORK")
                .replace(env!("CARGO_PKG_VERSION"), "…");
            let shown = session
                .as_ref()
                .map_or(shown.clone(), |session| shown.replace(session, "$SESSION"));
            got.push_str(&format!("< {shown}\n"));
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &got).unwrap();
    }
    assert_eq!(
        got,
        std::fs::read_to_string(&path).unwrap(),
        "{name}: UPDATE=1 writes what came"
    );
}

/// Without what changes from run to run and from version to version.
fn normalised(mut message: Value) -> Value {
    blank(&mut message);
    message
}

fn blank(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match key.as_str() {
                    "messageId" | "version" | "updatedAt" | "availableCommands" | "configOptions" | "modes"
                    | "agentCapabilities" | "authMethods" => *value = Value::from("…"),
                    _ => blank(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(blank),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn a_first_conversation() {
    check("conversation.acp");
}

#[test]
fn every_way_to_be_refused() {
    check("refusals.acp");
}
