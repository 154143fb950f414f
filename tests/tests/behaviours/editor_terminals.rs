//! Commands in the editor's terminals.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::editor::{Editor, Way, capabilities};
use talaria_tests::start::{load, wait_until};

use crate::play::{self, calls, ends, says, set_mode, text_of};

const CREATE: &str = "terminal/create";
const RELEASE: &str = "terminal/release";

fn run(command: &str) -> (&'static str, Value) {
    ("terminal", json!({"command": command, "timeout": 20}))
}

fn client_home(replies: &[Value]) -> Home {
    let home = play::home(replies);
    home.add_config("[terminal]\nbackend = \"client\"\n");
    home
}

fn open(home: &Home, editor: Editor) -> (Client, String) {
    let mut client = Client::initialized(home, capabilities());
    client.editor = Some(editor);
    let session = client.new_session(&home.workspace());
    set_mode(&mut client, &session, "dont_ask");
    (client, session)
}

/// Plays a whole turn.
fn work(home: &Home, editor: Editor) -> (Client, String) {
    let (mut client, session) = open(home, editor);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    (client, session)
}

fn place(client: &Client, is_meant: impl Fn(&Value) -> bool) -> usize {
    client.log.iter().position(is_meant).unwrap()
}

fn embeds(message: &Value) -> bool {
    message["params"]["update"]["content"][0]["type"] == "terminal"
}

/// All terminals were released, each once; the editor checks the latter.
fn all_released(client: &mut Client) {
    client.rest(Duration::from_millis(100));
    assert_eq!(client.editor.as_ref().unwrap().open_terminals(), 0);
}

#[test]
fn a_command_runs_in_the_editors_terminal_and_is_told_as_any_other() {
    let home = client_home(&[
        calls(&[
            run("echo out; echo $PWD; echo err >&2; echo key=$DEMO_API_KEY"),
            run("echo bad; exit 3"),
            run("true"),
        ]),
        says("done"),
    ]);
    let (mut client, session) = work(&home, Editor::new());
    let ends = ends(&client, 0);
    let statuses: Vec<&Value> = ends.iter().map(|end| &end["status"]).collect();
    assert_eq!(statuses, ["completed", "failed", "completed"]);
    assert_eq!(ends[1]["rawOutput"]["exitCode"], 3);
    // The terminal stays on the screen.
    assert!(ends.iter().all(|end| end.get("content").is_none()), "{ends:?}");
    let created = client.asked_for(0, CREATE);
    assert_eq!(created.len(), 3);
    assert_eq!(created[0]["params"]["cwd"], json!(home.workspace()));
    let embedded = place(&client, embeds);
    let released = place(&client, |message| message["method"] == RELEASE);
    let ended = place(&client, |message| message["params"]["update"]["status"] == "completed");
    assert!(embedded < ended && ended < released);
    assert_eq!(client.asked_for(0, RELEASE).len(), 3);
    all_released(&mut client);

    let from = load(&mut client, &session, &home.workspace()).unwrap();
    let replayed = play::ends(&client, from);
    let shown = text_of(&replayed[0]);
    let folder = home.workspace().display().to_string();
    assert!(
        shown.contains("out\n") && shown.contains(&folder) && shown.contains("err\n"),
        "{shown}"
    );
    assert!(text_of(&replayed[1]).contains("bad\nexit code: 3"), "{}", replayed[1]);
}

#[test]
fn commands_stay_with_the_agent_where_nothing_else_is_wanted_or_offered() {
    let background = ("terminal", json!({"command": "echo here > made", "background": true}));
    for (backend, capabilities, call) in [
        ("client", json!({}), run("echo here > made")),
        (
            "client",
            json!({"terminal": false, "fs": {"readTextFile": true}}),
            run("echo here > made"),
        ),
        ("local", capabilities(), run("echo here > made")),
        ("client", capabilities(), background),
    ] {
        let home = play::home(&[calls(&[call]), says("done")]);
        home.add_config(&format!("[terminal]\nbackend = \"{backend}\"\n"));
        let mut client = Client::initialized(&home, capabilities);
        client.editor = Some(Editor::new());
        let session = client.new_session(&home.workspace());
        client.prompt(&session, "go");
        assert_eq!(client.asked_for(0, CREATE).len(), 0);
        wait_until("the command has run", || home.workspace().join("made").exists());
    }
}

