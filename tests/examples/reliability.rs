//! Kills the built binary a thousand times, has many of it work on one store at once, and looks whether all that was
//! answered is there; prints a table. What it does and what came out is told in `docs/reliability.md`.
//!
//! ```text
//! cargo run --package talaria_tests --example reliability
//! ```
//!
//! Ends with 1 if anything is wrong; the home of a series in which something is stays where the table says.
#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use talaria_tests::reliability::{
    POINTS, Point, Tally, contest, crowd, foreign_rows_beside_a_turn, library, lists_beside_a_turn, newer_beside,
    old_store_opened_at_once, random_kills, snapshots, sweep,
};

/// The first faults of a series that are shown, besides the last.
const SHOWN: usize = 10;

/// A number of the environment, or else the full one.
fn number(name: &str, full: u64) -> u64 {
    let number = std::env::var(format!("RELIABILITY_{name}"));
    number.ok().and_then(|number| number.parse().ok()).unwrap_or(full)
}

fn main() -> ExitCode {
    let seed = number("SEED", fastrand::u64(..1_000_000));
    println!("seed {seed}\n{}", Tally::head());
    let mut faults = 0;
    let mut add = |began: Instant, tally: Tally| {
        println!("{tally}  ({} s)", began.elapsed().as_secs());
        tally
            .faults
            .iter()
            .take(SHOWN)
            .for_each(|fault| println!("    {fault}"));
        tally.faults.last().iter().for_each(|fault| println!("    {fault}"));
        faults += tally.faults.len();
    };
    let kills = number("KILLS", 1_000);
    if kills > 0 {
        add(Instant::now(), random_kills(kills, seed));
    }
    let stride = number("STRIDE", 1);
    match library() {
        Some(library) if stride > 0 => {
            let place = std::env::var("RELIABILITY_PLACE");
            let is_wanted = |point: &Point| {
                place
                    .as_ref()
                    .map_or(true, |place| point.place.starts_with(place.as_str()))
            };
            for point in POINTS.into_iter().filter(is_wanted) {
                // Pages are written by the hundred; all else is gone through one by one.
                let is_page = ["log", "database"].contains(&point.place) && stride > 1;
                add(
                    Instant::now(),
                    sweep(library, point, if is_page { stride } else { 1 }, seed),
                );
            }
        }
        Some(_) => {}
        None => println!("no failpoints: they are for Linux with a C compiler"),
    }
    let turns = number("TURNS", 200) as usize;
    if turns > 0 {
        let began = Instant::now();
        let (tally, times) = crowd(8, turns, Duration::from_secs(2), seed);
        add(began, tally);
        let at = |share: usize| times.get(times.len() * share / 1000).copied().unwrap_or_default();
        println!(
            "    prompt to answer: half within {:?}, 99 % within {:?}",
            at(500),
            at(990)
        );
    }
    let contested = number("CONTEST", 200) as usize;
    if contested > 0 {
        add(Instant::now(), contest(contested, seed));
    }
    let rounds = number("VERSIONS", 50) as usize;
    if rounds > 0 {
        add(Instant::now(), old_store_opened_at_once(4, rounds));
        add(Instant::now(), newer_beside(4, rounds));
    }
    let lists = number("LISTS", 500);
    if lists > 0 {
        add(Instant::now(), lists_beside_a_turn(lists));
        add(Instant::now(), foreign_rows_beside_a_turn(lists));
    }
    let copies = number("COPIES", 100);
    if copies > 0 {
        match snapshots(copies, seed) {
            Some(tally) => add(Instant::now(), tally),
            None => println!("no copies: a process can't be seen to stand still here"),
        }
    }
    if faults == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
