//! The `systemPrompt` of the requests that open a session, as the core's instructions. What can't be taken is refused:
//! to leave it out in silence would change what the user gets.

use agent_client_protocol_schema::v1::{ContentBlock, Error, SystemPrompt, SystemPromptMode};
use agent_core::prompt::{Instructions, LONGEST_INSTRUCTIONS, Manner};

use super::fault;

/// Reads a system prompt; without one the session keeps what it has.
pub(crate) fn read(prompt: Option<SystemPrompt>) -> Result<Option<Instructions>, Error> {
    prompt.map(instructions).transpose()
}

fn instructions(prompt: SystemPrompt) -> Result<Instructions, Error> {
    let manner = if prompt.mode == SystemPromptMode::Append {
        Manner::Append
    } else if prompt.mode == SystemPromptMode::Override {
        Manner::Override
    } else {
        return Err(refused("mode", "expected `append` or `override`"));
    };
    let mut texts = Vec::new();
    for (index, block) in prompt.content.into_iter().enumerate() {
        let ContentBlock::Text(text) = block else {
            return Err(refused(&format!("content[{index}]"), "only text is taken here"));
        };
        texts.push(text.text);
    }
    let text = texts.join("\n\n");
    if text.trim().is_empty() {
        return Err(refused("content", "says nothing"));
    }
    if text.len() > LONGEST_INSTRUCTIONS {
        let most = LONGEST_INSTRUCTIONS >> 10;
        return Err(refused("content", &format!("is longer than {most} KiB")));
    }
    Ok(Instructions { manner, text })
}

fn refused(field: &str, problem: &str) -> Error {
    fault::invalid_field(&format!("systemPrompt.{field}"), problem)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::{Value, json};

    fn given(prompt: &Value) -> Result<Option<Instructions>, Error> {
        read(serde_json::from_value(prompt.clone()).unwrap())
    }

    fn text(text: &str) -> Value {
        json!({ "type": "text", "text": text })
    }

    #[test]
    fn a_system_prompt_is_taken_in_both_modes() {
        assert_eq!(given(&Value::Null).unwrap(), None);
        for (mode, manner) in [("append", Manner::Append), ("override", Manner::Override)] {
            let prompt = json!({ "mode": mode, "content": [text("a"), text("b")] });
            let text = "a\n\nb".to_owned();
            assert_eq!(given(&prompt).unwrap(), Some(Instructions { manner, text }));
        }
        let longest = "x".repeat(LONGEST_INSTRUCTIONS);
        given(&json!({ "mode": "append", "content": [text(&longest)] })).unwrap();
    }

    #[test]
    fn what_a_system_prompt_can_not_be_is_named() {
        let check = |prompt: Value, field: &str| {
            let error = given(&prompt).unwrap_err();
            assert_eq!(
                (i32::from(error.code), error.data),
                (-32602, Some(json!({ "field": format!("systemPrompt.{field}") })))
            );
        };
        check(json!({ "mode": "prepend", "content": [text("a")] }), "mode");
        check(json!({ "mode": "append", "content": [] }), "content");
        check(json!({ "mode": "append", "content": [text(" \n")] }), "content");
        let huge = "x".repeat(1 << 20);
        check(json!({ "mode": "override", "content": [text(&huge)] }), "content");
        let image = json!({ "type": "image", "data": "", "mimeType": "image/png" });
        check(json!({ "mode": "append", "content": [text("a"), image] }), "content[1]");
    }
}
