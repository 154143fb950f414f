//! Ids of calls as the service takes them: of a few characters, and each once in a conversation. Those of other
//! services, which a conversation may begin with, are neither.

use std::collections::{HashMap, HashSet};

/// The ids of a conversation so far. The same conversation gives the same ids.
#[derive(Default)]
pub(super) struct Ids<'a> {
    taken: HashSet<String>,
    /// What the last call with an id is called, and how many had that id.
    calls: HashMap<&'a str, (String, usize)>,
}

impl<'a> Ids<'a> {
    /// What a call with this id is called.
    pub(super) fn call(&mut self, id: &'a str) -> String {
        let bare = plain(id);
        let (name, count) = self.calls.entry(id).or_default();
        loop {
            *count += 1;
            *name = if *count == 1 {
                bare.clone()
            } else {
                format!("{bare}_{count}")
            };
            if self.taken.insert(name.clone()) {
                return name.clone();
            }
        }
    }

    /// What the call is called that a result belongs to: the last one with its id.
    pub(super) fn result(&self, id: &str) -> String {
        self.calls.get(id).map_or_else(|| plain(id), |(name, _)| name.clone())
    }
}

/// An id of letters, digits, `_` and `-` only.
fn plain(id: &str) -> String {
    let replace = |letter: char| if is_plain(letter) { letter } else { '_' };
    let id: String = id.chars().map(replace).collect();
    if id.is_empty() { "_".into() } else { id }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_an_id_that_the_service_takes_and_its_result_the_same() {
        let mut ids = Ids::default();
        for (id, expect) in [
            ("toolu_1-A", "toolu_1-A"),
            ("functions.read:0", "functions_read_0"),
            ("functions_read_0", "functions_read_0_2"),
            ("a", "a"),
            ("a", "a_2"),
            ("a_2", "a_2_2"),
            ("a", "a_3"),
            ("", "_"),
        ] {
            assert_eq!((ids.call(id).as_str(), ids.result(id).as_str()), (expect, expect));
        }
        assert_eq!(ids.result("functions.read:0"), "functions_read_0");
    }
}
