//! What a prompt may hold beside text.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{config_of, load, times_told};

use crate::play::{calls, conversation, listed, says, set_option};

/// A picture of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The bytes of it.
const PNG_BYTES: [u8; 70] = [
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 31, 21, 196,
    137, 0, 0, 0, 13, 73, 68, 65, 84, 120, 218, 99, 100, 248, 207, 80, 15, 0, 3, 134, 1, 128, 90, 52, 125, 107, 0, 0,
    0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image() -> Value {
    json!({"type": "image", "mimeType": "image/png", "data": PNG})
}

fn blob(mime_type: &str, base64: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": "file:///gone/b.bin", "mimeType": mime_type, "blob": base64}})
}

/// A home whose model sees, and its server.
fn seeing() -> (Home, Mock) {
    let mock = Mock::answering(|_| Reply::text("I see"));
    let home = Home::with_config(&config_of(&mock, "models = [{ id = \"m\", images = true }]\n"));
    (home, mock)
}

fn send(client: &mut Client, session: &str, prompt: Value) -> Result<Value, Value> {
    client.request("session/prompt", json!({"sessionId": session, "prompt": prompt}))
}

/// The parts of the last user's message, pictures as `image`.
fn parts(mock: &Mock) -> Vec<String> {
    let request = mock.requests().pop().unwrap();
    let message = request
        .messages()
        .iter()
        .rfind(|message| message["role"] == "user")
        .unwrap()
        .clone();
    let part = |part: &Value| match part["type"].as_str().unwrap() {
        "text" => part["text"].as_str().unwrap().to_owned(),
        _ => {
            assert_eq!(part["image_url"]["url"], format!("data:image/png;base64,{PNG}"));
            "image".to_owned()
        }
    };
    match message["content"].as_array() {
        Some(parts) => parts.iter().map(part).collect(),
        None => vec![message["content"].as_str().unwrap().to_owned()],
    }
}

#[test]
fn text_and_pictures_reach_the_model_in_the_order_of_the_prompt() {
    let (home, mock) = seeing();
    let (mut client, session) = Client::with_session(&home);
    send(
        &mut client,
        &session,
        json!([text("before"), image(), text("between"), image(), text("after")]),
    )
    .unwrap();
    assert_eq!(parts(&mock), ["before", "image", "between", "image", "after"]);
    assert_eq!(listed(&mut client, &session).unwrap()["title"], "before");
    assert!(client.close().success());
    // They are still there after a restart, for the user and for the model.
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    let chunks = client
        .updates(from)
        .into_iter()
        .filter(|update| update["sessionUpdate"] == "user_message_chunk");
    let kinds: Vec<&str> = chunks.map(|chunk| chunk["content"]["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "text", "image", "text"]);
    client.prompt(&session, "and now?");
    assert_eq!(mock.requests().pop().unwrap().raw.matches(PNG).count(), 2);
}

#[test]
fn a_prompt_of_pictures_alone_has_a_name_in_the_list() {
    let (home, mock) = seeing();
    let (mut client, session) = Client::with_session(&home);
    send(&mut client, &session, json!([image()])).unwrap();
    assert_eq!(parts(&mock), ["image"]);
    let title = listed(&mut client, &session).unwrap()["title"].clone();
    assert_eq!(title, "A picture");
}

#[test]
fn a_linked_picture_is_shown_to_the_model() {
    let (home, mock) = seeing();
    let (mut client, session) = Client::with_session(&home);
    let path = home.workspace().join("a picture.png");
    std::fs::write(&path, PNG_BYTES).unwrap();
    let uri = format!("file://{}", path.display()).replace(' ', "%20");
    let link = json!({"type": "resource_link", "uri": uri, "name": "a picture.png"});
    send(&mut client, &session, json!([text("look at "), link])).unwrap();
    assert!(parts(&mock).contains(&"image".to_owned()), "{:?}", parts(&mock));
    let gone = json!({"type": "resource_link", "uri": "file:///no/such.png", "name": "such.png"});
    send(&mut client, &session, json!([text("and "), gone])).unwrap();
    assert!(parts(&mock).concat().contains("such.png"), "{:?}", parts(&mock));
}

#[test]
fn what_is_put_in_is_treated_as_what_is_linked() {
    let (home, mock) = seeing();
    let (mut client, session) = Client::with_session(&home);
    let source = json!({"type": "resource", "resource": {"uri": "file:///gone/a.rs", "text": "fn main() {}"}});
    send(
        &mut client,
        &session,
        json!([source, blob("image/png", PNG), blob("application/zip", "UEsDBA==")]),
    )
    .unwrap();
    let parts = parts(&mock);
    assert!(
        parts[0].contains("fn main() {}") && parts[0].contains("a.rs"),
        "{parts:?}"
    );
    assert_eq!(parts[1], "image");
    assert!(parts[2].contains("4 bytes of application/zip"), "{parts:?}");
}

#[test]
fn text_that_comes_as_bytes_is_put_in_as_text() {
    let (home, mock) = seeing();
    let (mut client, session) = Client::with_session(&home);
    send(&mut client, &session, json!([blob("text/plain", "aGVsbG8gdGhlcmU=")])).unwrap();
    assert!(parts(&mock).concat().contains("hello there"), "{:?}", parts(&mock));
}

#[test]
fn every_block_reaches_the_model_or_is_refused_by_its_place() {
    let (home, mock) = seeing();
    let (mut client, session) = Client::with_session(&home);
    for (block, field) in [
        (
            json!({"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="}),
            Some("prompt[1]"),
        ),
        (json!({"type": "video", "data": "x"}), None),
        (json!({"text": "of no type"}), None),
        (json!("bare"), None),
        (
            json!({"type": "image", "mimeType": "image/png", "data": "no base64!"}),
            Some("prompt[1].data"),
        ),
    ] {
        let error = send(&mut client, &session, json!([text("see"), block])).unwrap_err();
        assert_eq!(error["code"], -32602, "{block}: {error}");
        if let Some(field) = field {
            assert_eq!(error["data"]["field"], field, "{error}");
        }
        assert!(error["message"].as_str().unwrap().contains("prompt"), "{error}");
    }
    assert_eq!(mock.requests().len(), 0);
    assert_eq!(client.prompt(&session, "on"), "end_turn");
}

#[test]
fn a_model_that_does_not_see_is_told_what_is_not_shown() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, "models = [{ id = \"m\", images = false }]\n"));
    let (mut client, session) = Client::with_session(&home);
    send(&mut client, &session, json!([text("see"), image()])).unwrap();
    let sent = conversation(&mock.requests()[0]);
    assert!(!mock.requests()[0].raw.contains(PNG));
    assert!(sent[0].1.contains("see") && sent[0].1.contains("image"), "{sent:?}");
    assert_eq!(times_told(&client, 0, "doesn't see pictures"), 1);
}

