//! The room of one line: an update that takes more is cut, and says so. Budgets before this count the bytes of texts;
//! only the line itself shows what they take, as a control character becomes six.

use agent_client_protocol_schema::v1::SessionNotification;
use serde_json::{Value, json};

use super::envelope;
use super::to_acp::cut_to;

/// Bytes of a line. Clients refuse longer ones.
const LINE: usize = 1_000_000;

/// The update as a line, its long texts cut as far as it takes.
pub(crate) fn line(notification: &SessionNotification) -> Vec<u8> {
    let whole = envelope::notification("session/update", notification);
    if whole.len() <= LINE {
        return whole;
    }
    let value = serde_json::to_value(notification).expect("what was written as a line is a value");
    let cut = |limit: &usize| envelope::notification("session/update", shrunk(&value, *limit));
    let limits = [128, 32, 8, 2].map(|kib| kib * 1024);
    limits
        .iter()
        .map(cut)
        .find(|line| line.len() <= LINE)
        .unwrap_or_else(|| cut(&256))
}

/// The value with no text longer than `limit`. Half a diff or picture would be a lie, so that a word takes its place.
fn shrunk(value: &Value, limit: usize) -> Value {
    let is_long = |field: &str| value[field].as_str().is_some_and(|text| text.len() > limit);
    match value {
        Value::String(text) => Value::String(cut_to(text, limit)),
        Value::Array(items) => items.iter().map(|item| shrunk(item, limit)).collect(),
        Value::Object(_) if value["type"] == "diff" && (is_long("oldText") || is_long("newText")) => {
            let path = value["path"].as_str().unwrap_or_default();
            json!({ "type": "content", "content": words(&format!("{path}: the change is too large to show")) })
        }
        Value::Object(_) if value["type"] == "image" && is_long("data") => words("[a picture, too large to show]"),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), shrunk(value, limit)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn words(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use agent_client_protocol_schema::v1::{
        Diff, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, ToolCallContent, ToolCallUpdate,
        ToolCallUpdateFields,
    };

    fn sent(update: SessionUpdate) -> Value {
        let line = line(&SessionNotification::new("s", update));
        assert!(line.len() <= LINE, "{}", line.len());
        let value: Value = serde_json::from_slice(&line).unwrap();
        value["params"]["update"].clone()
    }

    fn call(content: Vec<ToolCallContent>) -> SessionUpdate {
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new("c", ToolCallUpdateFields::new().content(content)))
    }

    #[test]
    fn text_that_grows_on_its_way_is_cut_and_says_so() {
        let shown = sent(call(vec!["\u{1}".repeat(400_000).into()]));
        let text = shown["content"][0]["content"]["text"].as_str().unwrap();
        assert!(text.ends_with("400000 bytes in all; the rest is not shown"));
        let small = sent(call(vec!["\u{1}".repeat(1000).into()]));
        assert_eq!(small["content"][0]["content"]["text"], "\u{1}".repeat(1000));
    }

    #[test]
    fn a_diff_is_whole_or_named() {
        let large = Diff::new("/w/a", "\u{1}".repeat(400_000));
        let shown = sent(call(vec![large.into(), Diff::new("/w/b", "b").into()]));
        assert_eq!(
            shown["content"][0]["content"]["text"],
            "/w/a: the change is too large to show"
        );
        assert_eq!(shown["content"][1]["newText"], "b");
    }

    #[test]
    fn many_entries_are_each_cut() {
        let entry = PlanEntry::new(
            "\u{1}".repeat(1000),
            PlanEntryPriority::Medium,
            PlanEntryStatus::Pending,
        );
        let shown = sent(SessionUpdate::Plan(Plan::new(vec![entry; 200])));
        assert_eq!(shown["entries"].as_array().unwrap().len(), 200);
    }
}
