//! Lines that no good client sends: the hand-made ones of `data/wire/bad_lines.txt`, and as many made up at random as one
//! likes. After each the agent lives, answers the next request soon, and has no fault of its own to tell.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, unbounded};
use serde_json::{Value, json};

use super::{Finding, agent_of};
use crate::client::Home;

/// A longer silence is a hang.
const HANG: Duration = Duration::from_secs(2);
/// An agent that says nothing for so long is given up.
const LIMIT: Duration = Duration::from_secs(60);
/// Lines between two requests whose answers are waited for.
const BATCH: u64 = 100;
/// Lines that one agent gets.
const LIFE: u64 = 20_000;

/// The hand-made lines. `⟨FF⟩` stands for a byte, `⟨3×text⟩` for a repetition, `$SESSION` for a session that is open and
/// `$WORK` for its folder.
const BAD_LINES: &str = include_str!("../../data/wire/bad_lines.txt");

/// Sends each of the hand-made lines.
pub fn hand_made_lines() -> Finding {
    let mut finding = Finding::new("hand-made bad lines: panics, hangs over 2 s", "0, 0");
    let mut peer = Peer::start();
    let lines: Vec<&str> = BAD_LINES
        .lines()
        .filter(|line| !line.starts_with("# ") && !line.is_empty())
        .collect();
    let mut longest = Duration::ZERO;
    for line in &lines {
        let line = peer.filled(line);
        match peer.send_and_wait(&[line]) {
            Ok(took) => longest = longest.max(took),
            Err(fault) => {
                finding.fault(fault);
                peer = Peer::start();
            }
        }
    }
    finding.expect(longest <= HANG, || format!("one took {longest:?}"));
    peer.end(&mut finding);
    let panics = finding.faults.len();
    finding.found = format!("{panics}, longest {} ms, of {} lines", longest.as_millis(), lines.len());
    finding
}

/// Sends so many lines made up from a seed.
pub fn generated_lines(count: u64, seed: u64) -> Finding {
    let mut finding = Finding::new("generated bad lines: panics, hangs over 2 s", "0, 0");
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut sent, mut refused, mut hangs, mut longest) = (0, 0, 0, Duration::ZERO);
    while sent < count {
        let mut peer = Peer::start();
        let end = (sent + LIFE).min(count);
        while sent < end {
            let batch: Vec<Vec<u8>> = (0..BATCH).map(|_| peer.made_up(&mut random)).collect();
            sent += BATCH;
            match peer.send_and_wait(&batch) {
                Ok(took) => {
                    longest = longest.max(took);
                    hangs += u64::from(took > HANG);
                }
                Err(fault) => {
                    let kept = keep(&batch);
                    finding.fault(format!("seed {seed}, about line {sent}, kept in {kept}: {fault}"));
                    break;
                }
            }
        }
        refused += peer.refused;
        peer.end(&mut finding);
    }
    finding.expect(hangs == 0, || format!("{hangs} batches took longer, one {longest:?}"));
    finding.found = format!(
        "{} and {hangs} of {sent} lines, {refused} of them refused; longest batch of {BATCH}: {} ms; seed {seed}",
        finding.faults.len(),
        longest.as_millis()
    );
    finding
}

/// Writes lines down for somebody to look at.
fn keep(lines: &[Vec<u8>]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder can be made").keep();
    let path = folder.join("lines");
    fs::write(&path, lines.join(&b'\n')).expect("a file can be written");
    path.display().to_string()
}

/// An agent whose answers are counted and not looked at.
struct Peer {
    home: Home,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    session: String,
    next: u64,
    /// Errors that it has answered with.
    refused: u64,
}

