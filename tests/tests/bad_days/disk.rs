//! A home that can't be written, a full disk, a store that is damaged, too new or held by another program: work goes
//! on, the user is told once, and nothing that was there is changed.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use talaria_tests::client::{Client, Home, run};
use talaria_tests::start::{initialized, load, through_shell, times_told, wait_until, with_mounts};

/// Works in a session that can't be stored: two turns, the reason told in the first of them only, and a list that
/// shows the session or says why not. A new process doesn't know the session.
fn check_memory(home: &Home, mut client: Client, says: &[&str]) -> Client {
    let session = client.new_session(&home.workspace());
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "say one"), "end_turn");
    assert_eq!(client.prompt(&session, "say two"), "end_turn");
    let said = client.said(from);
    assert!(said.contains("one") && said.contains("two"), "{said}");
    for part in says {
        assert_eq!(times_told(&client, from, part), 1, "{part} in {said}");
    }
    check_list(&mut client, &session);
    client
}

/// The list has the session, or says that it can't be read.
fn check_list(client: &mut Client, session: &str) {
    match client.request("session/list", json!({})) {
        Ok(page) => {
            let sessions = page["sessions"].as_array().unwrap();
            assert!(sessions.iter().any(|one| one["sessionId"] == session), "{page}");
        }
        Err(error) => assert_eq!(error["data"]["class"], "store", "{error}"),
    }
}

fn is_unknown(home: &Home, client: &mut Client, session: &str) -> bool {
    let error = load(client, session, &home.workspace()).unwrap_err();
    error["code"] == -32002 || error["data"]["class"] == "store"
}

#[test]
fn a_home_below_a_file_is_told() {
    let home = Home::new();
    let file = home.workspace().join("file");
    fs::write(&file, "mine").unwrap();
    let mut command = home.command(&["acp"]);
    command.env("TALARIA_HOME", file.join("home"));
    let client = check_memory(&home, initialized(command), &["othing is saved", "work/file/home"]);
    assert!(client.close().success());
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_folder_in_the_place_of_the_store_is_told() {
    let home = Home::with_config("");
    fs::create_dir(home.state().join("state.db")).unwrap();
    let mut client = check_memory(
        &home,
        Client::initialized(&home, json!({})),
        &["state.db is not a regular file"],
    );
    let session = client.new_session(&home.workspace());
    client.prompt(&session, "say lost");
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    assert!(is_unknown(&home, &mut client, &session));
    let (status, _, stderr) = run(home.command(&["run", "say pong"]), "");
    assert!(status.success());
    assert!(stderr.contains("state.db is not a regular file"), "{stderr}");
    assert!(fs::read_dir(home.state().join("state.db")).unwrap().next().is_none());
}

#[test]
fn a_home_that_can_only_be_read_is_told() {
    let home = Home::with_config("[agent]\nmode = \"plan\"\n");
    let script = "mount --bind \"$TALARIA_HOME\" \"$TALARIA_HOME\" && mount -o remount,bind,ro \"$TALARIA_HOME\" && \
                  exec \"$@\"";
    let Some(command) = with_mounts(&home, script) else {
        return;
    };
    let mut client = check_memory(&home, initialized(command), &["othing is saved"]);
    let new = client.request("session/new", json!({"cwd": home.workspace(), "mcpServers": []}));
    assert_eq!(
        new.unwrap()["modes"]["currentModeId"],
        "plan",
        "the configuration is read all the same"
    );
}

#[test]
fn a_store_that_can_only_be_read_is_told_and_its_sessions_are_not_denied() {
    let home = Home::new();
    let (mut client, old) = Client::with_session(&home);
    assert_eq!(client.prompt(&old, "say kept"), "end_turn");
    assert!(client.close().success());
    let script = "mount --bind \"$TALARIA_HOME\" \"$TALARIA_HOME\" && mount -o remount,bind,ro \"$TALARIA_HOME\" && \
                  exec \"$@\"";
    let Some(command) = with_mounts(&home, script) else {
        return;
    };
    let mut client = check_memory(&home, initialized(command), &["othing is saved"]);
    assert!(is_unknown(&home, &mut client, &old));
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &old, &home.workspace()).unwrap();
    assert!(client.said(from).contains("kept"));
}

