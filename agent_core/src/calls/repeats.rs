//! A model that makes the same calls again and again with the same results, and how that ends.

use crate::provider::Call;

/// So often the same calls may be made in a row with the same results.
const MOST: u32 = 4;
/// So often they may be asked for in vain before the turn ends.
const MOST_IN_VAIN: u32 = 3;

/// What the model is told instead of a result.
pub(crate) const STUCK: &str = "This call was made 4 times in a row with the same result, and it was not run again. Try \
something else, or tell the user what is in the way.";

/// The last calls of a turn.
#[derive(Default)]
pub(crate) struct Repeats {
    /// The calls of the last step as name and arguments, and their results.
    last: Option<(String, String)>,
    /// How often they came in a row.
    count: u32,
    /// How often they were asked for in vain.
    in_vain: u32,
}

impl Repeats {
    /// Whether these calls would be once too often.
    pub(crate) fn is_stuck(&self, calls: &[Call]) -> bool {
        let same = self.last.as_ref().is_some_and(|(last, _)| *last == mark(calls));
        same && self.count >= MOST
    }

    /// These calls were made, and this came of them.
    pub(crate) fn made(&mut self, calls: &[Call], results: String) {
        let now = (mark(calls), results);
        if self.last.as_ref() == Some(&now) {
            self.count += 1;
        } else {
            *self = Self {
                last: Some(now),
                count: 1,
                in_vain: 0,
            };
        }
    }

    /// They were asked for in vain. Says whether that is to be the end.
    pub(crate) fn refused(&mut self) -> bool {
        self.in_vain += 1;
        self.in_vain >= MOST_IN_VAIN
    }
}

/// Calls without what differs each time.
fn mark(calls: &[Call]) -> String {
    let calls: Vec<String> = calls
        .iter()
        .map(|call| format!("{} {:?}", call.name, call.input))
        .collect();
    calls.join("\n")
}
