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

/// The rows of a session after another process has taken it over.
fn recovered(folder: &Path, session: &SessionId) -> Vec<Envelope> {
    let other = Store::open(folder).unwrap();
    other.claim(session).unwrap();
    other.recover(session).unwrap();
    all(&other, session)
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
