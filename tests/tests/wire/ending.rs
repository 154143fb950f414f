//! The end, however it comes: exit 0 within its time, turns cancelled and stored, no process left behind.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::process::{commands_of, is_alive, signal, wait_idle};
use talaria_tests::stage::LIMIT;
use talaria_tests::start::load;
use talaria_tests::start::wait_until;

/// What the end may take.
const PROMISED: Duration = Duration::from_secs(3);

/// Ends an agent in the middle of a command, and looks at what is left and at what a new agent knows of it.
fn check(end: impl FnOnce(&mut Client)) {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say first"), "end_turn");
    let prompt = client.begin_prompt(&session, "run sleep 618 & echo started; wait");
    client.wait_for(|message| message.to_string().contains("started\\n"));
    let pids = commands_of(client.pid());
    assert!(pids.len() >= 2 || !cfg!(target_os = "linux"), "{pids:?}");
    let at = Instant::now();
    end(&mut client);
    let status = client.wait();
    assert!(at.elapsed() < PROMISED, "{:?}", at.elapsed());
    assert_eq!(status.code(), Some(0));
    for pid in pids {
        assert!(!is_alive(pid), "process {pid} is left");
    }
    check_left(&home, &session, prompt, &mut client);
}

fn check_left(home: &Home, session: &str, prompt: i64, client: &mut Client) {
    client.rest(Duration::ZERO);
    let answers: Vec<&Value> = client.log.iter().filter(|message| message["id"] == prompt).collect();
    assert!(answers.len() <= 1, "{answers:?}");
    for answer in answers {
        assert_eq!(answer["result"]["stopReason"], "cancelled");
    }
    let mut client = Client::initialized(home, json!({}));
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    client.request("session/load", params).unwrap();
    let updates = client.updates(0);
    let asked = updates
        .iter()
        .filter(|update| update["sessionUpdate"] == "user_message_chunk");
    assert_eq!(asked.count(), 2);
    let ends = updates
        .iter()
        .filter(|update| ["completed", "failed"].contains(&update["status"].as_str().unwrap_or("")));
    let ends: Vec<String> = ends.map(|update| update.to_string()).collect();
    assert!(ends.len() == 1 && ends[0].contains("started\\n"), "{ends:?}");
    // Stored as what it was: a cancel, and not a crash that is told of.
    assert!(!client.said(0).contains("ended before"), "{}", client.said(0));
    assert_eq!(client.prompt(session, "say pong"), "end_turn");
}

#[test]
fn by_the_end_of_stdin() {
    check(Client::end_input);
}

#[test]
fn by_sigterm() {
    check(|client| signal(client.pid(), "TERM"));
}

#[test]
fn by_sighup() {
    check(|client| signal(client.pid(), "HUP"));
}

#[test]
fn by_a_stdout_that_nobody_reads_any_more() {
    check(|client| {
        client.close_stdout();
        // The next line is the last that is read; what is answered after it can't be written.
        let list = json!({"jsonrpc": "2.0", "id": "list", "method": "session/list"});
        client.try_send(&list);
        client.rest(LIMIT);
        client.try_send(&list);
    });
}

#[test]
fn by_a_signal_while_nothing_is_read() {
    let home = Home::with_script(&json!({"replies": [{"steps": [{"repeat": 400_000, "text": "word "}]}]}));
    let (mut client, session) = Client::with_session(&home);
    client.stop_reading();
    client.begin_prompt(&session, "go");
    wait_idle(client.pid());
    let at = Instant::now();
    signal(client.pid(), "TERM");
    wait_until("the agent ends", || !is_alive(client.pid()));
    assert!(at.elapsed() < PROMISED, "{:?}", at.elapsed());
    client.read_on();
    assert_eq!(client.wait().code(), Some(0));
    client.rest(Duration::ZERO);
}

#[test]
fn with_a_question_open_it_runs_nothing() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.permission = None;
    client.begin_prompt(&session, "create a.txt with hello");
    client.wait_for(|message| message["method"] == "session/request_permission");
    client.end_input();
    assert!(client.wait().success());
    assert!(!home.workspace().join("a.txt").exists());
}

#[test]
fn requests_on_their_way_are_answered_though_stdin_has_ended() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    let list = client.begin("session/list", json!({}));
    let load = client.begin("session/resume", json!({"sessionId": session, "cwd": home.workspace()}));
    let prompt = client.begin_prompt(&session, "say pong");
    client.end_input();
    assert!(client.response(list).is_ok());
    assert!(client.response(load).is_ok());
    let stop = client.stop_reason(prompt);
    assert!(["end_turn", "cancelled"].contains(&stop.as_str()), "{stop}");
    assert!(client.wait().success());
}

#[test]
fn what_one_session_can_not_store_takes_nothing_from_the_others() {
    for spoil in [
        "DELETE FROM sessions WHERE id = 'ID'",
        "CREATE TRIGGER refuse BEFORE INSERT ON events WHEN NEW.session = (SELECT key FROM sessions WHERE id = 'ID') \
         BEGIN SELECT RAISE(ABORT, 'refused by a test'); END",
    ] {
        let reply = json!({"steps": [{"text": "half"}, {"wait_cancel": true}]});
        let home = Home::with_script(&json!({"replies": [reply], "after": "repeat"}));
        let mut client = Client::initialized(&home, json!({}));
        let sessions = [(); 3].map(|()| client.new_session(&home.workspace()));
        let prompts = sessions.each_ref().map(|session| {
            let prompt = client.begin_prompt(session, "go");
            client.wait_for_update("agent_message_chunk");
            prompt
        });
        let database = Connection::open(home.state().join("state.db")).unwrap();
        database.execute_batch(&spoil.replace("ID", &sessions[1])).unwrap();
        drop(database);
        let at = Instant::now();
        client.end_input();
        for prompt in prompts {
            assert_eq!(client.stop_reason(prompt), "cancelled");
        }
        assert_eq!(client.wait().code(), Some(0));
        assert!(at.elapsed() < PROMISED, "{:?}", at.elapsed());
        let mut client = Client::initialized(&home, json!({}));
        let whole = sessions.map(|session| {
            let from = client.log.len();
            load(&mut client, &session, &home.workspace()).is_ok() && client.said(from) == "half"
        });
        assert_eq!(whole, [true, false, true], "{spoil}");
    }
}
