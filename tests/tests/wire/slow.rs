//! Peers that are slow, and peers that flood: what is not read costs bounded memory and holds up no cancel.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::process::{commands_of, forget_peak, is_alive, peak, resident, wait_gone, wait_idle};
use talaria_tests::stage::LIMIT;
use talaria_tests::start::wait_until;

use crate::exchange::{Expect, agent, check, check_field, check_turn};

const MIB: u64 = 1024;
/// What a flood may cost over the memory before it.
const BOUND: u64 = 60 * MIB;

/// What the model says in a session, in the log from its `from`th message on; no piece is over 4 KiB.
fn texts(client: &Client, session: &str, from: usize) -> String {
    let messages = client.log[from..].iter().map(|message| &message["params"]);
    let updates = messages
        .filter(|params| params["sessionId"] == session)
        .map(|params| &params["update"]);
    let chunks = updates.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    let texts: Vec<&str> = chunks.filter_map(|update| update["content"]["text"].as_str()).collect();
    let longest = texts.iter().map(|text| text.len()).max();
    assert!(longest <= Some(4096), "{longest:?}");
    texts.concat()
}

#[test]
fn a_flood_that_is_not_read_keeps_memory_flat_and_loses_nothing() {
    let steps = json!([{"repeat": 400_000, "text": "word "}, {"text": "end"}]);
    let home = Home::with_script(&json!({"replies": [{"steps": steps}, {"steps": [{"text": "pong"}]}]}));
    let (mut client, session) = Client::with_session(&home);
    client.wait_for_update("available_commands_update");
    let (pid, from) = (client.pid(), client.log.len());
    let before = resident(pid);
    client.stop_reading();
    let prompt = client.begin_prompt(&session, "go");
    wait_idle(pid);
    let first = resident(pid);
    wait_idle(pid);
    let second = resident(pid);
    client.read_on();
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert_eq!(texts(&client, &session, from), "word ".repeat(400_000) + "end");
    assert!(first < before + BOUND, "{before} KiB, then {first} KiB");
    assert!(second <= first + MIB, "{first} KiB, then {second} KiB");
    assert!(peak(pid) < before + BOUND, "{before} KiB, at most {} KiB", peak(pid));
    assert_eq!(client.prompt(&session, "again"), "end_turn");
}

/// A home whose configured model floods over the network and never ends, beside the offline one.
fn flooding(mock: &Mock) -> Home {
    Home::with_config(&format!(
        "model = \"far/far\"\n[providers.far]\napi = \"openai-chat\"\nbase_url = \"{}\"\n",
        mock.base_url()
    ))
}

fn flood() -> Reply {
    let chunk = |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let lines: String = (0..20_000)
        .map(|number| format!("data: {}\n\n", chunk(&format!("{number:>99} "))))
        .collect();
    Reply::sse(lines).stalling()
}

#[test]
fn a_cancel_is_heard_while_nothing_is_read() {
    let mock = Mock::serve(vec![flood()]);
    let home = flooding(&mock);
    let mut client = Client::initialized(&home, json!({}));
    let (busy, flooded) = (
        client.new_session(&home.workspace()),
        client.new_session(&home.workspace()),
    );
    for (option, value) in [("model", "offline/offline"), ("mode", "dont_ask")] {
        let params = json!({"sessionId": busy, "configId": option, "value": value});
        client.request("session/set_config_option", params).unwrap();
    }
    let command = client.begin_prompt(&busy, "run echo $$ > pid; exec sleep 617");
    let pid_file = home.workspace().join("pid");
    let read_pid = || std::fs::read_to_string(&pid_file).ok()?.trim().parse::<u32>().ok();
    wait_until("the command runs", || read_pid().is_some());
    let command_pids = commands_of(client.pid());

    let from = client.log.len();
    client.stop_reading();
    let prompt = client.begin_prompt(&flooded, "go");
    assert!(mock.wait_requests(1, LIMIT));
    wait_idle(client.pid());
    assert!(command_pids.iter().all(|&pid| is_alive(pid)));
    client.notify("session/cancel", json!({"sessionId": busy}));
    command_pids.into_iter().for_each(wait_gone);
    client.notify("session/cancel", json!({"sessionId": flooded}));
    assert!(mock.wait_closed(LIMIT), "the model's connection is still open");

    client.read_on();
    assert_eq!(client.stop_reason(command), "cancelled");
    assert_eq!(client.stop_reason(prompt), "cancelled");
    // What was said before the cancel comes whole and in order.
    let said = texts(&client, &flooded, from);
    let numbers = said.split_whitespace().map(|number| number.parse::<usize>().unwrap());
    assert!(numbers.eq(0..said.split_whitespace().count()), "{} bytes", said.len());
    assert_eq!(client.prompt(&busy, "say pong"), "end_turn");
}

