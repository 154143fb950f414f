//! A client is asked for what it has declared and for nothing else, in every combination.

use std::collections::BTreeSet;

use serde_json::json;
use talaria_tests::capabilities::{ALL, FORM, READS, TERMINAL, URL, WRITES, greeting};
use talaria_tests::client::{Client, Home};
use talaria_tests::editor::Editor;

use crate::play::{self, calls, says, set_mode};

/// What an agent may ask for, and the capability that it needs for it. Nothing asks for an address to be opened.
const ASKS: [(&str, &str); 5] = [
    ("fs/read_text_file", READS),
    ("fs/write_text_file", WRITES),
    ("terminal/create", TERMINAL),
    ("terminal/release", TERMINAL),
    ("elicitation/create", FORM),
];

/// The capabilities by which something can be asked of a client.
const ASKED: [&str; 5] = [READS, WRITES, TERMINAL, FORM, URL];

fn home() -> Home {
    let home = play::home(&[
        calls(&[("read_file", json!({"path": "a.txt"}))]),
        calls(&[("write_file", json!({"path": "b.txt", "content": "b\n"}))]),
        calls(&[("terminal", json!({"command": "true", "timeout": 20}))]),
        calls(&[(
            "ask_user",
            json!({"question": "Which one?", "choices": ["red", "blue"]}),
        )]),
        says("done"),
    ]);
    home.add_config("[terminal]\nbackend = \"client\"\n");
    std::fs::write(home.workspace().join("a.txt"), "a\n").unwrap();
    home
}

/// The methods that a client with these capabilities is asked by; it checks itself that it gets nothing else it can't have.
fn asked(declared: &BTreeSet<&str>) -> BTreeSet<String> {
    let home = home();
    let mut client = Client::start(&home);
    client.request("initialize", greeting(declared)).unwrap();
    let form = json!({"action": "accept", "content": {"choice": "red"}});
    client.editor = Some(Editor::new().with(|editor| editor.form = Some(form)));
    let session = client.new_session(&home.workspace());
    set_mode(&mut client, &session, "dont_ask");
    assert_eq!(client.prompt(&session, "go"), "end_turn", "{declared:?}");
    let requests = client.log.iter().filter(|message| message.get("id").is_some());
    let methods: BTreeSet<String> = requests
        .filter_map(|message| message["method"].as_str().map(str::to_owned))
        .collect();
    assert!(client.close().success());
    methods
}

#[test]
fn a_client_is_asked_for_what_it_has_declared_in_every_combination() {
    let others: BTreeSet<&str> = ALL
        .map(|(path, _)| path)
        .into_iter()
        .filter(|path| !ASKED.contains(path))
        .collect();
    for number in 0..1 << ASKED.len() {
        let is_in = |place: &usize| number >> place & 1 == 1;
        let chosen: BTreeSet<&str> = (0..ASKED.len()).filter(is_in).map(|place| ASKED[place]).collect();
        // What a client can show makes no difference to what it is asked for.
        for declared in [chosen.clone(), &chosen | &others] {
            let asked = asked(&declared);
            for (method, capability) in ASKS {
                assert_eq!(
                    asked.contains(method),
                    declared.contains(capability),
                    "{method}: {declared:?}"
                );
            }
        }
    }
}
