//! The closing report of the offline model: what came of each call, in a few lines.

use serde_json::Value;

use crate::event::CallInput;
use crate::fence::{code, fenced};
use crate::provider::{Call, Message};

/// Lines of a listing that are shown.
const LISTED: usize = 40;
/// Lines of any other output that are shown.
const SHOWN: usize = 10;
/// Characters of a line that are shown.
const WIDTH: usize = 160;

/// Reports the results that a conversation ends with.
pub(super) fn closing(messages: &[Message]) -> String {
    let asked = messages
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, message)| match message {
            Message::Assistant { calls, .. } => Some((calls.as_slice(), &messages[at + 1..])),
            Message::User(_) | Message::ToolResult { .. } => None,
        });
    let (calls, results) = asked.unwrap_or((&[], messages));
    let reports: Vec<String> = results.iter().filter_map(|result| report(calls, result)).collect();
    reports.join("\n\n")
}

fn report(calls: &[Call], result: &Message) -> Option<String> {
    let Message::ToolResult {
        id, name, text, failed, ..
    } = result
    else {
        return None;
    };
    let call = calls.iter().find(|call| call.id == *id);
    let words = words(name, call.map(|call| &call.input));
    Some(match (failed, words.lines) {
        (true, _) => failure(&words.failed, text),
        (false, 0) => format!("{}.", words.done),
        (false, lines) => format!("{}:\n\n{}", words.done, excerpt(text, lines)),
    })
}

/// How a call is spoken of.
struct Words {
    /// When it was done.
    done: String,
    /// When it was not.
    failed: String,
    /// Lines of its output to show; 0 where the editor shows all there is.
    lines: usize,
}

fn words(name: &str, input: Option<&CallInput>) -> Words {
    let argument = |key: &str| match input {
        Some(CallInput::Json(input)) => code(&cut(input.get(key).and_then(Value::as_str).unwrap_or("."))),
        Some(CallInput::Malformed(_)) | None => "?".to_owned(),
    };
    let lists_files = matches!(input, Some(CallInput::Json(input)) if input["target"] == "files");
    let path = argument("path");
    let (done, failed, lines) = match name {
        "search_files" if lists_files => (format!("Files in {path}"), format!("Could not list {path}"), LISTED),
        "search_files" => {
            let pattern = argument("pattern");
            let done = format!("Search for {pattern} in {path}");
            (done, format!("Could not search for {pattern} in {path}"), SHOWN)
        }
        "read_file" => (format!("Read {path}"), format!("Could not read {path}"), SHOWN),
        "write_file" => (format!("Wrote {path}"), format!("Could not write {path}"), 0),
        "patch" => (format!("Changed {path}"), format!("Could not change {path}"), 0),
        "terminal" => {
            let command = argument("command");
            (format!("Ran {command}"), format!("{command} did not succeed"), SHOWN)
        }
        "todo" => ("The plan is set".to_owned(), "Could not set the plan".to_owned(), 0),
        other => (code(other), format!("{} did not succeed", code(other)), SHOWN),
    };
    Words { done, failed, lines }
}

fn failure(what: &str, why: &str) -> String {
    match why.trim() {
        "" => format!("{what}."),
        why if why.contains('\n') => format!("{what}:\n\n{}", excerpt(why, SHOWN)),
        why => format!("{what}: {}", cut(why)),
    }
}

/// The first lines of a text, and its last, which says what there is beside them, such as further files or an exit code.
fn excerpt(text: &str, lines: usize) -> String {
    let mut shown: Vec<String> = text.lines().map(cut).collect();
    // One line less and one mark more would say nothing shorter.
    let left_out = match shown.len().saturating_sub(lines + 1) {
        0 | 1 => 0,
        several => several,
    };
    if left_out > 0 {
        shown.splice(lines..lines + left_out, [format!("… {left_out} lines left out here")]);
    }
    match shown.as_slice() {
        [] => "(nothing)".to_owned(),
        shown => fenced(&shown.join("\n")).trim_end().to_owned(),
    }
}

/// The line, cut if it is long.
pub(super) fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
