//! Repairs: whatever happens to the file, each row that SQLite can read before is there afterwards, and the old file is
//! kept.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agent_core::approval::Grant;
use agent_core::content::{Blob, Content};
use agent_core::event::Event;
use agent_core::id::MessageId;
use agent_core::plan::ExactCommand;
use agent_core::store::{Durability, Kept, Pages, Repair, RepairError, Salvaged, Store, Tidied};
use rusqlite::{Connection, OpenFlags};

use crate::{agent, all, at, create, say, user, wait_until};

/// Repairs, once the stores of this process are gone: on a slow disk one may end after it was closed.
pub(crate) fn repair(folder: &Path, label: &str) -> Result<Repair, RepairError> {
    let mut repaired = None;
    wait_until("nothing of this process holds the database", || {
        let found = agent_core::store::repair(folder, label);
        let is_held = matches!(&found, Err(RepairError::InUse { pid: None, .. }));
        repaired = Some(found);
        !is_held
    });
    repaired.unwrap()
}

/// A store with some of everything, closed.
pub(crate) fn filled(folder: &Path) {
    let store = Store::open(folder).unwrap();
    for name in ["a", "b", "c"] {
        let session = create(&store, name);
        for seq in (1..120).step_by(2) {
            let rows = vec![
                at(
                    &session,
                    seq,
                    user(&format!("question {seq} of {name} {}", "what ".repeat(seq as usize))),
                ),
                at(&session, seq + 1, agent(&format!("answer {seq} of {name}"))),
            ];
            assert_eq!(store.append(&session, rows, Durability::Process), Kept::Stored);
        }
        let picture = Event::UserMessage {
            id: MessageId::from("p"),
            content: vec![Content::Image {
                data: Blob::Inline(name.repeat(9000).into_bytes().into()),
                mime_type: "image/png".into(),
                uri: None,
            }],
            context: vec![],
            command: false,
        };
        let kept = store.append(&session, vec![at(&session, 121, picture)], Durability::Disk);
        assert_eq!(kept, Kept::Stored);
    }
    store.grant(&Grant::Command {
        command: ExactCommand {
            program: "/bin/ls".into(),
            args: vec!["-l".into()],
        },
        root: "/".into(),
    });
    store.close();
}

pub(crate) fn database(folder: &Path) -> PathBuf {
    folder.join("state.db")
}

/// All bytes of the files of the store.
fn bytes(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.file_name().unwrap() != "state.lock" && path.is_file())
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

pub(crate) type Rows = BTreeSet<(i64, i64, Vec<u8>)>;

