//! One writer a session.

use std::process::{Child, Command, Stdio};

use agent_core::store::{Held, Store};
use rusqlite::{Connection, params};

use crate::create;

/// A process that lives until it is killed.
fn spawn() -> Child {
    Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap()
}

#[cfg(target_os = "linux")]
fn start_of(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_ascii_whitespace().nth(19).unwrap().to_owned()
}

#[cfg(not(target_os = "linux"))]
fn start_of(_pid: u32) -> String {
    String::new()
}

/// Writes the session's lease over to another process, as if that had claimed it.
fn hand_over(connection: &Connection, pid: u32, started: &str) {
    let sql = "UPDATE leases SET pid = ?1, started = ?2 WHERE session_id = 'a'";
    assert_eq!(connection.execute(sql, params![pid, started]).unwrap(), 1);
}

#[test]
fn a_session_belongs_to_its_holder_while_that_lives() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    assert_eq!(store.claim(&session), Ok(()));
    assert_eq!(store.claim(&session), Ok(()), "the holder may claim again");
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let mut holder = spawn();
    hand_over(&connection, holder.id(), &start_of(holder.id()));
    assert_eq!(store.claim(&session), Err(Held { pid: holder.id() }));
    store.release(&session);
    assert_eq!(
        store.claim(&session),
        Err(Held { pid: holder.id() }),
        "only the holder releases"
    );
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(store.claim(&session), Ok(()), "a dead holder's lease is free at once");
}

#[test]
fn a_claim_that_cannot_be_written_still_sees_the_holder() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    store.claim(&session).unwrap();
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let mut holder = spawn();
    hand_over(&connection, holder.id(), &start_of(holder.id()));
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.claim(&session), Err(Held { pid: holder.id() }));
    assert_eq!(store.claim(&"other".into()), Ok(()));
    connection.execute_batch("COMMIT").unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
fn a_released_session_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    store.claim(&session).unwrap();
    store.release(&session);
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let leases: i64 = connection
        .query_row("SELECT count(*) FROM leases", [], |row| row.get(0))
        .unwrap();
    assert_eq!(leases, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_later_process_with_the_same_number_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    store.claim(&session).unwrap();
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let mut later = spawn();
    hand_over(&connection, later.id(), "1");
    assert_eq!(store.claim(&session), Ok(()));
    later.kill().unwrap();
    // Dead, and not reaped yet.
    hand_over(&connection, later.id(), &start_of(later.id()));
    crate::wait_until("the kill has its effect", || store.claim(&session).is_ok());
    later.wait().unwrap();
}

#[test]
fn a_lease_from_a_place_we_cannot_see_holds_for_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    store.claim(&session).unwrap();
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    connection
        .execute("UPDATE leases SET pid = 7, place = 'elsewhere'", [])
        .unwrap();
    assert_eq!(store.claim(&session), Err(Held { pid: 7 }));
    connection
        .execute("UPDATE leases SET beat_ms = beat_ms - 40000", [])
        .unwrap();
    assert_eq!(store.claim(&session), Ok(()));
}
