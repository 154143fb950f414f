//! How a tool call ends.

use agent_core::event::{Display, Event, Progress, ToolOutput, ToolStatus};
use serde_json::{Value, json};

use crate::events::{finished, output};
use crate::rows::{Row, content, same};
use crate::{live, replay};

pub(crate) fn rows() -> Vec<Row> {
    let ended = |status: &str, raw: Value, shown: &[&str]| {
        let mut update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": status,
            "rawOutput": raw });
        if !shown.is_empty() {
            update["content"] = shown.iter().map(|text| content(text)).collect();
        }
        vec![update]
    };
    let of = |text: &str| json!({ "output": text });
    let exit = ToolOutput {
        raw: Some(json!({ "exitCode": 1 })),
        ..output("exit code 1\nboom", Display::Instead("boom".into()))
    };
    vec![
        same(
            finished(ToolStatus::Completed, output("**done**", Display::Prose)),
            ended("completed", of("**done**"), &["**done**"]),
        ),
        same(
            finished(ToolStatus::Completed, output("1 a ```", Display::Verbatim)),
            ended("completed", of("1 a ```"), &["````\n1 a ```\n````"]),
        ),
        same(
            finished(ToolStatus::Completed, output("{\"a\":[1]}", Display::Json)),
            ended(
                "completed",
                of("{\"a\":[1]}"),
                &["```json\n{\n  \"a\": [\n    1\n  ]\n}\n```"],
            ),
        ),
        same(
            finished(ToolStatus::Failed, exit),
            ended("failed", json!({ "exitCode": 1 }), &["```\nboom\n```"]),
        ),
        same(
            finished(ToolStatus::Completed, output("edited", Display::AsPlanned)),
            ended("completed", of("edited"), &[]),
        ),
        same(
            finished(ToolStatus::Failed, output("a has changed", Display::AsPlanned)),
            ended("failed", of("a has changed"), &["a has changed"]),
        ),
        same(
            finished(ToolStatus::Completed, ToolOutput::default()),
            ended("completed", of(""), &[]),
        ),
        same(
            finished(ToolStatus::Denied, ToolOutput::default()),
            ended("failed", of(""), &["Not run: it was not allowed."]),
        ),
        same(
            finished(ToolStatus::Cancelled, ToolOutput::default()),
            ended("failed", of(""), &["Stopped: the turn was cancelled."]),
        ),
    ]
}

#[test]
fn a_terminal_is_shown_as_long_as_it_is_there_and_later_as_text() {
    let progress = Progress {
        terminal: Some("t".into()),
        ..Progress::default()
    };
    let shown = live(Event::ToolProgress {
        id: "c".into(),
        progress,
    });
    assert_eq!(shown[0]["content"], json!([{"type": "terminal", "terminalId": "t"}]));
    let overdue = Progress {
        terminal: Some("t".into()),
        note: Some("timed out after 1 s".into()),
        ..Progress::default()
    };
    let shown = live(Event::ToolProgress {
        id: "c".into(),
        progress: overdue,
    });
    assert_eq!(shown[0]["content"][0], json!({"type": "terminal", "terminalId": "t"}));
    assert_eq!(shown[0]["content"][1]["content"]["text"], "timed out after 1 s");
    for status in [ToolStatus::Completed, ToolStatus::Failed, ToolStatus::Cancelled] {
        let end = || finished(status, output("out\nexit code: 0", Display::Terminal("out\n".into())));
        assert_eq!(live(end())[0].get("content"), None, "{status:?}");
        let replayed = replay(end())[0]["content"][0]["content"]["text"].clone();
        assert!(replayed.as_str().unwrap().contains("out"), "{replayed}");
    }
}
