//! A prompt on its way to the model and its answer on the way back.

use std::sync::Arc;

use agent_core::config::Config;
use agent_core::event::Event;
use agent_core::provider::{Finish, Usage};
use agent_core::script::{Script, ScriptReply, ScriptStep};
use agent_core::store::Store;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::stage::Stage;
use talaria_tests::start::{config_of, load};

use crate::play::{calls, conversation, ends, home, listed, questions, says, text_of};

#[test]
fn the_blocks_of_a_prompt_reach_the_model_together_and_in_order() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let other = client.new_session(&home.workspace());
    client.prompt(&other, "of the other session");
    let blocks = json!([
        {"type": "text", "text": "alpha"},
        {"type": "resource", "resource": {"uri": "file:///x.txt", "text": "beta"}},
        {"type": "text", "text": "gamma"},
    ]);
    client
        .request("session/prompt", json!({"sessionId": session, "prompt": blocks}))
        .unwrap();
    client.prompt(&session, "delta");
    let sent = conversation(mock.requests().last().unwrap());
    assert_eq!(sent.len(), 3, "{sent:?}");
    let at = |word: &str| sent[0].1.find(word).unwrap();
    assert!(at("alpha") < at("beta") && at("beta") < at("gamma"), "{sent:?}");
    assert_eq!(sent[2], ("user".into(), "delta".into()));
    assert!(!format!("{sent:?}").contains("other session"));
}

#[test]
fn a_prompt_that_says_nothing_ends_at_once_without_the_model() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let text = |text: &str| json!({"type": "text", "text": text});
    for blocks in [json!([]), json!([text("")]), json!([text(" \n"), text("\t")])] {
        let params = json!({"sessionId": session, "prompt": blocks});
        let result = client.request("session/prompt", params).unwrap();
        assert_eq!(result["stopReason"], "end_turn", "{blocks}");
    }
    assert_eq!(mock.requests().len(), 0);
    assert_eq!(client.said(0), "");
    assert!(listed(&mut client, &session).is_none());
    client.prompt(&session, "now");
    assert_eq!(conversation(&mock.requests()[0]), [("user".into(), "now".into())]);
    assert_eq!(listed(&mut client, &session).unwrap()["title"], "now");
}

#[test]
fn a_session_with_nothing_but_an_empty_prompt_is_not_listed_by_another_process_either() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, " ");
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    assert!(listed(&mut client, &session).is_none());
    load(&mut client, &session, &home.workspace()).unwrap();
    client.prompt(&session, "say hi");
    assert!(listed(&mut client, &session).is_some());
}

#[test]
fn a_message_has_one_id_for_its_thought_and_its_text_and_the_next_has_another() {
    let reply = |text: &str| json!({"steps": [{"thought": "hm"}, {"thought": "m"}, {"text": text}, {"text": ""}, {"text": "!"}]});
    let mut first = reply("one");
    let call = json!({"call": {"name": "todo", "input": {"items": []}}});
    first["steps"].as_array_mut().unwrap().push(call);
    let home = home(&[first, reply("two"), reply("three")]);
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "go");
    client.prompt(&session, "again");
    let updates = client.updates(0);
    let chunks = updates
        .iter()
        .filter(|update| update["sessionUpdate"].as_str().unwrap().ends_with("_chunk"));
    let mut messages: Vec<(String, String)> = Vec::new();
    for chunk in chunks {
        let text = chunk["content"]["text"].as_str().unwrap();
        assert_ne!(text, "");
        let id = chunk["messageId"].as_str().unwrap();
        match messages.last_mut() {
            Some((last, said)) if last == id => said.push_str(text),
            _ => messages.push((id.to_owned(), text.to_owned())),
        }
    }
    let said: Vec<&str> = messages.iter().map(|(_, said)| said.as_str()).collect();
    assert_eq!(said, ["hmmone!", "hmmtwo!", "hmmthree!"]);
    let mut ids: Vec<&String> = messages.iter().map(|(id, _)| id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn a_spent_budget_a_cut_reply_and_a_cancel_each_have_their_stop_reason() {
    let again = || calls(&[("todo", json!({"items": []}))]);
    let home = home(&[
        json!({"steps": [{"text": "half a sen"}], "finish": "length"}),
        again(),
        again(),
        json!({"steps": [{"text": "half"}, {"wait_cancel": true}], "finish": "length"}),
        again(),
        json!({"steps": [{"text": "and more"}, {"wait_cancel": true}]}),
        says("fine"),
    ]);
    let config = std::fs::read_to_string(home.state().join("config.toml")).unwrap();
    home.write_config(&format!("{config}\n[agent]\nmax_steps = 2\n"));
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "cut"), "max_tokens");
    assert_eq!(client.prompt(&session, "spent"), "max_turn_requests");
    for step in ["first", "last"] {
        let prompt = client.begin_prompt(&session, &format!("cancelled in the {step} step"));
        client.wait_for_update("agent_message_chunk");
        client.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(client.stop_reason(prompt), "cancelled");
    }
    assert_eq!(client.prompt(&session, "on"), "end_turn");
}

