//! What files held before they were changed: exact, bounded, shared, and read while it still waits.

use std::path::Path;

use agent_core::event::{Envelope, Event, Hash, OldFile};
use agent_core::id::SessionId;
use agent_core::plan::Place;
use agent_core::store::{Fork, Kept, Store};
use rusqlite::Connection;

use crate::{at, create, say, wait_until};

const NO_LIMIT: u64 = u64::MAX;

fn old(bytes: &[u8]) -> OldFile {
    let path = Path::new("/w/a").to_owned();
    let place = Place {
        path: path.clone(),
        real: path,
    };
    OldFile::new(place, Some((bytes.into(), Some(0o600))), None)
}

/// Keeps these bytes with the row `seq`.
fn keep(store: &Store, session: &SessionId, seq: u64, bytes: &[u8], limit: u64) -> Kept {
    let OldFile { file, bytes } = old(bytes);
    let event = Event::FilesKept {
        call: Some("c".into()),
        files: vec![file],
    };
    store.keep(session, at(session, seq, event), bytes.into_iter().collect(), limit)
}

fn has(store: &Store, bytes: &[u8]) -> bool {
    let kept = store.kept(&Hash::of(bytes)).unwrap();
    assert!(kept.is_none() || kept.as_deref() == Some(bytes), "exact");
    kept.is_some()
}

#[test]
fn bytes_come_back_exactly_and_the_event_holds_none_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    let contents: [&[u8]; 4] = [b"", &[0, 255, 13, 10], b"KEY=sk-ant-0123456789abcdef", &[7; 100_000]];
    for (seq, bytes) in (1..).zip(contents) {
        assert_eq!(keep(&store, &session, seq, bytes, NO_LIMIT), Kept::Stored);
    }
    store.close();
    let store = Store::open(folder.path()).unwrap();
    assert!(contents.iter().all(|bytes| has(&store, bytes)));
    let rows: Vec<Envelope> = store.events(&session, 0, 9).unwrap();
    let size: usize = rows.iter().map(|row| serde_json::to_string(row).unwrap().len()).sum();
    assert!(size < 2_000, "{size}");
}

#[test]
fn a_session_keeps_its_newest_bytes_and_others_lose_nothing() {
    let store = Store::memory();
    let (one, other) = (create(&store, "a"), create(&store, "b"));
    keep(&store, &other, 1, b"1111", 10);
    for (seq, bytes) in [(1, b"1111"), (2, b"2222"), (3, b"3333"), (4, b"4444")] {
        keep(&store, &one, seq, bytes, 10);
    }
    let kept = [b"1111", b"2222", b"3333", b"4444"].map(|bytes| has(&store, bytes));
    assert_eq!(kept, [true, false, true, true], "the first is another session's too");
    store.delete(&other).unwrap();
    assert!(!has(&store, b"1111"));
    keep(&store, &one, 5, b"far too large", 10);
    let kept = [b"3333".as_slice(), b"4444", b"far too large"].map(|bytes| has(&store, bytes));
    assert_eq!(kept, [false; 3]);
    keep(&store, &one, 6, b"5555", 10);
    assert!(has(&store, b"5555"));
}

#[test]
fn a_fork_shares_what_was_kept() {
    let store = Store::memory();
    let session = create(&store, "a");
    say(&store, &session, 1, "go");
    keep(&store, &session, 2, b"old", NO_LIMIT);
    let fork = Fork {
        from: session.clone(),
        upto: None,
        id: "fork".into(),
        source: "acp".into(),
        folders: None,
        set: None,
    };
    // A turn that runs would not be copied.
    store.release(&session);
    store.fork(fork).unwrap();
    store.delete(&session).unwrap();
    assert!(has(&store, b"old"), "the fork needs it");
    store.delete(&"fork".into()).unwrap();
    assert!(!has(&store, b"old"));
}

#[test]
fn what_waits_to_be_stored_is_there_already() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "go");
    let outside = Connection::open(folder.path().join("state.db")).unwrap();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    let kept = keep(&store, &session, 2, b"old", NO_LIMIT);
    assert!(matches!(kept, Kept::Waiting(_)), "{kept:?}");
    assert!(has(&store, b"old"));
    outside.execute_batch("COMMIT").unwrap();
    wait_until("it is stored", || !store.is_behind(&session));
    assert!(has(&store, b"old"));
}
