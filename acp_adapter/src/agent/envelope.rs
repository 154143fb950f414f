//! The JSON-RPC envelope, both ways. Knows no method and no parameter.

use agent_client_protocol_schema::v1::{Error, RequestId};
use agent_core::visible;
use serde::Serialize;
use serde_json::{Map, Value};

use super::fault;
use super::framer::Line;

/// The most values in a line. Texts may be long, pictures among them; nothing has many parts.
const MOST_VALUES: usize = 100_000;
/// The most characters of a client's error that are passed on.
const LONGEST_WORDS: usize = 300;

/// A message from the client.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// Wants exactly one answer.
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    /// Wants none.
    Notification { method: String, params: Value },
    /// Answers a request of ours: its result, or the client's words about what went wrong.
    Response {
        id: RequestId,
        result: Result<Value, String>,
    },
}

/// A line that is no message.
#[derive(Debug, PartialEq)]
pub(crate) struct Refused {
    /// The request's id where it could be read, else null.
    pub(crate) id: RequestId,
    code: i32,
    problem: &'static str,
}

impl Refused {
    /// The error it is answered with.
    pub(crate) fn error(&self) -> Error {
        Error::new(self.code, self.problem)
    }
}

/// Reads a line; none for a blank one.
pub(crate) fn read(line: Line) -> Result<Option<Incoming>, Refused> {
    let text = match line {
        Line::Text(text) if text.trim().is_empty() => return Ok(None),
        Line::Text(text) => text,
        Line::NotUtf8 => return Err(unreadable("the line is not valid UTF-8")),
        Line::TooLong => return Err(refused(RequestId::Null, "message too large: a line may have 64 MiB")),
    };
    if has_too_many_values(&text) {
        return Err(refused(
            RequestId::Null,
            "message too large: a line may have 100,000 values",
        ));
    }
    // The parser refuses 128 levels of nesting and more, so no line can exhaust the stack.
    match serde_json::from_str(&text) {
        Ok(Value::Object(message)) => sort(message).map(Some),
        Ok(Value::Array(_)) => Err(refused(
            RequestId::Null,
            "batches are not served: send one object a line",
        )),
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            Err(refused(RequestId::Null, "a message is a JSON object"))
        }
        Err(_) => Err(unreadable("the line is not valid JSON")),
    }
}

/// Whether a line has more values than any message needs. Each takes many times its bytes once it is parsed, so they are
/// counted before: by what comes first in a list or an object and what parts two, outside of texts.
fn has_too_many_values(text: &str) -> bool {
    if text.len() <= MOST_VALUES {
        return false;
    }
    let (mut values, mut in_text, mut escaped, mut opened) = (0, false, false, false);
    for byte in text.bytes() {
        let begins = opened && !matches!(byte, b']' | b'}' | b' ' | b'\t' | b'\r');
        values += usize::from(begins);
        opened &= matches!(byte, b' ' | b'\t' | b'\r');
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b',' if !in_text => values += 1,
            b'[' | b'{' if !in_text => opened = true,
            _ => {}
        }
    }
    values > MOST_VALUES
}

fn sort(mut message: Map<String, Value>) -> Result<Incoming, Refused> {
    let id = match message.remove("id").map(read_id) {
        None => None,
        Some(Some(id)) => Some(id),
        Some(None) => return Err(refused(RequestId::Null, "`id` is a string, an integer or null")),
    };
    let refuse = |problem: &'static str| refused(id.clone().unwrap_or(RequestId::Null), problem);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(refuse("`jsonrpc` must be \"2.0\""));
    }
    let params = message.remove("params").unwrap_or(Value::Null);
    match (message.remove("method"), id.clone()) {
        (Some(Value::String(method)), Some(id)) => Ok(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Ok(Incoming::Notification { method, params }),
        (Some(_), _) => Err(refuse("`method` is a string")),
        (None, Some(id)) if message.contains_key("result") || message.contains_key("error") => Ok(Incoming::Response {
            id,
            result: match message.remove("error") {
                Some(error) => Err(words_of(&error)),
                None => Ok(message.remove("result").unwrap_or_default()),
            },
        }),
        (None, _) => Err(refuse("neither a request, nor a notification, nor a response")),
    }
}

