//! What a model says, in the words of each dialect: for tests that hold whatever a service speaks.

use providers::Dialect;
use serde_json::{Value, json};

use crate::mock::Reply;

/// All dialects.
pub const DIALECTS: [Dialect; 4] = [
    Dialect::OpenaiChat,
    Dialect::OpenaiResponses,
    Dialect::Anthropic,
    Dialect::Gemini,
];

/// A reply of a model, before it is put into a dialect's words.
#[derive(Clone, Debug, Default)]
pub struct Spoken {
    /// A thought that only its own service may get back; it shows in its seal too.
    pub thought: String,
    /// What it says.
    pub text: String,
    /// Its calls: id, tool, arguments.
    pub calls: Vec<(String, String, Value)>,
    /// Tokens of the prompt.
    pub used: u64,
    /// Tokens of the reply.
    pub output: u64,
    /// It reached its length limit.
    pub is_cut: bool,
}

impl Spoken {
    /// A reply of one text.
    pub fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            used: 10,
            output: 5,
            ..Self::default()
        }
    }

    /// A reply of one call.
    pub fn call(id: &str, tool: &str, arguments: Value) -> Self {
        Self {
            calls: vec![(id.to_owned(), tool.to_owned(), arguments)],
            used: 10,
            output: 5,
            ..Self::default()
        }
    }

    /// The same with a thought before it.
    #[must_use]
    pub fn thinking(self, thought: &str) -> Self {
        let thought = thought.to_owned();
        Self { thought, ..self }
    }

    /// The same after a prompt of so many tokens.
    #[must_use]
    pub fn using(self, used: u64) -> Self {
        Self { used, ..self }
    }

    /// The answer of a service that speaks this dialect.
    pub fn reply(&self, dialect: Dialect) -> Reply {
        let events = match dialect {
            Dialect::OpenaiChat => self.chat(),
            Dialect::OpenaiResponses => self.responses(),
            Dialect::Anthropic => self.anthropic(),
            Dialect::Gemini => self.gemini(),
        };
        Reply::events(&events)
    }

    fn chat(&self) -> Vec<Value> {
        let calls = self.calls.iter().enumerate().map(|(index, (id, name, arguments))| {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            json!({"index": index, "id": id, "type": "function", "function": function})
        });
        let chunk = |delta: Value, finish: Value| json!({"choices": [{"delta": delta, "finish_reason": finish}]});
        let mut events = Vec::new();
        if !self.thought.is_empty() {
            events.push(chunk(json!({"reasoning_content": self.thought}), Value::Null));
        }
        if !self.text.is_empty() {
            events.push(chunk(json!({"content": self.text}), Value::Null));
        }
        if !self.calls.is_empty() {
            events.push(chunk(json!({"tool_calls": calls.collect::<Vec<_>>()}), Value::Null));
        }
        events.push(chunk(json!({}), self.finish("stop", "tool_calls", "length")));
        events.push(json!({"choices": [], "usage": {"prompt_tokens": self.used, "completion_tokens": self.output}}));
        events
    }

    fn responses(&self) -> Vec<Value> {
        let mut items = Vec::new();
        if !self.thought.is_empty() {
            let summary = json!([{"type": "summary_text", "text": self.thought}]);
            items.push(
                json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": self.thought}),
            );
        }
        if !self.text.is_empty() {
            let content = json!([{"type": "output_text", "text": self.text, "annotations": []}]);
            items.push(json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content}));
        }
        for (index, (id, name, arguments)) in self.calls.iter().enumerate() {
            let arguments = arguments.to_string();
            items.push(json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": id, "name": name, "arguments": arguments}));
        }
        let usage = json!({"input_tokens": self.used, "output_tokens": self.output});
        let done = items.iter().enumerate();
        let done =
            done.map(|(index, item)| json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        let status = self.finish("completed", "completed", "incomplete");
        let mut response = json!({"status": status, "output": items, "usage": usage});
        if self.is_cut {
            response["incomplete_details"] = json!({"reason": "max_output_tokens"});
        }
        let kind = format!("response.{}", status.as_str().unwrap_or_default());
        let end = json!({"type": kind, "response": response});
        done.chain([end]).collect()
    }

    fn anthropic(&self) -> Vec<Value> {
        let mut blocks = Vec::new();
        if !self.thought.is_empty() {
            let delta = json!({"type": "thinking_delta", "thinking": self.thought});
            let seal = json!({"type": "signature_delta", "signature": self.thought});
            blocks.push((
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                vec![delta, seal],
            ));
        }
        if !self.text.is_empty() {
            let delta = json!({"type": "text_delta", "text": self.text});
            blocks.push((json!({"type": "text", "text": ""}), vec![delta]));
        }
        for (id, name, arguments) in &self.calls {
            let delta = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
            blocks.push((
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                vec![delta],
            ));
        }
        let usage = json!({"input_tokens": self.used, "output_tokens": 1});
        let mut events = vec![json!({"type": "message_start", "message": {"usage": usage}})];
        for (index, (block, deltas)) in blocks.into_iter().enumerate() {
            events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
            let deltas = deltas.into_iter();
            events.extend(deltas.map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})));
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        let delta = json!({"stop_reason": self.finish("end_turn", "tool_use", "max_tokens")});
        events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": self.output}}));
        events.push(json!({"type": "message_stop"}));
        events
    }

    fn gemini(&self) -> Vec<Value> {
        let mut parts = Vec::new();
        if !self.thought.is_empty() {
            parts.push(json!({"text": self.thought, "thought": true, "thoughtSignature": self.thought}));
        }
        if !self.text.is_empty() {
            parts.push(json!({"text": self.text}));
        }
        for (id, name, arguments) in &self.calls {
            parts.push(json!({"functionCall": {"id": id, "name": name, "args": arguments}}));
        }
        let candidate = json!({"content": {"role": "model", "parts": parts}, "finishReason": self.finish("STOP", "STOP", "MAX_TOKENS")});
        let usage = json!({"promptTokenCount": self.used, "candidatesTokenCount": self.output});
        vec![json!({"candidates": [candidate], "usageMetadata": usage})]
    }

    fn finish(&self, plain: &str, with_calls: &str, cut: &str) -> Value {
        let finish = match self.calls.is_empty() {
            _ if self.is_cut => cut,
            true => plain,
            false => with_calls,
        };
        finish.into()
    }
}
