//! A home that can't be written, a full disk, a store that is damaged, too new or held by another program: work goes
//! on, the user is told once, and nothing that was there is changed.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use talaria_tests::client::{Client, Home, run};
use talaria_tests::start::{asked, initialized, load, skip, through_shell, times_told, wait_until, with_mounts};

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
fn check_spoiled(spoil: impl Fn(&Path), says: &[&str]) {
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

/// A store of the first version, with the session `old` of one prompt.
pub(crate) fn make_old_store(home: &Home) {
    fs::create_dir_all(home.state()).unwrap();
    let old = Connection::open(home.state().join("state.db")).unwrap();
    old.execute_batch(include_str!("../../../agent_core/src/store/schema_1.sql"))
        .unwrap();
    let cwd = home.workspace();
    old.execute(
        "INSERT INTO sessions (id, source, cwd, real_cwd, extra_roots, model, origin, mode, system, created_ms, \
         updated_ms, messages, last_seq, last_turn, activity) VALUES ('old', 'acp', ?1, ?1, '[]', 'offline/offline', \
         '{\"api\":\"offline\",\"base_url\":\"\",\"model\":\"offline\"}', 'default', 'You help.', 1, 1, 1, 2, 1, 2)",
        [cwd.to_str().unwrap()],
    )
    .unwrap();
    let rows = [
        r#"{"event":"user_message","id":"m","content":[{"type":"text","text":"say before."}]}"#,
        r#"{"event":"turn_finished","stop":"end_turn","usage":{}}"#,
    ];
    for (seq, kind, body) in [(1, "user_message", rows[0]), (2, "turn_finished", rows[1])] {
        let row = "INSERT INTO events (session_id, seq, turn, at_ms, kind, body) VALUES ('old', ?1, 1, 1, ?2, ?3)";
        old.execute(row, (seq, kind, body)).unwrap();
    }
    old.execute_batch("PRAGMA application_id = 0x54414c41; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;")
        .unwrap();
}

#[test]
fn an_update_needs_the_room_of_its_own_copy_and_gets_it() {
    let home = Home::new();
    make_old_store(&home);
    let path = home.state().join("state.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO events (session_id, seq, at_ms, kind, body)
         SELECT 'old', i, 1, 'agent_text', json_object('event', 'agent_text', 'id', 'm', 'text', hex(zeroblob(500))) FROM n;
         INSERT INTO blobs VALUES ('0', zeroblob(9000000));
         PRAGMA wal_checkpoint(TRUNCATE);",
    )
    .unwrap();
    drop(old);
    let room = fs::metadata(&path).unwrap().len() * 2 / 1024 + 400;
    let saved = home.workspace().join("saved");
    fs::rename(&path, &saved).unwrap();
    let script = format!(
        "mount -t tmpfs -o size={room}k,mode=700 tmpfs \"$TALARIA_HOME\" && \
         cp '{}' \"$TALARIA_HOME/state.db\" && \"$1\" sessions list && ls \"$TALARIA_HOME\"",
        saved.display()
    );
    let Some(command) = with_mounts(&home, &script) else {
        return;
    };
    let (status, shown, stderr) = run(command, "");
    assert!(status.success() && shown.contains("old"), "{shown} {stderr}");
    assert!(!shown.contains(".bak") && !shown.contains(".part"), "{shown}");
}

#[test]
fn a_store_of_an_older_version_goes_on_with_its_sessions() {
    let home = Home::new();
    make_old_store(&home);
    let cwd = home.workspace();
    let mut command = home.command(&["acp"]);
    command.env("RUST_LOG", "trace");
    // The client takes nothing on stdout but whole JSON-RPC messages.
    let mut client = initialized(command);
    let new = client.new_session(&cwd);
    assert_eq!(client.prompt(&new, "say new."), "end_turn");
    let from = load(&mut client, "old", &cwd).unwrap();
    assert_eq!(asked(&client, from), ["say before."]);
    assert_eq!(client.prompt("old", "say after."), "end_turn");
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, "old", &cwd).unwrap();
    assert_eq!(asked(&client, from), ["say before.", "say after."]);
}

