//! A service that counts tokens as real ones do: of all that it gets, whatever the dialect. It refuses a request that
//! has no room for the reply it asks for, and cuts a reply at the length that was asked for.

use providers::Dialect;
use serde_json::{Value, json};

use crate::mock::{Asked, Reply};
use crate::spoken::Spoken;

/// The tokens of a text, of 4.3 bytes each, as English has them.
pub fn tokens(text: &str) -> u64 {
    (text.len() as u64 * 10).div_ceil(43)
}

/// A text of so many tokens.
pub fn text_of(tokens: u64) -> String {
    let bytes = usize::try_from(tokens * 43 / 10).expect("a text fits memory");
    "plain English words ".chars().cycle().take(bytes).collect()
}

/// Tokens that the reply may have, as the request says it in its dialect.
pub fn reply_limit(asked: &Asked) -> Option<u64> {
    let body = &asked.body;
    let limits = [
        &body["max_tokens"],
        &body["max_completion_tokens"],
        &body["max_output_tokens"],
        &body["generationConfig"]["maxOutputTokens"],
    ];
    limits.into_iter().find_map(Value::as_u64)
}

/// What the service answers, whose model's context holds `window` tokens and which would say `text`.
pub fn answer(dialect: Dialect, window: u64, asked: &Asked, text: &str) -> Reply {
    let input = tokens(&asked.raw);
    let limit = reply_limit(asked);
    if input + limit.unwrap_or(1) > window {
        return refusal(dialect, window, input, limit.unwrap_or(0));
    }
    let most = limit.unwrap_or(window - input);
    let is_cut = tokens(text) > most;
    let said = if is_cut { text_of(most) } else { text.to_owned() };
    Spoken {
        output: tokens(&said),
        is_cut,
        ..Spoken::text(&said).using(input)
    }
    .reply(dialect)
}

/// The words of a service whose model's context can't hold a request.
fn refusal(dialect: Dialect, window: u64, input: u64, limit: u64) -> Reply {
    let error = match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses => json!({"error": {
            "message": format!("This model's maximum context length is {window} tokens. However, you requested \
                {} tokens ({input} in the messages, {limit} in the completion).", input + limit),
            "type": "invalid_request_error", "code": "context_length_exceeded",
        }}),
        Dialect::Anthropic => json!({"type": "error", "error": {
            "type": "invalid_request_error",
            "message": format!("input length and `max_tokens` exceed context limit: {input} + {limit} > {window}"),
        }}),
        Dialect::Gemini => json!({"error": {
            "code": 400, "status": "INVALID_ARGUMENT",
            "message": format!("The input token count ({input}) exceeds the maximum number of tokens allowed ({window})."),
        }}),
    };
    let head = "HTTP/1.1 400 Bad Request\ncontent-type: application/json";
    Reply::answer(head, error.to_string())
}