/// What an error says, on one line.
fn words_of(error: &Value) -> String {
    let words = error["message"]
        .as_str()
        .map(str::trim)
        .filter(|words| !words.is_empty());
    words.map_or_else(
        || "an error without a message".to_owned(),
        |words| visible::title(words, LONGEST_WORDS),
    )
}

fn read_id(id: Value) -> Option<RequestId> {
    match id {
        Value::Null => Some(RequestId::Null),
        Value::String(text) => Some(RequestId::Str(text)),
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn refused(id: RequestId, problem: &'static str) -> Refused {
    let code = fault::INVALID_REQUEST;
    Refused { id, code, problem }
}

fn unreadable(problem: &'static str) -> Refused {
    Refused {
        id: RequestId::Null,
        code: fault::PARSE,
        problem,
    }
}

#[derive(Serialize)]
struct Outgoing<'a, P: Serialize> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'static str>,
    #[serde(flatten)]
    body: Body<P>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Body<P: Serialize> {
    Params(P),
    Result(P),
    Error(P),
}

/// A request of ours, as a line.
pub(crate) fn request(id: &RequestId, method: &'static str, params: impl Serialize) -> Vec<u8> {
    line(Some(id), Some(method), Body::Params(params))
}

/// A notification of ours, as a line.
pub(crate) fn notification(method: &'static str, params: impl Serialize) -> Vec<u8> {
    line(None, Some(method), Body::Params(params))
}

/// The answer to a request, as a line.
pub(crate) fn result(id: &RequestId, result: impl Serialize) -> Vec<u8> {
    line(Some(id), None, Body::Result(result))
}

/// The error answer to a request, as a line.
pub(crate) fn error(id: &RequestId, error: &Error) -> Vec<u8> {
    line(Some(id), None, Body::Error(error))
}

fn line<P: Serialize>(id: Option<&RequestId>, method: Option<&'static str>, body: Body<P>) -> Vec<u8> {
    let outgoing = Outgoing {
        jsonrpc: "2.0",
        id,
        method,
        body,
    };
    let mut line = serde_json::to_vec(&outgoing)
        .expect("protocol types serialize: their keys are strings, and `to_acp` makes every path UTF-8");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::json;

    fn text(text: &str) -> Line {
        Line::Text(text.into())
    }

    #[track_caller]
    fn refuses(line: Line, code: i32, id: RequestId) {
        let refused = read(line).unwrap_err();
        assert_eq!((i32::from(refused.error().code), refused.id), (code, id));
    }

    #[test]
    fn what_is_not_json_is_a_parse_error_without_id() {
        for line in [
            "{",
            r#"{"jsonrpc":"2.0","id":1,"#,
            "Welcome back",
            "nul",
            r#""\ud800""#,
            "{} {}",
        ] {
            refuses(text(line), -32700, RequestId::Null);
        }
        refuses(Line::NotUtf8, -32700, RequestId::Null);
    }

    #[test]
    fn nesting_of_128_levels_is_a_parse_error_and_127_are_read() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        refuses(text(&nested(127)), -32600, RequestId::Null);
        for depth in [128, 1_000, 100_000] {
            refuses(text(&nested(depth)), -32700, RequestId::Null);
        }
    }

    #[test]
    fn a_line_that_is_too_large_is_an_invalid_request() {
        refuses(Line::TooLong, -32600, RequestId::Null);
    }

    #[test]
    fn a_line_of_too_many_values_is_refused_before_it_is_parsed() {
        let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        let list = |value: &str| call(&format!("[{}{value}]", format!("{value},").repeat(MOST_VALUES)));
        for value in ["0", "[]", "{}", r#""a""#, r#"{"a":[]}"#] {
            refuses(text(&list(value)), -32600, RequestId::Null);
        }
        for list in [
            format!("[{}0]", "0,".repeat(MOST_VALUES - 4)),
            format!("[{}{{ }}]", "{ },".repeat(MOST_VALUES - 4)),
            format!("[{}[]]", r#"{"a":[]},"#.repeat(MOST_VALUES / 2 - 2)),
        ] {
            refuses(text(&call(&list)), -32600, RequestId::Null);
        }
        // No JSON at all, but nobody has to parse it to its end to see that.
        refuses(text(&"[".repeat(1_000_000)), -32600, RequestId::Null);
        for params in [
            // The message has four values beside what is in the list.
            format!("[{}0]", "0,".repeat(MOST_VALUES - 5)),
            format!("[{}{{ }}]", "{ },".repeat(MOST_VALUES - 5)),
            format!("[{}[]]", r#"{"a":[]},"#.repeat(MOST_VALUES / 2 - 3)),
            format!("\"{}\"", r#"a,[{\\\","#.repeat(MOST_VALUES)),
        ] {
            assert!(read(text(&call(&params))).is_ok(), "{}", &params[..20]);
        }
    }

    #[test]
    fn what_is_no_envelope_is_an_invalid_request_with_its_id_if_readable() {
        for line in [
            "[]",
            r#"[{"jsonrpc":"2.0","id":1,"method":"initialize"}]"#,
            "null",
            "1",
            "true",
            r#""a""#,
            "{}",
        ] {
            refuses(text(line), -32600, RequestId::Null);
        }
        refuses(text(r#"{"id":1}"#), -32600, RequestId::Number(1));
        refuses(text(r#"{"jsonrpc":"2.0","id":1}"#), -32600, RequestId::Number(1));
        refuses(
            text(r#"{"jsonrpc":"1.0","id":"a","method":"m"}"#),
            -32600,
            RequestId::Str("a".into()),
        );
        refuses(text(r#"{"id":7,"method":"m"}"#), -32600, RequestId::Number(7));
        refuses(
            text(r#"{"jsonrpc":"2.0","id":2,"method":3}"#),
            -32600,
            RequestId::Number(2),
        );
        for id in ["1.5", "true", "{}", "[]", "99999999999999999999"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            refuses(text(&line), -32600, RequestId::Null);
        }
    }

    #[test]
    fn blank_lines_are_nothing() {
        for line in ["", "  ", "\t"] {
            assert_eq!(read(text(line)).unwrap(), None);
        }
    }

    #[test]
    fn messages_are_sorted_by_what_they_hold() {
        let request = |id| Incoming::Request {
            id,
            method: "m".into(),
            params: Value::Null,
        };
        let check = |line: &str, expect| assert_eq!(read(text(line)).unwrap(), Some(expect));
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
            request(RequestId::Number(1)),
        );
        check(
            r#"{"jsonrpc":"2.0","id":"1","method":"m"}"#,
            request(RequestId::Str("1".into())),
        );
        check(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, request(RequestId::Null));
        check(
            r#"{"jsonrpc":"2.0","method":"m","params":{"a":1}}"#,
            Incoming::Notification {
                method: "m".into(),
                params: json!({ "a": 1 }),
            },
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
            Incoming::Response {
                id: RequestId::Number(1),
                result: Ok(Value::Null),
            },
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
            Incoming::Response {
                id: RequestId::Number(1),
                result: Err("m".into()),
            },
        );
    }

    #[test]
    fn errors_echo_nothing_of_the_input() {
        for line in [
            "SECRET",
            r#"{"jsonrpc":"SECRET","id":1}"#,
            r#"{"jsonrpc":"2.0","id":{"SECRET":1}}"#,
            r#"["SECRET"]"#,
        ] {
            let refused = read(text(line)).unwrap_err();
            assert!(!format!("{refused:?}").contains("SECRET"));
        }
    }

    #[test]
    fn what_goes_out_is_one_line_each() {
        let id = RequestId::Number(3);
        let lines = [
            (
                request(&id, "m", json!({ "a": "x\ny" })),
                json!({ "jsonrpc": "2.0", "id": 3, "method": "m", "params": { "a": "x\ny" } }),
            ),
            (
                notification("m", json!({})),
                json!({ "jsonrpc": "2.0", "method": "m", "params": {} }),
            ),
            (
                result(&RequestId::Null, json!({})),
                json!({ "jsonrpc": "2.0", "id": null, "result": {} }),
            ),
            (
                error(&id, &Error::new(-1, "e")),
                json!({ "jsonrpc": "2.0", "id": 3, "error": { "code": -1, "message": "e" } }),
            ),
        ];
        for (line, expect) in lines {
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert_eq!(serde_json::from_slice::<Value>(&line).unwrap(), expect);
        }
    }
}
