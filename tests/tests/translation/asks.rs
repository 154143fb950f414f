//! What tools ask the editor for.

use acp_adapter::agent::asks;
use agent_core::id::AskId;
use agent_core::surface::{Ask, Form, NewTerminal, Request};
use serde_json::{Value, json};
use talaria_tests::schema::valid;

#[test]
fn what_tools_ask_for_is_valid_and_goes_by_its_method() {
    let form = |choices: &[&str]| {
        Request::Form(Form {
            question: "Which\u{202e} one?\nSay".into(),
            choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        })
    };
    let path = || "/w/a".into();
    let content = || "a\n".to_owned();
    let create = || {
        Request::CreateTerminal(NewTerminal {
            command: "/bin/bash".into(),
            args: vec!["-c".into(), "ls".into()],
            env: vec![("A".into(), "b".into())],
            cwd: "/w".into(),
            output_limit: 1024,
        })
    };
    let created = json!({
        "sessionId": "s", "command": "/bin/bash", "args": ["-c", "ls"], "env": [{"name": "A", "value": "b"}],
        "cwd": "/w", "outputByteLimit": 1024,
    });
    let terminal = json!({"sessionId": "s", "terminalId": "t"});
    let asked = |properties: Value, required: Value| {
        json!({
            "sessionId": "s", "mode": "form", "message": "Which\\u{202e} one?\nSay",
            "requestedSchema": {"type": "object", "properties": properties, "required": required},
        })
    };
    let free = asked(
        json!({"answer": {"type": "string", "title": "Answer"}}),
        json!(["answer"]),
    );
    for (request, method, kind, expect) in [
        (
            Request::ReadFile { path: path() },
            "fs/read_text_file",
            "ReadTextFileRequest",
            json!({"sessionId": "s", "path": "/w/a"}),
        ),
        (
            Request::WriteFile {
                path: path(),
                content: content(),
            },
            "fs/write_text_file",
            "WriteTextFileRequest",
            json!({"sessionId": "s", "path": "/w/a", "content": "a\n"}),
        ),
        (create(), "terminal/create", "CreateTerminalRequest", created),
        (
            Request::TerminalOutput("t".into()),
            "terminal/output",
            "TerminalOutputRequest",
            terminal.clone(),
        ),
        (
            Request::WaitForExit("t".into()),
            "terminal/wait_for_exit",
            "WaitForTerminalExitRequest",
            terminal.clone(),
        ),
        (
            Request::KillTerminal("t".into()),
            "terminal/kill",
            "KillTerminalRequest",
            terminal.clone(),
        ),
        (
            Request::ReleaseTerminal("t".into()),
            "terminal/release",
            "ReleaseTerminalRequest",
            terminal,
        ),
        (form(&[]), "elicitation/create", "CreateElicitationRequest", free),
    ] {
        let message = sent(request);
        assert_eq!((&message["id"], &message["method"]), (&json!(7), &json!(method)));
        assert_eq!(valid(kind, &message["params"]), expect);
    }
    let message = sent(form(&["red", "blue"]));
    let schema = &valid("CreateElicitationRequest", &message["params"])["requestedSchema"];
    assert_eq!(schema["properties"]["choice"]["enum"], json!(["red", "blue"]));
    assert_eq!(schema["properties"]["answer"]["title"], "Something else");
}

fn sent(request: Request) -> Value {
    let ask = Ask {
        id: AskId(1),
        session: "s".into(),
        request,
    };
    serde_json::from_slice(&asks::line(7, ask)).unwrap()
}
