//! Databases whose first page is spoilt: nothing is lost, of whatever schema they are.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use agent_core::content::{Blob, Content};
use agent_core::event::Event;
use agent_core::store::Store;
use rusqlite::Connection;

use crate::all;
use crate::older::{TO_SCHEMA_5, make_older};
use crate::repair::{check_whole, database, filled, readable, salvaged};

#[test]
fn a_header_that_is_overwritten_loses_nothing() {
    for noise in [&[0; 100][..], &[0xff; 60], b"no database at all", &[0x55; 28]] {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path());
        let (rows, sessions) = readable(folder.path());
        OpenOptions::new()
            .write(true)
            .open(database(folder.path()))
            .unwrap()
            .write_all_at(noise, 0)
            .unwrap();
        let salvaged = salvaged(folder.path());
        assert_eq!(
            (salvaged.sessions, salvaged.lost_rows, salvaged.bare_sessions),
            (3, 0, 0),
            "{salvaged:?}"
        );
        assert_eq!(readable(folder.path()), (rows, sessions));
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.all_grants().unwrap().len(), 1);
        let messages = all(&store, &"a".into());
        let Event::UserMessage { content, .. } = &messages[120].event else {
            panic!("{:?}", messages[120])
        };
        assert!(matches!(&content[0], Content::Image { data: Blob::Inline(bytes), .. } if bytes.len() == 9000));
        assert_eq!(store.session(&"a".into()).unwrap().unwrap().messages, 121);
        store.close();
        check_whole(folder.path());
    }
}

/// Overwrites the beginning of a database; so many sessions and rows are there after the repair, which are all.
fn check_all_is_found_behind_a_bad_header(folder: &Path, sessions: u64, rows: u64) {
    let file = OpenOptions::new().write(true).open(database(folder)).unwrap();
    file.write_all_at(&[0; 20], 0).unwrap();
    let salvaged = salvaged(folder);
    assert_eq!(
        (salvaged.sessions, salvaged.rows, salvaged.lost_rows),
        (sessions, rows, 0),
        "{salvaged:?}"
    );
    check_whole(folder);
}

#[test]
fn a_damaged_database_of_an_older_schema_is_brought_to_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    make_older(folder.path(), &[TO_SCHEMA_5]);
    check_all_is_found_behind_a_bad_header(folder.path(), 3, 363);
}

#[test]
fn forks_keep_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let store = Store::open(folder.path()).unwrap();
    let _ = store.delete(&"b".into());
    store.close();
    let connection = Connection::open(database(folder.path())).unwrap();
    connection
        .execute_batch("UPDATE events SET original = 1 WHERE id = 2")
        .unwrap();
    drop(connection);
    check_all_is_found_behind_a_bad_header(folder.path(), 2, 242);
}
