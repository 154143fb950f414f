//! Several writers, and disks that can't be written for a while.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use agent_core::id::SessionId;
use agent_core::store::{Durability, Kept, Store, StoreError};
use rusqlite::Connection;

use crate::{agent, all, at, create, say, user, wait_until};

#[test]
fn two_stores_on_one_file_lose_nothing() {
    const TURNS: u64 = 200;
    let folder = tempfile::tempdir().unwrap();
    let writers: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|id| {
            // Opened side by side too: only one may lay out the database.
            let folder = folder.path().to_owned();
            thread::spawn(move || {
                let store = Store::open(&folder).unwrap();
                let session = create(&store, id);
                for turn in 0..TURNS {
                    let envelopes = vec![
                        at(&session, 2 * turn + 1, user("hello")),
                        at(&session, 2 * turn + 2, agent("hi")),
                    ];
                    // A slow disk may take over a second; what waits must arrive all the same.
                    match store.append(&session, envelopes, Durability::Disk) {
                        Kept::Stored => {}
                        Kept::Waiting(reason) => assert!(!reason.contains("locked"), "{reason}"),
                        Kept::Lost(reason) => panic!("{reason}"),
                    }
                }
                store.close();
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let store = Store::open(folder.path()).unwrap();
    for session in ["a", "b"].map(SessionId::from) {
        let seqs: Vec<u64> = all(&store, &session).iter().map(|envelope| envelope.seq).collect();
        assert_eq!(seqs, (1..=2 * TURNS).collect::<Vec<_>>());
        assert_eq!(store.session(&session).unwrap().unwrap().messages, 2 * TURNS);
    }
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn what_another_writer_holds_up_waits_and_is_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let stored = create(&store, "stored");
    say(&store, &stored, 1, "before");
    let new = create(&store, "new");
    let outside = Connection::open(folder.path().join("state.db")).unwrap();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();

    let first = store.append(&stored, vec![at(&stored, 2, agent("during"))], Durability::Disk);
    assert!(
        matches!(&first, Kept::Waiting(reason) if reason.contains("another program")),
        "{first:?}"
    );
    let begun = Instant::now();
    for seq in 1..=20 {
        let kept = store.append(&new, vec![at(&new, seq, user("during"))], Durability::Disk);
        assert!(matches!(kept, Kept::Waiting(_)));
    }
    let waited = begun.elapsed();
    assert!(waited.as_secs() < 10, "each append waited again: {waited:?}");

    let check = |store: &Store| {
        assert_eq!(
            all(store, &stored),
            [at(&stored, 1, user("before")), at(&stored, 2, agent("during"))]
        );
        assert_eq!(store.events(&new, 18, 1).unwrap(), [at(&new, 19, user("during"))]);
        assert_eq!(store.session(&new).unwrap().unwrap().messages, 20);
        assert_eq!(store.session(&stored).unwrap().unwrap().last_seq, 2);
        assert_eq!(store.find("n").unwrap(), std::slice::from_ref(&new));
        let first = store.list(None, None, 1).unwrap();
        assert_eq!(first.sessions[0].id, new);
        assert_eq!(first.sessions[0].messages, 20);
        let second = store.list(None, first.next.as_deref(), 1).unwrap();
        assert_eq!((second.sessions[0].id.clone(), second.next), (stored.clone(), None));
    };
    check(&store);
    outside.execute_batch("COMMIT").unwrap();
    let count = || -> i64 {
        outside
            .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
            .unwrap()
    };
    wait_until("all is stored", || count() == 22);
    check(&store);
    say(&store, &stored, 3, "after");
    store.close();
    check_again(folder.path(), &stored, 3);
}

fn check_again(folder: &Path, session: &SessionId, rows: usize) {
    assert_eq!(all(&Store::open(folder).unwrap(), session).len(), rows);
}

#[test]
fn a_store_opens_while_another_process_writes() {
    let folder = tempfile::tempdir().unwrap();
    let session = {
        let store = Store::open(folder.path()).unwrap();
        let session = create(&store, "a");
        say(&store, &session, 1, "hello");
        session
    };
    let outside = Connection::open(folder.path().join("state.db")).unwrap();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(all(&store, &session).len(), 1);
    outside.execute_batch("COMMIT").unwrap();
}

#[test]
fn a_store_that_another_process_holds_is_busy_and_not_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("state.db");
    let outside = Connection::open(&database).unwrap();
    // Not laid out yet, so that whoever opens it has to write.
    outside
        .execute_batch("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE")
        .unwrap();
    let error = Store::open(folder.path()).err().unwrap();
    let text = error.to_string();
    assert!(matches!(error, StoreError::Busy { .. }), "{text}");
    assert!(text.contains("another process") && text.contains("try again"), "{text}");
    outside.execute_batch("COMMIT").unwrap();
    drop(Store::open(folder.path()).unwrap());
}

#[test]
fn a_change_that_can_not_be_made_is_not_made_later() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "before");
    let outside = Connection::open(folder.path().join("state.db")).unwrap();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.archive(&session, true).unwrap_err().to_string();
    // On a busy machine nobody knows yet that another program writes.
    assert!(refused.contains("nothing was changed"), "{refused}");
    outside.execute_batch("COMMIT").unwrap();
    say(&store, &session, 2, "after");
    let stored = store.session(&session).unwrap().unwrap();
    assert_eq!((stored.archived_ms, stored.last_seq), (None, 2));
    store.archive(&session, true).unwrap();
    assert!(store.session(&session).unwrap().unwrap().archived_ms.is_some());
}

