//! The pipes: what never gets into stdout, and what the end of stdin ends.

use std::time::{Duration, Instant};

use talaria_tests::client::{Client, Home};
use talaria_tests::process::{commands_of, is_alive};

use crate::check_calls;

#[test]
fn a_childs_output_never_reaches_the_protocol() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    // Every line that comes is parsed as JSON-RPC by the client.
    client.prompt(
        &session,
        "run echo out > /proc/self/fd/1; echo err >&2; cat; ls -l /proc/self/fd",
    );
    let text = serde_json::to_string(&client.log).unwrap();
    assert!(text.contains("out\\n") && text.contains("/dev/null"), "{text}");
    check_calls(&client, 0);
}

#[test]
fn the_end_of_stdin_ends_everything() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.begin_prompt(&session, "run echo $$-; sleep 613");
    client.wait_for(|message| {
        message["params"]["update"]["content"][0]["content"]["text"]
            .as_str()
            .is_some_and(|text| text.contains("-\n"))
    });
    let pids = commands_of(client.pid());
    assert!(!pids.is_empty() || !cfg!(target_os = "linux"));
    let at = Instant::now();
    assert!(client.close().success());
    assert!(at.elapsed() < Duration::from_secs(3), "{:?}", at.elapsed());
    for pid in pids {
        assert!(!is_alive(pid), "process {pid} is left");
    }
}
