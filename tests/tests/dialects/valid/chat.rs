//! Chat Completions, and the servers whose templates are stricter than OpenAI's own.

use std::collections::HashSet;

use serde_json::Value;

use super::{Verdict, arguments, ensure, list, new_id, text, tool_name};

/// What OpenAI's own takes.
const LONGEST_ID: usize = 40;

pub(super) fn judge(body: &Value) -> Verdict {
    let messages = list(&body["messages"], "messages")?;
    let rest = match messages {
        [system, rest @ ..] if system["role"] == "system" => {
            text(&system["content"], "the system prompt")?;
            rest
        }
        all => all,
    };
    ensure(rest.first().is_some_and(|first| first["role"] == "user"), || {
        "the first message is not the user's".into()
    })?;
    ensure(rest.last().is_some_and(|last| last["role"] != "assistant"), || {
        "the last message is the model's own".into()
    })?;
    let mut open = HashSet::new();
    let mut before = "";
    for message in rest {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                ensure(open.remove(id), || format!("a result of no call: {message}"))?;
                text(&message["content"], "a result")?;
            }
            "user" | "assistant" => {
                ensure(open.is_empty(), || format!("{open:?} have no result before {message}"))?;
                ensure(role != before, || format!("two messages of one side: {message}"))?;
                match role {
                    "user" => user(&message["content"])?,
                    _ => open = assistant(message)?,
                }
            }
            _ => return Err(format!("nobody has the role of {message}")),
        }
        before = role;
    }
    ensure(open.is_empty(), || format!("{open:?} have no result"))
}

fn user(content: &Value) -> Verdict {
    if content.is_string() {
        return text(content, "a prompt").map(|_| ());
    }
    for part in list(content, "a prompt")? {
        match part["type"].as_str() {
            Some("text") => text(&part["text"], "a part")?,
            Some("image_url") => text(&part["image_url"]["url"], "a picture")?,
            _ => return Err(format!("an unknown part: {part}")),
        };
    }
    Ok(())
}

/// The ids of its calls.
fn assistant(message: &Value) -> Result<HashSet<&str>, String> {
    let mut ids = HashSet::new();
    let (content, calls) = (&message["content"], &message["tool_calls"]);
    if !content.is_null() || calls.is_null() {
        text(content, "an answer")?;
    }
    if !calls.is_null() {
        for call in list(calls, "calls")? {
            ensure(call["type"] == "function", || format!("no function: {call}"))?;
            new_id(&call["id"], LONGEST_ID, &mut ids)?;
            tool_name(&call["function"]["name"])?;
            arguments(&call["function"]["arguments"])?;
        }
    }
    Ok(ids)
}
