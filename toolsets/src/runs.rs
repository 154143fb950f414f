//! When commands and edits of the agent ran: a file that changed meanwhile may have been changed by them, and an editor
//! may not have noticed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

/// File systems stamp a change by a clock that lags behind.
const SLACK: Duration = Duration::from_millis(50);
/// Ended runs that are told apart; of more, the oldest two become one.
const MOST: usize = 256;

/// The runs of one session.
#[derive(Default)]
pub(crate) struct Runs(Mutex<State>);

#[derive(Default)]
struct State {
    last: u64,
    /// Those that go on: number and beginning.
    open: Vec<(u64, SystemTime)>,
    /// Those that have ended: beginning and end.
    ended: VecDeque<(SystemTime, SystemTime)>,
}

/// A run that goes on until this drops.
pub(crate) struct RunGuard {
    runs: Arc<Runs>,
    number: u64,
}

impl Runs {
    /// Something begins that may change files.
    pub(crate) fn begin(self: &Arc<Self>) -> RunGuard {
        let mut state = self.0.lock();
        state.last += 1;
        let number = state.last;
        state.open.push((number, SystemTime::now()));
        RunGuard {
            runs: self.clone(),
            number,
        }
    }

    /// Whether something ran at this time.
    pub(crate) fn ran_at(&self, time: SystemTime) -> bool {
        let state = self.0.lock();
        let begun = |begin: SystemTime| begin <= time + SLACK;
        state.open.iter().any(|(_, begin)| begun(*begin))
            || state
                .ended
                .iter()
                .any(|(begin, end)| begun(*begin) && time <= *end + SLACK)
    }

    fn end(&self, number: u64) {
        let mut state = self.0.lock();
        let Some(index) = state.open.iter().position(|(open, _)| *open == number) else {
            return;
        };
        let (_, begin) = state.open.remove(index);
        state.ended.push_back((begin, SystemTime::now()));
        if state.ended.len() > MOST
            && let Some((first, _)) = state.ended.pop_front()
            && let Some((begin, _)) = state.ended.front_mut()
        {
            *begin = first.min(*begin);
        }
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.runs.end(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_known_by_what_ran_then() {
        let runs = Arc::new(Runs::default());
        let before = SystemTime::now() - Duration::from_secs(1);
        let later = SystemTime::now() + Duration::from_secs(3600);
        assert!(!runs.ran_at(SystemTime::now()));
        let run = runs.begin();
        assert!(runs.ran_at(SystemTime::now()) && runs.ran_at(later) && !runs.ran_at(before));
        drop(run);
        assert!(runs.ran_at(SystemTime::now()) && !runs.ran_at(later) && !runs.ran_at(before));
    }

    #[test]
    fn of_many_runs_none_is_forgotten() {
        let runs = Arc::new(Runs::default());
        drop(runs.begin());
        let first = SystemTime::now();
        for _ in 0..3 * MOST {
            drop(runs.begin());
        }
        assert!(runs.ran_at(first));
        assert_eq!(runs.0.lock().ended.len(), MOST);
    }
}
