//! Files of the user's that hold keys: they are read, patched and put back byte for byte, by whatever process, while no
//! log, no title, no search and no export shows what is in them.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, run};
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::start::{config_of, load};

/// Keys as services make them, none of which is one.
const KEYS: [&str; 16] = [
    "sk-ant-api03-Zq8xW2vT5nR7mK4jH1gF6dS3aP9oI0uY-bN7cV4xZ2lQ8wE5rT1yU6iO3pA9sD",
    "sk-proj-4fGh7JkL0pQ2rStU5vWxY8zA1bCdE3gH6iJkM9nO",
    "ghp_x4KpQ9wZ2mVn7RtY8bLc3HdJ6fGsA1eU5oTi",
    "github_pat_11ABCDEFG0aBcDeFgHiJkL_4mNoPqRsTuVwXyZ0123456789aBcDeFgHiJkLmNoPqRsTuVw",
    "glpat-Xy7Zk2Qw9Rt4Uv8Lm3Np",
    "AKIAQ7ZX3WV9KTB5MN2R",
    "AIzaSyB7x9Kq2Wm4Zt6Rv8Yp1Lc3Nd5Hf0Jg_Te",
    "xoxb-482910573846-5839201746382-Qw8Zx2Vn7Rt4Ky9Lm3Pb6Hd1",
    "npm_Ky7Wq2Zx9Rt4Vb8Lm3Np6Hd1Jf5Gs0Ac2Eu7",
    "hf_QwZxVnRtKyLmPbHdJfGsAcEuOiTy7294",
    "dckr_pat_7Kq2Wm4Zt6Rv8Yp1Lc3Nd5Hf0Jg",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0NzExIiwibmFtZSI6IkEifQ.7Kq2Wm4Zt6Rv8Yp1Lc3Nd5Hf0JgTeXsBaQwZxVnRt",
    "hunter2-Kq7Zx9Wm",
    "s3cr3t-P4ssw0rd!",
    "7Kq2Wm4Zt6Rv8Yp1Lc3Nd5Hf0JgTeXsBaQwZxVn",
    "MIIEowIBAAKCAQEA7Kq2Wm4Zt6Rv8Yp1Lc3Nd5Hf0JgTeXsBaQwZxVnRtKyLmPb",
];

/// A file with all of them, as such files are written; with CRLF line ends in the middle and no end at its end.
fn text() -> String {
    let [
        ant,
        open,
        ghp,
        pat,
        gitlab,
        aws,
        google,
        slack,
        npm,
        hf,
        docker,
        jwt,
        database,
        password,
        secret,
        pem,
    ] = KEYS;
    format!(
        "# services, port 8080\n\
         ANTHROPIC_API_KEY={ant}\n\
         export OPENAI_API_KEY=\"{open}\"\n\
         git clone https://me:{ghp}@github.com/me/private.git\n\
         github: {pat}\n\
         {{\"gitlab\": \"{gitlab}\", \"aws_access_key_id\": \"{aws}\"}}\r\n\
         google = '{google}'\r\n\
         curl -H 'Authorization: Bearer {slack}' https://slack.com/api\n\
         //registry.npmjs.org/:_authToken={npm}\n\
         HF_TOKEN={hf} # the models\n\
         docker login -u me --password {docker}\n\
         Authorization: Bearer {jwt}\n\
         DATABASE_URL=postgres://app:{database}@db.internal:5432/app\n\
         DB_PASSWORD={password}\n\
         client_secret: {secret}\n\
         -----BEGIN RSA PRIVATE KEY-----\n{pem}\n{pem}\n-----END RSA PRIVATE KEY-----\n\
         the end, port 8080"
    )
}

/// The keys that stand in a text.
fn shown_in(text: &str) -> Vec<&'static str> {
    KEYS.into_iter().filter(|key| text.contains(key)).collect()
}

/// A model that reads a file, patches it beside a key and in its first line, and says what it has read.
fn answer(asked: &Asked) -> Reply {
    let last = asked.messages().last().cloned().unwrap_or_default();
    let said = last["content"].to_string();
    if last["role"] == "tool" {
        return Reply::text(&format!("The quince says: {}", text()));
    }
    let path = if said.contains("secrets file") {
        ".env"
    } else {
        "services.txt"
    };
    let call = |name: &str, input: Value| Reply::calls(&[(name, name, input)]);
    if said.contains("patch") {
        let old = format!("DB_PASSWORD={}\nclient_secret: {}", KEYS[13], KEYS[14]);
        let new = format!("DB_PASSWORD={}\nport: 9090\nclient_secret: {}", KEYS[13], KEYS[14]);
        call("patch", json!({"path": path, "old_string": old, "new_string": new}))
    } else if said.contains("read") {
        call("read_file", json!({"path": path}))
    } else if said.contains("show") {
        call("terminal", json!({"command": format!("cat {path}")}))
    } else if said.contains("find") {
        call("session_search", json!({"query": "quince"}))
    } else {
        Reply::text("done")
    }
}

/// The binary, whose log has everything.
fn logging(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(arguments);
    command.env("TALARIA_LOG", "trace");
    command
}

