//! What is told of servers and their tools: to the model, by `/mcp`, by the doctor.

use serde_json::{Value, json};
use talaria_tests::client::Home;
use talaria_tests::mcp::ODD;
use talaria_tests::start::wait_until;

use crate::play::{PROGRAM, Play, call_and_end, program, server};
use crate::starts::says;

#[test]
fn tools_have_unique_names_that_every_service_takes() {
    let servers = json!([
        server("my tools", &["--odd"]),
        server("my_tools", &[]),
        server("my tools", &[])
    ]);
    let replies = call_and_end("mcp__my_tools__echo", json!({"text": "hi"}));
    let mut play = Play::new(replies, servers);
    play.prompt();
    let names = play.tools(0);
    assert_eq!(names.len(), 3 * 12 + ODD.len());
    let mut unique = names.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
    for name in &names {
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        assert!(is_plain && name.len() <= 64, "{name}");
    }
    for server in ["my_tools", "my_tools_2", "my_tools_3"] {
        assert!(names.contains(&format!("mcp__{server}__echo")));
    }
}

#[test]
fn the_list_of_servers_says_how_each_does() {
    let mut play = Play::new(says(1), json!([server("a", &[]), program("b", "nope-xyz", &[])]));
    wait_until("the servers are up", || {
        play.command("/mcp").contains("ready, 12 tools")
    });
    let listed = play.command("/mcp");
    assert!(
        listed.contains("- **a** (") && listed.contains("  - `mcp__a__echo`"),
        "{listed}"
    );
    assert!(
        listed.contains("- **b** (`nope-xyz`): can't be used: starting it failed"),
        "{listed}"
    );
    assert!(play.command("/tools").contains("`mcp__a__echo`: Says it again"));
    let mut none = Play::new(says(1), json!([]));
    assert!(none.command("/mcp").contains("no MCP servers"));
}

#[test]
fn a_list_of_tools_that_does_not_end_is_told_where_it_was_left() {
    let mut play = Play::new(says(1), json!([server("many", &["--endless"])]));
    let from = play.prompt();
    assert_eq!(play.tools(0).len(), 100);
    let fault = "lists its tools on more than 100 pages; those on the first 100 count";
    let notices = play.notices(from);
    let told = format!("the MCP server `many` {fault}: These hold 100 tools.");
    assert!(
        matches!(notices.as_slice(), [notice] if notice.starts_with(&told)),
        "{notices:?}"
    );
    let listed = play.command("/mcp");
    assert!(
        listed.contains("ready, 100 tools") && listed.contains(&format!("\n  - {fault}\n")),
        "{listed}"
    );
}

#[test]
fn doctor_tells_how_each_server_does() {
    let home = Home::new();
    let config = format!(
        "[mcp_servers.bad]\ncommand = \"nope-xyz\"\n[mcp_servers.few]\ncommand = {PROGRAM:?}\ntools = [\"echo\"]\n\
         [mcp_servers.good]\ncommand = {PROGRAM:?}\n[mcp_servers.many]\ncommand = {PROGRAM:?}\nargs = [\"--endless\"]\n\
         [mcp_servers.none]\ncommand = {PROGRAM:?}\ntools = [\"no\"]\n\
         [mcp_servers.web]\nurl = \"http://127.0.0.1:1/mcp\"\n"
    );
    home.write_config(&config);
    let look = |more: &[&str]| {
        let mut agent = home.command(&["doctor", "--json"]);
        let output = agent.args(more).output().unwrap();
        let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let servers = findings.into_iter().filter(|finding| finding["check"] == "MCP server");
        (output.status.code(), servers.collect::<Vec<Value>>())
    };
    let (code, servers) = look(&[]);
    assert_eq!(code, Some(1), "{servers:?}");
    for (server, (state, part)) in servers.iter().zip([
        (
            "failed",
            "then correct `command`, `args`, `cwd` or `env` of [mcp_servers.bad]",
        ),
        ("ok", "answers with 1 tool"),
        ("ok", "tools"),
        (
            "warning",
            "answers with 100 tools, and lists its tools on more than 100 pages",
        ),
        ("warning", "lacks a tool that the configuration names (no); it has "),
        ("failed", "then correct `url` or `headers` of [mcp_servers.web]"),
    ]) {
        assert_eq!(server["state"], state, "{server}");
        assert!(server["message"].as_str().unwrap().contains(part), "{server}");
    }
    assert_eq!(servers.len(), 6);
    assert_eq!(look(&["--offline"]), (Some(0), Vec::new()));
}
