//! The agent's own files under other names inside a workspace: no search reads them, or opens one and so loses the locks
//! by which the processes that share the history know of each other.

use std::fs;

use serde_json::json;
use talaria_tests::client::{Client, Home, run};
use talaria_tests::start::{initialized, load, with_mounts};

const NEEDLE: &str = "needle";

fn home() -> Home {
    Home::with_config(&format!("# {NEEDLE}\n[agent]\nmode = \"plan\"\n"))
}

/// Searches the whole workspace, has another process come and go, and finds all that was said.
fn check_untouched(home: &Home, mut client: Client, session: &str) {
    let from = client.log.len();
    client.prompt(session, &format!("search {NEEDLE}"));
    let said = client.said(from);
    assert!(!said.contains("config.toml"), "{said}");
    let (status, _, stderr) = run(home.command(&["run", "say two"]), "");
    assert!(status.success(), "{stderr}");
    let from = client.log.len();
    assert_eq!(client.prompt(session, "say three"), "end_turn");
    let said = client.said(from);
    assert!(said.contains("three") && !said.contains("Not saved"), "{said}");
    client.kill();
    let mut client = Client::initialized(home, json!({}));
    load(&mut client, session, &home.workspace()).unwrap();
    let said = client.said(0);
    assert!(said.contains("one") && said.contains("three"), "{said}");
}

#[test]
fn hard_links_to_the_history_are_not_opened_by_a_search() {
    let home = home();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say one"), "end_turn");
    let links = home.workspace().join("links");
    fs::create_dir(&links).unwrap();
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        fs::hard_link(home.state().join(name), links.join(name)).unwrap();
    }
    check_untouched(&home, client, &session);
}

#[test]
fn a_mount_of_the_agents_folder_is_not_searched() {
    let home = home();
    let mount = home.workspace().join("mount");
    fs::create_dir(&mount).unwrap();
    let script = format!("mount --bind \"$TALARIA_HOME\" '{}' && exec \"$@\"", mount.display());
    let Some(command) = with_mounts(&home, &script) else {
        return;
    };
    let mut client = initialized(command);
    let session = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&session, "say one"), "end_turn");
    check_untouched(&home, client, &session);
}
