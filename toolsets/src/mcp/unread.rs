//! Answers of a server that can't be read, since they are too long, hold too much, nest too deep or are no JSON: who asked
//! is told so, instead of waiting for an answer that has come.

use agent_core::values;
use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The longest message of a server that is read, in bytes.
pub(super) const LONGEST: usize = 16 << 20;
/// The most JSON values of a message that is read: parsed, each takes many times its bytes.
pub(super) const MOST_VALUES: usize = 200_000;

/// What distinguishes our word from a server's.
const MARK: &str = "talaria: unread";
/// The longest string of a message that is kept to find whose answer it is, in bytes: enough for the id of a request.
const STRING: usize = 100;
/// The most of a message that is kept for that, in bytes.
const OUTLINE: usize = 4 << 10;

/// The answer in the place of one that can't be read: `why` not.
pub(super) fn answer(id: RequestId, why: &str) -> ServerJsonRpcMessage {
    let message = format!("its answer can't be read: {why}");
    let mark = Value::String(MARK.to_owned());
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::PARSE_ERROR, message, Some(mark)), Some(id))
}

/// What an error says, for people.
pub(super) fn said(error: &ErrorData) -> String {
    match is_ours(error) {
        true => error.message.to_string(),
        false => format!("{} (error {})", error.message, error.code.0),
    }
}

/// Whether this error is our own word.
fn is_ours(error: &ErrorData) -> bool {
    error.data.as_ref().is_some_and(|data| data == MARK)
}

/// Why a message of `size` is not read.
pub(super) fn too_long(size: &str) -> String {
    format!("it has {size} bytes, and at most {LONGEST} are read")
}

/// Why a message is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unread {
    #[error("it holds more than {MOST_VALUES} values")]
    TooMany,
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// The message, if it can be read.
pub(super) fn parsed(message: &[u8]) -> Result<ServerJsonRpcMessage, Unread> {
    if values::count(message) > MOST_VALUES {
        return Err(Unread::TooMany);
    }
    Ok(serde_json::from_slice(message)?)
}

/// The message, or what stands in for an answer that can't be read; none for what is no message, and for one that nobody
/// waits for and that can't be read.
pub(super) fn read(message: &[u8]) -> Option<ServerJsonRpcMessage> {
    parsed(message).map_or_else(|why| stand_in(message, &why), Some)
}

/// What stands in for a message that can't be read, if somebody waits for it.
pub(super) fn stand_in(message: &[u8], why: &Unread) -> Option<ServerJsonRpcMessage> {
    let mut outline = Outline::default();
    outline.push(message);
    let id = outline.answers();
    if id.is_none() && matches!(why, Unread::TooMany) {
        tracing::warn!(bytes = message.len(), "what an MCP server says is passed over: {why}");
    }
    Some(answer(id?, &why.to_string()))
}

/// A message without all that is inside of its values, which is enough to see whose answer it is. It takes the message in
/// pieces and is small, however large that is.
#[derive(Default)]
pub(super) struct Outline {
    kept: Vec<u8>,
    depth: usize,
    string: Option<Text>,
}

/// Where in a string the outline is.
#[derive(Default)]
struct Text {
    length: usize,
    escaped: bool,
    /// The rest of it is left out.
    is_long: bool,
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "jsonrpc")]
    _version: IgnoredAny,
    id: RequestId,
    method: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

impl Outline {
    /// Takes the next piece of the message.
    pub(super) fn push(&mut self, piece: &[u8]) {
        for &byte in piece {
            if self.kept.len() < OUTLINE {
                self.take(byte);
            }
        }
    }

