//! Servers that speak streamable HTTP.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use talaria_tests::client::Home;
use talaria_tests::mcp::{Deed, Server};
use talaria_tests::mock::{Asked, Mock, Reply};

use crate::play::{Play, begin, call_and_end, client, ends_unread, notices, unread};

/// How a server puts its answers.
#[derive(Clone, Copy)]
enum Way {
    Json,
    Stream,
}

/// A server behind an address.
fn serve(way: Way) -> Mock {
    let server = Server {
        vast: true,
        ..Server::default()
    };
    let server = Arc::new(Mutex::new(server));
    Mock::answering(move |asked: &Asked| {
        if !asked.line.starts_with("POST ") {
            return Reply::answer("HTTP/1.1 405 Method Not Allowed", "");
        }
        let said: Vec<String> = server
            .lock()
            .unwrap()
            .answer(&asked.body)
            .into_iter()
            .filter_map(said)
            .collect();
        match (way, said.as_slice()) {
            (_, []) => Reply::answer("HTTP/1.1 202 Accepted", ""),
            (Way::Json, [.., last]) => Reply::json(last.clone()),
            (Way::Stream, all) => {
                let events = all.iter().map(|message| format!("event: message\ndata: {message}\n\n"));
                Reply::sse(events.collect::<String>())
            }
        }
    })
    .with_list()
}

fn said(deed: Deed) -> Option<String> {
    match deed {
        Deed::Say(said) | Deed::SayLater(said) => Some(said.to_string()),
        Deed::SayRaw(said) => Some(said),
        Deed::Die => None,
    }
}

fn http(name: &str, mock: &Mock) -> Value {
    let headers = json!([{"name": "Authorization", "value": "Bearer TOKEN-OF-TEST"}]);
    json!({"type": "http", "name": name, "url": mock.base_url(), "headers": headers})
}

#[test]
fn a_tool_behind_an_address_is_called_with_its_headers() {
    for way in [Way::Json, Way::Stream] {
        let server = serve(way);
        let replies = call_and_end("mcp__web__echo", json!({"text": "hi"}));
        let mut play = Play::new(replies, json!([http("web", &server)]));
        let from = play.prompt();
        assert_eq!(play.end_of_call(from)["status"], "completed", "{}", play.told(1));
        assert!(play.told(1).contains("hi"));
        let posts = server.requests();
        assert!(
            posts
                .iter()
                .all(|asked| asked.header("authorization") == Some("Bearer TOKEN-OF-TEST"))
        );
        let calls = posts.iter().filter(|asked| asked.body["method"] == "tools/call");
        assert_eq!(calls.count(), 1);
        assert!(!format!("{:?}", play.client.log).contains("TOKEN-OF-TEST"));
    }
}

#[test]
fn an_answer_from_an_address_that_nobody_reads_ends_its_call_at_once() {
    for way in [Way::Json, Way::Stream] {
        let server = serve(way);
        let play = Play::new(unread("mcp__web"), json!([http("web", &server)]));
        ends_unread(play, "more than 16777216 bytes");
    }
}

#[test]
fn a_server_of_the_configuration_can_be_an_address() {
    let server = serve(Way::Json);
    let more = format!(
        "[mcp_servers.web]\nurl = {:?}\nheaders = {{ X-Team = \"a\" }}\n",
        server.base_url()
    );
    let mut play = Play::configured(call_and_end("mcp__web__fail", json!({})), &more, json!([]));
    let from = play.prompt();
    assert_eq!(play.end_of_call(from)["status"], "failed");
    assert!(play.told(1).contains("it did not work"));
    assert_eq!(server.requests()[0].header("x-team"), Some("a"));
}