impl Peer {
    fn start() -> Self {
        let home = Home::new();
        let log = fs::File::create(home.workspace().with_file_name("stderr")).expect("a file can be made");
        let mut command = agent_of(&home);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("the agent starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let (sender, lines) = unbounded();
        thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let mut peer = Self {
            home,
            child,
            stdin,
            lines,
            session: String::new(),
            next: 0,
            refused: 0,
        };
        peer.ask("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
        let new = json!({"cwd": peer.home.workspace(), "mcpServers": []});
        peer.session = peer.ask("session/new", &new)["result"]["sessionId"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        peer
    }

    /// Asks in the good way; the answer, or null from an agent that has died.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = format!("good-{}", self.next);
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        if self.write(format!("{line}\n").as_bytes()).is_err() {
            return Value::Null;
        }
        loop {
            let Ok(line) = self.lines.recv_timeout(LIMIT) else {
                return Value::Null;
            };
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.refused += u64::from(message.get("error").is_some());
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdin
            .as_mut()
            .expect("stdin is open until the end")
            .write_all(bytes)
    }

    /// Sends lines and then a good request; how long its answer took from the first of them on.
    fn send_and_wait(&mut self, lines: &[Vec<u8>]) -> Result<Duration, String> {
        let began = Instant::now();
        let mut bytes = lines.join(&b'\n');
        bytes.push(b'\n');
        let shown = || String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
        let written = self.write(&bytes);
        let answer = self.ask("session/list", &json!({"cwd": self.home.workspace()}));
        if written.is_err() || answer.is_null() {
            return Err(format!("no answer after: {}", shown()));
        }
        Ok(began.elapsed())
    }

    /// Ends it. It has to end well, and to have told no fault of its own.
    fn end(mut self, finding: &mut Finding) {
        let turn = json!({"cwd": self.home.workspace(), "mcpServers": []});
        let session = self.ask("session/new", &turn)["result"]["sessionId"].clone();
        let prompt = json!([{"type": "text", "text": "say pong"}]);
        let answer = self.ask("session/prompt", &json!({"sessionId": session, "prompt": prompt}));
        finding.expect(answer["result"]["stopReason"] == "end_turn", || {
            format!("a turn afterwards: {answer}")
        });
        drop(self.stdin.take());
        let status = self.child.wait().expect("the agent can be waited for");
        finding.expect(status.success(), || format!("the agent ended with {status}"));
        let mut told = fs::read_to_string(self.home.workspace().with_file_name("stderr")).unwrap_or_default();
        let logs = fs::read_dir(self.home.state().join("logs"))
            .into_iter()
            .flatten()
            .flatten();
        told.extend(logs.map(|log| fs::read_to_string(log.path()).unwrap_or_default()));
        let panics = told
            .lines()
            .filter(|line| line.contains("a fault of ours") || line.contains("panicked"));
        panics.for_each(|line| finding.fault(line));
    }

    /// A hand-made line as it is sent.
    fn filled(&self, line: &str) -> Vec<u8> {
        let work = self.home.workspace().display().to_string();
        let line = line.replace("$SESSION", &self.session).replace("$WORK", &work);
        let mut bytes = Vec::new();
        let mut rest = line.as_str();
        while let Some((before, after)) = rest.split_once('⟨') {
            bytes.extend(before.bytes());
            let (inside, after) = after.split_once('⟩').expect("a mark is closed");
            match inside.split_once('×') {
                Some((count, text)) => bytes.extend(text.repeat(count.parse().expect("a count")).bytes()),
                None => bytes.push(u8::from_str_radix(inside, 16).expect("a byte")),
            }
            rest = after;
        }
        bytes.extend(rest.bytes());
        bytes
    }

    /// A line made up at random: a good one that was spoiled in its values or in its bytes, or nothing that was ever good.
    fn made_up(&self, random: &mut fastrand::Rng) -> Vec<u8> {
        let line = match random.u8(..10) {
            0 => noise(random),
            1..5 => spoiled(self.good(random).to_string().into_bytes(), random),
            5..9 => {
                let mut message = self.good(random);
                (0..random.u8(1..4)).for_each(|_| bend(&mut message, random));
                message.to_string().into_bytes()
            }
            _ => {
                let mut message = self.good(random);
                bend(&mut message, random);
                spoiled(message.to_string().into_bytes(), random)
            }
        };
        if self.leads_elsewhere(&line) {
            b"{".to_vec()
        } else {
            line
        }
    }

    /// Whether it would open a session in a folder that is not its own.
    fn leads_elsewhere(&self, line: &[u8]) -> bool {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return false;
        };
        let own = self.home.workspace();
        let mut folders = message["params"]["additionalDirectories"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        folders.push(message["params"]["cwd"].clone());
        let mut folders = folders.iter().filter_map(Value::as_str);
        folders.any(|folder| Path::new(folder) != own && Path::new(folder).is_dir())
    }

    /// A good message of some kind.
    fn good(&self, random: &mut fastrand::Rng) -> Value {
        let (session, work) = (&self.session, self.home.workspace());
        let text = json!([{"type": "text", "text": "say pong"}]);
        let id = random.i64(1..50);
        let request =
            |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let notice = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
        let blocks = json!([
            {"type": "text", "text": "say pong"},
            {"type": "image", "mimeType": "image/png", "data": "aGk="},
            {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "a"}},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 3},
            {"type": "audio", "mimeType": "audio/wav", "data": "aGk="},
        ]);
        let servers =
            json!([{"name": "t", "command": "/nonexistent", "args": ["a"], "env": [{"name": "A", "value": "b"}]}]);
        match random.u8(..20) {
            0 => request(
                "initialize",
                json!({"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": true}, "terminal": true}, "clientInfo": {"name": "a", "version": "1"}}),
            ),
            1 => request("session/new", json!({"cwd": work, "mcpServers": servers})),
            2 => request(
                "session/load",
                json!({"sessionId": session, "cwd": work, "mcpServers": []}),
            ),
            3 => request("session/resume", json!({"sessionId": session, "cwd": work})),
            4 => request("session/fork", json!({"sessionId": session, "cwd": work})),
            5 => request("session/list", json!({"cwd": work, "cursor": null})),
            6 => request("session/prompt", json!({"sessionId": session, "prompt": text})),
            7 => request("session/prompt", json!({"sessionId": session, "prompt": blocks})),
            8 => request(
                "session/prompt",
                json!({"sessionId": session, "prompt": [{"type": "text", "text": "/help"}]}),
            ),
            9 => request("session/set_mode", json!({"sessionId": session, "modeId": "plan"})),
            10 => request(
                "session/set_config_option",
                json!({"sessionId": session, "configId": "mode", "value": "plan"}),
            ),
            11 => request(
                "session/set_model",
                json!({"sessionId": session, "modelId": "offline/offline"}),
            ),
            12 => request("authenticate", json!({"methodId": "offline"})),
            13 => request("session/close", json!({"sessionId": "0000"})),
            14 => request("session/delete", json!({"sessionId": "0000"})),
            15 => notice("session/cancel", json!({"sessionId": session})),
            16 => notice("$/cancel_request", json!({"requestId": id})),
            17 => {
                json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}})
            }
            18 => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no", "data": {"a": [1, 2]}}})
            }
            _ => request("_session/steering", json!({"sessionId": session, "prompt": text})),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // One that did not answer is left behind otherwise; one that has ended does not mind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Bytes of no kind.
