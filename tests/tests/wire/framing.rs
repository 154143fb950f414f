//! Lines that are no messages, and messages that are none of ours.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};

use crate::exchange::{Expect, agent, check, check_turn, exchange, request};

const PARSE: i32 = -32700;
const INVALID: i32 = -32600;

fn check_each(lines: &[(&[u8], Expect)]) {
    let (home, mut client) = agent();
    for (line, expect) in lines {
        check(&mut client, line, expect);
        // The next line is served.
        let list = request("next", "session/list", &json!({}));
        check(&mut client, list, &Expect::Result(json!("next")));
    }
    check_turn(&home, &mut client);
}

fn null(code: i32) -> Expect {
    Expect::Error(code, Value::Null)
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    check_each(&[
        (b"Welcome back SECRET", null(PARSE)),
        (b"{", null(PARSE)),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"session/list","params":{"cwd":"/SEC"#,
            null(PARSE),
        ),
        (br#"{"jsonrpc":"2.0","id":1,"method":"session/list"}}"#, null(PARSE)),
        (br#"{"jsonrpc":"2.0","id":1} {"SECRET":1}"#, null(PARSE)),
        (br#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, null(PARSE)),
        (b"{'id':1}", null(PARSE)),
        (b"\xef\xbb\xbf", null(PARSE)),
        (b"\0", null(PARSE)),
        (b"Content-Length: 20", null(PARSE)),
    ]);
}

#[test]
fn invalid_utf8_costs_only_its_line() {
    check_each(&[
        (b"\xff\xfe", null(PARSE)),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/\xc3\x28\"}",
            null(PARSE),
        ),
        (b"\xed\xa0\x80", null(PARSE)),
        (b"\"cut at the end \xe2\x82", null(PARSE)),
    ]);
}

#[test]
fn nesting_of_128_levels_is_a_parse_error() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth)).into_bytes();
    let objects = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth)).into_bytes();
    let open = "[".repeat(100_000).into_bytes();
    check_each(&[
        (&nested(127), null(INVALID)),
        (&nested(128), null(PARSE)),
        (&nested(1_000), null(PARSE)),
        (&nested(100_000), null(PARSE)),
        (&objects(127), null(INVALID)),
        (&objects(128), null(PARSE)),
        (&objects(100_000), null(PARSE)),
        (&open, null(PARSE)),
    ]);
}

