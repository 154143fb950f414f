//! The store through its public face: what is kept, what survives, what is refused.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod damage;
mod durability;
mod fork;
mod headers;
mod index;
mod kept;
mod kill;
mod lease;
mod lineage;
mod list;
mod messages;
mod older;
mod query;
mod repair;
mod rows;
mod salvage;
mod search;
mod torn;

use std::path::Path;
use std::time::{Duration, Instant};

use agent_core::event::{Envelope, Event};
use agent_core::id::{SessionId, TurnId};
use agent_core::store::{Durability, Kept, SessionRecord, Store};
use talaria_tests::stored::{agent, user};

/// A session as a surface creates it.
fn record(id: &str, cwd: &Path) -> SessionRecord {
    SessionRecord {
        source: "acp".into(),
        extra_roots: vec!["/extra".into()],
        system: "Be brief.".into(),
        ..SessionRecord::new(id.into(), cwd.to_owned(), 1)
    }
}

/// Creates a session and gives back its id.
fn create(store: &Store, id: &str) -> SessionId {
    store.create(record(id, Path::new("/")));
    id.into()
}

/// An event at its place, in turn 1.
fn at(session: &SessionId, seq: u64, event: Event) -> Envelope {
    Envelope {
        session: session.clone(),
        turn: Some(TurnId(1)),
        seq,
        event,
    }
}

/// Stores a prompt as row `seq` and expects it to be committed.
fn say(store: &Store, session: &SessionId, seq: u64, text: &str) {
    let kept = store.append(session, vec![at(session, seq, user(text))], Durability::Disk);
    assert_eq!(kept, Kept::Stored);
}

/// All events of a session.
fn all(store: &Store, session: &SessionId) -> Vec<Envelope> {
    store.events(session, 0, usize::MAX).unwrap()
}

/// Waits until `done`, for at most twenty seconds.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < end, "waited too long until {what}");
        // Some waits take seconds: they leave the processor to what they wait for.
        std::thread::park_timeout(Duration::from_millis(1));
    }
}