#[test]
fn what_waits_when_the_store_ends_is_written_if_it_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    let outside = Connection::open(folder.path().join("state.db")).unwrap();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    let kept = store.append(&session, vec![at(&session, 1, user("hello"))], Durability::Disk);
    assert!(matches!(kept, Kept::Waiting(_)));
    outside.execute_batch("COMMIT").unwrap();
    store.close();
    check_again(folder.path(), &session, 1);
    let late = store.append(&session, vec![at(&session, 2, user("late"))], Durability::Disk);
    assert!(matches!(late, Kept::Lost(reason) if reason.contains("closed")));
    assert_eq!(
        all(&store, &session),
        [at(&session, 1, user("hello")), at(&session, 2, user("late"))]
    );
}

#[test]
fn what_has_no_room_to_wait_is_lost_and_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "before");
    assert!(!store.is_behind(&session));
    let outside = Connection::open(folder.path().join("state.db")).unwrap();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    let text = "x".repeat(8 << 20);
    let mut seq = 1;
    let reason = loop {
        seq += 1;
        match store.append(&session, vec![at(&session, seq, user(&text))], Durability::Disk) {
            Kept::Stored => panic!("nothing can be stored now"),
            Kept::Waiting(_) => assert!(seq < 20, "the room has no end"),
            Kept::Lost(reason) => break reason,
        }
    };
    assert!(reason.contains("64 MiB"), "{reason}");
    let seqs = || -> Vec<u64> { all(&store, &session).iter().map(|envelope| envelope.seq).collect() };
    let kept: Vec<u64> = (1..seq).collect();
    assert_eq!(seqs(), kept, "what is lost is not shown as if it waited");
    assert!(store.is_behind(&session) && !store.is_behind(&"other".into()));
    outside.execute_batch("COMMIT").unwrap();
    wait_until("what waited is stored", || !store.is_behind(&session));
    assert_eq!(seqs(), kept);
}

#[test]
fn what_waited_and_was_refused_is_told_with_the_next_row() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "before");
    let outside = Connection::open(folder.path().join("state.db")).unwrap();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waiting = store.append(&session, vec![at(&session, 2, user("late"))], Durability::Disk);
    assert!(matches!(waiting, Kept::Waiting(_)), "{waiting:?}");
    outside
        .execute_batch("INSERT INTO events (session, seq, at_ms, kind, body) VALUES (1, 2, 0, 'notice', '{}'); COMMIT")
        .unwrap();
    wait_until("it is refused", || !store.is_behind(&session));
    let kept = store.append(&session, vec![at(&session, 3, user("next"))], Durability::Disk);
    assert!(
        matches!(&kept, Kept::Lost(reason) if reason.contains("row 2")),
        "{kept:?}"
    );
    say(&store, &session, 4, "told once, and the next row was stored");
    assert_eq!(all(&store, &session).len(), 3);
}

/// A small disk of its own, if this user may mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(options: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "talaria-test"])
            .arg(folder.path())
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        eprintln!("not tested: this user can't mount a tmpfs");
        None
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount").args(["-o", options]).arg(self.0.path()).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: what still has files open there must not keep the folder.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_keeps_rows_waiting_until_there_is_room() {
    let Some(disk) = SmallDisk::mount("size=1m") else {
        return;
    };
    let folder = disk.0.path().join("state");
    let store = Store::open(&folder).unwrap();
    let session = create(&store, "a");
    let text = "x".repeat(50_000);
    let mut seq = 0;
    let reason = loop {
        seq += 1;
        match store.append(&session, vec![at(&session, seq, user(&text))], Durability::Disk) {
            Kept::Stored => assert!(seq < 100, "the disk never became full"),
            Kept::Waiting(reason) => break reason,
            Kept::Lost(reason) => panic!("{reason}"),
        }
    };
    assert!(reason.contains("full"), "{reason}");
    assert_eq!(all(&store, &session).len() as u64, seq);
    disk.remount("remount,size=8m");
    let outside = Connection::open(folder.join("state.db")).unwrap();
    let count = || -> u64 {
        let count: i64 = outside
            .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
            .unwrap();
        count.unsigned_abs()
    };
    wait_until("the waiting row is stored", || {
        count() == seq && store.trouble().is_none()
    });
    say(&store, &session, seq + 1, "after");
    let check: String = outside
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
}

