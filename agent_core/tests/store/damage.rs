//! Files that are not what they should be: refused, and left as they are.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use agent_core::store::{Durability, Kept, Pages, Store};
use rusqlite::Connection;

use crate::{all, at, create, say, user};

fn error(folder: &Path) -> String {
    Store::open(folder).err().expect("it must not open").to_string()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

/// A store with one row, closed.
fn filled(folder: &Path) {
    let store = Store::open(folder).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
}

#[test]
fn only_the_user_can_read_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("new/state");
    let store = Store::open(&state).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
    let check = || {
        assert_eq!(mode(&state), 0o700);
        for file in ["state.db", "state.db-wal", "state.db-shm", "state.lock"] {
            assert_eq!(mode(&state.join(file)), 0o600, "{file}");
        }
    };
    check();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(state.join("state.db"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(state.join("state.db-wal"), fs::Permissions::from_mode(0o644)).unwrap();
    let _second = Store::open(&state).unwrap();
    check();
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let database = folder.path().join("state.db");
    let connection = Connection::open(&database).unwrap();
    connection.pragma_update(None, "user_version", 10).unwrap();
    drop(connection);
    let before = fs::read(&database).unwrap();
    let error = error(folder.path());
    assert!(error.contains("schema 10") && error.contains("up to 9"), "{error}");
    assert_eq!(fs::read(&database).unwrap(), before);
}

#[test]
fn an_empty_file_is_a_new_database() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("state.db"), "").unwrap();
    filled(folder.path());
    assert_eq!(all(&Store::open(folder.path()).unwrap(), &"a".into()).len(), 1);
}

#[test]
fn what_is_no_database_of_ours_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("state.db");
    for garbage in [&b"x"[..], &[0; 100], &b"garbage ".repeat(1000), &[0xff; 4096]] {
        fs::write(&database, garbage).unwrap();
        let error = error(folder.path());
        assert!(error.contains("state.db"), "{error}");
        assert_eq!(fs::read(&database).unwrap(), garbage);
    }
    fs::remove_file(&database).unwrap();
    Connection::open(&database)
        .unwrap()
        .execute_batch("CREATE TABLE other (x)")
        .unwrap();
    let before = fs::read(&database).unwrap();
    let error = error(folder.path());
    assert!(error.contains("another program"), "{error}");
    assert_eq!(fs::read(&database).unwrap(), before);
}

#[test]
fn only_a_regular_file_is_the_database() {
    type Make = fn(&Path);
    let cases: [(&str, Make); 3] = [
        ("a folder", |path| fs::create_dir(path).unwrap()),
        ("a link", |path| symlink("/tmp/elsewhere", path).unwrap()),
        ("a pipe", |path| {
            let status = std::process::Command::new("mkfifo").arg(path).status();
            assert!(status.unwrap().success());
        }),
    ];
    for (what, make) in cases {
        for file in ["state.db", "state.db-wal", "state.lock"] {
            let folder = tempfile::tempdir().unwrap();
            make(&folder.path().join(file));
            let error = error(folder.path());
            assert!(error.contains("not a regular file"), "{what} at {file}: {error}");
        }
    }
}

#[test]
fn a_state_folder_is_a_folder_of_this_user() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = error(&path);
        assert!(error.contains("is not a folder"), "{error}");
    }
    // Only root can give a folder away; everybody else is refused root's own.
    let foreign = folder.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    let foreign = match std::os::unix::fs::chown(&foreign, Some(4242), None) {
        Ok(()) => foreign,
        Err(_) => "/usr".into(),
    };
    let before = mode(&foreign);
    let error = error(&foreign);
    assert!(error.contains("belongs to the user"), "{error}");
    assert_eq!(mode(&foreign), before);
    // A link to a folder of one's own is a way of putting it elsewhere.
    let (own, link) = (folder.path().join("own"), folder.path().join("link"));
    fs::create_dir(&own).unwrap();
    symlink(&own, &link).unwrap();
    filled(&link);
    assert!(own.join("state.db").exists());
}

#[test]
fn a_log_that_was_replaced_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
    assert_eq!(all(&store, &session).len(), 1);
    let log = folder.path().join("state.db-wal");
    fs::rename(&log, folder.path().join("away")).unwrap();
    for (seq, text) in [(2, "lost with its file"), (3, "so is this")] {
        let kept = store.append(&session, vec![at(&session, seq, user(text))], Durability::Disk);
        assert!(
            matches!(&kept, Kept::Waiting(reason) if reason.contains("replaced")),
            "{kept:?}"
        );
    }
    assert_eq!(all(&store, &session).len(), 3, "the session goes on");
    let database = fs::metadata(folder.path().join("state.db"))
        .unwrap()
        .modified()
        .unwrap();
    store.close();
    let after = fs::metadata(folder.path().join("state.db"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(database, after, "not even a checkpoint");
}

#[test]
fn a_log_that_was_cut_off_is_told_and_the_session_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
    let database = folder.path().join("state.db");
    // All of it is in the database by now, and the log may begin again.
    Connection::open(&database)
        .unwrap()
        .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
        .unwrap();
    say(&store, &session, 2, "only in the log");
    assert_eq!(all(&store, &session).len(), 2);
    let log = folder.path().join("state.db-wal");
    fs::OpenOptions::new()
        .write(true)
        .open(&log)
        .unwrap()
        .set_len(0)
        .unwrap();
    let before = fs::read(&database).unwrap();
    for (seq, text) in [(3, "not saved"), (4, "nor this")] {
        let kept = store.append(&session, vec![at(&session, seq, user(text))], Durability::Disk);
        assert!(
            matches!(&kept, Kept::Waiting(reason) if reason.contains("cut off the log")),
            "{kept:?}"
        );
    }
    // What was only in the log is lost; who asks first may hear an error.
    let found = store
        .events(&session, 0, usize::MAX)
        .or_else(|_| store.events(&session, 0, usize::MAX));
    let rows: Vec<u64> = found.unwrap().iter().map(|envelope| envelope.seq).collect();
    assert!(rows.ends_with(&[3, 4]), "{rows:?}");
    assert_eq!(rows[0], 1);
    store.close();
    assert!(fs::read(&database).unwrap() == before, "not even a checkpoint");
}

