//! A long conversation with thoughts that go back to their service, calls and results.

use std::fs;
use std::path::Path;

use agent_core::content::Content;
use agent_core::event::CallInput;
use agent_core::provider::{Call, Message, Request};
use providers::Dialect;
use serde_json::{Value, json};
use talaria_tests::mock::{Mock, Reply};
use tokio::runtime::Runtime;

use crate::{ask, model, question};

/// A line of a file that was read.
const LINE: &str = "    12|    let answer = table.get(&key).copied().unwrap_or_default();\n";
const LINES: usize = 20;

/// So many messages, or a few more: a question, a recorded reply with its thoughts and calls, and their results.
pub(crate) fn of(dialect: Dialect, runtime: &Runtime, count: usize) -> Vec<Message> {
    let exchange = exchange(dialect, runtime);
    exchange.iter().cycle().take(count).cloned().collect()
}

fn exchange(dialect: Dialect, runtime: &Runtime) -> Vec<Message> {
    let mock = Mock::serve(vec![Reply::sse(recorded(dialect))]);
    let (text, thought, reply) = ask(&model(mock.base_url(), dialect, runtime), &question());
    let calls = if reply.calls.is_empty() {
        vec![Call {
            id: "a".into(),
            name: "read".into(),
            input: CallInput::Json(json!({"path": "src/table.rs"})),
        }]
    } else {
        reply.calls
    };
    let results: Vec<Message> = calls.iter().map(result).collect();
    let mut exchange = vec![
        Message::User(vec![Content::text(
            "What does the table answer for a key that it doesn't have?",
        )]),
        Message::Assistant {
            text,
            thought,
            calls,
            native: reply.native,
        },
    ];
    exchange.extend(results);
    exchange
}

fn result(call: &Call) -> Message {
    Message::ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: LINE.repeat(LINES),
        images: Vec::new(),
        failed: false,
    }
}

/// A reply with thoughts that its service wants back.
fn recorded(dialect: Dialect) -> Vec<u8> {
    let name = match dialect {
        Dialect::OpenaiChat => "chat-07-reasoning-details-signed",
        Dialect::OpenaiResponses => "responses-01-encrypted-reasoning-two-calls",
        Dialect::Anthropic => "anthropic-01-thinking-two-tools",
        Dialect::Gemini => "gemini-01-thought-two-calls",
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/streams");
    fs::read(folder.join(format!("{name}.sse"))).expect("the recorded stream is there")
}

/// The request that our client makes of it, as a service reads it.
pub(crate) fn body(dialect: Dialect, runtime: &Runtime, messages: &[Message]) -> Value {
    let mock = Mock::serve(vec![Reply::sse(recorded(dialect))]);
    let request = Request { messages, ..question() };
    ask(&model(mock.base_url(), dialect, runtime), &request);
    mock.requests().remove(0).body
}
