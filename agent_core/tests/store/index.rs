//! The index: one entry for what forks share, none of what is gone, made anew where it is old or damaged.

use agent_core::cancel::Cancel;
use agent_core::id::SessionId;
use agent_core::search::Search;
use agent_core::store::{Fork, Pages, Store};
use rusqlite::Connection;

use crate::older::{TO_SCHEMA_5, make_older};
use crate::search::{check_whole, command, find, go_on, hits, search, session, session_in, title};
use crate::{agent, all, user, wait_until};

fn fork(store: &Store, from: &SessionId, id: &str) -> SessionId {
    let id = SessionId::from(id);
    let fork = Fork {
        from: from.clone(),
        upto: None,
        id: id.clone(),
        source: "run".into(),
        folders: None,
        set: None,
    };
    store.fork(fork).unwrap();
    id
}

#[test]
fn what_a_fork_has_copied_is_found_once_and_outlives_where_it_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let parent = session_in(
        &store,
        "parent",
        "/w",
        vec![vec![user("apple")], vec![command("/search apple"), agent("apple")]],
    );
    let child = fork(&store, &parent, "child");
    let last = store.session(&child).unwrap().unwrap().last_seq;
    go_on(&store, &child, last + 1, vec![vec![user("another apple")]]);
    let grandchild = fork(&store, &child, "grand");
    assert_eq!(
        hits(&store, "apple"),
        [format!("child:{}", last + 1), "parent:1".into()]
    );
    // Asked about itself, a fork has the past that it shows.
    assert_eq!(
        hits(&store, "apple session:grand"),
        ["grand:1".to_owned(), format!("grand:{}", last + 1)]
    );
    let except = Search {
        except: Some(grandchild.clone()),
        ..search("apple")
    };
    assert_eq!(find(&store, &except).hits, []);
    store.delete(&parent).unwrap();
    assert_eq!(
        hits(&store, "apple"),
        ["child:1".to_owned(), format!("child:{}", last + 1)]
    );
    check_whole(folder.path());
    store.delete(&child).unwrap();
    assert_eq!(
        hits(&store, "apple"),
        ["grand:1".to_owned(), format!("grand:{}", last + 1)]
    );
    check_whole(folder.path());
    store.delete(&grandchild).unwrap();
    assert_eq!(hits(&store, "apple"), [""; 0]);
    check_whole(folder.path());
}

#[test]
fn what_a_fork_has_copied_is_found_in_it_while_its_origin_is_archived() {
    let store = Store::memory();
    let parent = session_in(&store, "parent", "/w", vec![vec![user("apple")], vec![user("pear")]]);
    let child = fork(&store, &parent, "child");
    let last = store.session(&child).unwrap().unwrap().last_seq;
    go_on(&store, &child, last + 1, vec![vec![user("another apple")]]);
    let grandchild = fork(&store, &child, "grand");
    let other = session(&store, "other", vec![user("apple")]);
    let own = format!("child:{}", last + 1);
    let check = |expect: &[&str]| {
        let mut expect: Vec<&str> = expect.to_vec();
        expect.sort_unstable();
        assert_eq!(hits(&store, "apple"), expect);
        let best = Search {
            all_hits: false,
            ..search("apple")
        };
        let counted: u64 = find(&store, &best).hits.iter().map(|hit| hit.hits).sum();
        assert_eq!(
            counted,
            expect.len() as u64,
            "each is counted in the session that it is found in"
        );
    };
    check(&["parent:1", &own, "other:1"]);
    store.archive(&parent, true).unwrap();
    check(&["child:1", &own, "other:1"]);
    store.archive(&child, true).unwrap();
    let copied = format!("grand:{}", last + 1);
    check(&["grand:1", &copied, "other:1"]);
    store.archive(&grandchild, true).unwrap();
    check(&["other:1"]);
    store.archive(&other, true).unwrap();
    check(&[]);
    store.archive(&parent, false).unwrap();
    check(&["parent:1"]);
}

#[test]
fn a_deleted_session_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let one = session(&store, "a", vec![user("apple"), agent("apple")]);
    session(&store, "b", vec![user("apple")]);
    store.delete(&one).unwrap();
    assert_eq!(hits(&store, "apple"), ["b:1"]);
    check_whole(folder.path());
}

#[test]
fn an_older_store_is_indexed_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let parent = session_in(
        &store,
        "a",
        "/",
        vec![
            vec![title("Fruit"), user("apple")],
            vec![command("/search apple"), agent("apple")],
        ],
    );
    let child = fork(&store, &parent, "child");
    fork(&store, &child, "grand");
    store.close();
    make_older(folder.path(), &[TO_SCHEMA_5]);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(hits(&store, "apple"), ["a:2"]);
    assert_eq!(hits(&store, "fruit").len(), 3, "each has a title");
    check_whole(folder.path());
    store.delete(&parent).unwrap();
    store.delete(&child).unwrap();
    assert_eq!(hits(&store, "apple"), ["grand:2"]);
    check_whole(folder.path());
}

