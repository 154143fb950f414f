//! Sessions: opened, refused, set.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::client::Client;
use crate::{say, texts};

#[test]
fn unknown_and_closed_sessions_are_not_found() {
    let (mut client, session) = Client::in_session(&say("hi"));
    client.result("session/close", json!({ "sessionId": session }));
    for id in [session.as_str(), "unknown"] {
        let not_found = (json!(-32002), json!({ "sessionId": id }));
        assert_eq!(
            client.error("session/prompt", json!({ "sessionId": id, "prompt": [] })),
            not_found
        );
        assert_eq!(
            client.error("session/set_mode", json!({ "sessionId": id, "modeId": "plan" })),
            not_found
        );
        assert_eq!(client.error("session/close", json!({ "sessionId": id })), not_found);
    }
    let load = json!({ "sessionId": "unknown", "cwd": std::env::temp_dir() });
    assert_eq!(client.error("session/load", load).0, -32002);
}

#[test]
fn a_folder_that_is_none_is_refused_by_name() {
    let mut client = Client::greeted(&say("hi"));
    for cwd in ["relative", "/does/not/exist", "/dev/null"] {
        let refused = (json!(-32602), json!({ "field": "cwd" }));
        assert_eq!(client.error("session/new", json!({ "cwd": cwd })), refused);
    }
}

#[test]
fn a_load_replays_before_its_answer_and_a_resume_does_not() {
    let (mut client, session) = Client::in_session(&say("hello"));
    let id = client.prompt(&session, "hi");
    client.answer(id);
    client.result("session/close", json!({ "sessionId": session }));
    let params = json!({ "sessionId": session, "cwd": std::env::temp_dir() });
    for (method, replayed) in [("session/load", "hihello"), ("session/resume", "")] {
        let id = client.request(method, params.clone());
        let (before, answer) = client.answer(id);
        assert_eq!(texts(&before), replayed);
        assert_eq!(answer["result"]["modes"]["currentModeId"], "default");
        assert_eq!(client.update_kind(), "available_commands_update");
    }
}

#[test]
fn without_a_key_one_is_told_how_to_sign_in_and_then_goes_on() {
    let mut client = Client::greeted(&say("hi"));
    client.has_key.store(false, Ordering::SeqCst);
    let (code, data) = client.error("session/new", json!({ "cwd": std::env::temp_dir() }));
    assert_eq!((code, &data["authMethods"][0]["id"]), (json!(-32000), &json!("script")));
    assert_eq!(
        client.error("authenticate", json!({ "methodId": "talaria-setup" })).0,
        -32000
    );
    client.has_key.store(true, Ordering::SeqCst);
    client.result("authenticate", json!({ "methodId": "talaria-setup" }));
    client.new_session();
}

#[test]
fn modes_and_options_stay_in_step() {
    let (mut client, session) = Client::in_session(&say("hi"));
    let set_mode = json!({ "sessionId": session, "modeId": "plan" });
    let set_option = json!({ "sessionId": session, "configId": "mode", "value": "accept_edits" });
    for (method, params, mode) in [
        ("session/set_mode", set_mode, "plan"),
        ("session/set_config_option", set_option, "accept_edits"),
    ] {
        let id = client.request(method, params);
        let (before, _) = client.answer(id);
        let updates: Vec<&Value> = before.iter().map(|line| &line["params"]["update"]).collect();
        assert_eq!(updates[0]["currentModeId"], mode);
        assert_eq!(updates[1]["configOptions"][0]["currentValue"], mode);
    }
    let id = client.prompt(&session, "/mode default");
    let (before, _) = client.answer(id);
    let options = before
        .iter()
        .find(|line| line["params"]["update"]["sessionUpdate"] == "config_option_update");
    assert_eq!(
        options.unwrap()["params"]["update"]["configOptions"][0]["currentValue"],
        "default"
    );
    let wrong = json!({ "sessionId": session, "modeId": "none" });
    assert_eq!(
        client.error("session/set_mode", wrong),
        (json!(-32602), json!({ "field": "modeId" }))
    );
}
