//! A wall clock that is set back: nothing is ordered by it, hidden or given away.
//!
//! The agent is started with a few lines of C that shift what the system says is the time by a number of seconds that
//! stands in a file, so that the test sets the clock of this one process while it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use talaria_tests::client::{Client, Home, run};
use talaria_tests::start::{asked, initialized, load, skip};

const SHIFT: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, clock, now);
    const char *path = getenv("CLOCK_SHIFT");
    if (result == 0 && clock == CLOCK_REALTIME && path) {
        char text[32] = {0};
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file >= 0) {
            if (read(file, text, sizeof text - 1) > 0) now->tv_sec += atol(text);
            close(file);
        }
    }
    return result;
}
"#;

/// A clock that can be set; none, with the reason printed, where there is no compiler of C.
struct Clock {
    library: PathBuf,
    shift: PathBuf,
}

impl Clock {
    fn make(folder: &Path) -> Option<Self> {
        let (source, library) = (folder.join("shift.c"), folder.join("shift.so"));
        fs::write(&source, SHIFT).unwrap();
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .output();
        if !cfg!(target_os = "linux") || !compiled.is_ok_and(|output| output.status.success()) {
            skip("no compiler of C makes a shared library here");
            return None;
        }
        let clock = Self {
            library,
            shift: folder.join("shift"),
        };
        clock.set(0);
        Some(clock)
    }

    fn set(&self, seconds: i64) {
        fs::write(&self.shift, seconds.to_string()).unwrap();
    }

    fn command(&self, home: &Home, arguments: &[&str]) -> Command {
        let mut command = home.command(arguments);
        command.env("LD_PRELOAD", &self.library).env("CLOCK_SHIFT", &self.shift);
        command
    }
}

fn listed(client: &mut Client) -> Vec<(String, String)> {
    let page = client.request("session/list", json!({})).unwrap();
    let sessions = page["sessions"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    sessions
        .map(|session| (text(&session["sessionId"]), text(&session["updatedAt"])))
        .collect()
}

#[test]
fn a_clock_that_is_set_back_reorders_and_hides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(clock) = Clock::make(folder.path()) else {
        return;
    };
    let home = Home::new();
    let mut client = initialized(clock.command(&home, &["acp"]));
    let first = client.new_session(&home.workspace());
    let second = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&first, "say alpha one."), "end_turn");
    assert_eq!(client.prompt(&second, "say beta."), "end_turn");
    let before = listed(&mut client);
    clock.set(-3600);
    assert_eq!(client.prompt(&first, "say alpha two."), "end_turn");
    let after = listed(&mut client);
    assert_eq!(
        (&after[0].0, &after[1].0),
        (&first, &second),
        "the newest activity comes first"
    );
    assert!(after[0].1 < before[0].1, "the clock was set back: {after:?}");

    // A process that sees the old time: the session is held by one that lives, whatever its clock says.
    clock.set(0);
    let mut other = initialized(clock.command(&home, &["acp"]));
    let from = load(&mut other, &first, &home.workspace()).unwrap();
    assert_eq!(asked(&other, from), ["say alpha one.", "say alpha two."]);
    let prompt = other.begin_prompt(&first, "say mine");
    assert_eq!(other.response(prompt).unwrap_err()["data"]["class"], "held");
    clock.set(-7200);
    let (status, found, stderr) = run(clock.command(&home, &["sessions", "search", "alpha"]), "");
    assert!(status.success() && found.contains("alpha"), "{found} {stderr}");
    assert!(client.close().success());
    assert_eq!(other.prompt(&first, "say alpha three."), "end_turn", "it is free");
    let from = load(&mut other, &first, &home.workspace()).unwrap();
    assert_eq!(
        asked(&other, from),
        ["say alpha one.", "say alpha two.", "say alpha three."]
    );
    assert_eq!(listed(&mut other)[0].0, first);
}
