//! What the benchmarks share: repeated timing, and the table they print. No test asserts a time; a benchmark says
//! whether a goal is reached, and nothing fails when it is not.

pub mod pipe;
pub mod system;

use std::fmt;
use std::time::Duration;

/// How long something took, each time it was done.
pub struct Times(Vec<Duration>);

impl Times {
    /// Does several things by turns, so that the machine's other work hits all of them alike; the times of each.
    pub fn by_turns<const N: usize>(rounds: usize, mut things: [&mut dyn FnMut() -> Duration; N]) -> [Self; N] {
        let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::with_capacity(rounds));
        for _ in 0..rounds {
            for (thing, times) in things.iter_mut().zip(&mut times) {
                times.push(thing());
            }
        }
        times.map(Self::of)
    }

    /// These times; at least one.
    pub fn of(mut times: Vec<Duration>) -> Self {
        assert!(!times.is_empty(), "nothing was measured");
        times.sort();
        Self(times)
    }

    /// The shortest: what the code takes. Whatever else the machine does can only add to it.
    pub fn best(&self) -> Duration {
        self.0[0]
    }

    /// The one in the middle.
    pub fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    /// The longest.
    pub fn longest(&self) -> Duration {
        self.0[self.0.len() - 1]
    }

    /// How much of another's best time its own best is.
    pub fn ratio(&self, other: &Self) -> f64 {
        self.best().as_secs_f64() / other.best().as_secs_f64()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (median {})", time(self.best()), time(self.median()))
    }
}

/// A time with three digits.
pub fn time(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        1e6.. => format!("{:.2} s", micros / 1e6),
        1e3.. => format!("{:.2} ms", micros / 1e3),
        _ => format!("{micros:.1} µs"),
    }
}

/// What was measured, a line each.
pub struct Table {
    title: &'static str,
    rows: Vec<[String; 5]>,
}

impl Table {
    /// An empty table.
    pub fn new(title: &'static str) -> Self {
        let head = ["what", "here", "beside", "goal", "reached"];
        Self {
            title,
            rows: vec![head.map(str::to_owned)],
        }
    }

    /// Adds a figure, what was measured beside it, and whether its goal is reached.
    pub fn goal(&mut self, what: &str, here: impl ToString, beside: impl ToString, goal: &str, reached: bool) {
        let reached = if reached { "yes" } else { "NO" };
        self.add(what, here, beside, goal, reached);
    }

    /// Adds a figure without a goal.
    pub fn figure(&mut self, what: &str, here: impl ToString, beside: impl ToString) {
        self.add(what, here, beside, "", "");
    }

    fn add(&mut self, what: &str, here: impl ToString, beside: impl ToString, goal: &str, reached: &str) {
        let row = [what, &here.to_string(), &beside.to_string(), goal, reached];
        self.rows.push(row.map(str::to_owned));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        let widths: [usize; 5] = std::array::from_fn(|column| width(column).unwrap_or(0));
        writeln!(f, "\n{}", self.title)?;
        for row in &self.rows {
            let cells = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect::<Vec<_>>();
            writeln!(f, "  {}", cells.join("  ").trim_end())?;
        }
        Ok(())
    }
}