    fn take(&mut self, byte: u8) {
        if let Some(text) = &mut self.string {
            let ends = byte == b'"' && !text.escaped;
            text.length += 1;
            text.is_long |= text.length > STRING && !text.escaped;
            text.escaped = byte == b'\\' && !text.escaped;
            let is_kept = self.depth == 1 && (ends || !text.is_long);
            if ends {
                self.string = None;
            }
            if is_kept {
                self.kept.push(byte);
            }
            return;
        }
        match byte {
            b'"' => {
                self.string = Some(Text::default());
                if self.depth == 1 {
                    self.kept.push(byte);
                }
            }
            b'{' | b'[' => {
                self.depth += 1;
                match self.depth {
                    1 => self.kept.push(byte),
                    2 => self.kept.extend(b"0"),
                    _ => {}
                }
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.kept.push(byte);
                }
            }
            _ if self.depth == 1 => self.kept.push(byte),
            _ => {}
        }
    }

    /// Whose answer the message is, if it is one.
    pub(super) fn answers(&self) -> Option<RequestId> {
        if !self.kept.starts_with(b"{") {
            return None;
        }
        let head: Head = serde_json::from_str(&String::from_utf8_lossy(&self.kept)).ok()?;
        let is_answer = head.method.is_none() && (head.result.is_some() || head.error.is_some());
        is_answer.then_some(head.id)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Whose answer a message is, taken byte by byte.
    fn check(message: &str, expect: Option<i64>) {
        let mut outline = Outline::default();
        message.as_bytes().chunks(1).for_each(|piece| outline.push(piece));
        assert_eq!(outline.answers(), expect.map(RequestId::Number), "{message}");
        assert!(outline.kept.len() <= OUTLINE);
    }

    #[test]
    fn whose_answer_it_is_is_found_wherever_it_stands() {
        let long = "x".repeat(1 << 16);
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        for value in ["1", "{}", "[{\"id\":8}]", &deep, &format!("\"{long}\""), r#""}\"\\""#] {
            check(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{value}}}"#), Some(7));
            check(
                &format!(r#" {{ "error": {value}, "jsonrpc": "2.0", "id": 7 }} "#),
                Some(7),
            );
        }
        let escaped = format!(
            r#"{{"jsonrpc":"2.0","result":"{}{}","id":7}}"#,
            "x".repeat(STRING - 1),
            r#"\"\\"#.repeat(9)
        );
        check(&escaped, Some(7));
    }

    #[test]
    fn what_is_no_answer_is_nobodys() {
        let many = r#""a":1,"#.repeat(OUTLINE);
        for message in [
            "",
            "7",
            "no message",
            r#"[{"jsonrpc":"2.0","id":7,"result":1}]"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"id":7,"error":"a line of a log"}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","result":1}"#,
            r#"{"jsonrpc":"2.0","id":{"a":1},"result":"#,
            r#"{"jsonrpc":"2.0","id":7,"result":"#,
            "}}}]{{{",
        ] {
            check(message, None);
        }
        check(&format!(r#"{{{many}"jsonrpc":"2.0","id":7,"result":1}}"#), None);
    }

    /// What is read of a message that holds so many values, seven of which are around the rest.
    fn full(head: &str, values: usize) -> Option<ServerJsonRpcMessage> {
        let rest = vec![r#"{"":0}"#; (values - 7) / 2].join(",");
        read(format!(r#"{{"jsonrpc":"2.0",{head}:{{"content":[],"structuredContent":{{"a":[{rest}]}}}}}}"#).as_bytes())
    }

    #[test]
    fn a_message_holds_so_many_values_and_no_more() {
        let answer = r#""id":7,"result""#;
        assert!(matches!(
            full(answer, MOST_VALUES - 1),
            Some(ServerJsonRpcMessage::Response(_))
        ));
        let Some(ServerJsonRpcMessage::Error(error)) = full(answer, MOST_VALUES + 1) else {
            panic!("it was read");
        };
        assert_eq!(error.id, Some(RequestId::Number(7)));
        assert_eq!(
            said(&error.error),
            "its answer can't be read: it holds more than 200000 values"
        );
        for unasked in [
            r#""method":"notifications/message","params""#,
            r#""id":7,"method":"roots/list","params""#,
        ] {
            assert!(full(unasked, MOST_VALUES + 1).is_none(), "{unasked}");
        }
    }

    #[test]
    fn an_answer_that_can_not_be_read_says_why() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":7,"result":{}{}}}"#,
            "[".repeat(500),
            "]".repeat(500)
        );
        let Some(ServerJsonRpcMessage::Error(error)) = read(deep.as_bytes()) else {
            panic!("it was read");
        };
        assert_eq!(error.id, Some(RequestId::Number(7)));
        let why = said(&error.error);
        assert!(
            why.starts_with("its answer can't be read: ") && why.contains("recursion limit"),
            "{why}"
        );
        assert!(!why.contains(MARK), "{why}");
        assert!(read(b"no message").is_none());
        let answer = read(br#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}"#).unwrap();
        assert!(matches!(answer, ServerJsonRpcMessage::Error(error) if said(&error.error) == "m (error 1)"));
    }
}
