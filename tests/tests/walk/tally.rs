//! What walks have met, so that none passes because nothing happened.

use std::collections::BTreeMap;

/// How often each thing happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(BTreeMap<String, usize>);

impl Tally {
    pub(crate) fn count(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            *self.0.entry(what.clone()).or_default() += times;
        }
    }

    /// Those of these that happened less often than `times`.
    pub(crate) fn rare(&self, these: &[&'static str], times: usize) -> Vec<&'static str> {
        let is_rare = |what: &&&'static str| self.0.get(**what).copied().unwrap_or(0) < times;
        these.iter().filter(is_rare).copied().collect()
    }
}
