//! A command's output while it comes, in whole lines: a report of it holds its end alone, and reports may be skipped.

use std::mem;

use agent_core::event::Progress;

/// What has been taken of one call's output.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// Lines that were taken or are known to be missing.
    lines: u64,
    /// The line at the end that has no end yet.
    rest: String,
}

/// What a report brings.
#[derive(Debug, PartialEq)]
pub(super) struct News<'a> {
    /// Lines before it that no report held.
    pub(super) left_out: u64,
    /// Whole lines.
    pub(super) lines: &'a str,
}

impl Live {
    /// Whether nothing of the output was there to be shown.
    pub(super) fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// The whole lines of a report that are new.
    pub(super) fn take<'a>(&mut self, progress: &'a Progress) -> News<'a> {
        let (whole, rest) = progress
            .tail
            .split_at(progress.tail.rfind('\n').map_or(0, |end| end + 1));
        let before = progress.lines.saturating_sub(whole.matches('\n').count() as u64);
        // A tail may begin in the middle of a line.
        let is_cut = progress.total > Progress::LONGEST as u64;
        let first_whole = (before + u64::from(is_cut)).min(progress.lines);
        let from = self.lines.max(first_whole);
        let known = usize::try_from(from - before).unwrap_or(usize::MAX);
        let news = News {
            left_out: from - self.lines,
            lines: without_lines(whole, known),
        };
        self.lines = progress.lines;
        let begun_before = is_cut && whole.is_empty();
        self.rest = format!("{}{rest}", if begun_before { "…" } else { "" });
        news
    }

    /// The last line, once it can't get an end any more.
    pub(super) fn rest(&mut self) -> String {
        mem::take(&mut self.rest)
    }
}

/// What follows that many lines.
fn without_lines(text: &str, count: usize) -> &str {
    let start: usize = text.split_inclusive('\n').take(count).map(str::len).sum();
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes reports `(tail, total, lines)` and expects `(left_out, lines)` of each, and a rest.
    fn check(reports: &[(&str, u64, u64, u64, &str)], rest: &str) {
        let mut live = Live::default();
        for &(tail, total, lines, left_out, expect) in reports {
            let progress = Progress {
                tail: tail.to_owned(),
                total,
                lines,
                ..Progress::default()
            };
            let expect = News {
                left_out,
                lines: expect,
            };
            assert_eq!(live.take(&progress), expect, "{tail:?} {total}");
        }
        assert_eq!(live.rest(), rest);
    }

    #[test]
    fn each_line_comes_once_and_whole() {
        check(
            &[
                ("one\ntw", 6, 1, 0, "one\n"),
                ("one\ntwo\n", 8, 2, 0, "two\n"),
                ("one\ntwo\n", 8, 2, 0, ""),
                ("one\ntwo\nthree", 13, 2, 0, ""),
            ],
            "three",
        );
    }

    #[test]
    fn a_line_that_was_written_over_is_not_doubled() {
        check(&[("10%", 3, 0, 0, ""), ("100%", 8, 0, 0, "")], "100%");
        check(&[("10%", 3, 0, 0, ""), ("100%\nok\n", 12, 2, 0, "100%\nok\n")], "");
    }

    #[test]
    fn colours_that_were_taken_out_shift_nothing() {
        check(&[("red\n", 13, 1, 0, "red\n"), ("red\nred\n", 26, 2, 0, "red\n")], "");
    }

    #[test]
    fn lines_that_no_report_held_are_counted_and_a_torn_one_is_one_of_them() {
        check(
            &[
                ("1\n2\n", 4, 2, 0, "1\n2\n"),
                ("orn\n98\n99\n", 100_000, 99, 95, "98\n99\n"),
                ("8\n99\n100\n", 100_004, 100, 0, "100\n"),
            ],
            "",
        );
        check(&[("orn\nlast\nbegun", 100_000, 50, 49, "last\n")], "begun");
        check(&[("nothing but one line", 100_000, 0, 0, "")], "…nothing but one line");
        check(
            &[("the end of the fourth", 100_000, 3, 3, "")],
            "…the end of the fourth",
        );
    }
}