/// Makes a store with one session, changes it by `spoil`, and works: the file stays as `spoil` left it.
pub(crate) fn check_spoiled(spoil: impl Fn(&Path), says: &[&str]) {
    let home = Home::new();
    let (mut client, old) = Client::with_session(&home);
    assert_eq!(client.prompt(&old, "say kept"), "end_turn");
    assert!(client.close().success());
    let path = home.state().join("state.db");
    spoil(&path);
    let before = fs::read(&path).unwrap();
    let mut says = says.to_vec();
    says.push(path.to_str().unwrap());
    let mut client = check_memory(&home, Client::initialized(&home, json!({})), &says);
    // What the damage did not touch can still be read, and is then whole.
    let from = client.log.len();
    match load(&mut client, &old, &home.workspace()) {
        Ok(_) => assert!(client.said(from).contains("kept")),
        Err(error) => assert!(error["code"] == -32002 || error["data"]["class"] == "store", "{error}"),
    }
    assert!(client.close().success());
    assert!(fs::read(&path).unwrap() == before, "the file was changed");
}

#[test]
fn a_damaged_store_is_told_and_left_alone() {
    let noise: Vec<u8> = (0..4096u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for offset in [4096, 8192, 16384] {
        let noise = noise.clone();
        let spoil = move |path: &Path| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            file.write_all_at(&noise, offset).unwrap();
        };
        check_spoiled(spoil, &["damaged"]);
    }
    check_spoiled(|path| fs::write(path, "no database at all\n".repeat(500)).unwrap(), &[]);
}

/// How many turns of this session are stored to their end.
pub(crate) fn stored_turns(path: &Path, session: &str) -> i64 {
    let Ok(connection) = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY) else {
        return -1;
    };
    let sql =
        "SELECT count(*) FROM events JOIN sessions ON key = session WHERE sessions.id = ?1 AND kind = 'turn_finished'";
    connection.query_row(sql, [session], |row| row.get(0)).unwrap_or(-1)
}

#[test]
fn a_store_that_another_program_holds_delays_nothing_and_loses_nothing() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say one"), "end_turn");
    let path = home.state().join("state.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();

    let from = client.log.len();
    let prompt = client.begin_prompt(&session, "run sleep 614");
    client.wait_for(|message| message["params"]["update"]["status"] == "in_progress");
    let at = Instant::now();
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert!(at.elapsed() < Duration::from_secs(1), "{:?}", at.elapsed());
    assert_eq!(client.prompt(&session, "say two"), "end_turn");
    client.rest(Duration::from_secs(4).saturating_sub(begun.elapsed()));
    assert_eq!(client.prompt(&session, "say three"), "end_turn");
    assert_eq!(times_told(&client, from, "Not saved yet"), 1, "{}", client.said(from));

    other.execute_batch("ROLLBACK").unwrap();
    wait_until("the store has all four turns", || stored_turns(&path, &session) == 4);
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert!(client.said(from).contains("three"));
}

#[test]
fn a_run_waits_at_its_end_for_a_program_that_writes_to_the_store() {
    let home = Home::new();
    let (mut client, first) = Client::with_session(&home);
    assert_eq!(client.prompt(&first, "say one"), "end_turn");
    assert!(client.close().success());
    let path = home.state().join("state.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (status, _, stderr) = std::thread::scope(|scope| {
        let working = scope.spawn(|| run(home.command(&["run", "say two"]), ""));
        // Longer than any store waits when its process has something else to do.
        let begun = Instant::now();
        wait_until("a while is over", || begun.elapsed() > Duration::from_secs(4));
        other.execute_batch("ROLLBACK").unwrap();
        working.join().unwrap()
    });
    assert!(status.success(), "{stderr}");
    let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let turns = "SELECT count(*) FROM events WHERE kind = 'turn_finished'";
    let turns: i64 = connection.query_row(turns, [], |row| row.get(0)).unwrap();
    assert_eq!(turns, 2, "{stderr}");
}

#[test]
fn a_new_session_begins_while_another_program_holds_the_store() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let path = home.state().join("state.db");
    let first = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&first, "say one"), "end_turn");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let second = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&second, "say two"), "end_turn");
    check_list(&mut client, &second);
    other.execute_batch("ROLLBACK").unwrap();
    wait_until("the second session is stored", || stored_turns(&path, &second) == 1);
}

