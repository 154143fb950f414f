//! What is saved where SQLite reads nothing any more, and what is said to be lost.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use agent_core::content::{Blob, Content};
use agent_core::event::{Event, Hash};
use agent_core::store::{Lost, Store};
use rusqlite::Connection;

use crate::repair::{check_whole, copy_open, database, filled, readable, salvaged};
use crate::{all, create, say};

/// Bytes for one page or several.
fn overwrite(folder: &Path, page: i64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(database(folder)).unwrap();
    file.write_all_at(bytes, (page as u64 - 1) * 4096).unwrap();
}

fn number(folder: &Path, sql: &str) -> i64 {
    let connection = Connection::open(database(folder)).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// The page that a table or an index begins at.
fn root(folder: &Path, name: &str) -> i64 {
    number(
        folder,
        &format!("SELECT rootpage FROM sqlite_schema WHERE name = '{name}'"),
    )
}

/// The files of a store that is open, as a crash would leave them: all rows are in its log.
fn unmoved(folder: &Path) {
    let whole = tempfile::tempdir().unwrap();
    let store = Store::open(whole.path()).unwrap();
    let session = create(&store, "a");
    for seq in 1..=50 {
        say(&store, &session, seq, "in the log");
    }
    copy_open(whole.path(), folder);
    store.close();
}

#[test]
fn a_log_without_its_database_is_opened_by_nobody_and_saved() {
    type Lose = fn(&Path);
    let loses: [Lose; 2] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, "").unwrap(),
    ];
    for lose in loses {
        let folder = tempfile::tempdir().unwrap();
        unmoved(folder.path());
        let log = folder.path().join("state.db-wal");
        let before = fs::read(&log).unwrap();
        lose(&database(folder.path()));
        let error = Store::open(folder.path()).err().unwrap().to_string();
        for part in ["state.db-wal", "state.db ", "`agent doctor --repair`"] {
            assert!(error.contains(part), "{error}");
        }
        assert!(fs::read(&log).unwrap() == before);
        let salvaged = salvaged(folder.path());
        assert_eq!((salvaged.sessions, salvaged.rows), (1, 50), "{salvaged:?}");
        assert!(fs::read(salvaged.old.with_extension("damaged-now-wal")).unwrap() == before);
        assert_eq!(all(&Store::open(folder.path()).unwrap(), &"a".into()).len(), 50);
        check_whole(folder.path());
    }
}

#[test]
fn rows_are_found_again_below_a_root_that_is_gone() {
    // Of small tables the root is all there is.
    for (tables, more, lost_bytes) in [
        (&["events"][..], false, 0),
        (&["sessions", "events", "blobs", "grants"], false, 3),
        (&["events", "sqlite_autoindex_events_1"], true, 0),
    ] {
        for noise in [0, 0xa5] {
            let folder = tempfile::tempdir().unwrap();
            filled(folder.path());
            let (rows, _) = readable(folder.path());
            for page in tables
                .iter()
                .map(|table| root(folder.path(), table))
                .collect::<Vec<_>>()
            {
                overwrite(folder.path(), page, &[noise; 4096]);
            }
            let salvaged = salvaged(folder.path());
            let found = (salvaged.sessions, salvaged.rows, salvaged.lost_rows);
            assert_eq!(found, (3, 363, 0), "{tables:?} {salvaged:?}");
            assert_eq!(salvaged.lost_bytes, lost_bytes, "{tables:?} {salvaged:?}");
            assert_eq!(salvaged.more_rows_lost, more, "{tables:?}");
            assert_eq!(readable(folder.path()).0, rows);
            check_whole(folder.path());
        }
    }
}

#[test]
fn bytes_are_found_again_below_a_root_that_is_gone() {
    const MANY: u64 = 100;
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let connection = Connection::open(database(folder.path())).unwrap();
    for number in 0..MANY {
        let bytes = number.to_string().repeat(1000).into_bytes();
        let hash = Hash::of(&bytes);
        connection
            .execute("INSERT INTO blobs VALUES (?1, ?2)", (hash.hex(), bytes))
            .unwrap();
        connection
            .execute("INSERT INTO blob_uses VALUES (?1, 'a')", [hash.hex()])
            .unwrap();
    }
    drop(connection);
    overwrite(folder.path(), root(folder.path(), "blobs"), &[0; 4096]);
    let salvaged = salvaged(folder.path());
    // The root holds some itself.
    assert!((1..30).contains(&salvaged.lost_bytes), "{salvaged:?}");
    let kept = number(folder.path(), "SELECT count(*) FROM blobs");
    assert_eq!(kept as u64 + salvaged.lost_bytes, MANY + 3);
    check_whole(folder.path());
}

#[test]
fn rows_are_found_again_without_the_first_page() {
    for noise in [0, 0xa5] {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path());
        let before = readable(folder.path());
        overwrite(folder.path(), 1, &[noise; 4096]);
        let salvaged = salvaged(folder.path());
        assert_eq!((salvaged.sessions, salvaged.rows), (3, 363), "{salvaged:?}");
        assert!(salvaged.more_rows_lost && salvaged.bare_sessions == 0, "{salvaged:?}");
        assert_eq!(readable(folder.path()), before);
        assert_eq!(number(folder.path(), "SELECT count(*) FROM blobs"), 3);
        check_whole(folder.path());
    }
}

