//! How long a message may get, and what becomes of the rest.

use std::sync::Arc;

use agent_core::change::FileChange;
use agent_core::content::{Blob, Content};
use agent_core::event::{CallInput, Display, Event, ToolOutput, ToolStatus};
use agent_core::plan::Plan;
use serde_json::json;

use crate::events::{finished, output, place, planned, question};
use crate::{live, replay};

#[test]
fn long_text_is_split_and_nothing_of_it_lost() {
    let long = "€".repeat(10_000);
    let event = Event::AgentText {
        id: "m".into(),
        text: long.clone(),
    };
    let updates = live(event);
    let texts: Vec<&str> = updates
        .iter()
        .map(|update| update["content"]["text"].as_str().unwrap())
        .collect();
    assert!(texts.iter().all(|text| text.len() <= 4096));
    assert_eq!(texts.concat(), long);
}

#[test]
fn a_tools_text_is_cut_with_its_true_length() {
    let long = "x".repeat(100_000);
    for display in [Display::Prose, Display::Verbatim, Display::Json] {
        let update = live(finished(ToolStatus::Completed, output(&long, display))).remove(0);
        let text = update["content"][0]["content"]["text"].as_str().unwrap();
        assert!(text.ends_with("… 100000 bytes in all; the rest is not shown"));
        assert!(text.len() < 33 * 1024);
    }
}

#[test]
fn no_update_is_larger_than_a_megabyte() {
    let huge = "x".repeat(3_000_000);
    let image = Content::Image {
        mime_type: "image/png".into(),
        data: Blob::Inline(vec![0; 300_000].into()),
        uri: None,
    };
    let pictures = ToolOutput {
        images: vec![image; 9],
        raw: Some(json!({ "all": huge })),
        ..output(&huge, Display::Verbatim)
    };
    let change = FileChange::new(place("/w/new"), None, Some(&huge));
    let mut asked = question();
    let shown = Arc::make_mut(asked.shown.as_mut().unwrap());
    shown.call.input = CallInput::Json(json!({ "content": huge }));
    shown.plan = Plan::Change {
        changes: vec![change; 3],
    };
    let planned = planned(shown.plan.clone());
    let started = Event::ToolStarted {
        call: shown.call.clone(),
    };
    let asked = Event::ApprovalRequested { approval: asked };
    let user = Event::UserMessage {
        id: "u".into(),
        content: vec![Content::Resource {
            uri: "file:///w/a".into(),
            mime_type: None,
            text: huge,
        }],
        context: Vec::new(),
        command: false,
    };
    for event in [finished(ToolStatus::Completed, pictures), planned, started, asked, user] {
        for message in live(event.clone()).into_iter().chain(replay(event)) {
            assert!(message.to_string().len() < 1_000_000);
        }
    }
}
