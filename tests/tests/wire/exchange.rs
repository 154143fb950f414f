//! One line and all that it leads to, which also shows what it does not lead to.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};

/// What one line is answered with.
#[derive(Debug, PartialEq)]
pub(crate) enum Expect {
    /// Nothing at all.
    Silence,
    /// One result, to this id.
    Result(Value),
    /// One error, to this id.
    Error(i32, Value),
}

/// An agent in an empty home that has been initialized and knows nothing else.
pub(crate) fn agent() -> (Home, Client) {
    let home = Home::new();
    let client = Client::initialized(&home, json!({}));
    (home, client)
}

/// Sends a line and waits for its response, if it asks for one; then for that of another line, which is answered at
/// once and after all that the first one leads to. Gives back what came before it.
pub(crate) fn exchange(client: &mut Client, line: &[u8]) -> Vec<Value> {
    let from = client.log.len();
    client.send_raw(&[line, b"\n"].concat());
    if let Some(id) = asked_by(line) {
        client.wait_for(|message| message["id"] == id && message.get("method").is_none());
    }
    // No request, so that it changes nothing: not even what `initialize` may do next.
    client.send(&json!({"id": "after"}));
    client.wait_for(|message| message["id"] == "after");
    client.log[from..client.log.len() - 1].to_vec()
}

/// The id of a request that the core may have to answer.
fn asked_by(line: &[u8]) -> Option<Value> {
    let message: Value = serde_json::from_slice(line).ok()?;
    let is_request = message["jsonrpc"] == "2.0" && message["method"].is_string();
    let id = message.get("id").filter(|id| id.is_i64() || id.is_string());
    id.filter(|_| is_request).cloned()
}

/// Sends a line that must be answered so, and nothing else be said but updates. No answer repeats what was sent.
#[track_caller]
pub(crate) fn check(client: &mut Client, line: impl AsRef<[u8]>, expect: &Expect) -> Value {
    let line = line.as_ref();
    let came = exchange(client, line);
    let shown = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
    let answers: Vec<&Value> = came.iter().filter(|message| message.get("method").is_none()).collect();
    let got = match answers[..] {
        [] => Expect::Silence,
        [answer] => match answer["error"]["code"].as_i64() {
            Some(code) => Expect::Error(code.try_into().expect("a small code"), answer["id"].clone()),
            None => Expect::Result(answer["id"].clone()),
        },
        _ => panic!("{shown}: more than one answer: {answers:#?}"),
    };
    assert_eq!(got, *expect, "{shown}: {came:#?}");
    let answer = answers.first().map_or(Value::Null, |answer| (*answer).clone());
    let error = &answer["error"];
    assert!(!error.to_string().contains("SECRET"), "{shown}: {error}");
    if !error.is_null() {
        let message = error["message"].as_str().expect("an error has a message");
        assert!(message.split(' ').count() > 2, "no sentence: {message}");
    }
    answer
}

/// Sends a request that must be refused for this field.
#[track_caller]
pub(crate) fn check_field(client: &mut Client, method: &str, params: &Value, field: &str) {
    let line = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
    let answer = check(client, &line, &Expect::Error(-32602, json!(7)));
    let error = &answer["error"];
    let shown = line.get(..200).unwrap_or(&line);
    assert_eq!(error["data"]["field"], field, "{shown}: {error}");
}

/// A request as a line.
pub(crate) fn request(id: impl Into<Value>, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}).to_string()
}

/// An ordinary turn in a new session works.
pub(crate) fn check_turn(home: &Home, client: &mut Client) {
    let session = client.new_session(&home.workspace());
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
    assert!(client.said(from).contains("pong"));
}