#[test]
fn a_line_of_100_mb_is_refused_in_bounded_memory() {
    let (home, mut client) = agent();
    let pid = client.pid();
    forget_peak(pid);
    let before = resident(pid);
    let piece = vec![b'x'; 1 << 20];
    client.send_raw(br#"{"jsonrpc":"2.0","id":1,"method":""#);
    for _ in 0..100 {
        client.send_raw(&piece);
    }
    let answer = check(&mut client, "\"}", &Expect::Error(-32600, Value::Null));
    assert_eq!(
        answer["error"]["message"].as_str().unwrap().split(':').next(),
        Some("message too large")
    );
    // The line's own 64 MiB, which may be there twice while its buffer grows.
    assert!(
        peak(pid) < before + 140 * MIB,
        "{before} KiB, at most {} KiB",
        peak(pid)
    );
    assert!(
        resident(pid) < before + 20 * MIB,
        "{before} KiB, then {} KiB",
        resident(pid)
    );
    check_turn(&home, &mut client);
}

#[test]
fn a_flood_of_responses_to_nothing_keeps_memory_flat() {
    let (home, mut client) = agent();
    check_turn(&home, &mut client);
    let pid = client.pid();
    let before = resident(pid);
    let some = |from: u32| -> String {
        let line = |id: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"a\":1}}}}\n");
        (from..from + 1000).map(line).collect()
    };
    for thousand in 0..100 {
        client.send_raw(some(1000 + thousand * 1000).as_bytes());
    }
    check(&mut client, "", &Expect::Silence);
    let after = resident(pid);
    assert!(after < before + 5 * MIB, "{before} KiB, then {after} KiB");
    check_turn(&home, &mut client);
}

#[test]
fn requests_are_answered_once_each_though_their_answers_are_not_read() {
    let (home, mut client) = agent();
    client.stop_reading();
    let ids: Vec<i64> = (0..3000).map(|_| client.begin("session/list", json!({}))).collect();
    client.read_on();
    for id in &ids {
        // Some may be too many at once, which is an answer too.
        if let Err(error) = client.response(*id) {
            assert_eq!(error["code"], -32600);
        }
    }
    let answers = client
        .log
        .iter()
        .filter(|message| ids.contains(&message["id"].as_i64().unwrap_or(-1)));
    assert_eq!(answers.count(), ids.len());
    check_turn(&home, &mut client);
}

#[test]
fn ids_and_paths_of_any_length_are_refused_in_short() {
    let (home, mut client) = agent();
    let session = client.new_session(&home.workspace());
    let long = format!("/{}", "SECRET".repeat(8_000_000));
    let prompt = json!([{"type": "text", "text": "hi"}]);
    let table = [
        (
            "session/prompt",
            json!({"sessionId": long, "prompt": prompt}),
            "sessionId",
        ),
        ("session/close", json!({"sessionId": long}), "sessionId"),
        (
            "session/set_mode",
            json!({"sessionId": session, "modeId": long}),
            "modeId",
        ),
        ("session/new", json!({"cwd": long}), "cwd"),
        (
            "session/new",
            json!({"cwd": home.workspace(), "additionalDirectories": [long]}),
            "additionalDirectories[0]",
        ),
    ];
    for (method, params, field) in table {
        check_field(&mut client, method, &params, field);
    }
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
}
