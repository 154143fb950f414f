//! Copies of sessions, and sessions that go for good.

use std::path::Path;

use agent_core::content::{Blob, Content};
use agent_core::event::{Compaction, ContextUse, Envelope, Event, HistoryMove, SessionChange, StopReason};
use agent_core::id::{MessageId, SessionId, TurnId};
use agent_core::provider::{Finish, Usage};
use agent_core::store::{ChangeError, Durability, Fork, Held, Kept, Parent, SessionRecord, Store};
use rusqlite::Connection;

use crate::lease::{hand_over, kill, spawn, start_of};
use crate::older::{TO_SCHEMA_3, TO_SCHEMA_5, make_older};
use crate::{agent, all, create, user};

/// An event of a turn.
type Row = (u64, Event);

fn end() -> Event {
    Event::TurnFinished {
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    }
}

fn title(text: &str) -> Event {
    Event::SessionChanged {
        change: SessionChange::Title(text.into()),
    }
}

fn picture(bytes: &[u8]) -> Event {
    Event::UserMessage {
        id: MessageId::from("m"),
        content: vec![Content::Image {
            mime_type: "image/png".into(),
            data: Blob::Inline(bytes.into()),
            uri: None,
        }],
        context: vec![],
        command: false,
    }
}

fn step(used: u64) -> Event {
    Event::StepFinished {
        step: 1,
        model: None,
        usage: Usage {
            input: Some(used),
            cost_nano_usd: Some(5),
            ..Usage::default()
        },
        context: context(used, Some(5)),
        finish: Finish::Stop,
        native: None,
    }
}

fn context(used: u64, cost_nano_usd: Option<u64>) -> ContextUse {
    ContextUse {
        used,
        window: Some(100),
        cost_nano_usd,
    }
}

/// Makes a session with these rows, numbered from 1.
fn stored(store: &Store, id: &str, rows: Vec<Row>) -> SessionId {
    let session = create(store, id);
    for (seq, (turn, event)) in (1..).zip(rows) {
        let envelope = Envelope {
            session: session.clone(),
            turn: (turn > 0).then_some(TurnId(turn)),
            seq,
            event,
        };
        assert_eq!(store.append(&session, vec![envelope], Durability::Disk), Kept::Stored);
    }
    session
}

fn fork(store: &Store, from: &SessionId, upto: Option<u64>) -> Result<SessionRecord, ChangeError> {
    store.fork(Fork {
        from: from.clone(),
        upto,
        id: "fork".into(),
        source: "run".into(),
        folders: None,
        set: None,
    })
}

/// The numbers of the rows that a fork has.
fn rows_of_fork(store: &Store) -> Vec<u64> {
    all(store, &"fork".into()).iter().map(|row| row.seq).collect()
}

#[track_caller]
fn copies(rows: Vec<Row>, upto: Option<u64>, is_left: bool, expect: &[u64]) {
    let store = Store::memory();
    let session = stored(&store, "a", rows);
    let before = all(&store, &session);
    if is_left {
        store.release(&session);
    }
    fork(&store, &session, upto).unwrap();
    assert_eq!(rows_of_fork(&store), expect);
    assert_eq!(all(&store, &session), before, "the parent is as it was");
}

#[test]
fn a_fork_has_the_turns_that_have_ended() {
    let two = || {
        vec![
            (1, user("a")),
            (1, agent("b")),
            (1, end()),
            (2, user("c")),
            (2, agent("d")),
        ]
    };
    copies(two(), None, false, &[1, 2, 3]);
    // Nobody works in it any more, so the second turn broke off.
    copies(two(), None, true, &[1, 2, 3, 4, 5]);
    let broken = vec![(1, user("a")), (2, user("b")), (2, end())];
    copies(broken, None, false, &[1, 2, 3]);
    copies(vec![(1, user("a"))], None, false, &[]);
}

#[test]
fn a_fork_has_what_lies_beside_a_running_turn() {
    let command = Event::UserMessage {
        id: MessageId::from("m"),
        content: vec![Content::text("/help")],
        context: vec![],
        command: true,
    };
    let rows = vec![
        (1, user("a")),
        (2, command),
        (2, end()),
        (1, agent("b")),
        (0, title("t")),
    ];
    copies(rows, None, false, &[2, 3, 5, 6]);
}

#[test]
fn a_fork_ends_where_it_is_told_to() {
    let rows = || vec![(1, user("a")), (1, end()), (2, user("b")), (2, end())];
    copies(rows(), Some(4), true, &[1, 2, 3, 4]);
    copies(rows(), Some(3), true, &[1, 2]);
    copies(rows(), Some(2), true, &[1, 2]);
    copies(rows(), Some(0), true, &[]);
    copies(rows(), Some(99), true, &[1, 2, 3, 4]);
}

