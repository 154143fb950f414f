//! What memory an agent takes at most while very much comes in or nothing goes out.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Finding, agent_of, mib};
use crate::client::{Client, Home};
use crate::process::{peak, wait_idle};
use crate::start::initialized;

const GOAL: &str = "at most 150 MiB";
/// In KiB.
const BOUND: u64 = 150 * 1024;

/// A command that prints so many MiB.
pub fn much_output(megabytes: u64) -> Finding {
    let mut finding = Finding::new(format!("peak memory at {megabytes} MiB of output"), GOAL);
    let input = json!({"command": format!("yes | head -c {megabytes}M"), "timeout": 7200});
    let home = Home::with_script(&json!({"replies": [
        {"steps": [{"call": {"name": "terminal", "input": input}}]},
        {"steps": [{"text": "done"}]},
    ]}));
    home.add_config("[agent]\nmode = \"dont_ask\"\n");
    let mut client = initialized(agent_of(&home));
    let session = client.new_session(&home.workspace());
    let began = Instant::now();
    let prompt = client.begin_prompt(&session, "go");
    while !client.log.iter().any(|message| message["id"] == prompt) {
        // One that prints for minutes says something all the time.
        client.next();
    }
    let end = client
        .updates(0)
        .into_iter()
        .rfind(|update| update["status"] == "completed");
    finding.expect(end.is_some(), || "the command did not end well".into());
    judge(&mut finding, &client, &format!(" in {} s", began.elapsed().as_secs()));
    finding.expect(client.close().success(), || "the agent did not end well".into());
    finding
}

/// A line of so many MiB on stdin.
pub fn long_line(megabytes: u64) -> Finding {
    let mut finding = Finding::new(format!("peak memory at a line of {megabytes} MiB on stdin"), GOAL);
    let home = Home::new();
    let mut client = initialized(agent_of(&home));
    let piece = vec![b'x'; 1 << 20];
    client.send_raw(br#"{"jsonrpc":"2.0","id":1,"method":""#);
    for _ in 0..megabytes {
        client.send_raw(&piece);
    }
    client.send_raw(b"\"}\n");
    let answer = client.wait_for(|message| message["id"].is_null() && message.get("error").is_some());
    finding.expect(answer["error"]["code"] == -32600, || answer.to_string());
    let session = client.new_session(&home.workspace());
    let stop = client.prompt(&session, "say pong");
    finding.expect(stop == "end_turn", || format!("the next turn ended with {stop}"));
    judge(&mut finding, &client, "");
    finding
}

/// A client that reads nothing for so long, or, without a time, until the agent rests, while a model floods.
pub fn slow_reader(time: Option<Duration>) -> Finding {
    const WORDS: usize = 400_000;
    let how_long = time.map_or_else(
        || "until all rests".to_owned(),
        |time| format!("for {} s", time.as_secs()),
    );
    let mut finding = Finding::new(format!("peak memory at a reader that stops {how_long}"), GOAL);
    let steps = json!([{"repeat": WORDS, "text": "word "}, {"text": "end"}]);
    let home = Home::with_script(&json!({"replies": [{"steps": steps}]}));
    let mut client = initialized(agent_of(&home));
    let session = client.new_session(&home.workspace());
    client.stop_reading();
    let prompt = client.begin_prompt(&session, "go");
    wait_idle(client.pid());
    if let Some(time) = time {
        std::thread::sleep(time);
    }
    client.read_on();
    let from = client.log.len();
    let stop = client.stop_reason(prompt);
    finding.expect(stop == "end_turn", || format!("the turn ended with {stop}"));
    let said = client.said(from);
    finding.expect(said == "word ".repeat(WORDS) + "end", || {
        format!("{} bytes came", said.len())
    });
    judge(&mut finding, &client, "");
    finding
}

fn judge(finding: &mut Finding, client: &Client, more: &str) {
    let peak = peak(client.pid());
    if peak == 0 {
        finding.found = "not measured: no /proc".into();
        return;
    }
    finding.found = format!("{}{more}", mib(peak));
    finding.expect(peak <= BOUND, || format!("{} at most", mib(peak)));
}
