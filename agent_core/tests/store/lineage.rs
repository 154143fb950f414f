//! Whole sessions: their titles, their ends, those put aside, brought in and let go.

use std::path::Path;
use std::time::Duration;

use agent_core::event::{Event, SessionChange};
use agent_core::id::SessionId;
use agent_core::store::{
    Archived, ChangeError, Dated, Durability, EndReason, Fork, Import, Prune, Renamed, Room, Store,
};
use rusqlite::Connection;

use crate::older::TO_SCHEMA_7;
use crate::{all, at, create, record, say};

fn titled(store: &Store, id: &str, title: &str) -> SessionId {
    let session = create(store, id);
    say(store, &session, 1, "hello");
    let change = SessionChange::Title(title.into());
    let event = Event::SessionChanged { change };
    store.append(&session, vec![at(&session, 2, event)], Durability::Disk);
    session
}

fn title(store: &Store, session: &SessionId) -> Option<String> {
    store.session(session).unwrap().unwrap().title
}

fn end_reason(store: &Store, session: &SessionId) -> Option<&'static str> {
    let ended = store.session(session).unwrap().unwrap().ended;
    ended.map(|ended| ended.reason.id())
}

fn listed(store: &Store, archived: Archived) -> Vec<String> {
    let page = store.list_with(None, None, 100, archived).unwrap();
    page.sessions.iter().map(|session| session.id.to_string()).collect()
}

/// Changes a closed store's database.
fn edit(folder: &Path, sql: &str) {
    let connection = Connection::open(folder.join("state.db")).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[test]
fn a_title_of_another_session_is_refused_with_the_nearest_free_one() {
    let store = Store::memory();
    let [one, two] = [("1", "Fix it"), ("2", "Other")].map(|(id, name)| titled(&store, id, name));
    let Err(Renamed::Taken { free, .. }) = store.rename(&two, " Fix\u{200b}  it ") else {
        panic!("two sessions have one title");
    };
    assert_eq!(free, "Fix it (2)");
    assert_eq!(title(&store, &two).as_deref(), Some("Other"));
    store.rename(&two, &free).unwrap();
    store.rename(&one, "Fix it").unwrap();
    assert_eq!(title(&store, &two).as_deref(), Some("Fix it (2)"));
    assert!(matches!(store.rename(&two, "\u{200b}"), Err(Renamed::Bad(_))));
    let none = SessionId::from("none");
    assert!(matches!(
        store.rename(&none, "New"),
        Err(Renamed::Change(ChangeError::Unknown(_)))
    ));
    // Any number of sessions have no title.
    for id in ["3", "4"] {
        let session = create(&store, id);
        say(&store, &session, 1, "hello");
        assert_eq!(title(&store, &session), None);
    }
}

#[test]
fn each_fork_has_a_title_of_its_own() {
    let store = Store::memory();
    let from = titled(&store, "1", "Fix it");
    let titles: Vec<Option<String>> = ["2", "3", "4"]
        .map(|id| {
            let fork = Fork {
                from: from.clone(),
                upto: None,
                id: id.into(),
                source: "run".into(),
                folders: None,
                set: None,
            };
            store.fork(fork).unwrap().title
        })
        .into();
    let expect = ["Fix it (fork)", "Fix it (fork 2)", "Fix it (fork 3)"];
    assert_eq!(titles, expect.map(|title| Some(title.to_owned())));
}

#[test]
fn doubles_of_an_older_version_count_on_and_nothing_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let sessions = ["1", "2", "3", "4"].map(|id| titled(&store, id, id));
    let rows: Vec<_> = sessions.iter().map(|session| all(&store, session)).collect();
    store.close();
    edit(folder.path(), TO_SCHEMA_7);
    edit(
        folder.path(),
        "UPDATE sessions SET title = 'Same' WHERE id <> '2'; UPDATE sessions SET title = 'Same (2)' WHERE id = '2';",
    );
    let store = Store::open(folder.path()).unwrap();
    let titles: Vec<_> = sessions.iter().filter_map(|session| title(&store, session)).collect();
    assert_eq!(titles, ["Same", "Same (2)", "Same (3)", "Same (4)"]);
    let now: Vec<_> = sessions.iter().map(|session| all(&store, session)).collect();
    assert_eq!(rows, now);
    assert_eq!(end_reason(&store, &sessions[0]), Some("closed"), "nobody holds it");
}