fn opened(home: &Home) -> Client {
    let log = fs::File::options()
        .create(true)
        .append(true)
        .open(home.state().with_file_name("stderr"))
        .unwrap();
    let mut client = Client::spawn_logging(logging(home, &["acp"]), log);
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    client.request("initialize", params).unwrap();
    client
}

fn check(path: &str, prompts: [&str; 3]) {
    let mock = Mock::answering(answer);
    let home = Home::with_config(&config_of(&mock, "[agent]\nmode = \"accept_edits\"\n"));
    let (file, before) = (home.workspace().join(path), text());
    fs::write(&file, &before).unwrap();
    let on_disk = || fs::read_to_string(&file).unwrap();

    let [read, patch, show] = prompts;
    let mut client = opened(&home);
    let session = client.new_session(&home.workspace());
    // What is asked before a key is in the prompt itself is what the session is called by.
    let first = format!("{read} with {}", KEYS[2]);
    assert_eq!(client.prompt(&session, &first), "end_turn");
    assert_eq!(client.prompt(&session, show), "end_turn");
    assert!(client.close().success());

    // Another process patches, one more takes back and does it again, each after a load.
    let mut client = opened(&home);
    load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(client.prompt(&session, patch), "end_turn");
    let patched = before.replace("client_secret", "port: 9090\nclient_secret");
    assert_eq!(on_disk(), patched, "nothing but the new line");
    client.kill();
    let mut client = opened(&home);
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    let shown = Value::from(client.log[from..].to_vec()).to_string();
    assert!(
        shown.contains(KEYS[2]) && shown.contains(KEYS[14]),
        "the user's own, as it was"
    );
    for (command, expect) in [("/undo", &before), ("/redo", &patched), ("/undo", &before)] {
        assert_eq!(client.prompt(&session, command), "end_turn");
        assert_eq!(on_disk(), *expect, "{command}, byte for byte");
    }
    assert_eq!(client.prompt(&session, read), "end_turn");
    // The model works with what is there, or it would write masks into the file.
    let requests = mock.requests();
    let told = &requests.last().unwrap().messages().last().unwrap()["content"];
    assert_eq!(shown_in(told.as_str().unwrap()), KEYS, "{told}");

    // From here on nothing shows them.
    let mut places = Vec::new();
    let other = client.new_session(&home.workspace());
    let from = client.log.len();
    assert_eq!(client.prompt(&other, "/search quince"), "end_turn");
    let found = client.said(from);
    assert!(found.contains("quince"), "{found}");
    places.push(("/search".to_owned(), found));
    assert_eq!(client.prompt(&other, "find it"), "end_turn");
    let requests = mock.requests();
    let told = requests.last().unwrap().messages().last().unwrap()["content"].to_string();
    assert!(told.contains("quince"), "{told}");
    places.push(("session_search".into(), told));
    let list = client.request("session/list", json!({})).unwrap().to_string();
    assert!(list.contains(&session) && list.contains("***"), "{list}");
    places.push(("session/list".into(), list));
    assert!(client.close().success());
    let id = session.as_str();
    let exports = [
        &["sessions", "list"][..],
        &["sessions", "list", "--json"],
        &["sessions", "search", "quince"],
        &["sessions", "search", "quince", "--json", "--all-hits"],
        &["sessions", "show", id],
        &["sessions", "show", id, "--json"],
        &["sessions", "show", id, "--html"],
        &["sessions", "export", id],
        &["sessions", "export", id, "--format", "jsonl"],
        &["sessions", "export", id, "--format", "md"],
    ];
    for arguments in exports {
        let (status, out, errors) = run(logging(&home, arguments), "");
        assert!(status.success() && !out.is_empty(), "{arguments:?}: {errors}");
        places.push((format!("{arguments:?}"), out));
        places.push((format!("the log of {arguments:?}"), errors));
    }
    places.push((
        "stderr".into(),
        fs::read_to_string(home.state().with_file_name("stderr")).unwrap(),
    ));
    let logs: Vec<_> = fs::read_dir(home.state().join("logs")).unwrap().collect();
    assert!(!logs.is_empty(), "there is a log");
    for log in logs {
        places.push(("the log file".into(), fs::read_to_string(log.unwrap().path()).unwrap()));
    }
    let open: Vec<_> = places
        .iter()
        .map(|(place, text)| (place, shown_in(text)))
        .filter(|(_, keys)| !keys.is_empty())
        .collect();
    assert!(open.is_empty(), "{open:#?}");
    let (_, exact, _) = run(logging(&home, &["sessions", "export", id, "--exact"]), "");
    assert_eq!(shown_in(&exact), KEYS, "whoever asks for it has it as it was");
}

#[test]
fn a_file_that_holds_keys_is_worked_with_exactly_and_shown_nowhere_else() {
    check("services.txt", ["read it", "patch it", "show it"]);
}

#[test]
fn so_is_a_file_that_is_known_to_hold_secrets() {
    check(
        ".env",
        [
            "read the secrets file",
            "patch the secrets file",
            "show the secrets file",
        ],
    );
}