/// Takes all the room there is, but for `spare` bytes that are taken by the file that comes back.
fn fill(disk: &SmallDisk, spare: usize) -> std::path::PathBuf {
    let (spared, filler) = (disk.0.path().join("spare"), disk.0.path().join("filler"));
    std::fs::write(&spared, vec![b'x'; spare]).unwrap();
    let mut file = std::fs::File::create(filler).unwrap();
    while std::io::Write::write_all(&mut file, &[b'x'; 4096]).is_ok() {}
    spared
}

#[test]
fn a_log_that_has_filled_the_disk_gives_way_as_soon_as_there_is_a_little_room() {
    let Some(disk) = SmallDisk::mount("size=3m") else {
        return;
    };
    let spare = disk.0.path().join("spare");
    std::fs::write(&spare, vec![b'x'; 800_000]).unwrap();
    let store = Store::open(&disk.0.path().join("state")).unwrap();
    let session = create(&store, "a");
    let mut seq = 0;
    let mut next = || {
        seq += 1;
        store.append(&session, vec![at(&session, seq, user("a few words"))], Durability::Disk)
    };
    for number in 0.. {
        assert!(number < 1000, "the disk never became full");
        if matches!(next(), Kept::Waiting(_)) {
            break;
        }
    }
    std::fs::remove_file(spare).unwrap();
    wait_until("there is room again", || !store.is_behind(&session));
    // Far more than fits behind what the log holds.
    for _ in 0..100 {
        next();
    }
    wait_until("all is stored", || !store.is_behind(&session));
    store.close();
    check_again(&disk.0.path().join("state"), &session, usize::try_from(seq).unwrap());
}

#[test]
fn a_store_on_a_full_disk_is_opened_when_there_is_room() {
    for is_new in [true, false] {
        let Some(disk) = SmallDisk::mount("size=1m") else {
            return;
        };
        let folder = disk.0.path().join("state");
        std::fs::create_dir(&folder).unwrap();
        if !is_new {
            let store = Store::open(&folder).unwrap();
            let old = create(&store, "old");
            say(&store, &old, 1, "before");
        }
        let spare = fill(&disk, 400_000);
        let error = Store::open(&folder).err().expect("there is no room");
        assert!(error.is_full() && error.to_string().contains("is full"), "{error:?}");
        let store = Store::when_there_is_room(&folder, &error);
        assert_eq!(store.warning(), None, "it is told with the first row");
        let session = create(&store, "a");
        store.claim(&session).unwrap();
        for seq in 1..=3 {
            let kept = store.append(&session, vec![at(&session, seq, user("hello"))], Durability::Disk);
            assert!(
                matches!(&kept, Kept::Waiting(reason) if reason.contains("is full")),
                "{kept:?}"
            );
        }
        assert_eq!(all(&store, &session).len(), 3);
        let error = store.list(None, None, 10).err().unwrap().to_string();
        assert!(error.contains("is full"), "{error}");
        std::fs::remove_file(spare).unwrap();
        wait_until("it is stored", || !store.is_behind(&session));
        say(&store, &session, 4, "after");
        assert_eq!(
            store.list(None, None, 10).unwrap().sessions.len(),
            1 + usize::from(!is_new)
        );
        store.close();
        check_again(&folder, &session, 4);
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let Some(disk) = SmallDisk::mount("size=1m") else {
        return;
    };
    let folder = disk.0.path().join("state");
    let store = Store::open(&folder).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
    drop(store);
    disk.remount("remount,ro");
    for folder in [folder.clone(), folder.join("new"), disk.0.path().join("other")] {
        let error = Store::open(&folder).err().unwrap().to_string();
        assert!(error.contains(&folder.display().to_string()), "{error}");
    }
    let store = Store::memory_because("the home folder can't be written");
    assert_eq!(
        store.warning().unwrap(),
        "Nothing is saved: the home folder can't be written"
    );
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
}
