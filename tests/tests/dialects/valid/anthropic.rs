//! Anthropic Messages.

use std::collections::HashSet;

use serde_json::Value;

use super::{Verdict, ensure, list, new_id, text, tool_name};

const LONGEST_ID: usize = 64;
const LEAST_BUDGET: u64 = 1024;
const MOST_BREAKPOINTS: usize = 4;

pub(super) fn judge(body: &Value) -> Verdict {
    let messages = list(&body["messages"], "messages")?;
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let expect = ["user", "assistant"][index % 2];
        ensure(message["role"] == expect, || {
            format!("message {index} is not of the {expect}")
        })?;
        let blocks = list(&message["content"], "a message")?;
        if expect == "user" {
            results(blocks, &std::mem::take(&mut open))?;
        }
        for block in blocks {
            judge_block(block, expect, &mut ids)?;
        }
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        open.extend(calls.filter_map(|call| call["id"].as_str()));
        let last = &blocks[blocks.len() - 1];
        ensure(
            !last["type"].as_str().is_some_and(|kind| kind.contains("thinking")),
            || format!("a thought stands last: {message}"),
        )?;
    }
    ensure(messages.len() % 2 == 1, || "the last message is the model's own".into())?;
    ensure(
        body.to_string().matches("\"cache_control\"").count() <= MOST_BREAKPOINTS,
        || "too many breakpoints".into(),
    )?;
    reply(body, messages)
}

/// Results of all calls of the message before stand first, and nobody else's.
fn results(blocks: &[Value], open: &[&str]) -> Verdict {
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let first: Vec<&str> = blocks
        .iter()
        .take_while(is_result)
        .filter_map(|block| block["tool_use_id"].as_str())
        .collect();
    let all = blocks.iter().filter(is_result).count();
    let (mut got, mut want) = (first.clone(), open.to_vec());
    got.sort_unstable();
    want.sort_unstable();
    ensure(all == first.len() && got == want, || {
        format!("results of {got:?} follow calls of {want:?}")
    })
}

fn judge_block<'a>(block: &'a Value, role: &str, ids: &mut HashSet<&'a str>) -> Verdict {
    match (role, block["type"].as_str().unwrap_or_default()) {
        (_, "text") => text(&block["text"], "a text").map(|_| ()),
        ("user", "image") => text(&block["source"]["data"], "a picture").map(|_| ()),
        ("user", "tool_result") => {
            for part in list(&block["content"], "a result")? {
                judge_block(part, role, ids)?;
            }
            Ok(())
        }
        ("assistant", "tool_use") => {
            new_id(&block["id"], LONGEST_ID, ids)?;
            let id = block["id"].as_str().unwrap_or_default();
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
            ensure(id.chars().all(is_plain), || format!("the id {id} has odd letters"))?;
            tool_name(&block["name"])?;
            ensure(block["input"].is_object(), || {
                format!("arguments are no object: {block}")
            })
        }
        ("assistant", "thinking") => text(&block["signature"], "a signature").map(|_| ()),
        ("assistant", "redacted_thinking") => text(&block["data"], "a thought").map(|_| ()),
        (role, kind) => Err(format!("a {kind} of the {role}")),
    }
}

/// The length of the reply, and of the thoughts in it. A turn that goes on over results must have begun with a thought.
fn reply(body: &Value, messages: &[Value]) -> Verdict {
    let most = body["max_tokens"].as_u64().unwrap_or_default();
    ensure(most >= 1, || "a reply of no length".into())?;
    let Some(budget) = body["thinking"]["budget_tokens"].as_u64() else {
        return Ok(());
    };
    ensure((LEAST_BUDGET..most).contains(&budget), || {
        format!("{budget} of {most} tokens for thoughts")
    })?;
    let goes_on = messages[messages.len() - 1]["content"][0]["type"] == "tool_result";
    let said = messages.iter().rfind(|message| message["role"] == "assistant");
    let has_thought = said.is_none_or(|said| {
        said["content"][0]["type"]
            .as_str()
            .is_some_and(|kind| kind.contains("thinking"))
    });
    ensure(!goes_on || has_thought, || {
        "a turn that did not begin with a thought".into()
    })
}
