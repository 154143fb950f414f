//! Gemini.

use serde_json::Value;

use super::{Verdict, ensure, list, text, tool_name};

pub(super) fn judge(body: &Value) -> Verdict {
    let contents = list(&body["contents"], "contents")?;
    ensure(contents[0]["role"] == "user", || {
        "the first content is not the user's".into()
    })?;
    ensure(contents[contents.len() - 1]["role"] == "user", || {
        "the last content is the model's own".into()
    })?;
    let mut open: Vec<&Value> = Vec::new();
    let mut before = (&Value::Null, false);
    for content in contents {
        let parts = list(&content["parts"], "a content")?;
        for part in parts {
            judge_part(part, &content["role"])?;
        }
        let answers: Vec<&Value> = kind(parts, "functionResponse");
        let calls: Vec<&Value> = kind(parts, "functionCall");
        ensure(answers.is_empty() || answers.len() == parts.len(), || {
            format!("answers of tools are not alone: {content}")
        })?;
        let key = |part: &&Value| (part["name"].clone(), part["id"].clone());
        ensure(answers.iter().map(key).eq(open.iter().map(key)), || {
            format!("{answers:?} follow {open:?}")
        })?;
        // What tools answer and what a user says are contents of their own.
        let (role, answered) = before;
        ensure(*role != content["role"] || (answered && answers.is_empty()), || {
            format!("two contents of one side: {content}")
        })?;
        before = (&content["role"], !answers.is_empty());
        open = calls;
        signed(parts)?;
    }
    ensure(open.is_empty(), || format!("{open:?} have no answer"))
}

fn kind<'a>(parts: &'a [Value], kind: &str) -> Vec<&'a Value> {
    parts.iter().filter_map(|part| part.get(kind)).collect()
}

/// From the third generation on the first of the calls made together is refused without a signature.
fn signed(parts: &[Value]) -> Verdict {
    let first = parts.iter().find(|part| part.get("functionCall").is_some());
    ensure(
        first.is_none_or(|first| first["thoughtSignature"].is_string())
            || parts.iter().any(|part| part["thoughtSignature"].is_string()),
        || format!("calls without a signature: {parts:?}"),
    )
}

fn judge_part(part: &Value, role: &Value) -> Verdict {
    let is_models = role == "model";
    if let Some(call) = part.get("functionCall").filter(|_| is_models) {
        ensure(call["args"].is_object(), || format!("arguments are no object: {part}"))?;
        return name(call);
    }
    if let Some(answer) = part.get("functionResponse").filter(|_| !is_models) {
        ensure(answer["response"].is_object(), || {
            format!("an answer is no object: {part}")
        })?;
        return name(answer);
    }
    if let Some(picture) = part.get("inlineData").filter(|_| !is_models) {
        return text(&picture["data"], "a picture").map(|_| ());
    }
    // An empty text may carry a signature.
    if part["thoughtSignature"].is_string() && part["text"].is_string() {
        return Ok(());
    }
    text(&part["text"], "a part").map(|_| ())
}

fn name(of: &Value) -> Verdict {
    tool_name(&of["name"])?;
    let first = of["name"].as_str().and_then(|name| name.chars().next());
    ensure(
        first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_'),
        || format!("the service does not take the name of {of}"),
    )
}
