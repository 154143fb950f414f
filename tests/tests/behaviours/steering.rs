//! What the user says to a running turn.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{asked, config_of, load};

use crate::play::{conversation, home, says};

/// A model that makes a call which is asked about, then says "done".
fn asking() -> Mock {
    let mut replies = vec![Reply::calls(&[(
        "c",
        "write_file",
        json!({"path": "a", "content": "x"}),
    )])]
    .into_iter();
    Mock::answering(move |_| replies.next().unwrap_or_else(|| Reply::text("done")))
}

/// Begins a turn and follows it to its question: the prompt's id, and the question.
fn until_asked(client: &mut Client, session: &str) -> (i64, Value) {
    client.permission = None;
    let prompt = client.begin_prompt(session, "go");
    let question = client.wait_for(|message| message["method"] == "session/request_permission");
    (prompt, question)
}

fn steering(client: &mut Client, session: &str, text: &str, meta: &Value) -> Result<Value, Value> {
    let prompt = json!([{"type": "text", "text": text}]);
    client.request(
        "_session/steering",
        json!({"sessionId": session, "prompt": prompt, "_meta": meta}),
    )
}

/// What the model was told by the user in its last request.
fn heard(mock: &Mock) -> Vec<String> {
    let requests = mock.requests();
    let said = conversation(requests.last().unwrap()).into_iter();
    said.filter(|(role, _)| role == "user").map(|(_, text)| text).collect()
}

/// How often a request was answered.
fn answers(client: &Client, id: i64) -> usize {
    let is_answer = |message: &&Value| message["id"] == id && message.get("method").is_none();
    client.log.iter().filter(is_answer).count()
}

#[test]
fn the_running_turn_hears_it_at_its_next_step_and_a_load_shows_it_there() {
    let mock = asking();
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let (prompt, question) = until_asked(&mut client, &session);
    let steer = client.begin_prompt(&session, "/steer and faster");
    client.answer(&question, "allow_once");
    assert_eq!(client.stop_reason(steer), "end_turn");
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert_eq!(mock.requests().len(), 2, "it is no turn of its own");
    assert_eq!(heard(&mock).last().unwrap(), "and faster");
    assert_eq!((answers(&client, steer), answers(&client, prompt)), (1, 1));
    assert_eq!(client.prompt(&session, "next"), "end_turn");
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), ["go", "and faster", "next"]);
    let updates = client.updates(from);
    let place = |is: &dyn Fn(&Value) -> bool| updates.iter().position(|update| is(update)).unwrap();
    let said = place(&|update| update["content"]["text"] == "and faster");
    assert!(place(&|update| update["status"] == "completed") < said);
    assert!(said < place(&|update| update["content"]["text"] == "done"));
    client.prompt(&session, "again");
    assert_eq!(heard(&mock)[1..], ["and faster", "next", "again"]);
}

#[test]
fn what_comes_with_the_models_last_word_keeps_the_turn_going() {
    let home = home(&[json!({"steps": [{"text": "one"}, {"delay_ms": 300}]}), says("two")]);
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "go");
    client.wait_for(|message| message["params"]["update"]["content"]["text"] == "one");
    let steer = client.begin_prompt(&session, "/steer more");
    assert_eq!(client.stop_reason(steer), "end_turn");
    let first = client.log.len();
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert_eq!(client.said(first), "two");
}

#[test]
fn the_model_hears_nothing_of_blanks() {
    let mock = asking();
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let (prompt, question) = until_asked(&mut client, &session);
    let meta = json!({"talaria/steer": true});
    let prompt_of_blanks = json!([{"type": "text", "text": " "}]);
    let params = json!({"sessionId": session, "prompt": prompt_of_blanks, "_meta": meta});
    let blank = client.begin("session/prompt", params);
    client.answer(&question, "allow_once");
    assert_eq!(client.stop_reason(blank), "end_turn");
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert_eq!((mock.requests().len(), heard(&mock)), (2, vec!["go".to_owned()]));
}

