#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use serde_json::json;

use super::*;

const REQUEST: Request<'_> = Request {
    system: "",
    tools: &[],
    messages: &[],
    thinking: None,
    counted: None,
};

fn name() -> ModelRef {
    "demo/one".parse().unwrap()
}

fn parse(value: &Value) -> Script {
    Script::parse(&value.to_string(), name()).unwrap()
}

/// Plays one reply and gives its pieces.
fn play(script: &Script) -> (Vec<Delta>, Result<Reply, ProviderError>) {
    let mut deltas = Vec::new();
    let result = script.complete(&REQUEST, &Cancel::new(), &mut |delta| {
        deltas.push(delta);
        ControlFlow::Continue(())
    });
    (deltas, result)
}

fn text(text: &str) -> Delta {
    Delta::Text(text.to_owned())
}

#[test]
fn a_reply_is_played_step_by_step() {
    let script = parse(&json!({ "replies": [{
        "steps": [
            { "thought": "hm" },
            { "text": "a" },
            { "delay_ms": 1 },
            { "repeat": 2, "text": "b" },
            { "call": { "name": "read_file", "input": { "path": "x" } } },
            { "call": { "name": "read_file", "id": "mine", "arguments": "{\"path\":" } },
            { "call": { "name": "todo", "arguments": "{\"a\": 1}" } },
            { "call": { "name": "todo" } },
        ],
        "usage": { "input": 7, "output": 3 },
    }] }));
    let (deltas, reply) = play(&script);
    let reply = reply.unwrap();
    assert_eq!(deltas, [Delta::Thought("hm".into()), text("a"), text("b"), text("b")]);
    let call = |id: &str, name: &str, input: CallInput| Call {
        id: id.into(),
        name: name.into(),
        input,
    };
    assert_eq!(
        reply.calls,
        [
            call("script_0_0", "read_file", CallInput::Json(json!({ "path": "x" }))),
            call("mine", "read_file", CallInput::Malformed("{\"path\":".into())),
            call("script_0_2", "todo", CallInput::Json(json!({ "a": 1 }))),
            call("script_0_3", "todo", CallInput::Json(json!({}))),
        ]
    );
    assert_eq!(reply.finish, Finish::ToolCalls);
    assert_eq!(
        (reply.usage.input, reply.usage.output, reply.usage.reasoning),
        (Some(7), Some(3), None)
    );
}

#[test]
fn the_finish_follows_from_the_calls_unless_it_is_given() {
    let check = |reply: Value, expect: Finish| {
        let (_, result) = play(&parse(&json!({ "replies": [reply] })));
        assert_eq!(result.unwrap().finish, expect);
    };
    check(json!({ "steps": [] }), Finish::Stop);
    check(json!({ "steps": [{ "call": { "name": "x" } }] }), Finish::ToolCalls);
    check(
        json!({ "steps": [{ "text": "x" }], "finish": "length" }),
        Finish::Length,
    );
    check(
        json!({ "steps": [{ "call": { "name": "x" } }], "finish": "refusal" }),
        Finish::Refusal,
    );
}

#[test]
fn replies_come_in_order_and_then_what_was_asked_for() {
    let check = |after: Value, expect: [&str; 5]| {
        let script = parse(&json!({
            "after": after,
            "replies": [{ "steps": [{ "text": "a" }] }, { "steps": [{ "text": "b" }] }],
        }));
        let played = expect.map(|_| match play(&script) {
            (deltas, Ok(_)) => match deltas.as_slice() {
                [Delta::Text(text)] => text.clone(),
                other => panic!("{other:?}"),
            },
            (_, Err(error)) => error.to_string(),
        });
        assert_eq!(played, expect);
    };
    let end = "the script of demo/one is at its end: all its replies (2) have been played; add replies, or play them \
               again with `\"after\": \"repeat\"`";
    check(json!("error"), ["a", "b", end, end, end]);
    check(json!("repeat"), ["a", "b", "a", "b", "a"]);
    assert!(play(&parse(&json!({ "replies": [], "after": "repeat" }))).1.is_err());
    assert!(play(&Script::from_replies(Vec::new())).1.is_err());
}

#[test]
fn an_error_ends_its_reply_and_the_next_request_takes_the_next() {
    let script = parse(&json!({ "replies": [
        { "steps": [
            { "text": "half" },
            { "error": { "class": "rate_limit", "message": "slow down", "status": 429, "retry_after_ms": 50 } },
            { "text": "never" },
        ] },
        { "steps": [{ "text": "whole" }] },
    ] }));
    let (deltas, result) = play(&script);
    assert_eq!(deltas, [text("half")]);
    assert_eq!(
        result,
        Err(ProviderError::Failed(Box::new(Failure {
            class: ErrorClass::RateLimit,
            message: "slow down".into(),
            provider: Some("demo".into()),
            status: Some(429),
            retry_after_ms: Some(50),
        })))
    );
    let (deltas, result) = play(&script);
    assert_eq!(deltas, [text("whole")]);
    assert!(result.is_ok());
}

