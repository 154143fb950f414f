//! How soon an agent answers: `initialize` beside the least program that does, `session/new` with a full store beside
//! an empty one.
#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::process::Command;
use std::time::{Duration, Instant};

use agent_core::store::Store;
use talaria_tests::client::Home;
use talaria_tests::measure::pipe::Pipe;
use talaria_tests::measure::{Table, Times};
use talaria_tests::stored;

const ROUNDS: usize = 60;
const SESSIONS: usize = 10_000;

fn main() {
    let mut table = Table::new("Start");
    let (empty, full) = (Home::new(), full_home());
    // The first start makes the database.
    session(&empty);

    let [agent, floor] = Times::by_turns(
        ROUNDS,
        [&mut || greeting(empty.command(&["acp"])), &mut || {
            greeting(Command::new(env!("CARGO_BIN_EXE_floor")))
        }],
    );
    let ratio = agent.ratio(&floor);
    table.figure("the least program: spawn to its answer", &floor, "");
    table.goal(
        "spawn to `initialize` answered",
        &agent,
        format!("{ratio:.2} x the least program"),
        "<= 2 x",
        ratio <= 2.0,
    );

    let [small, large] = Times::by_turns(ROUNDS, [&mut || session(&empty), &mut || session(&full)]);
    let ratio = large.ratio(&small);
    table.figure("spawn to `session/new` answered, empty store", &small, "");
    table.goal(
        "the same with 10,000 stored sessions",
        &large,
        format!("{ratio:.2} x an empty store"),
        "the same",
        ratio <= 1.1,
    );
    println!("{table}");
}

fn greeting(command: Command) -> Duration {
    let began = Instant::now();
    let mut pipe = Pipe::start(command);
    pipe.initialize();
    began.elapsed()
}

fn session(home: &Home) -> Duration {
    let began = Instant::now();
    let (_pipe, _) = Pipe::with_session(home.command(&["acp"]), &home.workspace());
    began.elapsed()
}

fn full_home() -> Home {
    let home = Home::new();
    let store = Store::open(&home.state()).expect("a store can be made");
    for _ in 0..SESSIONS {
        stored::session(&store, &home.workspace(), 4);
    }
    store.close();
    home
}
