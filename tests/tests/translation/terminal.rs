//! What a command prints, for clients that show it as a terminal does.

use acp_adapter::agent::Client;
use acp_adapter::agent::to_acp::Terminals;
use agent_core::event::{Display, Event, Printed, Progress, Ran, ToolKind, ToolOutput, ToolStatus};
use agent_core::plan::Plan;
use serde_json::{Value, json};

use crate::events::{call, finished, output, planned};
use crate::{envelope, live, replay, shown};

fn started() -> Event {
    let mut call = call("terminal", "$ make", ToolKind::Execute, json!({"command": "make"}));
    call.prints_in = Some("/w".into());
    Event::ToolStarted { call }
}

fn allowed() -> Event {
    let mut event = planned(Plan::Inward);
    if let Event::ToolPlanned { runs, .. } = &mut event {
        *runs = true;
    }
    event
}

fn printed(head: &str, left_out: u64, tail: &str) -> Printed {
    Printed {
        head: head.into(),
        left_out,
        tail: tail.into(),
    }
}

fn progress(printed: Printed) -> Event {
    Event::ToolProgress {
        id: "c".into(),
        progress: Progress {
            tail: printed.tail.clone(),
            total: printed.total(),
            printed,
            ..Progress::default()
        },
    }
}

fn ran(printed: Printed, note: &str) -> ToolOutput {
    let ran = Ran {
        shown: "made".into(),
        printed,
        note: note.into(),
        code: Some(0),
        signal: None,
    };
    output("made\nexit code: 0", Display::Ran(Box::new(ran)))
}

/// All that a call in a terminal may consist of, from its beginning to its end.
pub(crate) fn events() -> Vec<Event> {
    let text = "€\u{1b}[1m\n".repeat(2000);
    vec![
        started(),
        allowed(),
        progress(printed("", 0, "a")),
        progress(printed("a", 9, &text)),
        finished(ToolStatus::Completed, ran(printed(&text, 100_000, &text), "")),
    ]
}

/// What the client gets of these events one after the other.
fn told(terminals: bool, events: impl IntoIterator<Item = Event>) -> Vec<Value> {
    let client = Client {
        terminals,
        ..Client::default()
    };
    let mut terminals = Terminals::default();
    let effects = events
        .into_iter()
        .flat_map(|event| terminals.live(envelope(event), &client));
    effects.map(shown).collect()
}

#[test]
fn each_update_brings_what_is_new_and_the_last_one_the_rest_and_the_exit() {
    let events = [
        started(),
        allowed(),
        progress(printed("one\n", 0, "")),
        progress(printed("one\n", 0, "")),
        progress(printed("one\n", 100, "two\n")),
        finished(ToolStatus::Completed, ran(printed("one\n", 100, "two\nthree"), "ended")),
    ];
    let terminal = json!([{"type": "terminal", "terminalId": "c"}]);
    let update = |fields: Value| {
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"});
        let fields = fields.as_object().unwrap().clone();
        update.as_object_mut().unwrap().extend(fields);
        update
    };
    let data = |data: &str| json!({"terminal_output": {"terminal_id": "c", "data": data}});
    let expect = [
        json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "$ make", "name": "terminal",
            "kind": "execute", "rawInput": {"command": "make"}, "content": terminal,
            "_meta": {"terminal_info": {"terminal_id": "c", "cwd": "/w"}}}),
        update(json!({"content": terminal})),
        update(json!({"_meta": data("one\n")})),
        update(json!({})),
        update(json!({"_meta": data("\u{1b}[0m\n… 100 bytes left out …\ntwo\n")})),
        update(
            json!({"status": "completed", "content": terminal, "rawOutput": {"output": "made\nexit code: 0"},
            "_meta": {"terminal_output": {"terminal_id": "c", "data": "three\nended\n"},
                "terminal_exit": {"terminal_id": "c", "exit_code": 0, "signal": null}}}),
        ),
    ];
    assert_eq!(told(true, events), expect);
}

#[test]
fn other_clients_see_nothing_of_it() {
    let told = told(false, events());
    assert_eq!(told, events().into_iter().flat_map(live).collect::<Vec<_>>());
    assert!(told.iter().all(|update| update.get("_meta").is_none()));
    let end = &told[told.len() - 1];
    assert_eq!(end["content"][0]["content"]["text"], "```\nmade\n```");
    assert_eq!(replay(events().remove(4)).last(), Some(end));
}

#[test]
fn a_call_that_never_ran_says_so_in_the_place_of_its_terminal() {
    let refused = || finished(ToolStatus::Denied, output("no", Display::Prose));
    let last = told(true, [started(), refused()]).remove(1);
    assert_eq!(last["content"][0]["content"]["text"], "no");
    let nothing = json!({"terminal_exit": {"terminal_id": "c", "exit_code": null, "signal": null}});
    assert_eq!(last["_meta"], nothing);
    let left = finished(ToolStatus::Failed, output("left behind", Display::Prose));
    let last = told(true, [started(), progress(printed("half", 0, "")), left]).remove(2);
    assert_eq!(last["content"][0]["type"], "terminal");
    assert_eq!(last["_meta"]["terminal_output"]["data"], "\u{1b}[0m\nleft behind\n");
}

#[test]
fn a_sign_of_life_changes_nothing_that_is_shown() {
    let silent = |elapsed_s| Event::ToolProgress {
        id: "c".into(),
        progress: Progress {
            elapsed_s,
            ..Progress::default()
        },
    };
    let bare = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"});
    assert_eq!(live(silent(None))[0], bare);
    assert_eq!(
        live(silent(Some(8)))[0]["content"][0]["content"]["text"],
        "… 8 s so far"
    );
    assert_eq!(told(true, [started(), silent(Some(8))])[1], bare);
}
