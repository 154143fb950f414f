#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::content::{Blob, Content};
use crate::event::{HistoryMove, SessionChange};
use crate::id::{MessageId, TurnId};
use crate::provider::{Finish, Native};
use crate::store::Store;

const KEY: &str = "sk-proj-abcdef0123456789XYZ";

fn record() -> SessionRecord {
    SessionRecord {
        id: "s1".into(),
        source: "acp".into(),
        cwd: "/w".into(),
        extra_roots: vec!["/x".into()],
        title: Some(format!("Use {KEY}")),
        model: "local/qwen3".parse().unwrap(),
        origin: Origin {
            api: "openai-chat".into(),
            base_url: "http://127.0.0.1:8080/v1".into(),
            model: "qwen3".into(),
        },
        mode: Mode::DontAsk,
        thought: Some(ThoughtLevel::Low),
        system: "Be brief.".into(),
        instructions: None,
        parent: Some(Parent {
            session: "s0".into(),
            seq: 4,
        }),
        begun: None,
        told: None,
        created_ms: 5,
        updated_ms: 9,
        messages: 2,
        usage: Usage {
            input: Some(7),
            ..Usage::default()
        },
        context: None,
        last_seq: 3,
        last_turn: 1,
        archived_ms: None,
        ended: None,
    }
}

fn dated(seq: u64, event: Event) -> Dated {
    Dated {
        at_ms: 5 + i64::try_from(seq).unwrap(),
        envelope: Envelope {
            session: "s1".into(),
            turn: Some(TurnId(1)),
            seq,
            event,
        },
    }
}

fn rows() -> Vec<Dated> {
    let picture = Content::Image {
        mime_type: "image/png".into(),
        data: Blob::Inline(b"picture"[..].into()),
        uri: None,
    };
    let prompt = Event::UserMessage {
        id: MessageId::from("m"),
        content: vec![Content::text(format!("look {KEY}")), picture],
        context: vec![],
        command: false,
    };
    let native = Native {
        origin: record().origin,
        item: format!("signed {KEY}"),
    };
    let step = Event::StepFinished {
        step: 1,
        model: None,
        usage: Usage::default(),
        context: ContextUse::default(),
        finish: Finish::Stop,
        native: Some(native),
    };
    let title = SessionChange::Title("Look".into());
    vec![
        dated(1, prompt),
        dated(2, step),
        dated(4, Event::SessionChanged { change: title }),
    ]
}

fn bytes(keys: Keys) -> Vec<u8> {
    serde_json::to_vec(&document(&record(), &rows(), keys)).unwrap()
}

#[test]
fn what_goes_out_comes_back_but_for_what_would_ask_less() {
    let Portable { import, left_out } = read(&bytes(Keys::Exact)).unwrap();
    assert_eq!(left_out, [PathBuf::from("/x")]);
    assert_eq!(import.rows, rows());
    let expect = SessionRecord {
        mode: Mode::Default,
        extra_roots: vec![],
        messages: 0,
        last_seq: 0,
        last_turn: 0,
        ..record()
    };
    assert_eq!(import.record, expect);
}