#[test]
fn the_first_reason_of_an_end_stays_until_the_session_is_opened_again() {
    let store = Store::memory();
    let session = create(&store, "1");
    say(&store, &session, 1, "hello");
    assert_eq!(end_reason(&store, &session), None);
    let ids = [session.clone()];
    store.end(&ids, EndReason::Disconnected);
    store.end(&ids, EndReason::Shutdown);
    assert_eq!(end_reason(&store, &session), Some("disconnected"));
    store.claim(&session).unwrap();
    assert_eq!(end_reason(&store, &session), None);
    store.release(&session);
    assert_eq!(end_reason(&store, &session), None, "it rests");
    store.end(&ids, EndReason::Shutdown);
    assert_eq!(end_reason(&store, &session), Some("shutdown"));
    say(&store, &session, 2, "again");
    assert_eq!(end_reason(&store, &session), None);
}

#[test]
fn what_is_put_aside_is_left_out_and_can_be_opened() {
    let store = Store::memory();
    let [one, two] = ["1", "2"].map(|id| titled(&store, id, id));
    store.archive(&one, true).unwrap();
    assert_eq!(listed(&store, Archived::LeftOut), ["2"]);
    assert_eq!(listed(&store, Archived::Shown), ["2", "1"]);
    let search = crate::search::search("hello");
    let found = |archived: bool| {
        let search = agent_core::search::Search {
            archived,
            ..search.clone()
        };
        store.search(&search, &Default::default()).unwrap().hits.len()
    };
    assert_eq!((found(false), found(true)), (1, 2));
    assert_eq!(all(&store, &one).len(), 2);
    store.archive(&one, false).unwrap();
    assert_eq!(listed(&store, Archived::LeftOut), ["2", "1"]);
    assert!(store.archive(&"none".into(), true).is_err());
    assert_eq!(title(&store, &two).as_deref(), Some("2"));
}

#[test]
fn an_import_is_whole_has_its_times_and_is_found() {
    let store = Store::memory();
    titled(&store, "1", "Plan");
    let session = SessionId::from("2");
    let record = agent_core::store::SessionRecord {
        title: Some("Plan".into()),
        updated_ms: 9,
        ..record("2", Path::new("/"))
    };
    let rows = vec![
        Dated {
            at_ms: 7,
            envelope: at(&session, 3, crate::user("a quince")),
        },
        Dated {
            at_ms: 8,
            envelope: at(&session, 5, crate::agent("a pear")),
        },
    ];
    let import = Import {
        record,
        rows: rows.clone(),
    };
    store.import(import.clone()).unwrap();
    let stored = store.session(&session).unwrap().unwrap();
    assert_eq!((stored.messages, stored.last_seq, stored.updated_ms), (2, 6, 9));
    assert_eq!(stored.title.as_deref(), Some("Plan (2)"));
    assert_eq!(store.rows(&session, 0, 2).unwrap(), rows);
    let found = store
        .search(&crate::search::search("quince"), &Default::default())
        .unwrap();
    assert_eq!(found.hits.len(), 1);
    assert!(store.import(import).is_err(), "it is there already");
}

/// Sessions `old`, `new` and what a case makes of them.
fn pruned(sql: &str, prune: &Prune) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    for id in ["1", "2", "3"] {
        titled(&store, id, id);
    }
    let ids = ["1", "2", "3"].map(SessionId::from);
    store.end(&ids, EndReason::Closed);
    store.close();
    edit(folder.path(), sql);
    let store = Store::open(folder.path()).unwrap();
    let candidates = store.candidates(prune).unwrap();
    for candidate in &candidates {
        store.prune(candidate).unwrap();
    }
    let gone: Vec<String> = candidates.iter().map(|candidate| candidate.id.to_string()).collect();
    let left = listed(&store, Archived::Shown);
    assert!(gone.iter().all(|id| !left.contains(id)) && gone.len() + left.len() == 3);
    gone
}

