//! What a command printed, for whoever shows it as a terminal does.

use serde::{Deserialize, Serialize};

use crate::count::bytes_left_out;

/// The output of a command with its colours: lines and what sets colours, and no other terminal command. Its bytes are
/// numbered from the first one on, those that were not kept too, so that who has shown some of it can go on from there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    /// Its beginning; all of it where that is short.
    pub head: String,
    /// How many bytes after that were not kept.
    #[serde(default)]
    pub left_out: u64,
    /// Its end.
    #[serde(default)]
    pub tail: String,
}

impl Printed {
    /// The most bytes that are kept of a running command's beginning, and as many of its end.
    pub const LONGEST: usize = 8 * 1024;
    /// The same of one that has ended.
    pub const LONGEST_AT_END: usize = 16 * 1024;

    /// Bytes of output so far.
    pub fn total(&self) -> u64 {
        self.gap_end() + self.tail.len() as u64
    }

    /// What follows the first `seen` bytes. Where something of that was not kept, the text says how much.
    pub fn since(&self, seen: u64) -> String {
        let head_end = self.head.len() as u64;
        let head = rest(&self.head, seen);
        let tail = rest(&self.tail, seen.saturating_sub(self.gap_end()));
        let left_out = self.gap_end().saturating_sub(seen.max(head_end));
        if left_out == 0 {
            return format!("{head}{tail}");
        }
        // Whatever colour was set there is over: the text that would end it may be among what is left out.
        format!("{head}\u{1b}[0m\n{}\n{tail}", bytes_left_out(left_out))
    }

    fn gap_end(&self) -> u64 {
        self.head.len() as u64 + self.left_out
    }
}

/// A text without its first `count` bytes.
fn rest(text: &str, count: u64) -> &str {
    let from = usize::try_from(count).unwrap_or(usize::MAX).min(text.len());
    &text[text.ceil_char_boundary(from)..]
}

/// A command that has run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// What is shown where there is no terminal: what it printed as plain text, and how it ended where that is not clear.
    pub shown: String,
    /// What it printed.
    pub printed: Printed,
    /// How it ended, for below what it printed; empty where its exit says all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that killed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_seen_some_gets_the_rest_and_the_count_of_what_is_gone() {
        let check = |left_out, seen, expect: &str| {
            let printed = Printed {
                head: "héad".into(),
                left_out,
                tail: "tail".into(),
            };
            assert_eq!(printed.since(seen), expect, "{left_out} left out, {seen} seen");
        };
        check(0, 0, "héadtail");
        check(0, 3, "adtail");
        check(0, 7, "il");
        check(0, 9, "");
        check(0, 99, "");
        check(10, 0, "héad\u{1b}[0m\n… 10 bytes left out …\ntail");
        check(10, 5, "\u{1b}[0m\n… 10 bytes left out …\ntail");
        check(10, 8, "\u{1b}[0m\n… 7 bytes left out …\ntail");
        check(10, 15, "tail");
        check(10, 17, "il");
        assert_eq!(Printed::default().since(0), "");
    }

    #[test]
    fn the_end_of_one_excerpt_is_where_the_next_begins() {
        let all = "0123456789".repeat(10);
        let excerpt = |upto: usize| Printed {
            head: all[..upto.min(8)].into(),
            left_out: upto.saturating_sub(24) as u64,
            tail: all[upto.saturating_sub(16).max(upto.min(8))..upto].into(),
        };
        let (mut shown, mut seen) = (String::new(), 0);
        for upto in [3, 8, 9, 20, 24, 30, 46, 100] {
            let printed = excerpt(upto);
            assert_eq!(printed.total(), upto as u64);
            shown.push_str(&printed.since(seen));
            seen = printed.total();
        }
        let gap = "\u{1b}[0m\n… 38 bytes left out …\n";
        assert_eq!(shown, format!("{}{gap}{}", &all[..46], &all[84..]));
    }
}
