//! One writer a session.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use agent_core::store::{Durability, Held, Kept, Store};
use rusqlite::{Connection, params};

use crate::{agent, all, at, create, say, user, wait_until};

/// A process that lives until it is killed.
pub(crate) fn spawn() -> Child {
    Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap()
}

pub(crate) fn kill(mut process: Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

/// The number of leases, of whatever process.
fn leases(folder: &Path) -> i64 {
    let connection = Connection::open(folder.join("state.db")).unwrap();
    connection
        .query_row("SELECT count(*) FROM leases", [], |row| row.get(0))
        .unwrap()
}

#[cfg(target_os = "linux")]
pub(crate) fn start_of(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_ascii_whitespace().nth(19).unwrap().to_owned()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn start_of(_pid: u32) -> String {
    String::new()
}

/// Writes the session's lease over to another process, as if that had claimed it.
pub(crate) fn hand_over(connection: &Connection, pid: u32, started: &str) {
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
    let holder = spawn();
    hand_over(&connection, holder.id(), &start_of(holder.id()));
    assert_eq!(store.claim(&session), Err(Held { pid: holder.id() }));
    store.release(&session);
    assert_eq!(
        store.claim(&session),
        Err(Held { pid: holder.id() }),
        "only the holder releases"
    );
    kill(holder);
    assert_eq!(store.claim(&session), Ok(()), "a dead holder's lease is free at once");
}

#[test]
fn a_claim_that_cannot_be_written_still_sees_the_holder() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    store.claim(&session).unwrap();
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let holder = spawn();
    hand_over(&connection, holder.id(), &start_of(holder.id()));
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.claim(&session), Err(Held { pid: holder.id() }));
    assert_eq!(store.claim(&"other".into()), Ok(()));
    connection.execute_batch("COMMIT").unwrap();
    kill(holder);
}

#[test]
fn a_released_session_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    store.claim(&session).unwrap();
    store.release(&session);
    assert_eq!(leases(folder.path()), 0);
}

#[test]
fn rows_for_a_session_of_another_process_are_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    store.claim(&session).unwrap();
    say(&store, &session, 1, "hello");
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let holder = spawn();
    hand_over(&connection, holder.id(), &start_of(holder.id()));
    let process = format!("process {}", holder.id());
    let kept = store.append(&session, vec![at(&session, 2, user("mine"))], Durability::Disk);
    assert!(
        matches!(&kept, Kept::Lost(reason) if reason.contains(&process)),
        "{kept:?}"
    );
    assert_eq!(all(&store, &session), [at(&session, 1, user("hello"))]);
    kill(holder);
    say(&store, &session, 2, "free again");
}

#[test]
fn a_message_in_a_session_of_another_process_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    store.claim(&session).unwrap();
    say(&store, &session, 1, "hello");
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let holder = spawn();
    hand_over(&connection, holder.id(), &start_of(holder.id()));
    let mut message = store.open_message(&session, None, 2, agent(""));
    message.push("not for you");
    drop(message);
    store.close();
    let pieces: i64 = connection
        .query_row("SELECT count(*) FROM partials", [], |row| row.get(0))
        .unwrap();
    assert_eq!(pieces, 0);
    kill(holder);
}

#[test]
fn an_append_takes_a_lost_lease_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    store.claim(&session).unwrap();
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let lose = || assert_eq!(connection.execute("DELETE FROM leases", []).unwrap(), 1);
    let holder = || -> u32 {
        connection
            .query_row("SELECT pid FROM leases WHERE session_id = 'a'", [], |row| row.get(0))
            .unwrap()
    };
    lose();
    say(&store, &session, 1, "hello");
    assert_eq!(holder(), std::process::id());
    hand_over(&connection, std::process::id(), "an earlier one");
    say(&store, &session, 2, "hello");
    store.release(&session);
    assert_eq!(leases(folder.path()), 0, "it was ours again");
}

#[test]
fn the_end_of_a_store_lets_its_sessions_go() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let [claimed, written, foreign] = ["claimed", "written", "a"].map(|id| create(&store, id));
    store.claim(&claimed).unwrap();
    say(&store, &written, 1, "hello");
    store.claim(&foreign).unwrap();
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let holder = spawn();
    hand_over(&connection, holder.id(), &start_of(holder.id()));
    assert_eq!(leases(folder.path()), 3);
    store.close();
    assert_eq!(leases(folder.path()), 1, "only that of another process is left");
    assert_eq!(
        Store::open(folder.path()).unwrap().claim(&foreign),
        Err(Held { pid: holder.id() })
    );
    kill(holder);
}

/// A lease beats every ten seconds: this test takes so long.
#[test]
fn a_lease_beats_while_nothing_is_stored_and_not_after_its_release() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    store.claim(&session).unwrap();
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let lapse = "UPDATE leases SET beat_ms = 0";
    assert_eq!(connection.execute(lapse, []).unwrap(), 1);
    let beat = || -> i64 {
        connection
            .query_row("SELECT beat_ms FROM leases", [], |row| row.get(0))
            .unwrap()
    };
    wait_until("the lease beats", || beat() > 0);
    store.release(&session);
    assert_eq!(leases(folder.path()), 0);
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
    wait_until("the kill has its effect", || store.claim(&session).is_ok());
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