#[test]
fn a_database_that_was_deleted_or_replaced_is_not_written_to() {
    type Remove = fn(&Path);
    let cases: [(Remove, &str); 3] = [
        (
            |folder| fs::remove_file(folder.join("state.db")).unwrap(),
            "was deleted",
        ),
        (|folder| fs::remove_dir_all(folder).unwrap(), "was deleted"),
        (
            |folder| {
                fs::remove_file(folder.join("state.db")).unwrap();
                fs::write(folder.join("state.db"), "other").unwrap();
            },
            "taken the place",
        ),
    ];
    for (remove, says) in cases {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("state");
        let store = Store::open(&folder).unwrap();
        let session = create(&store, "a");
        say(&store, &session, 1, "hello");
        assert_eq!(all(&store, &session).len(), 1);
        remove(&folder);
        for seq in 2..=3 {
            let kept = store.append(&session, vec![at(&session, seq, user("after"))], Durability::Disk);
            assert!(
                matches!(&kept, Kept::Waiting(reason) if reason.contains(says) && reason.contains("state.db")),
                "{kept:?}"
            );
        }
        assert_eq!(all(&store, &session).len(), 3, "the session goes on");
        store.close();
        let left = fs::read(folder.join("state.db")).unwrap_or_default();
        assert!(left.is_empty() || left == b"other");
    }
}

/// The pages that tables and indexes begin at, from 1.
fn table_pages(database: &Path) -> Vec<usize> {
    let connection = Connection::open(database).unwrap();
    let mut roots = connection
        .prepare("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")
        .unwrap();
    let pages = roots.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    pages.map(|page| usize::try_from(page.unwrap()).unwrap()).collect()
}

#[test]
fn a_damaged_database_is_not_written_any_more_and_the_session_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let database = folder.path().join("state.db");
    let mut bytes = fs::read(&database).unwrap();
    // The schema can be read, the tables can't.
    for page in table_pages(&database) {
        bytes[(page - 1) * 4096..page * 4096].fill(0xee);
    }
    fs::write(&database, &bytes).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "b");
    for seq in 1..=3 {
        let kept = store.append(&session, vec![at(&session, seq, user("hello"))], Durability::Disk);
        let Kept::Waiting(reason) = kept else {
            panic!("it was stored")
        };
        assert!(reason.contains("damaged") && reason.contains("state.db"), "{reason}");
    }
    store.close();
    assert_eq!(fs::read(&database).unwrap(), bytes, "not even a checkpoint");
}

#[test]
fn damage_that_only_a_read_has_met_ends_writing_too() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("state.db");
    filled(folder.path());
    let page: i64 = Connection::open(&database)
        .unwrap()
        .query_row(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'events_moves'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let page = usize::try_from(page).unwrap();
    let mut bytes = fs::read(&database).unwrap();
    bytes[(page - 1) * 4096..page * 4096].fill(0xff);
    fs::write(&database, &bytes).unwrap();

    let store = Store::open(folder.path()).unwrap();
    let error = store.hidden(&"a".into()).unwrap_err().to_string();
    assert!(
        error.contains("damaged") && error.contains("doctor --repair"),
        "{error}"
    );
    let session = create(&store, "b");
    let kept = store.append(&session, vec![at(&session, 1, user("later"))], Durability::Disk);
    assert!(
        matches!(&kept, Kept::Waiting(why) if why.contains("doctor --repair")),
        "{kept:?}"
    );
    assert_eq!(all(&store, &session).len(), 1, "it goes on in memory");
    store.close();
    assert_eq!(fs::read(&database).unwrap(), bytes);
}

#[test]
fn health_is_told_and_bounded_in_time() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let health = |limit| Store::open(folder.path()).unwrap().health(limit).unwrap();
    let found = health(Duration::from_secs(60));
    assert_eq!((found.sessions, &found.pages), (1, &Pages::Whole));
    assert!(found.schema > 0 && found.bytes > 4096, "{found:?}");

    // Large enough that a check without any time is always caught in the middle.
    let database = folder.path().join("state.db");
    let connection = Connection::open(&database).unwrap();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                INSERT INTO blobs SELECT i, zeroblob(1000) FROM n";
    connection.execute(fill, []).unwrap();
    drop(connection);
    assert_eq!(health(Duration::ZERO).pages, Pages::Unfinished);

    let mut bytes = fs::read(&database).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64 * 1024].fill(0x55);
    fs::write(&database, bytes).unwrap();
    let found = health(Duration::from_secs(60));
    assert!(
        matches!(&found.pages, Pages::Damaged(faults) if !faults.is_empty()),
        "{found:?}"
    );
    assert_eq!(found.sessions, 1);
}
