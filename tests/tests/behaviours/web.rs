//! Pages that the model reads: what is asked, where a fetch may go, and what comes back.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::stage::LIMIT;
use talaria_tests::start::times_told;

use crate::play::{announced, calls, ends, home, questions, says, set_mode, text_of};

const HTML: &str = "HTTP/1.1 200 OK\ncontent-type: text/html; charset=utf-8";

/// A server of pages by their paths.
fn pages() -> Mock {
    Mock::answering(|asked: &Asked| match asked.line.trim_start_matches("GET ") {
        "/page" => Reply::answer(
            HTML,
            "<title>Über uns</title><h1>Hello</h1><script>no()</script><p>a <b>b</b></p>",
        ),
        "/moved" => Reply::answer("HTTP/1.1 301 Moved Permanently\nlocation: /page", ""),
        "/away" => Reply::answer("HTTP/1.1 302 Found\nlocation: http://localhost:9/x", ""),
        "/user" => Reply::answer("HTTP/1.1 302 Found\nlocation: http://me:secret@127.0.0.1/x", ""),
        "/deep" => Reply::answer(HTML, "<div>".repeat(10_000) + "the bottom"),
        "/circle" => Reply::answer("HTTP/1.1 302 Found\nlocation: /circle", ""),
        "/picture" => Reply::answer("HTTP/1.1 200 OK\ncontent-type: image/png", "\u{1}PNG"),
        "/long" => Reply::answer("HTTP/1.1 200 OK\ncontent-type: text/plain", "e".repeat(50_000)),
        "/accents" => Reply::answer("HTTP/1.1 200 OK\ncontent-type: text/plain", "é".repeat(50)),
        "/endless" => Reply::answer("HTTP/1.1 200 OK\ncontent-type: text/plain", "x".repeat(6 << 20)),
        "/silent" => Reply::silence(),
        _ => Reply::answer("HTTP/1.1 404 Not Found", "no such page"),
    })
    .with_list()
}

/// The address of a page.
fn at(pages: &Mock, path: &str) -> String {
    format!("{}{path}", pages.base_url().trim_end_matches("/v1"))
}

/// A session whose model plays these replies, and in which this machine's pages may be fetched.
fn session(replies: &[Value]) -> (Home, Client, String) {
    let home = home(replies);
    let config = std::fs::read_to_string(home.state().join("config.toml")).unwrap();
    home.write_config(&format!("{config}\n[web]\nprivate_hosts = [\"127.0.0.1\"]\n"));
    let (client, session) = Client::with_session(&home);
    (home, client, session)
}

fn fetches(url: &str) -> Value {
    calls(&[("web_fetch", json!({"url": url}))])
}

/// The end of the one call that fetches this, unasked.
fn fetched(call: &Value) -> Value {
    let (_home, mut client, session) = session(&[call.clone(), says("done")]);
    set_mode(&mut client, &session, "dont_ask");
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(questions(&client, 0), Vec::<Value>::new());
    ends(&client, 0).remove(0)
}

#[test]
fn a_page_comes_as_markdown_once_its_host_is_allowed() {
    let pages = pages();
    let url = at(&pages, "/page#part");
    let (_home, mut client, session) = session(&[fetches(&url), says("one"), fetches(&url), says("two")]);
    client.permission = Some("allow_always");
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let question = questions(&client, 0).remove(0);
    assert_eq!(question["toolCall"]["kind"], "fetch");
    assert!(
        text_of(&question["toolCall"]).contains(&at(&pages, "/page")),
        "{question}"
    );
    let names: Vec<&str> = question["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["Allow once", "Allow all pages of 127.0.0.1 for this session", "Reject"]
    );
    let call = announced(&client, 0).remove(0);
    assert_eq!(call["title"], format!("Fetch {url}"));
    let end = ends(&client, 0).remove(0);
    assert_eq!(end["status"], "completed");
    let text = text_of(&end);
    for part in ["Title: Über uns", "# Hello", "a **b**"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("no()"), "{text}");
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "again"), "end_turn");
    assert_eq!(questions(&client, from), Vec::<Value>::new());
    assert_eq!(pages.requests().len(), 2);
}

