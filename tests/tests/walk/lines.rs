//! Lines that a client should not send: no JSON, no request, or one of something that is not there.

use fastrand::Rng;
use serde_json::{Value, json};

/// A line, and what it is owed.
#[derive(Clone, Debug)]
pub(crate) enum Odd {
    /// One error without an id.
    Refused(Vec<u8>),
    /// One error to the id, which is put where `"ID"` stands.
    Answered(String),
    /// Nothing.
    Silent(Vec<u8>),
}

impl Odd {
    /// Draws one.
    pub(crate) fn draw(random: &mut Rng) -> Self {
        match random.u8(0..3) {
            0 => Self::Refused(refused(random)),
            1 => Self::Answered(answered(random)),
            _ => Self::Silent(silent(random)),
        }
    }
}

fn answered(random: &mut Rng) -> String {
    let methods = [
        "session/new",
        "session/prompt",
        "session/load",
        "session/set_mode",
        "initialize",
        "x",
        "",
    ];
    let params = [
        json!(null),
        json!([]),
        json!("x"),
        json!({"sessionId": 1, "cwd": 1, "prompt": 1}),
        json!({"sessionId": "x", "cwd": "x"}),
    ];
    let method = methods[random.usize(..methods.len())];
    let params = &params[random.usize(..params.len())];
    let request = match random.u8(0..4) {
        0 => json!({"id": "ID", "method": method, "params": params}),
        1 => json!({"jsonrpc": "2.0", "id": "ID", "method": 5}),
        _ => json!({"jsonrpc": "2.0", "id": "ID", "method": method, "params": params}),
    };
    request.to_string()
}

fn silent(random: &mut Rng) -> Vec<u8> {
    let note = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    let message = match random.u8(0..5) {
        0 => return b"  ".to_vec(),
        1 => note("session/cancel", json!({"sessionId": "nobody's"})),
        2 => note("session/cancel", json!(7)),
        3 => note("$/cancel_request", json!({"requestId": "none"})),
        _ => note("_unheard_of", json!([1, 2])),
    };
    message.to_string().into_bytes()
}

fn refused(random: &mut Rng) -> Vec<u8> {
    let request = json!({"jsonrpc": "2.0", "id": "odd", "method": "session/list", "params": {}});
    let mut line = request.to_string().into_bytes();
    match random.u8(0..6) {
        0 => line.truncate(random.usize(1..line.len())),
        1 => line.insert(random.usize(..=line.len()), 0xff),
        2 => line = [b"[", line.as_slice(), b"]"].concat(),
        3 => line = vec![b'{'; random.usize(1..5000)],
        4 => line = [line.as_slice(), b" x"].concat(),
        _ => line = [&b"5"[..], b"null", b"\"x\"", b"{}"][random.usize(..4)].to_vec(),
    }
    line
}