#[test]
fn what_is_out_of_the_history_stays_out_of_a_fork() {
    let clear = Event::HistoryMoved {
        keep_upto: 0,
        why: HistoryMove::Clear,
    };
    let refused = Event::HistoryMoved {
        keep_upto: 5,
        why: HistoryMove::Refusal,
    };
    let first = vec![(1, user("a")), (1, end()), (2, clear), (3, user("b")), (3, end())];
    copies(first.clone(), None, true, &[4, 5]);
    copies(first.clone(), Some(2), true, &[1, 2]);
    let second = vec![(4, user("c")), (4, refused), (4, end())];
    copies([first, second].concat(), None, true, &[4, 5, 8]);
}

#[test]
fn a_fork_knows_where_it_is_from_and_begins_without_costs() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let rows = vec![
        (1, user("a")),
        (0, title("Fix it")),
        (1, step(10)),
        (1, agent("b")),
        (1, end()),
        (2, user("c")),
        (2, step(20)),
    ];
    let parent = stored(&store, "a", rows);
    let forked = fork(&store, &parent, None).unwrap();
    let before = store.session(&parent).unwrap().unwrap();
    let expect = SessionRecord {
        id: "fork".into(),
        source: "run".into(),
        title: Some("Fix it (fork)".into()),
        parent: Some(Parent {
            session: parent.clone(),
            seq: 5,
        }),
        created_ms: forked.created_ms,
        updated_ms: forked.updated_ms,
        messages: 2,
        usage: Usage::default(),
        context: Some(context(10, None)),
        last_seq: 6,
        last_turn: 1,
        ..before.clone()
    };
    assert_eq!(forked, expect);
    store.delete(&parent).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(store.session(&parent).unwrap(), None);
    store.close();
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.session(&"fork".into()).unwrap(), Some(expect));
    let page = store.list(None, None, 10).unwrap();
    assert_eq!(page.sessions.len(), 1);
}

#[test]
fn a_compaction_means_the_same_rows_in_a_fork() {
    let compacted = Event::Compacted {
        before: 4,
        what: Compaction::Summary { text: "s".into() },
        context: context(3, None),
    };
    let rows = vec![
        (1, user("a")),
        (1, agent("b")),
        (1, end()),
        (2, user("c")),
        (2, compacted.clone()),
        (2, end()),
    ];
    let store = Store::memory();
    let session = stored(&store, "a", rows);
    fork(&store, &session, None).unwrap();
    assert_eq!(all(&store, &"fork".into())[4].event, compacted);
}

#[test]
fn there_is_no_fork_of_what_is_not_there() {
    let store = Store::memory();
    let error = fork(&store, &"none".into(), None).unwrap_err();
    assert!(matches!(error, ChangeError::Unknown(session) if session.as_str() == "none"));
    assert_eq!(store.list(None, None, 10).unwrap().sessions, []);
}

fn blobs(folder: &Path) -> i64 {
    let connection = Connection::open(folder.join("state.db")).unwrap();
    connection
        .query_row("SELECT count(*) FROM blobs", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn bytes_go_with_the_last_session_that_needs_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let one = stored(
        &store,
        "a",
        vec![(1, picture(b"own")), (1, picture(b"shared")), (1, end())],
    );
    let other = stored(&store, "b", vec![(1, picture(b"shared")), (1, end())]);
    fork(&store, &one, Some(3)).unwrap();
    assert_eq!(blobs(folder.path()), 2);
    store.delete(&one).unwrap();
    assert_eq!(blobs(folder.path()), 2, "the fork needs both");
    assert_eq!(all(&store, &"fork".into())[0].event, picture(b"own"));
    store.delete(&"fork".into()).unwrap();
    assert_eq!(blobs(folder.path()), 1);
    assert_eq!(all(&store, &other)[0].event, picture(b"shared"));
    store.delete(&other).unwrap();
    assert_eq!(blobs(folder.path()), 0);
    store.delete(&other).unwrap();
}

#[test]
fn bytes_of_an_older_store_are_found_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = stored(&store, "a", vec![(1, picture(b"own")), (1, end())]);
    store.close();
    let more = "INSERT INTO events (session_id, seq, at_ms, kind, body) VALUES ('a', 9, 0, 'x', 'no JSON \"sha256:');";
    make_older(folder.path(), &[TO_SCHEMA_5, TO_SCHEMA_3, more]);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(blobs(folder.path()), 1);
    store.delete(&session).unwrap();
    assert_eq!(blobs(folder.path()), 0);
}

#[test]
fn a_session_of_another_process_can_be_forked_and_not_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = stored(&store, "a", vec![(1, user("a")), (1, end()), (2, user("b"))]);
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let holder = spawn();
    hand_over(&connection, holder.id(), &start_of(holder.id()));
    let pid = holder.id();
    fork(&store, &session, None).unwrap();
    assert_eq!(rows_of_fork(&store), [1, 2], "what runs there is not copied");
    let error = store.delete(&session).unwrap_err();
    assert!(matches!(error, ChangeError::Held(Held { pid: holder }) if holder == pid));
    assert_eq!(all(&store, &session).len(), 3);
    kill(holder);
    store.delete(&session).unwrap();
    assert_eq!(all(&store, &session), []);
}
