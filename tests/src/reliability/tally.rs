//! What came of a series of deaths.

use std::fmt;
use std::time::Duration;

/// Counts, and what is wrong.
#[derive(Debug, Default)]
pub struct Tally {
    /// What was done.
    pub what: String,
    /// Processes that died.
    pub kills: u64,
    /// Turns that were answered.
    pub answered: u64,
    /// Answered turns that a load does not show, or shows otherwise.
    pub lost: u64,
    /// Turns that a load shows twice.
    pub doubled: u64,
    /// Turns that were not answered and are whole.
    pub whole: u64,
    /// Turns that were not answered and are marked as interrupted.
    pub marked: u64,
    /// Turns that were not answered and of which nothing was stored.
    pub absent: u64,
    /// Checks of the database and of its index.
    pub checks: u64,
    /// How often a client was told that something is not saved.
    pub unsaved: u64,
    /// The longest time from a prompt to its answer.
    pub longest: Duration,
    /// Everything that is wrong.
    pub faults: Vec<String>,
}

impl Tally {
    /// An empty one.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            ..Self::default()
        }
    }

    /// Something is wrong.
    pub fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.answered += other.answered;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.whole += other.whole;
        self.marked += other.marked;
        self.absent += other.absent;
        self.checks += other.checks;
        self.unsaved += other.unsaved;
        self.longest = self.longest.max(other.longest);
        self.faults.extend(other.faults);
    }

    /// What a table of tallies begins with.
    pub fn head() -> String {
        format!(
            "{:44} {:>6} {:>8} {:>5} {:>7} {:>6} {:>6} {:>6} {:>6} {:>7} {:>9} {:>6}",
            "what",
            "kills",
            "answered",
            "lost",
            "doubled",
            "whole",
            "marked",
            "absent",
            "checks",
            "unsaved",
            "longest",
            "faults"
        )
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:44} {:>6} {:>8} {:>5} {:>7} {:>6} {:>6} {:>6} {:>6} {:>7} {:>7}ms {:>6}",
            self.what,
            self.kills,
            self.answered,
            self.lost,
            self.doubled,
            self.whole,
            self.marked,
            self.absent,
            self.checks,
            self.unsaved,
            self.longest.as_millis(),
            self.faults.len()
        )
    }
}
