//! The tool `todo`: the model's list of what is to be done, which the user sees.

use std::fmt::Write;
use std::sync::Arc;

use agent_core::cancel::Cancel;
use agent_core::event::{Display, PlanEntry, PlanStatus, ToolKind, ToolOutput};
use agent_core::plan::Plan;
use agent_core::provider::ToolSpec;
use agent_core::tool::{Planned, Report, Tool, ToolError};
use parking_lot::Mutex;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::{input, title};

const MAX_ENTRIES: usize = 200;

/// Keeps the session's list.
pub(crate) struct Todo {
    /// The list as the last call left it.
    entries: Arc<Mutex<Vec<PlanEntry>>>,
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    items: Option<Vec<Item>>,
    #[serde(default, deserialize_with = "input::flag")]
    merge: bool,
}

#[derive(Deserialize)]
struct Item {
    #[serde(deserialize_with = "id")]
    id: String,
    content: Option<String>,
    status: Option<PlanStatus>,
}

impl Todo {
    pub(crate) fn new() -> Self {
        let spec = ToolSpec {
            name: "todo".to_owned(),
            description: "Show the user a list of steps for longer work, and keep it up to date. items replaces the \
                          list; with merge, items of known ids are updated and others added. Without items: the list."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "items": {"type": "array", "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "string"},
                            "content": {"type": "string"},
                            "status": {"enum": ["pending", "in_progress", "completed", "cancelled"]}
                        },
                        "required": ["id", "content", "status"]
                    }},
                    "merge": {"type": "boolean"}
                }
            }),
        };
        Self {
            entries: Arc::default(),
            spec,
        }
    }

    /// Takes over what the history holds: another process may have made it.
    pub(crate) fn recall(&self, entries: &[PlanEntry]) {
        *self.entries.lock() = entries.to_vec();
    }
}

impl Tool for Todo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Think
    }

    fn title(&self, input: &Value) -> String {
        let title = match input.get("items").and_then(Value::as_array).map(Vec::len) {
            None => "Read the to-do list".to_owned(),
            Some(1) => "Update the to-do list (1 item)".to_owned(),
            Some(count) => format!("Update the to-do list ({count} items)"),
        };
        title::line(&title)
    }

    fn only_reads(&self, _input: &Value) -> bool {
        // It changes nothing but the session's own list, yet two calls at once would race for it.
        false
    }

    fn plan(&self, input: &Value, _cancel: &Cancel) -> Result<Planned, ToolError> {
        let Arguments { items, merge } = input::parse(&self.spec.name, input)?;
        let list = Arc::clone(&self.entries);
        Ok(Planned {
            plan: Plan::Inward,
            locations: Vec::new(),
            action: Box::new(move |run| {
                let Some(items) = items else {
                    return Ok(output(&list.lock()));
                };
                let entries = {
                    let mut entries = list.lock();
                    let old = if merge { entries.as_slice() } else { &[] };
                    *entries = updated(old, items)?;
                    entries.clone()
                };
                (run.report)(Report::Todo(entries.clone()));
                Ok(output(&entries))
            }),
        })
    }
}

/// The old list with its items updated and the new ones behind them.
fn updated(old: &[PlanEntry], items: Vec<Item>) -> Result<Vec<PlanEntry>, ToolError> {
    let mut entries = old.to_vec();
    let mut named: Vec<String> = Vec::new();
    for Item { id, content, status } in items {
        if named.contains(&id) {
            return Err(ToolError::new(format!(
                "todo: the id {id:?} stands in items twice; give each item its own"
            )));
        }
        named.push(id.clone());
        match (entries.iter_mut().find(|entry| entry.id == id), content) {
            (Some(entry), content) => {
                entry.content = content.unwrap_or_else(|| std::mem::take(&mut entry.content));
                entry.status = status.unwrap_or(entry.status);
            }
            (None, Some(content)) => entries.push(PlanEntry {
                id,
                content,
                status: status.unwrap_or(PlanStatus::Pending),
            }),
            (None, None) => {
                return Err(ToolError::new(format!(
                    "todo: the new item {id:?} has no `content`; say what is to be done"
                )));
            }
        }
    }
    if entries.len() > MAX_ENTRIES {
        return Err(ToolError::new(format!(
            "todo: a list has at most {MAX_ENTRIES} items; keep it to the larger steps"
        )));
    }
    Ok(entries)
}