#[test]
fn a_flood_is_as_many_pieces_as_it_says() {
    let script = parse(&json!({ "replies": [{ "steps": [{ "repeat": 100_000, "text": "word " }] }] }));
    let (deltas, result) = play(&script);
    assert_eq!(deltas.len(), 100_000);
    assert!(result.is_ok());
}

/// A cancel on another thread ends the step, which without it would last longer than the test may.
#[test]
fn a_cancel_ends_every_wait_and_every_flood() {
    let check = |step: Value| {
        let script = Arc::new(parse(&json!({ "replies": [{ "steps": [{ "text": "begun" }, step] }] })));
        let cancel = Cancel::new();
        let (begun, wait_begun) = crossbeam_channel::bounded(1);
        let (ended, wait_ended) = crossbeam_channel::bounded(1);
        let (player, switch) = (script.clone(), cancel.clone());
        let thread = std::thread::spawn(move || {
            let result = player.complete(&REQUEST, &switch, &mut |_| {
                let _ = begun.try_send(());
                ControlFlow::Continue(())
            });
            ended.send(result).unwrap();
        });
        let limit = Duration::from_secs(20);
        wait_begun.recv_timeout(limit).unwrap();
        cancel.set();
        assert_eq!(wait_ended.recv_timeout(limit).unwrap(), Err(ProviderError::Cancelled));
        thread.join().unwrap();
    };
    check(json!({ "wait_cancel": true }));
    check(json!({ "delay_ms": 3_600_000 }));
    check(json!({ "repeat": usize::MAX, "text": "word " }));
}

#[test]
fn a_sink_that_has_enough_ends_the_reply() {
    let script = Script::from_replies(vec![ScriptReply::new([
        ScriptStep::text("a"),
        ScriptStep::thought("b"),
        ScriptStep::call("todo", json!({})),
    ])]);
    let result = script.complete(&REQUEST, &Cancel::new(), &mut |_| ControlFlow::Break(()));
    assert_eq!(result, Err(ProviderError::Cancelled));
}

#[test]
fn the_model_is_what_the_script_says_of_it() {
    let script = parse(&json!({ "model": { "context_window": 1000, "images": false }, "replies": [] }));
    let model = script.model();
    assert_eq!(model.name, name());
    assert_eq!(
        (model.context_window, model.images, model.tools),
        (Some(1000), false, true)
    );
}

#[test]
fn what_is_no_script_is_told_with_its_place() {
    let check = |json: &str, at: &str, cause: &str| match Script::parse(json, name()) {
        Err(ScriptError::Parse {
            model,
            at: place,
            source,
        }) => {
            assert_eq!(model, name());
            assert_eq!(place, at, "{json}");
            assert!(source.to_string().contains(cause), "{json}: {source}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{json} was read"),
    };
    let step = |step: &str| format!(r#"{{"replies": [{{"steps": [{step}]}}]}}"#);
    let one_of = "exactly one of text";
    check("{}", ".", "missing field `replies`");
    check(r#"{"replies": []} x"#, "end", "trailing characters");
    check(r#"{"replies": [], "than": 1}"#, "than", "unknown field `than`");
    check(
        &step(r#"{"txt": "a"}"#),
        "replies[0].steps[0].txt",
        "unknown field `txt`",
    );
    check(&step("{}"), "replies[0].steps[0]", one_of);
    check(&step(r#"{"text": "a", "delay_ms": 1}"#), "replies[0].steps[0]", one_of);
    check(&step(r#"{"wait_cancel": false}"#), "replies[0].steps[0]", one_of);
    check(&step(r#"{"repeat": 2}"#), "replies[0].steps[0]", "`repeat` needs");
    check(
        &step(r#"{"repeat": 2, "delay_ms": 1}"#),
        "replies[0].steps[0]",
        "`repeat` needs",
    );
    check(
        &step(r#"{"call": {"name": "x", "input": {}, "arguments": ""}}"#),
        "replies[0].steps[0]",
        "not both",
    );
}

#[test]
fn a_file_is_opened_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let error = Script::open(&path, name()).err().unwrap();
    assert_eq!(error.to_string(), format!("can't read the script {}", path.display()));
    std::fs::write(&path, r#"{"replies": [{"steps": [{"text": "a"}]}]}"#).unwrap();
    assert_eq!(play(&Script::open(&path, name()).unwrap()).0, [text("a")]);
}
