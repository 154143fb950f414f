//! What a turn takes beside its model: with an instant one, beside one `fsync` of the same disk; what of it the
//! history adds; how often the disk is waited for.
#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use agent_core::store::Store;
use serde_json::{Value, json};
use talaria_tests::client::Home;
use talaria_tests::measure::pipe::Pipe;
use talaria_tests::measure::{Table, Times, time};
use talaria_tests::stored;

const ROUNDS: usize = 150;
const HISTORIES: [u64; 4] = [10, 100, 1_000, 10_000];
const STEPS: usize = 20;
const COUNTED: usize = 10;

fn main() {
    let mut table = Table::new("Turn with a model that answers at once");
    overhead(&mut table);
    histories(&mut table);
    disk_waits(&mut table);
    println!("{table}");
}

fn overhead(table: &mut Table) {
    let home = Home::with_script(&of_one_step());
    let mut disk = Disk::beside(&home.state());
    let (mut pipe, session) = Pipe::with_session(home.command(&["acp"]), &home.workspace());
    let mut turn = || pipe.prompt(&session, "go").0;
    turn();
    let [turns, syncs] = Times::by_turns(ROUNDS, [&mut turn, &mut || disk.sync()]);
    let beyond = turns.best().saturating_sub(syncs.best());
    let reached = beyond < Duration::from_millis(1);
    table.figure("one `fsync` of 4 KiB on the same disk", &syncs, "");
    table.goal(
        "prompt to its answer",
        &turns,
        format!("{} beyond one fsync", time(beyond)),
        "< 1 ms beyond",
        reached,
    );
}

/// A file on the disk that the store is on.
struct Disk(File);

impl Disk {
    fn beside(folder: &Path) -> Self {
        Self(File::create(folder.join("beside")).expect("a file can be made"))
    }

    fn sync(&mut self) -> Duration {
        let began = Instant::now();
        self.0.write_all(&[1; 4096]).expect("a file can be written");
        self.0.sync_data().expect("a file can be synced");
        began.elapsed()
    }
}

fn histories(table: &mut Table) {
    let mut shortest: Option<Duration> = None;
    for events in HISTORIES {
        let home = Home::with_script(&of_one_step());
        let store = Store::open(&home.state()).expect("a store can be made");
        let session = stored::session(&store, &home.workspace(), events);
        store.close();
        let mut pipe = Pipe::start(home.command(&["acp"]));
        pipe.initialize();
        let params = json!({"sessionId": session.as_str(), "cwd": home.workspace(), "mcpServers": []});
        pipe.request("session/resume", params);
        let first = pipe.prompt(session.as_str(), "go").0;
        let times = Times::of((0..ROUNDS / 3).map(|_| pipe.prompt(session.as_str(), "go").0).collect());
        let base = *shortest.get_or_insert(times.best());
        let ratio = times.best().as_secs_f64() / base.as_secs_f64();
        table.goal(
            &format!("a turn after {events} events"),
            &times,
            format!("{ratio:.2} x after {}; the first {}", HISTORIES[0], time(first)),
            "no growth but the request's",
            ratio < 2.0,
        );
    }
}

fn disk_waits(table: &mut Table) {
    let (Some(one), Some(many)) = (syncs(&of_one_step()), syncs(&of_many_steps())) else {
        return table.figure("waits for the disk", "not counted: there is no strace here", "");
    };
    let of_many = format!("{many:.1} with {STEPS} steps");
    table.goal(
        "waits for the disk a turn of one step",
        format!("{one:.1}"),
        of_many,
        "1, and as many",
        one <= 1.0 && many <= one,
    );
}

/// How often a turn waits for the disk, by a count of the system's calls.
fn syncs(script: &Value) -> Option<f64> {
    let home = Home::with_script(script);
    let log = home.state().join("calls");
    let agent = home.command(&["acp"]);
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&log)
        .arg(agent.get_program())
        .args(agent.get_args())
        .current_dir(home.workspace())
        .env("TALARIA_HOME", home.state());
    Command::new("strace").arg("-V").output().ok()?;
    let count = || {
        let calls = fs::read_to_string(&log).unwrap_or_default();
        calls.lines().filter(|line| line.contains("sync(")).count()
    };
    let (mut pipe, session) = Pipe::with_session(traced, &home.workspace());
    pipe.prompt(&session, "go");
    let before = count();
    (0..COUNTED).for_each(|_| drop(pipe.prompt(&session, "go")));
    Some((count() - before) as f64 / COUNTED as f64)
}

fn of_one_step() -> Value {
    json!({"after": "repeat", "replies": [{"steps": [{"text": "Done."}]}]})
}

fn of_many_steps() -> Value {
    let items = json!([{"id": "1", "content": "Look", "status": "pending"}]);
    let call = json!({"steps": [{"call": {"name": "todo", "input": {"items": items}}}]});
    let mut replies = vec![call; STEPS - 1];
    replies.push(json!({"steps": [{"text": "Done."}]}));
    json!({"after": "repeat", "replies": replies})
}
