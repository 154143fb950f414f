//! Processes that are killed at any moment: what was answered is there, and what was not is whole or absent.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use agent_core::event::{Envelope, Event, StopReason};
use agent_core::id::{SessionId, TurnId};
use agent_core::provider::Usage;
use agent_core::store::{Durability, Kept, Store};
use rusqlite::Connection;

use crate::{agent, all, at, create, user};

const FOLDER: &str = "TALARIA_TEST_FOLDER";
const SESSION: &str = "TALARIA_TEST_SESSION";

/// The reply of a turn, long enough for two pieces.
fn reply(turn: u64) -> String {
    format!("{turn} ").repeat(3000)
}

/// The three rows of a turn.
fn turn(session: &SessionId, turn: u64) -> [Envelope; 3] {
    let finished = Event::TurnFinished {
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    };
    let seq = 3 * turn;
    let rows = [
        at(session, seq + 1, user(&format!("prompt {turn}"))),
        at(session, seq + 2, agent(&reply(turn))),
        at(session, seq + 3, finished),
    ];
    rows.map(|row| Envelope {
        turn: Some(TurnId(turn + 1)),
        ..row
    })
}

/// The process that is killed: it answers turn after turn and tells each one that is stored.
#[test]
#[ignore = "runs in a process of its own, started by the test below"]
fn answer_turns_until_killed() {
    let (Ok(folder), Ok(session)) = (std::env::var(FOLDER), std::env::var(SESSION)) else {
        return eprintln!("not run: only the test below gives it a folder");
    };
    let store = Store::open(Path::new(&folder)).unwrap();
    let session = create(&store, &session);
    store.claim(&session).unwrap();
    let begun = all(&store, &session).len() as u64;
    assert_eq!(begun % 3, 0, "the other process has completed the turn");
    for number in begun / 3.. {
        let [prompt, reply, finished] = turn(&session, number);
        store.append(&session, vec![prompt], Durability::Process);
        let mut message = store.open_message(&session, reply.turn, reply.seq, agent(""));
        let Event::AgentText { text, .. } = &reply.event else {
            unreachable!()
        };
        let (mut rest, mut piece) = (text.as_str(), "");
        while !rest.is_empty() {
            (piece, rest) = rest.split_at(rest.len().min(500));
            message.push(piece);
        }
        assert!(!piece.is_empty());
        let whole = message.finish();
        assert_eq!(whole, reply);
        store.append(&session, vec![whole], Durability::Process);
        if store.append(&session, vec![finished], Durability::Disk) == Kept::Stored {
            let mut stdout = std::io::stdout().lock();
            writeln!(stdout, "answered {number}").unwrap();
            stdout.flush().unwrap();
        }
    }
}

/// A process that answers, and does not outlive a test that fails.
struct Answering(Child);

impl Answering {
    fn start(folder: &Path, session: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::answer_turns_until_killed", "--ignored", "--nocapture"])
            .env(FOLDER, folder)
            .env(SESSION, session)
            .stdout(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    /// Kills it some time after its `turns`-th answer, and gives back the last turn it told.
    fn kill(mut self, turns: usize, after: Duration) -> u64 {
        let lines = BufReader::new(self.0.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap);
        // The harness has written the beginning of the first line.
        let mut answered = lines.filter_map(|line| line.rsplit_once("answered ")?.1.parse().ok());
        let last = answered.by_ref().take(turns).last().expect("it answers");
        let end = Instant::now() + after;
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        self.0.kill().unwrap();
        answered.last().unwrap_or(last)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Takes the session over, checks it, and completes the turn that was cut. `cut` are the rows that were recovered.
fn check(folder: &Path, session: &SessionId, last_answered: u64, cut: &mut Vec<u64>) {
    let store = Store::open(folder).unwrap();
    store.claim(session).expect("the holder is dead");
    let rows = all(&store, session);
    let stored = rows.len() as u64;
    assert!(
        stored >= 3 * (last_answered + 1),
        "an answered turn is lost: {stored} rows, turn {last_answered}"
    );
    for (index, row) in (0..).zip(&rows) {
        let expect = &turn(session, index / 3)[usize::try_from(index % 3).unwrap()];
        if row == expect {
            continue;
        }
        // Only the last row may be a beginning, that of the message that was being written, or an earlier last row.
        assert_eq!(row.seq, expect.seq);
        assert!(
            index == stored - 1 || cut.contains(&row.seq),
            "row {} of {stored}",
            row.seq
        );
        let Event::AgentText { text, .. } = &row.event else {
            panic!("{row:?}")
        };
        assert!(reply(index / 3).starts_with(text.as_str()));
        cut.push(row.seq);
    }
    let rest: Vec<_> = turn(session, stored / 3)
        .into_iter()
        .skip(usize::try_from(stored % 3).unwrap())
        .collect();
    if !stored.is_multiple_of(3) {
        assert_eq!(store.append(session, rest, Durability::Disk), Kept::Stored);
    }
    store.release(session);
}

#[test]
fn killed_processes_lose_no_answered_turn() {
    let folder = tempfile::tempdir().unwrap();
    let mut cut = [Vec::new(), Vec::new()];
    for round in 0..8 {
        let processes = ["a", "b"].map(|session| (session, Answering::start(folder.path(), session)));
        for ((session, process), cut) in processes.into_iter().zip(&mut cut) {
            let answered = process.kill(3, Duration::from_micros(700 * round));
            check(folder.path(), &session.into(), answered, cut);
        }
    }
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
}
