//! What an agent takes when it does nothing: memory, processor, room on the disk, and the time to go away.
#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::thread;
use std::time::Duration;

use talaria_tests::client::{Home, binary};
use talaria_tests::measure::pipe::Pipe;
use talaria_tests::measure::{Table, Times, system, time};

const SESSIONS: u64 = 200;
const SILENCE: Duration = Duration::from_secs(2);
const ROUNDS: usize = 30;

fn main() {
    let mut table = Table::new("At rest");
    let home = Home::new();
    memory(&mut table, &home);
    end(&mut table, &home);
    let size = binary().metadata().expect("the binary is there").len() as f64 / 1e6;
    table.goal("the binary", format!("{size:.1} MB"), "", "< 20 MB", size < 20.0);
    println!("{table}");
}

fn memory(table: &mut Table, home: &Home) {
    let (mut pipe, _) = Pipe::with_session(home.command(&["acp"]), &home.workspace());
    let pid = pipe.pid();
    let memory = || system::memory_kib(pid);
    let (Some(one), Some(ticks)) = (memory(), system::ticks(pid)) else {
        return table.figure("memory and processor", "not told on this system", "");
    };
    thread::sleep(SILENCE);
    let spent = system::ticks(pid).unwrap_or(ticks) - ticks;
    let mb = one as f64 / 1024.0;
    table.goal(
        "memory (PSS) after `session/new`",
        format!("{mb:.1} MB"),
        "",
        "< 12 MB",
        mb < 12.0,
    );
    table.figure("threads", system::threads(pid).unwrap_or(0), "");
    table.goal(
        "processor while idle for 2 s",
        format!("{spent} ticks"),
        "",
        "0 ticks",
        spent == 0,
    );

    (0..SESSIONS).for_each(|_| drop(pipe.new_session(&home.workspace())));
    let each = memory().unwrap_or(one).saturating_sub(one) as f64 / SESSIONS as f64;
    table.goal(
        "memory of each further idle session",
        format!("{each:.1} KB"),
        "",
        "< 50 KB",
        each < 50.0,
    );
}

fn end(table: &mut Table, home: &Home) {
    let mut end = || Pipe::with_session(home.command(&["acp"]), &home.workspace()).0.close();
    let [times] = Times::by_turns(ROUNDS, [&mut end]);
    table.goal(
        "end of stdin to the end of the process",
        &times,
        "",
        "< 10 ms",
        times.best() < Duration::from_millis(10),
    );
    table.figure("the same, longest of all", time(times.longest()), "");
}
