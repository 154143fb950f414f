//! What looks like something else, and costs only itself.

use providers::{Dialect, Service, list_models};
use serde_json::{Value, json};
use talaria_tests::mock::{Mock, Reply as Answer};
use talaria_tests::remote::handle;
use talaria_tests::spoken::{DIALECTS, Spoken};

use crate::ask::{LIMIT, ask_once_in, service};
use crate::told::{check, tell};

#[test]
fn events_are_read_whatever_they_are_called() {
    for dialect in DIALECTS {
        let reply = Spoken::text("hello").reply(dialect);
        let named = reply.clone().called("application/json");
        assert_eq!(tell(&ask_once_in(dialect, named)), tell(&ask_once_in(dialect, reply)));
    }
}

#[test]
fn half_a_character_is_shown_as_one_that_is_missing() {
    for dialect in DIALECTS {
        for (escape, expect) in [
            ("A\\ud800B", "A\u{fffd}B"),
            ("A\\uDE00B", "A\u{fffd}B"),
            ("A\\uD83D", "A\u{fffd}"),
            ("\\ud83d\\ud83d\\ude00", "\u{fffd}😀"),
            ("\\\\ud800", "\\ud800"),
        ] {
            let reply = Spoken::text("HALF").reply(dialect).replacing("HALF", escape);
            assert_eq!(ask_once_in(dialect, reply).text, expect, "{escape} {}", dialect.name());
        }
        let call = Spoken::call("c", "read", json!({"path": "HALF"}));
        let escape = if dialect == Dialect::Gemini {
            "\\ud800"
        } else {
            "\\\\ud800"
        };
        let told = tell(&ask_once_in(dialect, call.reply(dialect).replacing("HALF", escape)));
        assert!(told.contains("read {\"path\":\"\u{fffd}\"}"), "{told}");
    }
}

#[test]
fn an_odd_entry_costs_only_itself_in_a_list_of_models() {
    let list = |dialect, entries: Value| {
        let (list, id) = match dialect {
            Dialect::Gemini => ("models", "name"),
            Dialect::OpenaiChat | Dialect::OpenaiResponses | Dialect::Anthropic => ("data", "id"),
        };
        let body = json!({ list: entries })
            .to_string()
            .replace("\"id\"", &format!("\"{id}\""));
        let mock = Mock::serve(vec![Answer::json(body)]).with_list();
        let service = Service {
            dialect,
            ..service(&mock)
        };
        let listed = list_models(LIMIT, &service, &handle()).unwrap();
        listed
            .into_iter()
            .map(|model| (model.id, model.context_window))
            .collect::<Vec<_>>()
    };
    for dialect in DIALECTS {
        let entries = json!([{"id": null}, {"id": 5}, {"id": ""}, 7, [], {"name_of": "x"}, {"id": "good"}]);
        assert_eq!(list(dialect, entries), [("good".to_owned(), None)]);
    }
    for (said, expect) in [
        (json!(8192.0), Some(8192)),
        (json!("8192"), Some(8192)),
        (json!(-1), None),
        (json!("8k"), None),
        (json!(0), None),
        (json!(1e30), None),
        (json!([8192]), None),
    ] {
        let listed = list(
            Dialect::OpenaiChat,
            json!([{"id": "m", "context_length": said.clone()}]),
        );
        assert_eq!(listed, [("m".to_owned(), expect)], "{said}");
        let listed = list(Dialect::Gemini, json!([{"id": "m", "inputTokenLimit": said.clone()}]));
        assert_eq!(listed, [("m".to_owned(), expect)], "{said}");
    }
}

#[test]
fn a_text_that_is_said_again_is_one() {
    let check = |events: &[Value], expect: &str| {
        check(
            "again",
            Answer::events(events),
            &format!("{expect} · usage -/-/-/-/- · Stop"),
        );
    };
    let hello = json!({"choices": [{"delta": {"content": "HELLO"}}]});
    let again = json!({"choices": [{"message": {"content": "HELLO"}, "finish_reason": "stop"}]});
    check(&[hello.clone(), again.clone()], r#"text "HELLO""#);
    check(&[again], r#"text "HELLO""#);
    let other = json!({"choices": [{"index": 1, "delta": {"content": "OTHER"}}]});
    let both = json!({"choices": [
        {"index": 1, "delta": {"content": "OTHER"}},
        {"index": 0, "delta": {"content": "!"}, "finish_reason": "stop"},
    ]});
    let first = json!({"choices": [{"index": 0, "delta": {"content": "HELLO"}}]});
    let early = json!({"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]});
    check(&[first, other, early, both.clone()], r#"text "HELLO!""#);
    let second = json!({"choices": [{"index": 1, "delta": {"content": "HELLO"}}]});
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    check(&[second, end], r#"text "HELLO""#);
    check(&[hello, both], r#"text "HELLO!""#);
}

#[test]
fn an_index_that_is_none_is_as_a_missing_one() {
    let told = "call c read {\"path\":\"a\"}";
    for dialect in DIALECTS {
        let call = Spoken::call("c", "read", json!({"path": "a"}));
        for index in ["-1", "null", "\"0\"", "1.5"] {
            let reply = call.reply(dialect).replacing("index\":0", &format!("index\":{index}"));
            let outcome = ask_once_in(dialect, reply);
            assert!(
                tell(&outcome).starts_with(told),
                "{} {index}: {}",
                dialect.name(),
                tell(&outcome)
            );
        }
    }
}