#[test]
fn without_a_turn_it_is_a_prompt_and_without_words_a_question() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    for text in ["/steer say pong", "/steer"] {
        let from = client.log.len();
        assert_eq!(client.prompt(&session, text), "end_turn");
        let expect = if text == "/steer" { "`/steer TEXT`" } else { "pong" };
        assert!(client.said(from).contains(expect), "{}", client.said(from));
    }
    let meta = json!({"talaria/steer": true});
    let prompt = json!([{"type": "text", "text": "say pong"}]);
    let params = json!({"sessionId": session, "prompt": prompt, "_meta": meta});
    assert_eq!(
        client.request("session/prompt", params).unwrap()["stopReason"],
        "end_turn"
    );
}

#[test]
fn a_prompt_joins_the_turn_by_its_meta() {
    let mock = asking();
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let (prompt, question) = until_asked(&mut client, &session);
    let text = json!([{"type": "text", "text": "by meta"}]);
    let params = json!({"sessionId": session, "prompt": text, "_meta": {"talaria/steer": true}});
    let steer = client.begin("session/prompt", params);
    client.answer(&question, "allow_once");
    assert_eq!(
        (client.stop_reason(steer), client.stop_reason(prompt)),
        ("end_turn".into(), "end_turn".into())
    );
    assert_eq!(heard(&mock).last().unwrap(), "by meta");
}

#[test]
fn what_a_cancelled_turn_has_not_heard_is_cancelled_with_the_session_and_else_the_next_prompt() {
    for (whole, stop) in [(true, "cancelled"), (false, "end_turn")] {
        let mock = asking();
        let home = Home::with_config(&config_of(&mock, ""));
        let (mut client, session) = Client::with_session(&home);
        let (prompt, _) = until_asked(&mut client, &session);
        let steer = client.begin_prompt(&session, "/steer and faster");
        if whole {
            client.notify("session/cancel", json!({"sessionId": session}));
        } else {
            client.notify("$/cancel_request", json!({"requestId": prompt}));
        }
        assert_eq!(client.stop_reason(prompt), "cancelled");
        assert_eq!(client.stop_reason(steer), stop);
        assert_eq!(answers(&client, steer), 1);
        assert_eq!(client.prompt(&session, "next"), "end_turn");
        assert!(heard(&mock).iter().any(|text| text == "and faster"), "nothing is lost");
    }
}

#[test]
fn a_hundred_at_once_are_all_heard_in_their_order_and_each_answered_once() {
    let mock = asking();
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let (prompt, question) = until_asked(&mut client, &session);
    let steers: Vec<i64> = (0..100)
        .map(|number| client.begin_prompt(&session, &format!("/steer n{number}.")))
        .collect();
    client.answer(&question, "allow_once");
    for steer in &steers {
        assert_eq!(client.stop_reason(*steer), "end_turn");
    }
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert!(steers.iter().all(|steer| answers(&client, *steer) == 1));
    let heard = heard(&mock).concat();
    let places: Vec<usize> = (0..100)
        .map(|number| heard.find(&format!("n{number}.")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{heard}");
}

#[test]
fn the_method_of_other_adapters_is_served() {
    let mock = asking();
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let gives_back = json!({"steering": {"idleBehavior": "promptRequired"}});
    let answer = steering(&mut client, &session, "idle", &gives_back).unwrap();
    assert_eq!(answer, json!({"outcome": "promptRequired", "reason": "noRunningTurn"}));
    let (prompt, question) = until_asked(&mut client, &session);
    for meta in [Value::Null, gives_back] {
        let answer = steering(&mut client, &session, "and faster", &meta).unwrap();
        assert_eq!(answer, json!({"outcome": "injected"}));
    }
    client.answer(&question, "allow_once");
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert_eq!(heard(&mock).concat().matches("and faster").count(), 2);
    let answer = steering(&mut client, &session, "on my own", &Value::Null).unwrap();
    assert_eq!(answer, json!({"outcome": "startedNewTurn"}));
    assert!(mock.wait_requests(3, talaria_tests::stage::LIMIT));
    let error = steering(&mut client, &session, " ", &Value::Null).unwrap_err();
    assert_eq!(
        (&error["code"], &error["data"]["field"]),
        (&json!(-32602), &json!("prompt"))
    );
    assert!(error["message"].as_str().unwrap().contains("is empty"), "{error}");
    let error = steering(&mut client, "none", "x", &Value::Null).unwrap_err();
    assert_eq!(error["code"], -32002);
    assert_eq!(client.prompt(&session, "next"), "end_turn");
    assert!(heard(&mock).iter().any(|text| text == "on my own"));
}
