//! Messages that are still being written, and what a crash leaves of them.

use std::path::Path;

use agent_core::event::{Envelope, Event};
use agent_core::id::{MessageId, SessionId, TurnId};
use agent_core::store::{Durability, Kept, OpenMessage, Store};
use rusqlite::Connection;

use crate::{agent, all, at, create, say, wait_until};

fn open(store: &Store, session: &SessionId, seq: u64) -> OpenMessage {
    store.open_message(session, Some(TurnId(1)), seq, agent(""))
}

fn pieces(folder: &Path) -> Vec<String> {
    let connection = Connection::open(folder.join("state.db")).unwrap();
    let mut statement = connection.prepare("SELECT text FROM partials ORDER BY id").unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Makes it so that the process that wrote to the sessions has died. This one can't, so its leases become those of an
/// earlier process.
fn bury(folder: &Path) {
    let connection = Connection::open(folder.join("state.db")).unwrap();
    connection
        .execute("UPDATE leases SET started = 'earlier', pid = 0", [])
        .unwrap();
}

/// The rows of a session after the process that wrote them has died and another has taken it over.
fn recovered(folder: &Path, session: &SessionId) -> Vec<Envelope> {
    bury(folder);
    let other = Store::open(folder).unwrap();
    other.claim(session).unwrap();
    let rows = all(&other, session);
    let last = rows.last().map_or(0, |row| row.seq);
    assert_eq!(other.session(session).unwrap().unwrap().last_seq, last);
    rows
}

#[test]
fn a_finished_message_is_whole_and_leaves_no_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
    let mut message = open(&store, &session, 2);
    message.push("one ");
    wait_until("the first piece is stored", || pieces(folder.path()) == ["one "]);
    message.push("two");
    let whole = message.finish();
    assert_eq!(whole, at(&session, 2, agent("one two")));
    assert_eq!(
        store.append(&session, vec![whole.clone()], Durability::Process),
        Kept::Stored
    );
    assert_eq!(pieces(folder.path()), [""; 0]);
    assert_eq!(all(&store, &session).last(), Some(&whole));
    assert_eq!(recovered(folder.path(), &session)[1..], [whole]);
}

#[test]
fn a_full_piece_does_not_wait_for_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
    let mut message = open(&store, &session, 2);
    let piece = "x".repeat(5000);
    message.push(&piece);
    wait_until("the piece is stored", || pieces(folder.path()) == [piece.as_str()]);
}

#[test]
fn what_is_left_of_a_message_becomes_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
    let thought = Event::AgentThought {
        id: MessageId::from("m"),
        text: String::new(),
    };
    let mut thinking = store.open_message(&session, Some(TurnId(1)), 2, thought);
    let mut talking = open(&store, &session, 3);
    let (mut said, mut thought) = (String::new(), String::new());
    for round in 0..3 {
        let text = format!("{round} {}", "y".repeat(4096));
        said += &text;
        thought += "hm ";
        talking.push(&text);
        thinking.push("hm ");
        wait_until("all is stored", || {
            pieces(folder.path()).concat().len() == said.len() + thought.len()
        });
    }
    // A message of another session stays what it is.
    let other = create(&store, "b");
    say(&store, &other, 1, "hello");
    let mut foreign = open(&store, &other, 2);
    foreign.push("foreign");
    wait_until("that is stored too", || {
        pieces(folder.path()).concat().ends_with("foreign")
    });
    let rows = recovered(folder.path(), &session);
    let thought = Event::AgentThought {
        id: MessageId::from("m"),
        text: thought,
    };
    assert_eq!(rows[1..], [at(&session, 2, thought), at(&session, 3, agent(&said))]);
    assert_eq!(pieces(folder.path()), ["foreign"]);
    let record = store.session(&session).unwrap().unwrap();
    assert_eq!((record.last_seq, record.messages), (3, 2));
    assert_eq!(recovered(folder.path(), &session), rows, "a second time finds nothing");
}