#[test]
fn a_fetch_stays_at_the_host_that_was_asked_about() {
    let pages = pages();
    let moved = fetched(&fetches(&at(&pages, "/moved")));
    assert!(text_of(&moved).contains(&at(&pages, "/page")), "{moved}");
    for (path, why) in [
        ("/away", "redirects to http://localhost:9/x; fetch that address"),
        ("/user", "redirects to an address with a user or password"),
        ("/circle", "redirects more than 5 times"),
        ("/none", "answered 404 Not Found"),
        ("/picture", "is image/png, and no text"),
    ] {
        let end = fetched(&fetches(&at(&pages, path)));
        assert_eq!(end["status"], "failed", "{path}");
        assert!(text_of(&end).contains(why), "{path}: {end}");
    }
}

#[test]
fn no_private_address_is_spoken_to_by_number_or_by_name() {
    let pages = pages();
    let port = at(&pages, "").rsplit(':').next().unwrap().to_owned();
    let home = home(&[
        calls(&[
            ("web_fetch", json!({"url": at(&pages, "/page")})),
            ("web_fetch", json!({"url": format!("http://localhost:{port}/page")})),
        ]),
        says("done"),
    ]);
    let (mut client, session) = Client::with_session(&home);
    set_mode(&mut client, &session, "dont_ask");
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    for end in ends(&client, 0) {
        assert_eq!(end["status"], "failed");
        assert!(text_of(&end).contains("no address of the public internet"), "{end}");
    }
    assert!(pages.requests().is_empty());
}

#[test]
fn a_page_of_elements_in_elements_is_read_as_bare_text() {
    let pages = pages();
    let (_home, mut client, session) = session(&[fetches(&at(&pages, "/deep")), says("one"), says("two")]);
    set_mode(&mut client, &session, "dont_ask");
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let text = text_of(&ends(&client, 0).remove(0));
    assert!(text.contains("bare text") && text.contains("the bottom"), "{text}");
    assert_eq!(client.prompt(&session, "on"), "end_turn");
}

#[test]
fn what_is_long_is_cut_and_that_is_said() {
    let pages = pages();
    let usual = text_of(&fetched(&fetches(&at(&pages, "/long"))));
    assert!(
        usual.contains("[cut: 30000 of 50000 characters; max_chars gives more]"),
        "{}",
        usual.len()
    );
    let few = calls(&[("web_fetch", json!({"url": at(&pages, "/accents"), "max_chars": 3}))]);
    assert!(text_of(&fetched(&few)).contains("ééé\n[cut: 3 of 50 "));
    let endless = text_of(&fetched(&fetches(&at(&pages, "/endless"))));
    assert!(
        endless.contains("larger than 5 MiB"),
        "{}",
        &endless[endless.len() - 200..]
    );
}

#[test]
fn with_the_network_off_nothing_is_fetched_or_asked_and_the_user_knows_how_far_that_goes() {
    let pages = pages();
    let home = home(&[fetches(&at(&pages, "/page")), says("one"), says("two")]);
    let config = std::fs::read_to_string(home.state().join("config.toml")).unwrap();
    let more = "[web]\nprivate_hosts = [\"127.0.0.1\"]\n[sandbox]\nmode = \"off\"\nnetwork = false\n";
    home.write_config(&format!("{config}\n{more}"));
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(questions(&client, 0), Vec::<Value>::new());
    let end = ends(&client, 0).remove(0);
    assert_eq!(end["status"], "failed");
    assert!(text_of(&end).contains("`network = false` under [sandbox]"), "{end}");
    assert!(pages.requests().is_empty());
    assert_eq!(client.prompt(&session, "again"), "end_turn");
    assert_eq!(times_told(&client, 0, "holds for web_fetch only"), 1);
    assert_eq!(
        times_told(&client, 0, "Commands and MCP servers still reach the network"),
        1
    );
}

#[test]
fn a_server_that_says_nothing_does_not_hold_up_a_cancel() {
    let pages = pages();
    let (_home, mut client, session) = session(&[fetches(&at(&pages, "/silent")), says("on")]);
    set_mode(&mut client, &session, "dont_ask");
    let prompt = client.begin_prompt(&session, "go");
    assert!(pages.wait_requests(1, LIMIT));
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert!(pages.wait_closed(LIMIT), "the connection is left open");
    assert_eq!(client.prompt(&session, "on"), "end_turn");
}