#[test]
fn keys_are_masked_and_pictures_are_whole() {
    let bytes = bytes(Keys::Masked);
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(!text.contains("abcdef0123456789XYZ"), "{text}");
    assert!(
        text.contains(r#""title":"Use sk-***""#) && text.contains("cGljdHVyZQ=="),
        "{text}"
    );
    assert!(!text.contains("native"), "what is signed is whole or not there: {text}");
    let import = read(&bytes).unwrap().import;
    assert!(has_all(&rows(), &import.rows) && has_all(&rows(), &rows()));
    assert!(!has_all(&rows()[..2], &import.rows));
    let mut named = json!({"api_key": "abc123def456ghi", "tokens": 12, "list": ["token: abc123def456ghi"]});
    put_in(&mut named, Keys::Masked);
    assert_eq!(named, json!({"api_key": "***", "tokens": 12, "list": ["token: ***"]}));
    let mut printed =
        json!({"head": "a\n-----BEGIN PRIVATE KEY-----\nMII", "left_out": 9, "tail": "abc\nabc\n", KEY: 1});
    put_in(&mut printed, Keys::Masked);
    assert_eq!(
        printed,
        json!({"head": "a\n***", "left_out": 9, "tail": "", "sk-***": 1})
    );
}

#[test]
fn a_document_that_is_not_ours_says_why() {
    let check = |change: fn(&mut Value), expect: &str| {
        let mut value = document(&record(), &rows(), Keys::Exact);
        change(&mut value);
        let error = read(&serde_json::to_vec(&value).unwrap()).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    };
    for text in ["", "{", "[]", "{\"session\":{},\"events\":[]}", "{\"session\":{}}\n{}"] {
        assert!(matches!(read(text.as_bytes()), Err(BadDocument::NotOurs(_))), "{text}");
    }
    let row = serde_json::to_string(&envelope(&rows()[0], Keys::Masked)).unwrap();
    for lines in [row.clone(), format!("{row}\n{row}\n")] {
        assert!(matches!(read(lines.as_bytes()), Err(BadDocument::Lines)), "{lines}");
    }
    let deep = format!("{{\"session\":{}", "[".repeat(100_000));
    assert!(read(deep.as_bytes()).is_err());
    check(|value| value["session"]["format"] = 2.into(), "update this program");
    check(|value| value["session"]["id"] = "../x".into(), "`session.id` is no id");
    check(|value| value["session"]["id"] = "-rf".into(), "`session.id` is no id");
    check(|value| value["session"]["rest"]["cwd"] = "w".into(), "no absolute path");
    check(
        |value| value["session"]["rest"]["cwd"] = "/w\0x".into(),
        "has a NUL in it",
    );
    check(
        |value| value["session"]["rest"] = Value::Null,
        "`session` can't be read",
    );
    check(
        |value| value["session"]["model"] = "".into(),
        "`session.model` is no model",
    );
    check(
        |value| value["events"][1]["seq"] = 1.into(),
        "event 2 of it: its number 1",
    );
    check(
        |value| value["events"][1]["seq"] = u64::MAX.into(),
        "event 2 of it: its number",
    );
    check(|value| value["events"][0]["session"] = "s2".into(), "another session");
    check(
        |value| value["events"][0]["event"]["event"] = "dance".into(),
        "can't be read",
    );
    check(
        |value| value["events"][0]["event"]["content"][1]["data"] = "sha256:00".into(),
        "no bytes",
    );
    check(
        |value| {
            let moved = Event::HistoryMoved {
                keep_upto: u64::MAX,
                why: HistoryMove::Clear,
            };
            value["events"][0]["event"] = serde_json::to_value(moved).unwrap();
        },
        "which is not before it",
    );
    check(
        |value| value["events"][0]["event"] = json!({"event": "notice", "severity": "info", "title": "t"}),
        "none that is stored",
    );
}

#[test]
fn what_files_held_goes_neither_out_nor_in() {
    let mut value = document(&record(), &rows(), Keys::Exact);
    value["events"][1] = json!({"session": "s1", "seq": 2, "event": {"event": "files_kept", "files": []}});
    let import = read(&serde_json::to_vec(&value).unwrap()).unwrap().import;
    assert_eq!(import.rows.len(), 2);
}

#[test]
fn a_document_is_stored_as_it_was() {
    let store = Store::memory();
    let import = read(&bytes(Keys::Exact)).unwrap().import;
    let new = SessionId::from("s9");
    store.import(as_new(import.clone(), &new)).unwrap();
    store.import(import).unwrap();
    let stored = store.session(&"s1".into()).unwrap().unwrap();
    assert_eq!(stored.parent, record().parent);
    assert_eq!((stored.origin, stored.usage), (record().origin, record().usage));
    let back = store.rows(&"s1".into(), 0, 3).unwrap();
    assert!(has_all(&back, &rows()));
    assert_eq!(store.rows(&new, 0, 3).unwrap().len(), 3);
}
