//! `session/list`: pages, cursors, and folders by whatever path they are reached.

use std::collections::BTreeSet;
use std::path::Path;

use agent_core::content::Content;
use agent_core::event::{Envelope, Event};
use agent_core::id::{MessageId, SessionId};
use agent_core::store::{Durability, Kept, SessionRecord, Store};
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::stored;

use crate::exchange::check_field;

/// Stores a session with one message.
fn store_session(store: &Store, cwd: &Path) -> String {
    let id = SessionId::new();
    store.create(SessionRecord {
        source: "run".into(),
        title: None,
        created_ms: 1_000,
        updated_ms: 1_000,
        ..stored::record(&id, cwd)
    });
    let content = vec![Content::text("hello")];
    let event = Event::UserMessage {
        id: MessageId::new(),
        content,
        context: Vec::new(),
        command: false,
    };
    let envelope = Envelope {
        session: id.clone(),
        turn: None,
        seq: 1,
        event,
    };
    assert_eq!(store.append(&id, vec![envelope], Durability::Process), Kept::Stored);
    id.as_str().to_owned()
}

fn ids(page: &Value) -> Vec<String> {
    let sessions = page["sessions"].as_array().unwrap().iter();
    sessions
        .map(|session| session["sessionId"].as_str().unwrap().to_owned())
        .collect()
}

/// Walks all pages; `between` happens after the first one.
fn walk(client: &mut Client, cwd: Option<&Path>, between: impl FnOnce(&mut Client)) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut between = Some(between);
    let mut params = cwd.map_or(json!({}), |cwd| json!({ "cwd": cwd }));
    loop {
        let page = client.request("session/list", params.clone()).unwrap();
        pages.push(ids(&page));
        if let Some(between) = between.take() {
            between(client);
        }
        match page.get("nextCursor").filter(|cursor| !cursor.is_null()) {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return pages,
        }
    }
}

#[test]
fn pages_are_complete_without_repeats_and_survive_inserts() {
    let home = Home::new();
    let folders = ["one", "two"].map(|name| home.workspace().join(name));
    for folder in &folders {
        std::fs::create_dir(folder).unwrap();
    }
    let store = Store::open(&home.state()).unwrap();
    let stored: Vec<String> = (0..120)
        .map(|number| store_session(&store, &folders[number % 2]))
        .collect();
    store.close();
    drop(store);
    let mut client = Client::initialized(&home, json!({}));
    let newest_first: Vec<String> = stored.iter().rev().cloned().collect();
    let pages = walk(&mut client, None, |client| {
        let session = client.new_session(&folders[0]);
        client.prompt(&session, "say hello");
    });
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [50, 50, 20]);
    assert_eq!(pages.concat(), newest_first);
    assert_eq!(walk(&mut client, None, |_| {}).concat().len(), 121);
    let of_two = walk(&mut client, Some(&folders[1]), |_| {});
    assert_eq!(of_two.iter().map(Vec::len).collect::<Vec<_>>(), [50, 10]);
    let expect: BTreeSet<&String> = stored.iter().skip(1).step_by(2).collect();
    assert_eq!(of_two.concat().iter().collect::<BTreeSet<_>>(), expect);
    assert_eq!(
        walk(&mut client, Some(&home.workspace()), |_| {}),
        [Vec::<String>::new()]
    );

    let page = client.request("session/list", json!({"cwd": folders[0]})).unwrap();
    let foreign = json!({"cwd": folders[1], "cursor": page["nextCursor"]});
    check_field(&mut client, "session/list", &foreign, "cursor");
    for cursor in ["SECRET", "", "%%%", "AAAAAAAAAAAAAAAAAAAAAA"] {
        check_field(&mut client, "session/list", &json!({ "cursor": cursor }), "cursor");
    }
}

#[test]
fn a_session_is_listed_once_it_has_a_message() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(
        client.request("session/list", json!({})).unwrap()["sessions"],
        json!([])
    );
    client.prompt(&session, "say hello");
    let page = client.request("session/list", json!({})).unwrap();
    let listed = &page["sessions"][0];
    assert_eq!(listed["sessionId"], session);
    assert_eq!(listed["cwd"], home.workspace().to_str().unwrap());
    assert!(listed["title"].is_string(), "{listed}");
    let updated = listed["updatedAt"].as_str().unwrap();
    assert!(updated.contains('T') && updated.ends_with('Z'), "{updated}");
}

#[test]
fn a_folder_is_the_same_by_every_path_to_it() {
    let home = Home::new();
    let (real, other) = (home.workspace().join("real"), home.workspace().join("other"));
    std::fs::create_dir_all(real.join("p")).unwrap();
    std::fs::create_dir_all(other.join("p")).unwrap();
    let link = home.workspace().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut client = Client::initialized(&home, json!({}));
    for cwd in [link.join("p"), real.join("p")] {
        let session = client.new_session(&cwd);
        client.prompt(&session, "say hello");
    }
    let spelled = |text: String| Path::new(&text).to_owned();
    let paths = [
        real.join("p"),
        link.join("p"),
        spelled(format!("{}/p/", real.display())),
        spelled(format!("{}/./p", link.display())),
        spelled(format!("{}/p/../p", link.display())),
    ];
    for path in &paths {
        assert_eq!(
            walk(&mut client, Some(path), |_| {}).concat().len(),
            2,
            "{}",
            path.display()
        );
    }
    for path in [other.join("p"), real.clone(), home.workspace().join("missing")] {
        assert_eq!(
            walk(&mut client, Some(&path), |_| {}),
            [Vec::<String>::new()],
            "{}",
            path.display()
        );
    }
}
