//! From the built-in model to the one that was set up.

use serde_json::Value;
use talaria_tests::client::{Client, Home, run};
use talaria_tests::mock::{Mock, Reply};

use crate::set_up;

#[test]
fn a_session_that_began_before_the_setup_gets_its_model() {
    let mock = Mock::answering(|_| Reply::text("a real answer"));
    let home = Home::new();
    let (mut client, open) = Client::with_session(&home);
    client.prompt(&open, "hello");
    assert!(client.said(0).contains("No language model is configured"));
    let unprompted = client.new_session(&home.workspace());
    run_prompt(&home, &["hello"]);
    set_up(&home, &mock);
    for session in [&open, &unprompted] {
        let from = client.log.len();
        assert_eq!(client.prompt(session, "hello"), "end_turn");
        assert!(client.said(from).ends_with("a real answer"), "{}", client.said(from));
    }
    assert!(
        client
            .updates(0)
            .iter()
            .any(|update| update["sessionUpdate"] == "config_option_update"
                && update["configOptions"].to_string().contains("mine/m"))
    );
    // The session of `agent run` is older than those of the editor.
    drop(client);
    let list: Vec<Value> = serde_json::from_str(&run(home.command(&["sessions", "list", "--json"]), "").1).unwrap();
    let ran = list.iter().find(|session| session["source"] == "run").unwrap();
    let id = ran["id"].as_str().unwrap();
    let said = run_prompt(&home, &["hello", "--session", id]);
    assert!(
        said.contains("a real answer") && said.contains("mine/m answers now"),
        "{said}"
    );
    let said = run_prompt(&home, &["hello", "--session", id]);
    assert!(
        said.contains("a real answer") && !said.contains("answers now"),
        "{said}"
    );
}

#[test]
fn a_session_whose_user_chose_the_offline_model_keeps_it_and_is_told_the_way_out() {
    let mock = Mock::answering(|_| Reply::text("a real answer"));
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "/model offline/offline");
    run_prompt(&home, &["hello", "--model", "offline/offline"]);
    set_up(&home, &mock);
    let said = run_prompt(&home, &["hello", "--continue"]);
    let way = "This session uses the built-in offline model";
    assert!(
        said.contains(way) && said.contains("`/model mine/m` changes that"),
        "{said}"
    );
    let from = client.log.len();
    client.prompt(&session, "hello");
    assert!(client.said(from).contains(way), "{}", client.said(from));
    let from = client.log.len();
    client.prompt(&session, "/model mine/m");
    client.prompt(&session, "hello");
    assert!(client.said(from).ends_with("a real answer"), "{}", client.said(from));
    assert!(run_prompt(&home, &["hello", "--model", "offline/offline"]).contains(way));
}

/// What `agent run` prints, and whether it asked a model behind a service.
fn run_prompt(home: &Home, arguments: &[&str]) -> String {
    let (status, stdout, stderr) = run(home.command(&[&["run"], arguments].concat()), "");
    assert!(status.success(), "{stderr}");
    stdout + &stderr
}
