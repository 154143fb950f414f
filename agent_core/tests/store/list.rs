//! Pages of sessions.

use std::path::Path;

use agent_core::event::{Event, SessionChange};
use agent_core::id::SessionId;
use agent_core::store::{Durability, ListError, Store};

use crate::{at, create, record, say};

fn ids(store: &Store, cwd: Option<&Path>) -> Vec<String> {
    pages(store, cwd, 2).concat()
}

/// All pages of a list.
fn pages(store: &Store, cwd: Option<&Path>, limit: usize) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let page = store.list(cwd, cursor.as_deref(), limit).unwrap();
        pages.push(page.sessions.iter().map(|session| session.id.to_string()).collect());
        cursor = page.next;
        if cursor.is_none() {
            return pages;
        }
    }
}

/// All in the same millisecond or two.
fn filled(names: &[&str]) -> Store {
    let store = Store::memory();
    for name in names {
        let session = create(&store, name);
        say(&store, &session, 1, "hello");
    }
    store
}

#[test]
fn newest_activity_comes_first() {
    let store = filled(&["a", "b", "c", "d", "e"]);
    assert_eq!(pages(&store, None, 2), [vec!["e", "d"], vec!["c", "b"], vec!["a"]]);
    assert_eq!(pages(&store, None, 5), [vec!["e", "d", "c", "b", "a"]]);
    say(&store, &"b".into(), 2, "again");
    assert_eq!(ids(&store, None), ["b", "e", "d", "c", "a"]);
    assert_eq!(pages(&Store::memory(), None, 5), [vec![""; 0]]);
}

#[test]
fn a_page_begins_where_the_last_ended_whatever_was_added() {
    let store = filled(&["a", "b", "c", "d"]);
    let first = store.list(None, None, 2).unwrap();
    let new = create(&store, "new");
    say(&store, &new, 1, "hello");
    say(&store, &"d".into(), 2, "again");
    let second = store.list(None, first.next.as_deref(), 2).unwrap();
    let shown: Vec<_> = second.sessions.iter().map(|session| session.id.to_string()).collect();
    assert_eq!(shown, ["b", "a"]);
    assert_eq!(second.next, None);
}

#[test]
fn sessions_without_messages_are_not_listed() {
    let store = filled(&["a"]);
    create(&store, "never prompted");
    let titled = create(&store, "titled");
    let change = SessionChange::Title("t".into());
    let envelopes = vec![at(&titled, 1, Event::SessionChanged { change })];
    store.append(&titled, envelopes, Durability::Process);
    assert_eq!(ids(&store, None), ["a"]);
}

#[test]
fn a_folder_is_the_same_by_any_path() {
    let folder = tempfile::tempdir().unwrap();
    let (real, other, link) = (
        folder.path().join("real"),
        folder.path().join("real2"),
        folder.path().join("link"),
    );
    std::fs::create_dir(&real).unwrap();
    std::fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let store = Store::memory();
    let gone = folder.path().join("gone");
    for (id, cwd) in [("r", &real), ("l", &link), ("o", &other), ("g", &gone)] {
        store.create(record(id, cwd));
        say(&store, &id.into(), 1, "hello");
    }
    for (cwd, expect) in [
        (&real, vec!["l", "r"]),
        (&link, vec!["l", "r"]),
        (&link.join(".."), vec![]),
        (&other.join("../real"), vec!["l", "r"]),
        (&gone, vec!["g"]),
    ] {
        assert_eq!(ids(&store, Some(cwd)), expect, "{}", cwd.display());
    }
    let session: SessionId = "o".into();
    let change = SessionChange::Cwd(link.clone());
    store.append(
        &session,
        vec![at(&session, 2, Event::SessionChanged { change })],
        Durability::Process,
    );
    assert_eq!(ids(&store, Some(&real)), ["o", "l", "r"]);
    let listed = store.list(Some(&real), None, 1).unwrap();
    assert_eq!(listed.sessions[0].cwd, link, "shown as it was named");
}

#[test]
fn a_cursor_belongs_to_its_list() {
    let store = filled(&["a", "b"]);
    let cursor = store.list(None, None, 1).unwrap().next.unwrap();
    let cwd = Some(Path::new("/"));
    let cursor_of_root = store.list(cwd, None, 1).unwrap().next.unwrap();
    for (cwd, cursor) in [
        (cwd, cursor.as_str()),
        (None, cursor_of_root.as_str()),
        (Some(Path::new("/tmp")), cursor_of_root.as_str()),
        (None, ""),
        (None, "x"),
        (None, "AAAA"),
        (None, "ü' OR 1=1"),
        (None, &cursor[1..]),
    ] {
        let result = store.list(cwd, Some(cursor), 1);
        assert!(matches!(result, Err(ListError::BadCursor)), "{cursor}");
    }
}
