//! A full disk: told once, survived, and never a promise that can't be kept.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use talaria_tests::client::{Home, run};
use talaria_tests::start::{initialized, skip, times_told, wait_until, with_mounts};

use crate::disk::{stored_turns, turns_seen_from_outside};

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
pub(crate) fn on_a_full_disk(home: &Home, spare: u32, script: &str) -> Option<std::process::Command> {
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