fn output(entries: &[PlanEntry]) -> ToolOutput {
    let mut text = String::new();
    for PlanEntry { id, content, status } in entries {
        let mark = match status {
            PlanStatus::Pending => "[ ]",
            PlanStatus::InProgress => "[>]",
            PlanStatus::Completed => "[x]",
            PlanStatus::Cancelled => "[-]",
        };
        writeln!(text, "{mark} {id}. {content}").expect("writing to a string cannot fail");
    }
    if entries.is_empty() {
        text.push_str("The list is empty.\n");
    }
    ToolOutput {
        display: Display::Verbatim,
        ..ToolOutput::text(text)
    }
}

/// An id, also one that was written as a number.
fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(id) => Ok(id),
        Value::Number(number) => Ok(number.to_string()),
        other @ (Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            Err(serde::de::Error::custom(format!("expected a string, found {other}")))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use agent_core::tool::Run;

    use super::*;

    fn call(tool: &Todo, input: Value) -> (Result<String, ToolError>, Option<Vec<PlanEntry>>) {
        let told = Mutex::new(None);
        let report = |report| {
            if let Report::Todo(entries) = report {
                *told.lock() = Some(entries);
            }
        };
        let planned = tool.plan(&input, &Cancel::new());
        let result = planned.and_then(|planned| {
            (planned.action)(&Run {
                cancel: &Cancel::new(),
                report: &report,
                keep: &|_| Ok(()),
            })
        });
        (result.map(|output| output.text), told.into_inner())
    }

    #[test]
    fn a_list_is_replaced_merged_and_told() {
        let tool = Todo::new();
        let check = |input: Value, text: &str, told: Option<usize>| {
            let (result, report) = call(&tool, input.clone());
            assert_eq!(
                (result.as_deref(), report.map(|entries| entries.len())),
                (Ok(text), told),
                "{input}"
            );
        };
        check(json!({}), "The list is empty.\n", None);
        let items = json!([{"id": "a", "content": "A", "status": "in_progress"}, {"id": 2, "content": "B"}]);
        check(json!({"items": items}), "[>] a. A\n[ ] 2. B\n", Some(2));
        let items = json!([{"id": "a", "status": "completed"}, {"id": "c", "content": "C", "status": "cancelled"}]);
        check(
            json!({"items": items, "merge": true}),
            "[x] a. A\n[ ] 2. B\n[-] c. C\n",
            Some(3),
        );
        check(json!({}), "[x] a. A\n[ ] 2. B\n[-] c. C\n", None);
        check(json!({"items": []}), "The list is empty.\n", Some(0));
    }

    #[test]
    fn a_faulty_list_changes_nothing() {
        let tool = Todo::new();
        call(&tool, json!({"items": [{"id": "a", "content": "A"}]})).0.unwrap();
        let check = |input: Value, part: &str| {
            let message = call(&tool, input).0.unwrap_err().message;
            assert!(message.contains(part), "{message}");
        };
        check(
            json!({"items": [{"id": "b", "content": "B"}, {"id": "b", "content": "C"}]}),
            "twice",
        );
        check(json!({"items": [{"id": "b"}]}), "no `content`");
        check(
            json!({"items": [{"id": "b", "content": "B", "status": "maybe"}]}),
            "items[0].status",
        );
        check(json!({"items": "x"}), "`items`");
        assert_eq!(call(&tool, json!({})).0.as_deref(), Ok("[ ] a. A\n"));
    }
}
