//! Answers of a server that can't be read, since they are too long, nested too deep or no JSON: who asked is told so,
//! instead of waiting for an answer that has come.

use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The longest message of a server that is read, in bytes.
pub(super) const LONGEST: usize = 16 << 20;

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

/// Whether this error is our own word.
pub(super) fn is_ours(error: &ErrorData) -> bool {
    error.data.as_ref().is_some_and(|data| data == MARK)
}

/// Why a message of `size` is not read.
pub(super) fn too_long(size: &str) -> String {
    format!("it has {size} bytes, and at most {LONGEST} are read")
}

/// The message, or what stands in for an answer that can't be read; none for what is no message.
pub(super) fn read(message: &[u8]) -> Option<ServerJsonRpcMessage> {
    serde_json::from_slice(message).map_or_else(|error| stand_in(message, &error), Some)
}

/// What stands in for the message, if it is an answer that can't be read.
pub(super) fn instead(message: &[u8]) -> Option<ServerJsonRpcMessage> {
    let error = serde_json::from_slice::<ServerJsonRpcMessage>(message).err()?;
    stand_in(message, &error)
}

fn stand_in(message: &[u8], error: &serde_json::Error) -> Option<ServerJsonRpcMessage> {
    let mut outline = Outline::default();
    outline.push(message);
    Some(answer(outline.answers()?, &error.to_string()))
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
        assert!(is_ours(&error.error) && error.error.message.contains("recursion limit"));
        assert!(read(b"no message").is_none());
        let answer = read(br#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}"#).unwrap();
        assert!(matches!(answer, ServerJsonRpcMessage::Error(error) if !is_ours(&error.error)));
    }
}
