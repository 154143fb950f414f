//! What a conversation becomes.

use agent_core::content::Content;
use agent_core::event::CallInput;
use agent_core::provider::{ModelInfo, Origin};
use serde_json::{Value, json};

use super::{calls, check, done, kept, model, named, text, thought, tool_result, tool_use, with};
use crate::testing::{assistant, picture, result, user};

#[test]
fn turns_alternate_and_results_come_first() {
    let messages = [
        user("one"),
        user("two"),
        calls("", &[]),
        user("three"),
        calls("look", &["a", "b"]),
        done("a"),
        user("and this"),
        done("b"),
        calls("so", &[]),
        calls("far", &[]),
    ];
    let expect = json!([
        {"role": "user", "content": [text("one"), text("two"), text("three")]},
        {"role": "assistant", "content": [text("look"), tool_use("a"), tool_use("b")]},
        {"role": "user", "content": [tool_result("a"), tool_result("b"), text("and this")]},
        {"role": "assistant", "content": [text("so"), text("far")]},
    ]);
    check(&messages, &model(), &expect);
}

#[test]
fn nothing_empty_is_sent() {
    let messages = [
        user(" "),
        calls(" \n", &["a"]),
        result("a", "\n", Vec::new(), false),
        calls(" ", &[]),
    ];
    let expect = json!([
        {"role": "user", "content": [text("(an empty message)")]},
        {"role": "assistant", "content": [tool_use("a")]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [text("(no output)")]},
        ]},
    ]);
    check(&messages, &model(), &expect);
}

#[test]
fn pictures_stand_in_their_result_for_a_model_that_sees() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}});
    let one = |images: Vec<Content>, failed, sees, expect: Value| {
        let model = ModelInfo {
            images: sees,
            ..model()
        };
        let mut result_block = json!({"type": "tool_result", "tool_use_id": "a", "content": expect});
        if failed {
            result_block["is_error"] = true.into();
        }
        check(
            &[result("a", "seen", images, failed)],
            &model,
            &json!([{"role": "user", "content": [result_block]}]),
        );
    };
    let note = text("(a picture, image/png: not shown)\n");
    one(
        vec![picture("image/png", b"png")],
        false,
        true,
        json!([text("seen"), image.clone()]),
    );
    one(
        vec![picture("image/png", b"png")],
        false,
        false,
        json!([text("seen"), note.clone()]),
    );
    // The service takes no picture of a call that failed, and none of a type that it doesn't know.
    one(
        vec![picture("image/png", b"png")],
        true,
        true,
        json!([text("seen"), note]),
    );
    one(
        vec![picture("image/svg+xml", b"png"), picture("image/PNG", b"png")],
        false,
        true,
        json!([text("seen"), text("(a picture, image/svg+xml: not shown)"), image]),
    );
    one(Vec::new(), true, true, json!([text("seen")]));
}

#[test]
fn arguments_go_back_as_an_object_whatever_they_were() {
    let one = |input: CallInput, expect: Value| {
        let message = assistant("", &[("a", input)], None);
        let block = json!({"type": "tool_use", "id": "a", "name": "read", "input": expect});
        check(
            &[message],
            &model(),
            &json!([{"role": "assistant", "content": [block]}]),
        );
    };
    one(CallInput::Json(json!({"b": 1, "a": 2})), json!({"b": 1, "a": 2}));
    one(
        CallInput::Malformed("{\"p\":".into()),
        json!({"malformed_arguments": "{\"p\":"}),
    );
    one(CallInput::Json(json!([1])), json!({"malformed_arguments": "[1]"}));
}

#[test]
fn thoughts_go_back_as_they_came_where_they_stood_and_to_their_service_only() {
    let one = |item: Value, origin: Origin, expect: Value| {
        let message = with(calls("abcd", &["a", "b"]), &item, origin);
        check(&[message], &model(), &json!([{"role": "assistant", "content": expect}]));
    };
    let sealed = json!({"type": "redacted_thinking", "data": "E"});
    let at = |after_text: usize, after_calls: usize, block: Value| json!({"after_text": after_text, "after_calls": after_calls, "block": block});
    one(
        json!({"thoughts": [at(0, 0, sealed.clone()), at(0, 0, thought("S"))]}),
        model().origin,
        json!([sealed, thought("S"), text("abcd"), tool_use("a"), tool_use("b")]),
    );
    one(
        json!({"thoughts": [at(0, 0, thought("S")), at(2, 0, thought("T")), at(4, 1, thought("U")), at(4, 2, thought("V"))]}),
        model().origin,
        json!([
            thought("S"),
            text("ab"),
            thought("T"),
            text("cd"),
            tool_use("a"),
            thought("U"),
            tool_use("b")
        ]),
    );
    one(
        json!({"thoughts": [at(9, 7, thought("S"))]}),
        model().origin,
        json!([thought("S"), text("abcd"), tool_use("a"), tool_use("b")]),
    );
    let plain = json!([text("abcd"), tool_use("a"), tool_use("b")]);
    one(kept("S"), named("other").origin, plain.clone());
    one(json!("nonsense"), model().origin, plain);
}

#[test]
fn ids_of_another_service_are_made_fit() {
    let messages = [calls("", &["f.read:0"]), done("f.read:0"), calls("", &["a"]), done("a")];
    let expect = json!([
        {"role": "assistant", "content": [tool_use("f_read_0")]},
        {"role": "user", "content": [tool_result("f_read_0")]},
        {"role": "assistant", "content": [tool_use("a")]},
        {"role": "user", "content": [tool_result("a")]},
    ]);
    check(&messages, &model(), &expect);
}
