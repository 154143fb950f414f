//! A long random walk of good, bad and senseless lines, after which everything still works.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};

use crate::exchange::{check_turn, request};

const STEPS: usize = 2000;

/// What a line of the walk is owed.
enum Owed {
    Nothing,
    /// One error without an id.
    Refusal,
    /// One answer to the id.
    Answer,
}

struct Walk {
    random: fastrand::Rng,
    sessions: Vec<String>,
    workspace: Value,
}

impl Walk {
    fn line(&mut self, id: &str) -> (Vec<u8>, Owed) {
        match self.random.u8(0..10) {
            0..4 => (self.good_request(id).into_bytes(), Owed::Answer),
            4 | 5 => (self.bad_request(id).into_bytes(), Owed::Answer),
            6 => (self.silent(), Owed::Nothing),
            _ => (self.refused(id), Owed::Refusal),
        }
    }

    fn session(&mut self) -> String {
        let index = self.random.usize(..self.sessions.len());
        self.sessions[index].clone()
    }

    fn good_request(&mut self, id: &str) -> String {
        let session = self.session();
        let mode = ["plan", "default", "accept_edits"][self.random.usize(..3)];
        let text = ["say hi", "/help", "list"][self.random.usize(..3)];
        let prompt = json!([{"type": "text", "text": text}]);
        let (method, params) = match self.random.u8(0..7) {
            0 => ("session/list", json!({})),
            1 => ("session/new", json!({"cwd": self.workspace})),
            2 => ("session/set_mode", json!({"sessionId": session, "modeId": mode})),
            3 => (
                "session/set_config_option",
                json!({"sessionId": session, "configId": "mode", "value": mode}),
            ),
            4 => ("session/resume", json!({"sessionId": session, "cwd": self.workspace})),
            5 => ("session/load", json!({"sessionId": session, "cwd": self.workspace})),
            _ => ("session/prompt", json!({"sessionId": session, "prompt": prompt})),
        };
        request(id, method, &params)
    }

    fn bad_request(&mut self, id: &str) -> String {
        let methods = [
            "session/new",
            "session/prompt",
            "session/load",
            "session/set_mode",
            "initialize",
            "x",
            "",
        ];
        let method = methods[self.random.usize(..methods.len())];
        let params = [
            json!(null),
            json!([]),
            json!("x"),
            json!({"sessionId": 1, "cwd": 1, "prompt": 1}),
            json!({"sessionId": "x", "cwd": "x"}),
        ];
        let params = &params[self.random.usize(..params.len())];
        match self.random.u8(0..4) {
            0 => json!({"id": id, "method": method, "params": params}).to_string(),
            1 => json!({"jsonrpc": "2.0", "id": id, "method": 5}).to_string(),
            _ => request(id, method, params),
        }
    }

    fn silent(&mut self) -> Vec<u8> {
        let session = self.session();
        let message = match self.random.u8(0..6) {
            0 => return b"  ".to_vec(),
            1 => json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}),
            2 => json!({"jsonrpc": "2.0", "method": "session/cancel", "params": 7}),
            3 => json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "walk-none"}}),
            4 => json!({"jsonrpc": "2.0", "method": "_unheard_of", "params": [1, 2]}),
            _ => json!({"jsonrpc": "2.0", "id": self.random.i64(..), "result": {"outcome": {"outcome": "selected"}}}),
        };
        message.to_string().into_bytes()
    }

    fn refused(&mut self, id: &str) -> Vec<u8> {
        let mut line = self.good_request(id).into_bytes();
        match self.random.u8(0..6) {
            0 => line.truncate(self.random.usize(1..line.len())),
            1 => line.insert(self.random.usize(..=line.len()), 0xff),
            2 => line = [b"[", line.as_slice(), b"]"].concat(),
            3 => line = vec![b'{'; self.random.usize(1..5000)],
            4 => line = [line.as_slice(), b" x"].concat(),
            _ => line = [&b"5"[..], b"null", b"\"x\"", b"{}"][self.random.usize(..4)].to_vec(),
        }
        line
    }
}

#[test]
fn a_random_walk_of_lines_is_answered_line_by_line() {
    let seed = std::env::var("WALK_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("WALK_SEED={seed}");
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let sessions = vec![
        client.new_session(&home.workspace()),
        client.new_session(&home.workspace()),
    ];
    for session in &sessions {
        client.prompt(session, "say hello");
    }
    let from = client.log.len();
    let mut walk = Walk {
        random: fastrand::Rng::with_seed(seed),
        sessions,
        workspace: json!(home.workspace()),
    };
    let (mut owed, mut refusals) = (BTreeMap::new(), 0);
    for step in 0..STEPS {
        let id = format!("walk-{step}");
        let (mut line, debt) = walk.line(&id);
        match debt {
            Owed::Nothing => {}
            Owed::Refusal => refusals += 1,
            Owed::Answer => {
                owed.insert(id, 0);
            }
        }
        line.push(b'\n');
        client.send_raw(&line);
    }
    let is_answer = |message: &Value| message.get("method").is_none();
    let mut left = owed.len() + refusals;
    left -= client.log[from..].iter().filter(|message| is_answer(message)).count();
    while left > 0 {
        left -= usize::from(is_answer(&client.next()));
    }
    check_turn(&home, &mut client);
    for answer in client.log[from..].iter().filter(|message| is_answer(message)) {
        match answer["id"].as_str() {
            Some(id) => *owed.get_mut(id).unwrap_or_else(|| panic!("nobody asked for {answer}")) += 1,
            None if answer["id"].is_null() => refusals -= 1,
            None => {}
        }
    }
    assert_eq!(refusals, 0);
    let wrong: Vec<_> = owed.iter().filter(|(_, answers)| **answers != 1).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