#[test]
fn a_picture_that_the_model_does_not_see_is_told_once_a_turn_wherever_it_is_from() {
    let home = Home::with_script(&json!({
        "model": {"images": false},
        "replies": [
            calls(&[("read_file", json!({"path": "a.png"})), ("read_file", json!({"path": "a.png"}))]),
            says("two pictures"),
            says("they are still there"),
        ],
    }));
    std::fs::write(home.workspace().join("a.png"), PNG_BYTES).unwrap();
    let (mut client, session) = Client::with_session(&home);
    for prompt in ["read it", "and now?"] {
        let from = client.log.len();
        client.prompt(&session, prompt);
        assert_eq!(times_told(&client, from, "doesn't see pictures"), 1, "{prompt}");
    }
}

#[test]
fn a_picture_from_before_a_change_of_the_model_is_told() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let models = "models = [{ id = \"m\", images = true }, { id = \"blind\", images = false }]\n";
    let home = Home::with_config(&config_of(&mock, models));
    let (mut client, session) = Client::with_session(&home);
    send(&mut client, &session, json!([text("see"), image()])).unwrap();
    assert_eq!(times_told(&client, 0, "doesn't see pictures"), 0);
    set_option(&mut client, &session, "model", "mock/blind").unwrap();
    client.prompt(&session, "what was it?");
    assert_eq!(times_told(&client, 0, "mock/blind doesn't see pictures"), 1);
}