fn noise(random: &mut fastrand::Rng) -> Vec<u8> {
    let alphabet: &[u8] = match random.u8(..3) {
        0 => b"{}[]\",:\\0eE+-.tfnu ",
        1 => b"\x00\x01\x7f\xc0\xc3\xa9\xe2\x80\xae\xed\xa0\x80\xf0\x9f\xff\xfe\t\r",
        _ => b"abcdefghijklmnopqrstuvwxyz{}[]\":,/\\0123456789",
    };
    let length = if random.u8(..50) == 0 {
        random.usize(..20_000)
    } else {
        random.usize(..80)
    };
    (0..length).map(|_| alphabet[random.usize(..alphabet.len())]).collect()
}

/// Some of its bytes are changed, lost, doubled or moved. It stays one line.
fn spoiled(mut line: Vec<u8>, random: &mut fastrand::Rng) -> Vec<u8> {
    for _ in 0..random.u8(1..5) {
        if line.is_empty() {
            break;
        }
        let at = random.usize(..line.len());
        let end = (at + random.usize(1..12)).min(line.len());
        match random.u8(..7) {
            0 => line[at] = random.u8(..),
            1 => line.truncate(at),
            2 => drop(line.drain(at..end)),
            3 => {
                let piece = line[at..end].to_vec();
                line.splice(at..at, piece.repeat(random.usize(1..40)));
            }
            4 => line.insert(at, b"{}[]\",:\\-0"[random.usize(..10)]),
            5 => line.splice(at..at, *b"\\ud800").for_each(drop),
            _ => line.splice(at..at, [0xe2, 0x80, 0xae]).for_each(drop),
        }
    }
    line.retain(|byte| *byte != b'\n');
    line
}

