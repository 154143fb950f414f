//! What others do with a store while an agent works on it: lists that come and go, and a program of somebody else that
//! writes to it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::json;

use super::tally::Tally;
use super::{agent_of, check_store, end};
use crate::client::{Client, Home, run};
use crate::start::{asked, initialized, load};

/// Prompts of another session come so often between what the others do.
const STRIDE: u64 = 10;

/// An agent in the middle of a turn, which prompts another session meanwhile.
struct Busy {
    home: Home,
    client: Client,
    turn: i64,
    long: String,
    other: String,
    prompts: Vec<String>,
    /// The log that the agent holds.
    log: u64,
    tally: Tally,
}

impl Busy {
    fn begin(what: String) -> Self {
        let home = Home::new();
        let mut client = initialized(agent_of(&home));
        let [long, other] = [0, 1].map(|_| client.new_session(&home.workspace()));
        let turn = client.begin_prompt(&long, "run sleep 3614");
        client.wait_for(|message| message["params"]["update"]["status"] == "in_progress");
        let mut busy = Self {
            home,
            client,
            turn,
            long,
            other,
            prompts: Vec::new(),
            log: 0,
            tally: Tally::new(what),
        };
        busy.prompt();
        busy.log = busy.log_now();
        busy
    }

    fn prompt(&mut self) {
        let text = format!("say number {}", self.prompts.len());
        assert_eq!(self.client.prompt(&self.other, &text), "end_turn");
        self.prompts.push(text);
        self.tally.answered += 1;
    }

    fn log_now(&self) -> u64 {
        fs::metadata(self.home.state().join("state.db-wal")).map_or(0, |facts| facts.ino())
    }

    /// Whether the agent's log is the one on the disk, and none of its files is gone.
    fn check_log(&mut self) {
        let log = self.log_now();
        if log != self.log {
            self.tally.fault(format!("the log was {}, and is {log}", self.log));
            self.log = log;
        }
        // Only Linux tells.
        let Ok(files) = fs::read_dir(format!("/proc/{}/fd", self.client.pid())) else {
            return;
        };
        for file in files
            .filter_map(Result::ok)
            .filter_map(|file| fs::read_link(file.path()).ok())
        {
            let file = file.to_string_lossy();
            if file.contains("state.db") && file.contains("(deleted)") {
                self.tally.fault(format!("the agent holds {file}"));
            }
        }
    }

    /// Ends the turn and the agent, and has another one look.
    fn end(mut self) -> Tally {
        self.check_log();
        check_store(&self.home, &mut self.tally);
        self.client.notify("session/cancel", json!({"sessionId": self.long}));
        assert_eq!(self.client.stop_reason(self.turn), "cancelled");
        self.prompt();
        assert!(self.client.close().success());
        let mut client = initialized(agent_of(&self.home));
        for (session, expect) in [
            (&self.other, &self.prompts),
            (&self.long, &vec!["run sleep 3614".to_owned()]),
        ] {
            let found = load(&mut client, session, &self.home.workspace()).map(|from| asked(&client, from));
            if found.as_ref().ok() != Some(expect) {
                self.tally.lost += 1;
                self.tally.fault(format!("{session} has {found:?} and not {expect:?}"));
            }
        }
        check_store(&self.home, &mut self.tally);
        drop(client);
        end(self.home, &mut self.tally);
        self.tally
    }
}

/// Has `agent sessions list` run so often during one turn.
pub fn lists_beside_a_turn(lists: u64) -> Tally {
    let mut busy = Busy::begin(format!("{lists} lists during a turn"));
    for number in 1..=lists {
        let (status, out, errors) = run(busy.home.command(&["sessions", "list"]), "");
        if !status.success() || !out.contains("say number 0") || !errors.is_empty() {
            busy.tally.fault(format!("list {number}: {out} {errors}"));
        }
        busy.check_log();
        if number.is_multiple_of(STRIDE) {
            busy.prompt();
        }
    }
    busy.end()
}

/// Has another program, with a connection of its own each time, insert so many rows during one turn.
pub fn foreign_rows_beside_a_turn(rows: u64) -> Tally {
    let mut busy = Busy::begin(format!("{rows} rows of another program during a turn"));
    let database = busy.home.state().join("state.db");
    let idle = busy.client.new_session(&busy.home.workspace());
    assert_eq!(busy.client.prompt(&idle, "say idle"), "end_turn");
    for number in 1..=rows {
        let inserted = Connection::open(&database).and_then(|connection| {
            connection.busy_timeout(Duration::from_secs(30))?;
            connection.execute(
                "INSERT INTO events (session, seq, at_ms, kind, body) \
                 SELECT key, 1000 + ?2, 0, 'notice', '{}' FROM sessions WHERE id = ?1",
                (&idle, number.cast_signed()),
            )
        });
        if inserted != Ok(1) {
            busy.tally.fault(format!("row {number}: {inserted:?}"));
        }
        busy.check_log();
        if number.is_multiple_of(STRIDE) {
            busy.prompt();
        }
    }
    let found = Connection::open(&database).and_then(|connection| {
        connection.query_row("SELECT count(*) FROM events WHERE seq > 1000", [], |row| {
            row.get::<_, i64>(0)
        })
    });
    if found != Ok(rows.cast_signed()) {
        busy.tally
            .fault(format!("of {rows} rows of another program there are {found:?}"));
    }
    busy.end()
}