#[test]
fn what_was_deleted_stays_deleted() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let store = Store::open(folder.path()).unwrap();
    store.delete(&"c".into()).unwrap();
    // It gets the number that the deleted one had.
    let session = create(&store, "d");
    say(&store, &session, 1, "the first of another");
    store.close();
    let (rows, _) = readable(folder.path());
    assert!(number(folder.path(), "PRAGMA freelist_count") > 5);
    let whole = fs::read(database(folder.path())).unwrap();
    for spoil in [&["events"][..], &["sqlite_schema"], &["sqlite_schema", "events"]] {
        fs::write(database(folder.path()), &whole).unwrap();
        let roots = spoil.iter().map(|name| match *name {
            "sqlite_schema" => 1,
            name => root(folder.path(), name),
        });
        for page in roots.collect::<Vec<_>>().into_iter().rev() {
            overwrite(folder.path(), page, &[0xa5; 4096]);
        }
        let _ = salvaged(folder.path());
        let connection = Connection::open(database(folder.path())).unwrap();
        let mut found = connection
            .prepare("SELECT session, seq FROM events JOIN sessions ON key = session WHERE sessions.id <> 'c'")
            .unwrap();
        let found: BTreeSet<(i64, i64)> = found
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let expect: BTreeSet<_> = rows.iter().map(|(session, seq, _)| (*session, *seq)).collect();
        assert_eq!(found, expect, "{spoil:?}");
        if *spoil == ["events"] {
            assert_eq!(number(folder.path(), "SELECT count(*) FROM sessions"), 3);
        }
        fs::remove_file(database(folder.path())).unwrap();
    }
}

#[test]
fn rows_that_nobody_can_read_are_damage_and_lost() {
    let long = "a page and more ".repeat(1000);
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    for seq in 1..=5 {
        say(&store, &session, seq, &long);
    }
    store.rename(&session, "Of pages").unwrap();
    let other = create(&store, "b");
    say(&store, &other, 1, "short");
    store.close();
    let bytes = fs::read(database(folder.path())).unwrap();
    // A page with nothing but text is one that a row goes on at.
    let is_text = |page: &[u8]| String::from_utf8_lossy(page).matches("a page and more").count() > 250;
    let found = bytes.chunks(4096).position(is_text).unwrap();
    let next = [&bytes[found * 4096..found * 4096 + 4], &[0; 4092]].concat();
    overwrite(folder.path(), found as i64 + 1, &next);
    let salvaged = salvaged(folder.path());
    assert_eq!((salvaged.rows, salvaged.lost_rows), (6, 1), "{salvaged:?}");
    let lost = Lost {
        session: "a".into(),
        title: Some("Of pages".into()),
        rows: 1,
    };
    assert_eq!(salvaged.lost, [lost]);
    check_whole(folder.path());
}

#[test]
fn gaps_that_were_there_are_no_loss_and_sessions_without_rows_are_told() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let connection = Connection::open(database(folder.path())).unwrap();
    connection
        .execute_batch("DELETE FROM events WHERE session = 2 AND seq < 50; DELETE FROM events WHERE session = 3")
        .unwrap();
    drop(connection);
    overwrite(folder.path(), root(folder.path(), "events"), &[0; 4096]);
    let salvaged = salvaged(folder.path());
    assert_eq!((salvaged.sessions, salvaged.empty_sessions), (2, 1), "{salvaged:?}");
    assert_eq!(
        (salvaged.lost_rows, salvaged.more_rows_lost),
        (0, false),
        "{salvaged:?}"
    );
}

#[test]
fn bytes_are_those_of_their_hash_or_none() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let good = b"a".repeat(9000);
    let hash = Hash::of(&good);
    let connection = Connection::open(database(folder.path())).unwrap();
    let spoiled = connection.execute(
        "UPDATE blobs SET bytes = zeroblob(9000) WHERE sha256 = ?1",
        [hash.hex()],
    );
    assert_eq!(spoiled.unwrap(), 1);
    drop(connection);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.kept(&hash).unwrap(), None);
    assert!(store.is_damaged(&hash).unwrap());
    let Event::UserMessage { content, .. } = &all(&store, &"a".into())[120].event else {
        panic!()
    };
    assert!(matches!(
        &content[0],
        Content::Image {
            data: Blob::Stored(_),
            ..
        }
    ));
    store.close();
    let salvaged = salvaged(folder.path());
    assert_eq!(
        (salvaged.rows, salvaged.lost_rows, salvaged.lost_bytes),
        (363, 0, 1),
        "{salvaged:?}"
    );
    check_whole(folder.path());
}

#[test]
fn a_header_is_put_right_for_any_size_of_pages() {
    for size in [8192, 16_384] {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path());
        let connection = Connection::open(database(folder.path())).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = DELETE; PRAGMA page_size = {size}; VACUUM; PRAGMA journal_mode = WAL"
            ))
            .unwrap();
        drop(connection);
        let before = readable(folder.path());
        overwrite(folder.path(), 1, &[0; 100]);
        let salvaged = salvaged(folder.path());
        assert_eq!(
            (salvaged.sessions, salvaged.rows, salvaged.lost_rows),
            (3, 363, 0),
            "{size} {salvaged:?}"
        );
        assert!(!salvaged.more_rows_lost);
        assert_eq!(readable(folder.path()), before);
        check_whole(folder.path());
    }
}

#[test]
fn an_update_removes_what_another_has_left_of_its_copy_and_no_folder_stops_it() {
    for folders in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path());
        crate::older::make_older(folder.path(), &[]);
        let left: Vec<PathBuf> = [
            "schema-6.part",
            "schema-6.part-journal",
            "schema-3.part",
            "schema-6.bak",
        ]
        .iter()
        .map(|name| folder.path().join(format!("state.db.{name}")))
        .collect();
        for path in &left {
            match folders {
                true => fs::create_dir(path).unwrap(),
                false => fs::write(path, "left").unwrap(),
            }
        }
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(all(&store, &"a".into()).len(), 121);
        store.close();
        if !folders {
            assert!(left[..3].iter().all(|path| !path.exists()));
            assert!(fs::metadata(&left[3]).unwrap().len() > 1000);
        }
    }
}
