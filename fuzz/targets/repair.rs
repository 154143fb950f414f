//! The repair of a database. What must hold, whatever the file holds: the repair ends, with a database that is whole, so
//! that a second one finds nothing to do and the store opens, or with an error that changes nothing; nothing panics.
//!
//! An input that begins with `R` is the file itself. Any other damages a small database of ours, six bytes at a time: how,
//! where (three of them), how many, and with what.

#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use agent_core::content::Content;
use agent_core::event::{Envelope, Event};
use agent_core::id::{MessageId, SessionId, TurnId};
use agent_core::store::{Durability, Kept, Pages, Repair, RepairError, SessionRecord, Store, repair};
use libfuzzer_sys::fuzz_target;

/// A page of the database.
const PAGE: usize = 4096;

/// A small database with some of everything.
static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let store = Store::open(folder.path()).expect("a store can be made");
    for name in ["a", "b", "c"] {
        let session = SessionId::from(name);
        store.create(SessionRecord::new(session.clone(), PathBuf::from("/"), 1));
        let rows = (1..20).map(|seq| Envelope {
            session: session.clone(),
            turn: Some(TurnId(1)),
            seq,
            event: Event::UserMessage {
                id: MessageId::from("m"),
                content: vec![Content::text(format!(
                    "{name} {seq} {}",
                    "word ".repeat(seq as usize * 9)
                ))],
                context: vec![],
                command: false,
            },
        });
        assert_eq!(store.append(&session, rows.collect(), Durability::Disk), Kept::Stored);
    }
    store.close();
    let bytes = fs::read(folder.path().join("state.db")).expect("the database is there");
    assert!(bytes.len() > PAGE, "the log was not written back");
    bytes
});

fuzz_target!(|bytes: &[u8]| {
    let file = match bytes.strip_prefix(b"R") {
        Some(file) => file.to_vec(),
        None => damaged(bytes),
    };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let database = folder.path().join("state.db");
    fs::write(&database, &file).expect("a file can be written");
    match repair(folder.path(), "now") {
        Ok(Repair::Nothing) => {}
        Ok(Repair::Whole(_) | Repair::Reindexed(_) | Repair::Salvaged(_)) => check_whole(folder.path()),
        Err(error @ (RepairError::NotWhole { .. } | RepairError::Sql { .. } | RepairError::InUse { .. })) => {
            panic!("{error}: {:?}", std::error::Error::source(&error))
        }
        Err(RepairError::Store(_) | RepairError::File { .. }) => {
            assert_eq!(fs::read(&database).ok(), Some(file), "an error has changed the file");
        }
    }
});

/// A whole database with damage in it.
fn damaged(damage: &[u8]) -> Vec<u8> {
    let mut file = WHOLE.clone();
    for step in damage.chunks_exact(6) {
        if file.is_empty() {
            break;
        }
        let at = u32::from_be_bytes([0, step[1], step[2], step[3]]) as usize % file.len();
        let end = (at + usize::from(step[4])).min(file.len());
        match step[0] % 4 {
            0 => file[at..end].fill(step[5]),
            1 => file[at..end].iter_mut().for_each(|byte| *byte ^= step[5]),
            2 => file.truncate(at),
            _ => {
                let (from, to) = (at / PAGE * PAGE, usize::from(step[5]) * PAGE % file.len() / PAGE * PAGE);
                let length = PAGE.min(file.len() - from.max(to));
                file.copy_within(from..from + length, to);
            }
        }
    }
    file
}

/// Another repair finds nothing, and the store opens and is whole.
fn check_whole(folder: &Path) {
    let again = repair(folder, "again").expect("what was repaired is whole");
    assert!(matches!(again, Repair::Whole(_)), "what was repaired is {again:?}");
    let store = Store::open(folder).expect("what was repaired opens");
    let health = store.health(Duration::from_secs(60)).expect("it can be read");
    assert_eq!(health.pages, Pages::Whole);
    store.close();
}
