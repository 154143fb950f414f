//! A word of a query that looks like a filter and is none: it was searched for as it stands, which is said.

use std::fmt;

use crate::visible;

/// The most of them that are told of one query.
const MOST: usize = 3;

/// The most characters of one that are shown.
const LONGEST: usize = 60;

/// The filters there are, with what they take.
const FILTERS: [(&str, &str); 5] = [
    ("role", "user, agent, tool or title"),
    ("in", "a folder"),
    ("since", A_DAY),
    ("until", A_DAY),
    ("session", "the beginning or the end of a session's id"),
];

const A_DAY: &str = "a day such as 2026-01-31, or 7d for seven days ago";

/// Such a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slip {
    word: String,
    filter: &'static str,
    takes: &'static str,
}

impl Slip {
    /// The slip that a word is; none for any other word.
    fn of(word: &str) -> Option<Self> {
        let (name, _) = word.strip_prefix('-').unwrap_or(word).split_once(':')?;
        let (filter, takes) = FILTERS
            .into_iter()
            .find(|(filter, _)| name.eq_ignore_ascii_case(filter))?;
        Some(Self {
            word: visible::title(word, LONGEST),
            filter,
            takes,
        })
    }

    /// Adds the one that a word is, if it is one and there is room.
    pub(super) fn note(slips: &mut Vec<Self>, word: &str) {
        let slip = Self::of(word).filter(|slip| slips.len() < MOST && !slips.contains(slip));
        slips.extend(slip);
    }

    /// The word as it was given, in one line.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// What became of it, and what would have been a filter: to be read after the word.
    pub fn remark(&self) -> String {
        let (filter, takes) = (self.filter, self.takes);
        match self.word.starts_with('-') {
            false => format!("was searched for as text; {filter}: takes {takes}"),
            true => format!("left out messages with that text; {filter}: takes {takes}, and no `-` before it"),
        }
    }
}

impl fmt::Display for Slip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.word, self.remark())
    }
}