/// The events that SQLite can read in a copy of a database: from both ends, and each by its number.
pub(crate) fn readable(folder: &Path) -> (Rows, BTreeSet<String>) {
    let elsewhere = tempfile::tempdir().unwrap();
    for name in ["state.db", "state.db-wal"] {
        if folder.join(name).exists() {
            fs::copy(folder.join(name), elsewhere.path().join(name)).unwrap();
        }
    }
    let connection =
        Connection::open_with_flags(database(elsewhere.path()), OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    let (mut rows, mut sessions) = (Rows::new(), BTreeSet::new());
    let mut take = |rest: &str| {
        let sql = format!("SELECT session, seq, CAST(body AS BLOB) FROM events {rest}");
        let Ok(mut statement) = connection.prepare(&sql) else {
            return;
        };
        let Ok(mut found) = statement.query([]) else { return };
        while let Ok(Some(row)) = found.next() {
            // A row that has lost its shape, or what it says, is none.
            if let (Ok(session), Ok(seq), Ok(body)) = (row.get(0), row.get(1), row.get::<_, Vec<u8>>(2))
                && serde_json::from_slice::<Event>(&body).is_ok()
            {
                rows.insert((session, seq, body));
            }
        }
    };
    take("ORDER BY id");
    take("ORDER BY id DESC");
    for id in 1..400 {
        take(&format!("WHERE id = {id}"));
    }
    for order in ["", "DESC"] {
        let Ok(mut statement) =
            connection.prepare(&format!("SELECT id FROM sessions NOT INDEXED ORDER BY rowid {order}"))
        else {
            break;
        };
        let found = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        sessions.extend(found.map_while(Result::ok));
    }
    (rows, sessions)
}

pub(crate) fn salvaged(folder: &Path) -> Salvaged {
    match repair(folder, "now").unwrap() {
        Repair::Salvaged(salvaged) => salvaged,
        other @ (Repair::Nothing | Repair::Whole(_) | Repair::Reindexed(_)) => panic!("{other:?}"),
    }
}

/// The store opens, is whole, and can be written; another repair finds nothing.
pub(crate) fn check_whole(folder: &Path) {
    assert_eq!(repair(folder, "again").unwrap(), Repair::Whole(Tidied::default()));
    let store = Store::open(folder).unwrap();
    let health = store.health(Duration::from_secs(60)).unwrap();
    assert_eq!(health.pages, Pages::Whole);
    let session = create(&store, "new");
    say(&store, &session, 1, "after the repair");
    for name in ["a", "b", "c"] {
        if let Some(record) = store.session(&name.into()).unwrap() {
            let events = all(&store, &name.into());
            let last = events.last().map_or(0, |envelope| envelope.seq);
            assert!(record.last_seq >= last, "{last} {record:?}");
            say(&store, &name.into(), record.last_seq + 1, "goes on");
        }
    }
    store.close();
    let left = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("repair")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Repairs, and expects all that could be read.
pub(crate) fn check_keeps(folder: &Path, what: &str) {
    let (rows, sessions) = readable(folder);
    let before = fs::read(database(folder)).unwrap();
    let repaired = repair(folder, "now");
    eprintln!("{what}: {repaired:?}");
    match repaired {
        Ok(Repair::Salvaged(salvaged)) => {
            assert!(
                fs::read(&salvaged.old).unwrap() == before,
                "{what}: the old file is kept"
            );
            assert_eq!(fs::metadata(&salvaged.old).unwrap().permissions().mode() & 0o777, 0o600);
        }
        Ok(Repair::Whole(_) | Repair::Reindexed(_)) => {}
        Ok(Repair::Nothing) => panic!("{what}: there was something"),
        Err(RepairError::Store(error)) if error.to_string().contains("update this program") => {
            assert!(fs::read(database(folder)).unwrap() == before, "{what}: it was touched");
            return;
        }
        Err(error) => panic!("{what}: {error}"),
    }
    let (after, sessions_after) = readable(folder);
    let has_place = |place: &(i64, i64)| after.iter().any(|(session, seq, _)| (*session, *seq) == *place);
    let lost: Vec<_> = rows
        .difference(&after)
        .filter(|(session, seq, _)| !has_place(&(*session, *seq)))
        .collect();
    assert!(lost.is_empty(), "{what}: {lost:?}");
    let lost: Vec<_> = sessions.difference(&sessions_after).collect();
    assert!(lost.is_empty(), "{what}: {lost:?}");
    check_whole(folder);
}

#[test]
fn a_whole_database_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(repair(folder.path(), "now").unwrap(), Repair::Nothing);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::write(database(folder.path()), "").unwrap();
    assert_eq!(repair(folder.path(), "now").unwrap(), Repair::Nothing);
    filled(folder.path());
    let before = bytes(folder.path());
    assert_eq!(repair(folder.path(), "now").unwrap(), Repair::Whole(Tidied::default()));
    assert!(bytes(folder.path()) == before);
}

/// Copies the files of a store that is open, with what is only in its log. By another process, so that no lock is lost.
pub(crate) fn copy_open(from: &Path, to: &Path) {
    for name in ["state.db", "state.db-wal"] {
        let status = Command::new("cp").arg(from.join(name)).arg(to.join(name)).status();
        assert!(status.unwrap().success());
    }
}

#[test]
fn an_index_that_is_damaged_alone_is_made_anew_in_place() {
    let spoils = [
        "DROP TABLE search",
        "UPDATE search_data SET block = x'00' WHERE id > 10",
        "DELETE FROM search_data WHERE id = 10",
    ];
    for spoil in spoils {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path());
        let (rows, _) = readable(folder.path());
        Connection::open(database(folder.path()))
            .unwrap()
            .execute_batch(spoil)
            .unwrap();
        let found = repair(folder.path(), "now").unwrap();
        assert_eq!(found, Repair::Reindexed(Tidied::default()), "{spoil}");
        assert_eq!(readable(folder.path()).0, rows);
        let connection = Connection::open(database(folder.path())).unwrap();
        let count = |word| -> i64 {
            let sql = "SELECT count(*) FROM search WHERE search MATCH ?1";
            connection.query_row(sql, [word], |row| row.get(0)).unwrap()
        };
        assert_eq!(count("answer"), 180, "{spoil}");
        drop(connection);
        check_whole(folder.path());
    }
}