#[test]
fn only_old_sessions_that_have_ended_are_pruned() {
    let day = |days: u64| Prune {
        older_than: Some(Duration::from_secs(days * 86400)),
        ..Prune::default()
    };
    let check = |sql: &str, prune: &Prune, expect: &[&str]| assert_eq!(pruned(sql, prune), expect, "{sql}");
    let ago = |days: u32, id: u32| {
        format!("UPDATE sessions SET updated_ms = updated_ms - {days} * 86400000 WHERE id = '{id}';")
    };
    check("", &day(1), &[]);
    check(&ago(100, 1), &day(90), &["1"]);
    check(&(ago(100, 1) + &ago(95, 2)), &day(90), &["1", "2"]);
    check(&(ago(100, 1) + &ago(95, 2)), &day(97), &["1"]);
    // One that is active is as new as those before it, whatever the clock said.
    check(&ago(100, 3), &day(90), &[]);
    check(&ago(100, 2), &day(90), &[]);
    // A clock that has jumped ahead makes nothing old.
    let ahead = "UPDATE sessions SET updated_ms = updated_ms + 400 * 86400000 WHERE id = '3';";
    check(ahead, &day(90), &[]);
    let behind = "UPDATE sessions SET updated_ms = updated_ms - 400 * 86400000;";
    check(behind, &day(90), &[]);
    // It may rest in a process that has it open.
    let rests = "UPDATE sessions SET ended_ms = NULL WHERE id = '1';";
    check(&(ago(6, 1) + rests), &day(3), &[]);
    check(&(ago(8, 1) + rests), &day(3), &["1"]);
    // Its process was killed.
    let killed = "INSERT INTO leases SELECT id, 4194999, 'x', (SELECT ''), 0 FROM sessions WHERE id = '1';";
    check(&(ago(6, 1) + rests + killed), &day(3), &["1"]);
    let large = "UPDATE events SET body = replace(body, 'hello', printf('%.*c', 5000, 'x')) WHERE session = 2;";
    let larger = Prune {
        larger_than: Some(4000),
        ..Prune::default()
    };
    check(large, &larger, &["2"]);
    let both = Prune {
        larger_than: Some(4000),
        ..day(90)
    };
    check(large, &both, &[]);
    check(&(ago(100, 1) + &ago(100, 2) + large), &both, &["2"]);
}

#[test]
fn a_session_that_somebody_works_in_is_never_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = titled(&store, "1", "one");
    let all = Prune {
        older_than: Some(Duration::ZERO),
        ..Prune::default()
    };
    assert_eq!(store.candidates(&all).unwrap(), []);
    store.end(std::slice::from_ref(&session), EndReason::Closed);
    let candidates = store.candidates(&all).unwrap();
    assert_eq!(candidates.len(), 1);
    say(&store, &session, 3, "again");
    store.end(&[session], EndReason::Closed);
    assert!(store.prune(&candidates[0]).is_err(), "it was used meanwhile");
}

#[test]
fn the_file_gets_smaller_when_that_pays() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "1");
    say(&store, &session, 1, "hello");
    assert_eq!(store.make_room().unwrap(), Room::Kept);
    let text = "word ".repeat(200_000);
    for seq in 2..14 {
        say(&store, &session, seq, &text);
    }
    store.delete(&session).unwrap();
    let size = || std::fs::metadata(folder.path().join("state.db")).unwrap().len();
    let Room::Given(bytes) = store.make_room().unwrap() else {
        panic!("no room was made");
    };
    assert!(bytes > 8 << 20 && size() < 4 << 20, "{bytes} {}", size());
    assert_eq!(store.make_room().unwrap(), Room::Kept);
}
