//! OpenAI Responses.

use std::collections::HashSet;

use serde_json::Value;

use super::{Verdict, arguments, ensure, list, new_id, text, tool_name};

const LONGEST_ID: usize = 64;

pub(super) fn judge(body: &Value) -> Verdict {
    let items = list(&body["input"], "input")?;
    ensure(items[0]["role"] == "user", || "the first item is not the user's".into())?;
    let (mut ids, mut open) = (HashSet::new(), HashSet::new());
    let mut after_reasoning = false;
    for item in items {
        let kind = item["type"].as_str().unwrap_or_default();
        let is_models = kind == "reasoning" || kind == "function_call" || item["role"] == "assistant";
        ensure(!after_reasoning || is_models, || {
            format!("reasoning without what followed it, before {item}")
        })?;
        after_reasoning = kind == "reasoning";
        match kind {
            "reasoning" => {}
            "message" => {
                ensure(open.is_empty(), || format!("{open:?} have no output before {item}"))?;
                message(item)?;
            }
            "function_call" => {
                new_id(&item["call_id"], LONGEST_ID, &mut ids)?;
                tool_name(&item["name"])?;
                arguments(&item["arguments"])?;
                open.insert(item["call_id"].as_str().unwrap_or_default());
            }
            "function_call_output" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                ensure(open.remove(id), || format!("an output of no call: {item}"))?;
                text(&item["output"], "an output")?;
            }
            _ => return Err(format!("an unknown item: {item}")),
        }
    }
    ensure(!after_reasoning, || "reasoning stands last".into())?;
    ensure(open.is_empty(), || format!("{open:?} have no output"))?;
    let last = &items[items.len() - 1];
    ensure(last["role"] == "user" || last["type"] == "function_call_output", || {
        "the last item is the model's own".into()
    })
}

fn message(item: &Value) -> Verdict {
    for part in list(&item["content"], "a message")? {
        match (item["role"].as_str(), part["type"].as_str()) {
            (Some("user"), Some("input_text")) | (Some("assistant"), Some("output_text")) => {
                text(&part["text"], "a part")?
            }
            (Some("user"), Some("input_image")) => text(&part["image_url"], "a picture")?,
            _ => return Err(format!("an unknown part: {item}")),
        };
    }
    Ok(())
}