#[test]
fn a_dropped_message_leaves_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
    let mut message = open(&store, &session, 2);
    message.push("half a sen");
    drop(message);
    store.close();
    assert_eq!(
        recovered(folder.path(), &session)[1..],
        [at(&session, 2, agent("half a sen"))]
    );
}

#[test]
fn recovery_in_memory_works_like_on_disk() {
    let store = Store::memory();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
    let mut message = open(&store, &session, 2);
    message.push("ha");
    message.push(&"l".repeat(5000));
    drop(message);
    store.release(&session);
    let whole = at(&session, 2, agent(&format!("ha{}", "l".repeat(5000))));
    wait_until("its piece has been stored", || {
        store.recover(&session).unwrap();
        all(&store, &session).last() == Some(&whole)
    });
}

#[test]
fn the_files_of_a_process_that_was_killed_hold_what_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
    let mut message = open(&store, &session, 2);
    message.push("half");
    wait_until("the piece is stored", || pieces(folder.path()) == ["half"]);
    // A copy of the files at this moment is what a kill leaves. Their own process does the copying, since closing a
    // descriptor of them here would drop the locks of this process.
    let copy = tempfile::tempdir().unwrap();
    let status = std::process::Command::new("sh")
        .args(["-c", "cp \"$0\"/state.db* \"$1\""])
        .args([folder.path(), copy.path()])
        .status();
    assert!(status.unwrap().success());
    let rows = recovered(copy.path(), &session);
    assert_eq!(
        rows,
        [at(&session, 1, crate::user("hello")), at(&session, 2, agent("half"))]
    );
    assert_eq!(all(&store, &session).len(), 1, "the original is untouched");
    assert_eq!(message.finish(), at(&session, 2, agent("half")));
}

/// A store with a session `a` whose message 2 is being spoken, and says "half" so far.
fn speaking(folder: &Path) -> (Store, SessionId, OpenMessage) {
    let store = Store::open(folder).unwrap();
    let session = create(&store, "a");
    store.claim(&session).unwrap();
    say(&store, &session, 1, "hello");
    let mut message = open(&store, &session, 2);
    message.push("half");
    wait_until("the piece is stored", || pieces(folder) == ["half"]);
    (store, session, message)
}

#[test]
fn a_claim_by_the_holder_leaves_its_open_message_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (store, session, mut message) = speaking(folder.path());
    store.claim(&session).unwrap();
    assert_eq!(all(&store, &session).len(), 1);
    message.push(" and half");
    let whole = at(&session, 2, agent("half and half"));
    let kept = store.append(&session, vec![message.finish()], Durability::Disk);
    assert_eq!(kept, Kept::Stored);
    assert_eq!(all(&store, &session).last(), Some(&whole));
}

#[test]
fn a_load_recovers_only_what_no_living_process_speaks() {
    let folder = tempfile::tempdir().unwrap();
    let (_store, session, _message) = speaking(folder.path());
    let reader = Store::open(folder.path()).unwrap();
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let lease = || -> (i64, String) {
        connection
            .query_row("SELECT pid, started FROM leases", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap()
    };
    let check = |expect: usize| {
        let before = lease();
        reader.recover(&session).unwrap();
        assert_eq!(all(&reader, &session).len(), expect);
        assert_eq!(lease(), before, "a load neither takes a lease nor drops one");
    };
    check(1);
    bury(folder.path());
    check(2);
    assert_eq!(pieces(folder.path()), [""; 0]);
}

#[test]
fn a_load_does_not_fail_because_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let (_store, session, _message) = speaking(folder.path());
    bury(folder.path());
    let reader = Store::open(folder.path()).unwrap();
    let outside = Connection::open(folder.path().join("state.db")).unwrap();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    reader.recover(&session).unwrap();
    assert_eq!(all(&reader, &session).len(), 1);
    outside.execute_batch("COMMIT").unwrap();
    wait_until("it is made up for", || all(&reader, &session).len() == 2);
}
