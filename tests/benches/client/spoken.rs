//! A long text as each dialect's services send it, with the fields that they send beside it.

use providers::Dialect;
use serde_json::{Value, json};

pub(crate) const CHUNKS: usize = 20_000;
const WORD: &str = " word";
/// Of the whole text.
pub(crate) const LETTERS: usize = CHUNKS * WORD.len();
/// The last events of a stream, which by themselves are a reply without a text.
pub(crate) const ENDINGS: usize = 2;

pub(crate) const DIALECTS: [Dialect; 4] = [
    Dialect::OpenaiChat,
    Dialect::OpenaiResponses,
    Dialect::Anthropic,
    Dialect::Gemini,
];

/// Where the model is asked.
pub(crate) fn path(dialect: Dialect) -> String {
    let path = match dialect {
        Dialect::OpenaiChat => "chat/completions",
        Dialect::OpenaiResponses => "responses",
        Dialect::Anthropic => "messages",
        Dialect::Gemini => "models/m:streamGenerateContent?alt=sse",
    };
    format!("/v1/{path}")
}

/// Where in an event its piece of the text is.
pub(crate) fn place(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenaiChat => "/choices/0/delta/content",
        Dialect::OpenaiResponses => "/delta",
        Dialect::Anthropic => "/delta/text",
        Dialect::Gemini => "/candidates/0/content/parts/0/text",
    }
}

/// The stream's events as they are sent.
pub(crate) fn events(dialect: Dialect) -> Vec<String> {
    let (begin, piece, end) = match dialect {
        Dialect::OpenaiChat => chat(),
        Dialect::OpenaiResponses => responses(),
        Dialect::Anthropic => anthropic(),
        Dialect::Gemini => gemini(),
    };
    let pieces = std::iter::repeat_n(&piece, CHUNKS);
    begin.iter().chain(pieces).chain(&end).map(event).collect()
}

/// Events with a name are sent with it.
fn event(data: &Value) -> String {
    match data["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}

type Stream = (Vec<Value>, Value, [Value; ENDINGS]);

fn chat() -> Stream {
    let chunk = |delta: Value, finish: Value| {
        json!({
            "id": "chatcmpl-Bw3kQ8hZ1tYcVn5dRfGmXs2pLjA7e", "object": "chat.completion.chunk", "created": 1_760_000_000,
            "model": "m-2025-08-07", "service_tier": "default", "system_fingerprint": "fp_560af6e559",
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}], "usage": null,
        })
    };
    let usage = json!({
        "id": "chatcmpl-Bw3kQ8hZ1tYcVn5dRfGmXs2pLjA7e", "object": "chat.completion.chunk", "choices": [],
        "usage": {"prompt_tokens": 10, "completion_tokens": CHUNKS},
    });
    let begin = chunk(
        json!({"role": "assistant", "content": "", "refusal": null}),
        Value::Null,
    );
    (
        vec![begin],
        chunk(json!({"content": WORD}), Value::Null),
        [chunk(json!({}), "stop".into()), usage],
    )
}

fn responses() -> Stream {
    let item =
        json!({"id": "msg_68af41", "type": "message", "status": "in_progress", "content": [], "role": "assistant"});
    let added = json!({"type": "response.output_item.added", "sequence_number": 2, "output_index": 0, "item": item});
    let piece = json!({
        "type": "response.output_text.delta", "sequence_number": 4321, "item_id": "msg_68af41", "output_index": 0,
        "content_index": 0, "delta": WORD, "logprobs": [], "obfuscation": "2hGk7QpZxW",
    });
    let done = json!({"type": "response.content_part.done", "output_index": 0, "item_id": "msg_68af41"});
    let usage = json!({"input_tokens": 10, "output_tokens": CHUNKS});
    let response = json!({"id": "resp_68af41", "status": "completed", "output": [], "usage": usage});
    let completed = json!({"type": "response.completed", "sequence_number": 20_005, "response": response});
    (vec![added], piece, [done, completed])
}

fn anthropic() -> Stream {
    let message = json!({
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant", "content": [], "model": "m",
        "stop_reason": null, "usage": {"input_tokens": 10, "output_tokens": 1},
    });
    let start = json!({"type": "message_start", "message": message});
    let block = json!({"type": "text", "text": ""});
    let begin = json!({"type": "content_block_start", "index": 0, "content_block": block});
    let piece = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORD}});
    let delta = json!({"stop_reason": "end_turn", "stop_sequence": null});
    let usage = json!({"output_tokens": CHUNKS});
    let ending = json!({"type": "message_delta", "delta": delta, "usage": usage});
    (vec![start, begin], piece, [ending, json!({"type": "message_stop"})])
}

fn gemini() -> Stream {
    let chunk = |text: &str, finish: Option<&str>| {
        let mut candidate = json!({"content": {"parts": [{"text": text}], "role": "model"}, "index": 0});
        if let Some(finish) = finish {
            candidate["finishReason"] = finish.into();
        }
        let usage = json!({
            "promptTokenCount": 10, "candidatesTokenCount": CHUNKS, "totalTokenCount": CHUNKS + 10,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}],
        });
        json!({
            "candidates": [candidate], "usageMetadata": usage, "modelVersion": "m-pro", "responseId": "bWF5YmUgbm90",
        })
    };
    (vec![], chunk(WORD, None), [chunk("", None), chunk("", Some("STOP"))])
}