#[test]
fn what_is_no_envelope_is_an_invalid_request() {
    let with = |code| Expect::Error(INVALID, code);
    check_each(&[
        (b"[]", null(INVALID)),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"session/list"}]"#, null(INVALID)),
        (b"null", null(INVALID)),
        (b"12", null(INVALID)),
        (b"true", null(INVALID)),
        (br#""SECRET""#, null(INVALID)),
        (b"{}", null(INVALID)),
        (br#"{"id":1}"#, with(json!(1))),
        (br#"{"id":1,"method":"session/list"}"#, with(json!(1))),
        (
            br#"{"jsonrpc":"1.0","id":"a","method":"session/list"}"#,
            with(json!("a")),
        ),
        (br#"{"jsonrpc":2.0,"id":2,"method":"session/list"}"#, with(json!(2))),
        (br#"{"jsonrpc":"2.0","id":3}"#, with(json!(3))),
        (br#"{"jsonrpc":"2.0","id":3,"method":5}"#, with(json!(3))),
        (br#"{"jsonrpc":"2.0","id":3,"method":null}"#, with(json!(3))),
        (br#"{"jsonrpc":"2.0","method":{"SECRET":1}}"#, null(INVALID)),
        (br#"{"jsonrpc":"2.0","params":{"SECRET":1}}"#, null(INVALID)),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"session/list"}"#, null(INVALID)),
        (br#"{"jsonrpc":"2.0","id":true,"method":"session/list"}"#, null(INVALID)),
        (
            br#"{"jsonrpc":"2.0","id":{"SECRET":1},"method":"session/list"}"#,
            null(INVALID),
        ),
        (br#"{"jsonrpc":"2.0","id":[],"method":"session/list"}"#, null(INVALID)),
        (
            br#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"session/list"}"#,
            null(INVALID),
        ),
    ]);
}

#[test]
fn ids_come_back_as_they_were() {
    let ids = [
        json!(0),
        json!(-1),
        json!(i64::MAX),
        json!(""),
        json!("1"),
        json!("ü\n\""),
    ];
    let (_home, mut client) = agent();
    for id in ids {
        let line = request(id.clone(), "session/list", &json!({}));
        check(&mut client, line, &Expect::Result(id));
    }
    let line = r#"{"jsonrpc":"2.0","id":null,"method":"session/list"}"#;
    client.send_raw(format!("{line}\n").as_bytes());
    let answer = client.next();
    assert!(answer["id"].is_null() && answer["result"].is_object(), "{answer}");
}

#[test]
fn blank_lines_and_unknown_notifications_are_met_with_silence() {
    check_each(&[
        (b"", Expect::Silence),
        (b"   \t", Expect::Silence),
        (b"\r", Expect::Silence),
        (
            br#"{"jsonrpc":"2.0","method":"session/whatever","params":{"SECRET":1}}"#,
            Expect::Silence,
        ),
        (br#"{"jsonrpc":"2.0","method":"_mine"}"#, Expect::Silence),
        (br#"{"jsonrpc":"2.0","method":"session/cancel"}"#, Expect::Silence),
        (
            br#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":5}}"#,
            Expect::Silence,
        ),
        (
            br#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"none"}}"#,
            Expect::Silence,
        ),
        (
            br#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":77}}"#,
            Expect::Silence,
        ),
        (
            br#"{"jsonrpc":"2.0","method":"$/cancel_request","params":[1]}"#,
            Expect::Silence,
        ),
        (br#"{"jsonrpc":"2.0","id":9000,"result":{}}"#, Expect::Silence),
        (
            br#"{"jsonrpc":"2.0","id":"9000","error":{"code":1,"message":"SECRET"}}"#,
            Expect::Silence,
        ),
        (
            br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#,
            Expect::Silence,
        ),
    ]);
}

#[test]
fn a_cancel_of_an_idle_session_is_silent_and_cancels_no_later_turn() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.wait_for_update("available_commands_update");
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}).to_string();
    assert_eq!(exchange(&mut client, cancel.as_bytes()), Vec::<Value>::new());
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
}

#[test]
fn lines_may_end_with_crlf_and_the_last_one_with_nothing() {
    let home = Home::new();
    let mut client = Client::start(&home);
    let initialize = request(1, "initialize", &json!({"protocolVersion": 1}));
    client.send_raw(format!("\r\n{initialize}\r\n").as_bytes());
    assert!(client.response(1).is_ok());
    client.send_raw(request(2, "session/list", &json!({})).as_bytes());
    client.end_input();
    assert!(client.response(2).is_ok());
    assert!(client.wait().success());
}

#[test]
fn a_line_may_come_in_pieces_and_many_lines_in_one() {
    let home = Home::new();
    let mut client = Client::start(&home);
    for byte in request(1, "initialize", &json!({"protocolVersion": 1})).as_bytes() {
        client.send_raw(&[*byte]);
    }
    client.send_raw(b"\n");
    assert!(client.response(1).is_ok());
    let lines: String = (2..200)
        .map(|id| request(id, "session/list", &json!({})) + "\n")
        .collect();
    client.send_raw(lines.as_bytes());
    for id in 2..200 {
        assert!(client.response(id).is_ok());
    }
}

#[test]
fn an_id_in_flight_is_refused_and_its_first_request_answered() {
    let home = Home::with_script(&json!({"replies": [{"steps": [{"text": "so far"}, {"wait_cancel": true}]}]}));
    let (mut client, session) = Client::with_session(&home);
    let from = client.log.len();
    let prompt = client.begin_prompt(&session, "go");
    client.wait_for_update("agent_message_chunk");
    client.send_raw((request(prompt, "session/list", &json!({})) + "\n").as_bytes());
    let refusal = client.wait_for(|message| message["id"] == prompt);
    assert_eq!(refusal["error"]["code"], INVALID);
    client.notify("session/cancel", json!({"sessionId": session}));
    let end = client.wait_for(|message| message["id"] == prompt);
    assert_eq!(end["result"]["stopReason"], "cancelled");
    // Free again once it is answered.
    check(
        &mut client,
        request(prompt, "session/list", &json!({})),
        &Expect::Result(json!(prompt)),
    );
    let answers = client.log[from..].iter().filter(|message| message["id"] == prompt);
    assert_eq!(answers.count(), 3);
}

#[test]
fn a_second_answer_to_a_question_changes_nothing() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.permission = None;
    let prompt = client.begin_prompt(&session, "create a.txt with hello\ncreate b.txt with hello");
    let is_question = |message: &Value| message["method"] == "session/request_permission";
    let first = client.wait_for(is_question);
    client.answer(&first, "reject_once");
    client.answer(&first, "allow_once");
    client.answer(&first, "cancelled");
    let second = client.wait_for(is_question);
    assert_ne!(first["id"], second["id"]);
    client.answer(&second, "allow_once");
    assert_eq!(client.stop_reason(prompt), "end_turn");
    client.answer(&second, "reject_once");
    let exists = |name: &str| home.workspace().join(name).exists();
    assert_eq!((exists("a.txt"), exists("b.txt")), (false, true));
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
}

#[test]
fn unknown_fields_and_meta_are_no_fault_anywhere() {
    let home = Home::new();
    let mut client = Client::start(&home);
    let more = |mut params: Value| {
        params["_meta"] = json!({"a": 1, "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"});
        params["unknown"] = json!({"deep": [1]});
        params
    };
    let capabilities = more(json!({"fs": more(json!({"readTextFile": false}))}));
    let info = more(json!({"name": "c", "version": "1"}));
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info});
    client.request("initialize", more(params)).unwrap();
    let params = more(json!({"cwd": home.workspace(), "mcpServers": []}));
    let session = client.request("session/new", params).unwrap()["sessionId"].clone();
    let block = more(json!({"type": "text", "text": "say pong"}));
    let prompt = more(json!({"sessionId": session, "prompt": [block]}));
    assert_eq!(
        client.request("session/prompt", prompt).unwrap()["stopReason"],
        "end_turn"
    );
    client.request("session/list", more(json!({}))).unwrap();
    let envelope = json!({"jsonrpc": "2.0", "id": 70, "method": "session/list", "params": {}, "_meta": {}, "x": 1});
    check(&mut client, envelope.to_string(), &Expect::Result(json!(70)));
}