#[test]
fn a_store_of_a_newer_version_is_told_and_left_alone() {
    let newer = |path: &Path| {
        let connection = Connection::open(path).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
    };
    check_spoiled(newer, &["has schema 99", "update this program"]);
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
fn stored_turns(path: &Path, session: &str) -> i64 {
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

#[test]
fn a_full_disk_is_told_once_and_all_is_saved_when_there_is_room() {
    let home = Home::with_config("");
    let script = "mount -t tmpfs -o size=1m tmpfs \"$TALARIA_HOME\" && exec \"$@\"";
    let Some(command) = with_mounts(&home, script) else {
        return;
    };
    let mut client = initialized(command);
    let state = PathBuf::from(format!("/proc/{}/root{}", client.pid(), home.state().display()));
    let session = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&session, "say one"), "end_turn");
    if !state.join("state.db").exists() {
        return skip("the agent's mounts can't be looked into");
    }
    let filler = state.join("filler");
    fill(&filler);
    let from = client.log.len();
    // More than the log may have left in its last page.
    let long = format!("say {}", "word ".repeat(4000));
    for _ in 0..3 {
        assert_eq!(client.prompt(&session, &long), "end_turn");
    }
    assert_eq!(times_told(&client, from, "Not saved yet"), 1, "{}", client.said(from));
    assert_eq!(times_told(&client, from, "is full"), 1);

    fs::remove_file(&filler).unwrap();
    wait_until("the store has all four prompts", || {
        stored_turns(&state.join("state.db"), &session) == 4
    });
    assert_eq!(client.prompt(&session, "say five"), "end_turn");
    assert_eq!(times_told(&client, from, "Not saved yet"), 1);
    assert_eq!(stored_turns(&state.join("state.db"), &session), 5);
}