#[test]
fn a_server_that_wants_a_key_is_told_of() {
    let server =
        Mock::answering(|_| Reply::answer("HTTP/1.1 401 Unauthorized\nwww-authenticate: Bearer realm=\"x\"", "no"));
    let mut play = Play::new(vec![Reply::text("done")], json!([http("web", &server)]));
    let from = play.prompt();
    let told = play.notices(from).join("\n");
    assert!(
        told.contains("the MCP server `web` can't be used: greeting it failed"),
        "{told}"
    );
    assert!(!told.contains("TOKEN-OF-TEST"), "{told}");
}

#[test]
fn a_key_that_a_server_repeats_is_shown_to_nobody() {
    for way in [Way::Json, Way::Stream] {
        let repeats = |key: &str| {
            let key = key.to_owned();
            Mock::answering(move |asked: &Asked| {
                let id = &asked.body["id"];
                let result = match asked.body["method"].as_str() {
                    Some("initialize") => json!({
                        "protocolVersion": asked.body["params"]["protocolVersion"],
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "test", "version": "1"},
                    }),
                    Some("tools/list") => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
                    Some("tools/call") => json!({"content": [{"type": "text", "text": format!("you sent {key}")}]}),
                    _ => return Reply::answer("HTTP/1.1 202 Accepted", ""),
                };
                let said = json!({"jsonrpc": "2.0", "id": id, "result": result});
                match way {
                    Way::Json => Reply::json(said.to_string()),
                    Way::Stream => Reply::sse(format!("event: message\ndata: {said}\n\n")),
                }
            })
            .with_list()
        };
        let server = repeats("TOKEN-OF-TEST-0123");
        let refuses = Mock::answering(|_| {
            Reply::answer(
                "HTTP/1.1 401 Unauthorized\nwww-authenticate: Bearer error=\"TOKEN-OF-TEST-0123\"",
                "no: TOKEN-OF-TEST-0123",
            )
        });
        let forbids = Mock::answering(|_| Reply::answer("HTTP/1.1 400 Bad Request", "no: TOKEN-OF-TEST-0123"));
        let servers = [("web", &server), ("refuses", &refuses), ("forbids", &forbids)].map(|(name, mock)| {
            let headers = json!([{"name": "Authorization", "value": "Bearer TOKEN-OF-TEST-0123"}]);
            json!({"type": "http", "name": name, "url": mock.base_url(), "headers": headers})
        });
        let mut play = Play::new(call_and_end("mcp__web__echo", json!({})), json!(servers));
        let from = play.prompt();
        assert!(play.told(1).contains("you sent ***"), "{}", play.told(1));
        let told = play.notices(from).join("\n");
        assert!(told.contains("`refuses`") && told.contains("no: ***"), "{told}");
        assert!(!format!("{:?}", play.client.log).contains("TOKEN-OF-TEST"));
    }
}

#[test]
fn headers_go_to_no_other_address() {
    let other = Mock::answering(|_| Reply::answer("HTTP/1.1 200 OK", ""));
    let location = other.base_url();
    let server =
        Mock::answering(move |_| Reply::answer(&format!("HTTP/1.1 307 Temporary Redirect\nlocation: {location}"), ""));
    let mut play = Play::new(vec![Reply::text("done")], json!([http("web", &server)]));
    let from = play.prompt();
    assert!(play.notices(from).join("\n").contains("can't be used"));
    assert!(other.requests().is_empty());
}

#[test]
fn an_address_needs_no_model_behind_one() {
    let server = serve(Way::Json);
    let home = Home::new();
    let mut client = client(&home);
    let refused = json!({"type": "http", "name": "gone", "url": "http://127.0.0.1:1/", "headers": []});
    let session = begin(&mut client, &home, json!([http("web", &server), refused]));
    client.prompt(&session, "say hello");
    let told = notices(&client, 0).join("\n");
    assert!(told.contains("the MCP server `gone` can't be used"), "{told}");
    let from = client.log.len();
    client.prompt(&session, "/mcp");
    let listed = client.said(from);
    assert!(listed.contains("mcp__web__echo"), "{listed}");
}