#[test]
fn an_editor_that_opens_no_terminal_runs_nothing_anywhere() {
    for way in [Way::Error, Way::Senseless] {
        let home = client_home(&[calls(&[run("echo here > made")]), says("done")]);
        let editor = Editor::new().with(|editor| editor.creates = way);
        let (mut client, _) = work(&home, editor);
        let end = &ends(&client, 0)[0];
        assert_eq!(end["status"], "failed");
        assert!(text_of(end).contains("the editor opened no terminal"), "{end}");
        assert!(!home.workspace().join("made").exists());
        all_released(&mut client);
    }
}

#[test]
fn a_command_whose_time_is_up_is_killed_and_its_terminal_goes_back() {
    for waits in [Way::Well, Way::Silent] {
        let call = ("terminal", json!({"command": "echo begun; sleep 60", "timeout": 1}));
        let home = client_home(&[calls(&[call]), says("done")]);
        let editor = Editor::new().with(|editor| editor.waits = waits);
        let (mut client, _) = work(&home, editor);
        let end = &ends(&client, 0)[0];
        assert_eq!(
            (&end["status"], &end["rawOutput"]["timedOut"]),
            (&json!("failed"), &json!(true))
        );
        assert_eq!(client.asked_for(0, "terminal/kill").len(), 1);
        // The end takes nothing away of what was shown before it.
        assert!(end.get("content").is_none(), "{end}");
        let updates = client.updates(0).into_iter();
        let mut of_call = updates.filter(|update| update["sessionUpdate"] == "tool_call_update");
        let shown = &of_call.rfind(|update| update.get("content").is_some()).unwrap()["content"];
        assert_eq!(shown[0]["type"], "terminal", "{shown}");
        assert_eq!(shown[1]["content"]["text"], "timed out after 1 s", "{shown}");
        all_released(&mut client);
    }
}

#[test]
fn a_cancel_ends_the_command_at_once() {
    for waits in [Way::Well, Way::Silent] {
        let home = client_home(&[calls(&[run("echo begun; sleep 60")]), says("done")]);
        let editor = Editor::new().with(|editor| editor.waits = waits);
        let (mut client, session) = open(&home, editor);
        let id = client.begin_prompt(&session, "go");
        client.wait_for(embeds);
        let begin = Instant::now();
        client.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(client.stop_reason(id), "cancelled");
        assert!(begin.elapsed() < Duration::from_secs(1));
        assert_eq!(ends(&client, 0)[0]["status"], "failed");
        all_released(&mut client);
    }
}

#[test]
fn a_terminal_that_comes_after_the_cancel_goes_back() {
    let home = client_home(&[calls(&[run("sleep 60")]), says("done")]);
    let editor = Editor::new().with(|editor| editor.creates = Way::Silent);
    let (mut client, session) = open(&home, editor);
    let id = client.begin_prompt(&session, "go");
    let asked = client.wait_for(|message| message["method"] == CREATE);
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(id), "cancelled");
    let editor = client.editor.as_mut().unwrap();
    let result = editor.open_terminal(&asked["params"]);
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
    client.wait_for(|message| message["method"] == RELEASE);
    all_released(&mut client);
}

#[test]
fn a_client_that_leaves_gets_its_terminal_back_first() {
    let home = client_home(&[calls(&[run("sleep 60")]), says("done")]);
    let (mut client, session) = open(&home, Editor::new());
    client.begin_prompt(&session, "go");
    client.wait_for(embeds);
    client.end_input();
    let begin = Instant::now();
    client.editor = None;
    client.wait_for(|message| message["method"] == RELEASE);
    assert!(client.wait().success());
    assert!(begin.elapsed() < Duration::from_secs(3));
}