#[test]
fn what_is_no_database_is_put_aside() {
    for garbage in [&b"x"[..], &b"garbage ".repeat(1000), &[0xff; 4096], &[0; 20_000]] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(database(folder.path()), garbage).unwrap();
        let salvaged = salvaged(folder.path());
        assert_eq!((salvaged.sessions, salvaged.rows), (0, 0));
        assert_eq!(fs::read(&salvaged.old).unwrap(), garbage);
        check_whole(folder.path());
    }
}

#[test]
fn what_is_not_ours_is_refused_and_left_alone() {
    let check = |make: &dyn Fn(&Path), says: &str| {
        let folder = tempfile::tempdir().unwrap();
        make(&database(folder.path()));
        let before = bytes(folder.path());
        let error = repair(folder.path(), "now").unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(bytes(folder.path()) == before);
    };
    let sql = |sql: &'static str| move |path: &Path| Connection::open(path).unwrap().execute_batch(sql).unwrap();
    check(&sql("CREATE TABLE other (x)"), "another program");
    check(
        &sql("CREATE TABLE x (y); PRAGMA application_id = 0x54414c41; PRAGMA user_version = 99"),
        "update this program",
    );
    check(&|path| symlink("/tmp/elsewhere", path).unwrap(), "not a regular file");
    check(&|path| fs::create_dir(path).unwrap(), "not a regular file");
}

#[test]
fn what_the_dead_have_left_is_tidied_up() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let connection = Connection::open(database(folder.path())).unwrap();
    connection
        .execute_batch(
            r#"INSERT INTO leases SELECT id, 999999, '1', 'elsewhere', 0 FROM sessions;
               INSERT INTO partials (session_id, seq, turn, event, text)
               VALUES ('a', 122, 1, '{"event":"agent_text","id":"m","text":""}', 'half a ');
               INSERT INTO partials (session_id, seq, turn, event, text)
               VALUES ('a', 122, 1, '{"event":"agent_text","id":"m","text":""}', 'word');"#,
        )
        .unwrap();
    drop(connection);
    let expect = Tidied {
        leases: 3,
        unfinished: 1,
    };
    assert_eq!(repair(folder.path(), "now").unwrap(), Repair::Whole(expect));
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(
        all(&store, &"a".into()).last().unwrap(),
        &at(&"a".into(), 122, agent("half a word"))
    );
    store.close();
    check_whole(folder.path());
}

#[test]
fn a_session_whose_own_row_is_gone_keeps_its_name_and_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let connection = Connection::open(database(folder.path())).unwrap();
    let page: i64 = connection
        .query_row(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'sessions'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    drop(connection);
    OpenOptions::new()
        .write(true)
        .open(database(folder.path()))
        .unwrap()
        .write_all_at(&[0xee; 4096], (page as u64 - 1) * 4096)
        .unwrap();
    let salvaged = salvaged(folder.path());
    assert_eq!(
        (salvaged.sessions, salvaged.bare_sessions, salvaged.rows),
        (3, 3, 363),
        "{salvaged:?}"
    );
    let store = Store::open(folder.path()).unwrap();
    for name in ["a", "b", "c"] {
        let record = store.session(&name.into()).unwrap().unwrap();
        assert_eq!((record.messages, record.last_seq, record.last_turn), (121, 121, 1));
    }
    assert_eq!(store.list(None, None, 10).unwrap().sessions.len(), 3);
    store.close();
    check_whole(folder.path());
}

#[test]
fn a_folder_that_can_not_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let file = OpenOptions::new().write(true).open(database(folder.path())).unwrap();
    file.write_all_at(&[0; 20], 0).unwrap();
    drop(file);
    // A folder in the place of the first file that a repair makes: root may write into any folder.
    fs::create_dir(folder.path().join("state.db.repair-copy")).unwrap();
    fs::set_permissions(database(folder.path()), Permissions::from_mode(0o600)).unwrap();
    let before = bytes(folder.path());
    let error = repair(folder.path(), "now").unwrap_err();
    assert!(
        matches!(&error, RepairError::File { path, .. } if path.ends_with("state.db.repair-copy")),
        "{error}"
    );
    assert!(bytes(folder.path()) == before);
}