#[test]
fn the_usage_of_a_turn_is_its_own() {
    let usage = |input, output| Usage {
        input: Some(input),
        output: Some(output),
        ..Usage::default()
    };
    let reply = |step: ScriptStep, usage: Usage| ScriptReply {
        usage,
        ..ScriptReply::new([step])
    };
    let todo = ScriptStep::call("todo", json!({"items": []}));
    let script = Script::from_replies(vec![
        reply(todo, usage(100, 10)),
        reply(ScriptStep::text("one"), usage(150, 5)),
        reply(ScriptStep::text("two"), usage(7, 1)),
        ScriptReply {
            finish: Some(Finish::Stop),
            ..ScriptReply::new([ScriptStep::text("three")])
        },
    ]);
    let mut stage = Stage::with(Arc::new(script), Config::default(), Store::memory());
    for expect in [usage(250, 15), usage(7, 1), Usage::default()] {
        let mut spent = None;
        stage.turn("go", |_, _, event| {
            if let Event::TurnFinished { usage, .. } = event {
                spent = Some(*usage);
            }
        });
        assert_eq!(spent, Some(expect));
    }
}

#[test]
fn what_holds_for_one_call_does_not_hold_for_the_next() {
    let run = |input: Value| calls(&[("terminal", input)]);
    let home = home(&[
        run(json!({"command": "pwd; export LEAK=1; cd /", "workdir": "sub"})),
        run(json!({"command": "pwd; echo leak=$LEAK."})),
        says("done"),
        run(json!({"command": "pwd; echo leak=$LEAK."})),
        says("done"),
    ]);
    std::fs::create_dir(home.workspace().join("sub")).unwrap();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "go");
    client.prompt(&session, "again");
    let ends = ends(&client, 0);
    let folder = home.workspace().display().to_string();
    assert!(text_of(&ends[0]).contains(&format!("{folder}/sub\n")), "{}", ends[0]);
    for end in &ends[1..] {
        assert!(text_of(end).contains(&format!("{folder}\nleak=.\n")), "{end}");
    }
    // Allowed once is allowed once.
    assert_eq!(questions(&client, 0).len(), 3);
}

#[test]
fn commands_see_their_session_and_nothing_else_of_ours() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    for _ in 0..2 {
        let session = client.new_session(&home.workspace());
        let from = client.log.len();
        client.prompt(&session, "run echo \"id=$TALARIA_SESSION home=$TALARIA_HOME.\"");
        let end = ends(&client, from).pop().unwrap();
        assert!(text_of(&end).contains(&format!("id={session} home=.")), "{end}");
        client.prompt(&session, "run env | grep TALARIA");
        let end = ends(&client, from).pop().unwrap();
        let text = text_of(&end);
        let mut names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["TALARIA_COMMAND", "TALARIA_OWNER", "TALARIA_SESSION"]);
    }
}