fn permissions(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn check_private(folder: &Path, names: &mut Vec<String>) {
    assert_eq!(permissions(folder), 0o700, "{}", folder.display());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            check_private(&path, names);
        } else {
            assert_eq!(permissions(&path), 0o600, "{}", path.display());
            names.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
}

#[test]
fn files_are_private_whatever_the_umask() {
    let home = Home::new();
    let setup = "umask 000; \"$1\" setup --provider openai --key-stdin --model m --no-check";
    let (status, _, stderr) = run(through_shell(&home, setup), "k\n");
    assert!(status.success(), "{stderr}");
    // As it may have been left by something else.
    fs::set_permissions(home.state(), Permissions::from_mode(0o777)).unwrap();
    let mut command = through_shell(&home, "umask 000; exec \"$@\" --model offline/offline");
    command.env("TALARIA_LOG", "debug");
    let mut client = initialized(command);
    let session = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
    let mut names = Vec::new();
    check_private(&home.state(), &mut names);
    for name in [".env", "config.toml", "state.db", "state.db-wal", ".log"] {
        assert!(names.iter().any(|found| found.ends_with(name)), "{name}: {names:?}");
    }
    assert!(client.close().success());
    check_private(&home.state(), &mut names);
}

#[test]
fn a_store_that_is_cut_off_under_a_running_agent_does_not_end_it() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say one"), "end_turn");
    let path = home.state().join("state.db");
    OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
    // What is stored of this session may be out of reach now; the prompt is answered either way.
    let prompt = client.begin_prompt(&session, "say two");
    if let Err(error) = client.response(prompt) {
        assert!(error["message"].as_str().unwrap().contains("history"), "{error}");
    }
    check_memory(&home, client, &[]);
}

#[test]
fn a_home_that_is_removed_under_a_running_agent_is_told_once() {
    let removals: [fn(&Path); 2] = [
        |state| fs::remove_dir_all(state).unwrap(),
        |state| fs::remove_file(state.join("state.db")).unwrap(),
    ];
    for remove in removals {
        let home = Home::new();
        let (mut client, session) = Client::with_session(&home);
        assert_eq!(client.prompt(&session, "say one"), "end_turn");
        remove(&home.state());
        let from = client.log.len();
        assert_eq!(client.prompt(&session, "say two"), "end_turn");
        assert_eq!(client.prompt(&session, "say three"), "end_turn");
        let told = format!(
            "the session database {} was deleted",
            home.state().join("state.db").display()
        );
        assert_eq!(times_told(&client, from, &told), 1, "{}", client.said(from));
        assert!(
            !home.state().join("state.db").exists(),
            "nothing is written into its place"
        );
        let other = client.new_session(&home.workspace());
        assert_eq!(client.prompt(&other, "say four"), "end_turn");
        assert!(client.close().success());
        // What was not moved from the log yet is not thrown away.
        let has_log = home.state().join("state.db-wal").exists();
        let (status, shown, _) = run(home.command(&["doctor", "--offline"]), "");
        assert_eq!(status.success(), !has_log, "{shown}");
        if has_log {
            assert!(shown.contains("state.db-wal holds what was said"), "{shown}");
            let (status, shown, _) = run(home.command(&["doctor", "--repair"]), "");
            assert!(status.success() && shown.contains("Kept: 1 session"), "{shown}");
        }
        let (mut client, session) = Client::with_session(&home);
        assert_eq!(client.prompt(&session, "say five"), "end_turn");
        wait_until("a new history has begun", || {
            stored_turns(&home.state().join("state.db"), &session) == 1
        });
    }
}

/// As [`stored_turns`], of a store below another process's mounts: SQLite would follow `/proc/…/root` to our own root.
pub(crate) fn turns_seen_from_outside(state: &Path, session: &str) -> i64 {
    let copy = tempfile::tempdir().unwrap();
    for name in ["state.db", "state.db-wal"] {
        // The log may not be there yet.
        let _ = fs::copy(state.join(name), copy.path().join(name));
    }
    match Connection::open(copy.path().join("state.db")) {
        Ok(_) => stored_turns(&copy.path().join("state.db"), session),
        Err(_) => -1,
    }
}