/// One of the values in it becomes another one.
fn bend(value: &mut Value, random: &mut fastrand::Rng) {
    let goes_on = random.u8(..4) > 0;
    match value {
        Value::Object(fields) if goes_on && !fields.is_empty() => {
            let index = random.usize(..fields.len());
            let name = fields.keys().nth(index).cloned().unwrap_or_default();
            match random.u8(..8) {
                0 => drop(fields.remove(&name)),
                1 => {
                    let moved = fields.remove(&name).unwrap_or_default();
                    fields.insert(odd_text(random), moved);
                }
                _ => fields.get_mut(&name).into_iter().for_each(|field| bend(field, random)),
            }
        }
        Value::Array(items) if goes_on && !items.is_empty() => {
            let index = random.usize(..items.len());
            match random.u8(..6) {
                0 => drop(items.remove(index)),
                1 => {
                    let item = items[index].clone();
                    items.extend(std::iter::repeat_n(item, random.usize(1..30)));
                }
                _ => bend(&mut items[index], random),
            }
        }
        Value::Object(_) | Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            *value = odd_value(random);
        }
    }
}

fn odd_value(random: &mut fastrand::Rng) -> Value {
    match random.u8(..14) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(0),
        3 => json!(-1),
        4 => json!(u64::MAX),
        5 => json!(i64::MIN),
        6 => json!(1e308),
        7 => json!(0.5),
        8 => json!([]),
        9 => json!({}),
        10 => (0..random.u8(..140)).fold(Value::Null, |inner, _| json!([inner])),
        11 => (0..random.u8(..140)).fold(Value::Null, |inner, _| json!({ "a": inner })),
        12 => json!([odd_text(random), odd_text(random)]),
        _ => json!(odd_text(random)),
    }
}

fn odd_text(random: &mut fastrand::Rng) -> String {
    const TEXTS: [&str; 20] = [
        "",
        " ",
        "\0",
        "\u{202e}evil",
        "\u{200b}",
        "../../etc",
        "/",
        "/nonexistent/x",
        "file:///nonexistent",
        "relative/path",
        "id",
        "jsonrpc",
        "method",
        "sessionId",
        "2.0",
        "%s%n",
        "'; DROP TABLE sessions; --",
        "\u{1f600}",
        "e\u{301}",
        "\\",
    ];
    match random.u8(..12) {
        0 => "x".repeat(random.usize(..5_000)),
        1 => "\u{1f600}".repeat(random.usize(..500)),
        _ => TEXTS[random.usize(..TEXTS.len())].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_are_three_hundred_lines_made_by_hand() {
        let mut lines: Vec<&str> = super::BAD_LINES
            .lines()
            .filter(|line| !line.starts_with("# ") && !line.is_empty())
            .collect();
        let count = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), count, "some are there twice");
        assert!(count >= 300, "{count}");
    }
}