/// Writes until nothing goes in any more.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
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
fn turns_seen_from_outside(state: &Path, session: &str) -> i64 {
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

#[test]
fn a_disk_that_is_full_at_the_start_is_told_and_all_is_saved_when_there_is_room() {
    let home = Home::with_config("");
    let script = "mount -t tmpfs -o size=1m,mode=700 tmpfs \"$TALARIA_HOME\" && \
                  { cat /dev/zero > \"$TALARIA_HOME/filler\" 2>/dev/null; exec \"$@\"; }";
    let Some(command) = with_mounts(&home, script) else {
        return;
    };
    let mut client = initialized(command);
    let state = PathBuf::from(format!("/proc/{}/root{}", client.pid(), home.state().display()));
    if !state.join("filler").exists() {
        return skip("the agent's mounts can't be looked into");
    }
    let session = client.new_session(&home.workspace());
    let from = client.log.len();
    for prompt in ["say one", "say two"] {
        assert_eq!(client.prompt(&session, prompt), "end_turn");
    }
    assert_eq!(times_told(&client, from, "is full"), 1, "{}", client.said(from));
    assert_eq!(times_told(&client, from, "damaged"), 0);
    fs::remove_file(state.join("filler")).unwrap();
    wait_until("both turns are stored", || {
        turns_seen_from_outside(&state, &session) == 2
    });
    assert_eq!(client.prompt(&session, "say three"), "end_turn");
    assert_eq!(turns_seen_from_outside(&state, &session), 3);
    assert_eq!(times_told(&client, from, "is full"), 1);
}

#[test]
fn a_run_on_a_full_disk_ends_with_a_failure() {
    let home = Home::with_config("");
    let script = "mount -t tmpfs -o size=1m,mode=700 tmpfs \"$TALARIA_HOME\" && \
                  { cat /dev/zero > \"$TALARIA_HOME/filler\" 2>/dev/null; exec \"$1\" run --quiet 'say one'; }";
    let Some(command) = with_mounts(&home, script) else {
        return;
    };
    let (status, out, errors) = run(command, "");
    assert!(out.contains("one"), "the work is done: {out} {errors}");
    assert_eq!(status.code(), Some(1), "{errors}");
    assert!(errors.contains("this session was not saved"), "{errors}");
}

/// A home on a small disk of its own with one session and then so many bytes of room, where a script goes on: it has the
/// program in `$1`, and the session in `$id`.
fn on_a_full_disk(home: &Home, spare: u32, script: &str) -> Option<std::process::Command> {
    let script = format!(
        "mount -t tmpfs -o size=1m,mode=700 tmpfs \"$TALARIA_HOME\" && \
         \"$1\" run --quiet 'say one' > /dev/null && \
         id=$(\"$1\" sessions list | tail -n 1 | cut -d ' ' -f 1) && \
         {{ cat /dev/zero > \"$TALARIA_HOME/filler\" 2>/dev/null; truncate -s -{spare} \"$TALARIA_HOME/filler\"; {script}; }}"
    );
    with_mounts(home, &script)
}

#[test]
fn a_change_on_a_full_disk_is_a_failure_that_changes_nothing_and_promises_nothing() {
    let changes = [
        ("sessions rename \"$id\" New", "rename"),
        ("sessions fork \"$id\"", "fork"),
        ("sessions archive \"$id\"", "archive"),
        ("sessions delete \"$id\"", "delete"),
        ("run --quiet --session \"$id\" '/title New'", "`/title New`"),
    ];
    // Without any room the database can't even be opened; with a little it can't be written.
    for (spare, changes) in [(0, &changes[..4]), (49_152, &changes[..])] {
        for (change, what) in changes {
            let home = Home::with_config("");
            let script = format!(
                "\"$1\" {change}; echo \"code $?\"; rm \"$TALARIA_HOME/filler\"; \"$1\" sessions list --archived"
            );
            let Some(command) = on_a_full_disk(&home, spare, &script) else {
                return;
            };
            let (_, out, errors) = run(command, "");
            if spare > 0 && out.contains("code 0") {
                // Small enough for what was left.
                continue;
            }
            assert!(out.contains("code 1"), "{change}: {out} {errors}");
            assert!(
                errors.contains(what) && errors.contains("full") && errors.contains("nothing was changed"),
                "{change}: {errors}"
            );
            assert!(errors.contains("make room there"), "{change}: {errors}");
            let error = errors.lines().last().unwrap();
            assert!(!error.contains("will be"), "{change}: {error}");
            assert!(
                out.contains("  say one  ") && !out.contains("  New  "),
                "{change}: {out}"
            );
            assert!(
                !out.contains("[archived]") && out.matches("/work)").count() == 1,
                "{change}: {out}"
            );
        }
    }
}

/// Mounts the home so that nothing in it can be written, and goes on with a script.
fn read_only(home: &Home, script: &str) -> Option<std::process::Command> {
    let mounts = "mount --bind \"$TALARIA_HOME\" \"$TALARIA_HOME\" && \
                  mount -o remount,bind,ro \"$TALARIA_HOME\" && ";
    with_mounts(home, &format!("{mounts}{{ {script}; }}"))
}

const LOOKS: &str = "\"$1\" sessions list && \"$1\" sessions search quince && \"$1\" sessions show \"$SESSION\"";

fn check_looks(command: std::process::Command) {
    let (status, out, errors) = run(command, "");
    assert!(status.success(), "{out} {errors}");
    assert_eq!(out.matches("TITLE").count(), 1, "{out}");
    assert!(
        out.contains("say **quince**") && out.contains("> say quince\n"),
        "{out}"
    );
    assert_eq!(errors, "");
}

#[test]
fn a_history_that_can_only_be_read_is_listed_searched_and_shown() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say quince"), "end_turn");
    assert!(client.close().success());
    let Some(mut command) = read_only(&home, LOOKS) else {
        return;
    };
    command.env("SESSION", &session);
    check_looks(command);

    // An agent that died has left its log. What is only in there is read, or it is said that it can't be.
    let mut client = Client::initialized(&home, json!({}));
    load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(client.prompt(&session, "say medlar"), "end_turn");
    client.kill();
    let log = home.state().join("state.db-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0);
    let last = "\"$1\" sessions search medlar";
    let (status, out, errors) = run(read_only(&home, last).unwrap(), "");
    assert!(status.success() && out.contains("say **medlar**"), "{out} {errors}");
    fs::remove_file(home.state().join("state.db-shm")).unwrap();
    let (status, out, errors) = run(read_only(&home, "\"$1\" sessions list").unwrap(), "");
    assert_eq!((status.code(), out.as_str()), (Some(1), ""), "{errors}");
    assert!(
        errors.contains("state.db-wal holds what was said last") && errors.contains("its folder can't be written"),
        "{errors}"
    );
}

#[test]
fn a_history_on_a_full_disk_is_listed_searched_and_shown() {
    let home = Home::with_config("");
    let looks = "\"$1\" sessions list && \"$1\" sessions search one && \"$1\" sessions show \"$id\"";
    let files = "ls -l \"$TALARIA_HOME\" | grep state.db >&2";
    let Some(command) = on_a_full_disk(&home, 0, &format!("{files}; {looks}; {files}")) else {
        return;
    };
    let (status, out, errors) = run(command, "");
    assert!(status.success(), "{out} {errors}");
    assert!(out.contains("say **one**") && out.contains("> say one\n"), "{out}");
    let files: Vec<&str> = errors.lines().collect();
    assert_eq!(files.len() % 2, 0, "{errors}");
    assert_eq!(files[..files.len() / 2], files[files.len() / 2..], "{errors}");
}

#[test]
fn a_history_that_is_gone_is_told_once_with_its_copies() {
    let told = "is not there any more, and a new one begins";
    let list = |home: &Home| run(home.command(&["sessions", "list"]), "");

    let home = Home::new();
    let (_, _, errors) = list(&home);
    assert!(!errors.contains(told), "the first one is no loss: {errors}");
    run(home.command(&["run", "say one"]), "");
    let database = home.state().join("state.db");
    fs::remove_file(&database).unwrap();
    let (status, _, errors) = list(&home);
    assert!(status.success());
    assert!(
        errors.contains(&format!("warning: the history file {} {told}", database.display())),
        "{errors}"
    );
    let (_, _, errors) = list(&home);
    assert!(!errors.contains(told), "{errors}");

    fs::remove_file(&database).unwrap();
    let copies = ["state.db.schema-8.bak", "state.db.damaged-2026-11-30-181512Z"].map(|name| home.state().join(name));
    for copy in &copies {
        fs::write(copy, "a copy").unwrap();
    }
    let (_, shown, _) = run(home.command(&["doctor", "--offline"]), "");
    for part in [told, copies[0].to_str().unwrap(), copies[1].to_str().unwrap()] {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    fs::remove_file(&database).unwrap();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say two"), "end_turn");
    assert_eq!(client.prompt(&session, "say three"), "end_turn");
    assert_eq!(times_told(&client, 0, told), 1);

    // An older version, or a user, has made the folder and no more.
    let home = Home::new();
    fs::create_dir_all(home.state().join("logs")).unwrap();
    fs::write(home.state().join("state.lock"), "").unwrap();
    let (_, _, errors) = list(&home);
    assert!(!errors.contains(told), "{errors}");
}

#[test]
fn trouble_with_the_history_is_told_once_and_not_logged_on_a_terminal() {
    // Where the log is a file that can be read afterwards: another program keeps the database from being written.
    let home = Home::new();
    run(home.command(&["run", "say one"]), "");
    let other = Connection::open(home.state().join("state.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (status, _, errors) = run(home.command(&["sessions", "prune", "--older-than", "0d", "--yes"]), "");
    assert_eq!(status.code(), Some(1), "{errors}");
    assert_eq!(errors.matches("another program is writing").count(), 1, "{errors}");
    assert!(!errors.contains("WARN") && !errors.contains("ERROR"), "{errors}");
    other.execute_batch("ROLLBACK").unwrap();
    let logs = fs::read_dir(home.state().join("logs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let logged: String = logs.map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(logged.contains("can't store now"), "{logged}");

    for spare in [0, 49_152] {
        let home = Home::with_config("");
        let turn = "\"$1\" run 'say two' > /dev/null";
        let Some(command) = on_a_full_disk(&home, spare, turn) else {
            return;
        };
        let (_, _, errors) = run(command, "");
        assert_eq!(errors.matches("Not saved yet").count(), 1, "{errors}");
        assert_eq!(errors.matches("was not saved").count(), 1, "{errors}");
        assert!(!errors.contains("WARN") && !errors.contains("ERROR"), "{errors}");
    }
}