#[test]
fn what_an_older_version_has_stored_and_indexed_is_found_and_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let [one, two] = ["a", "b"].map(|id| session(&store, id, vec![user("apple"), agent("pear")]));
    let gone = session(&store, "gone", vec![user("apple")]);
    let before = [&one, &two].map(|id| all(&store, id));
    store.delete(&gone).unwrap();
    store.close();
    make_older(folder.path(), &[]);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!([&one, &two].map(|id| all(&store, id)), before);
    assert_eq!(hits(&store, "apple"), ["a:1", "b:1"]);
    // The number of the row that is gone is not given again.
    session(&store, "c", vec![user("plum")]);
    assert_eq!(hits(&store, "plum"), ["c:1"]);
    assert_eq!(hits(&store, "apple"), ["a:1", "b:1"]);
    check_whole(folder.path());
    store.delete(&one).unwrap();
    assert_eq!(hits(&store, "apple"), ["b:1"]);
    check_whole(folder.path());
}

#[test]
fn an_index_that_is_damaged_or_gone_is_made_anew_and_no_event_is_lost() {
    for (damage, seen) in [
        ("DROP TABLE search", Pages::Index),
        (
            "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'search'",
            Pages::Index,
        ),
        (
            "UPDATE search_data SET block = x'ffffffffffffffffffffffffff' WHERE id = 10",
            Pages::Index,
        ),
        ("DELETE FROM search_data WHERE id >= 10", Pages::Index),
        ("DELETE FROM search_docsize", Pages::Whole),
        ("DROP TABLE search_docsize", Pages::Whole),
    ] {
        for reads_first in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path()).unwrap();
            let one = session(&store, "a", vec![user("apple"), agent("apple")]);
            store.close();
            let connection = Connection::open(folder.path().join("state.db")).unwrap();
            connection.execute_batch(damage).unwrap();
            drop(connection);
            let store = Store::open(folder.path()).unwrap();
            let pages = store.health(std::time::Duration::from_secs(20)).unwrap().pages;
            assert_eq!(pages, seen, "{damage}: the index is no part of what counts");
            if reads_first && !damage.contains("docsize") {
                assert_eq!(hits(&store, "apple"), ["a:1", "a:2"], "{damage}");
            }
            go_on(&store, &one, 4, vec![vec![user("apple")]]);
            store.delete(&session(&store, "b", vec![user("apple")])).unwrap();
            if !damage.contains("docsize") {
                assert_eq!(hits(&store, "apple"), ["a:1", "a:2", "a:4"], "{damage}");
                check_whole(folder.path());
            }
            assert_eq!(crate::all(&store, &one).len(), 5, "{damage}");
        }
    }
}

#[test]
fn an_index_that_can_not_be_made_anew_is_said_to_be_so_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    session(&store, "a", vec![user("apple")]);
    store.close();
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    connection
        .execute_batch("DROP TABLE search; CREATE INDEX search ON events (at_ms)")
        .unwrap();
    drop(connection);
    let store = Store::open(folder.path()).unwrap();
    for _ in 0..2 {
        let error = store.search(&search("apple"), &Cancel::new()).unwrap_err().to_string();
        assert!(error.contains("can't be made anew"), "{error}");
        assert!(error.contains("`agent doctor --repair` mends the database"), "{error}");
    }
}

#[test]
fn an_index_whose_making_fails_when_nobody_waits_for_it_is_said_to_be_broken_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    session(&store, "a", vec![user("apple")]);
    let outside = Connection::open(folder.path().join("state.db")).unwrap();
    let fail = || {
        let error = store.search(&search("apple"), &Cancel::new()).unwrap_err();
        error.to_string()
    };
    outside
        .execute_batch("DROP TABLE search; CREATE INDEX search ON events (at_ms); BEGIN IMMEDIATE")
        .unwrap();
    for _ in 0..2 {
        let error = fail();
        assert!(error.contains("not made anew yet"), "{error}");
        assert!(error.contains("another program is writing"), "{error}");
    }
    outside.execute_batch("COMMIT").unwrap();
    wait_until("the index is given up", || !fail().contains("yet"));
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..2 {
        let error = fail();
        assert!(error.contains("can't be made anew"), "{error}");
        assert!(error.contains("`agent doctor --repair` mends the database"), "{error}");
    }
}

#[test]
fn a_store_in_the_place_of_another_one_finds_nothing_and_says_why() {
    let store = Store::memory_in_place("/home/me/state.db is no database".to_owned());
    let error = store.search(&search("apple"), &Cancel::new()).unwrap_err();
    assert_eq!(error.to_string(), "/home/me/state.db is no database");
}
