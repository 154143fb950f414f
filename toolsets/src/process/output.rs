//! What a command printed: all of it is read, its beginning and its end are kept, the middle is counted.

use agent_core::count::bytes_left_out;
use agent_core::event::{Printed, Progress};
use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

pub(crate) use super::kept::Excerpt;
use super::kept::Kept;
use super::screen::{self, Screen, whole_end, whole_start};
use super::text::{readable, whole_characters};

/// Bytes kept of the beginning, and as many of the end.
pub(super) const KEPT: usize = 64 * 1024;

/// The output of a command that runs. One thread writes, others look.
pub(crate) struct Output {
    heard: Mutex<Heard>,
    /// The reader sends at each chunk, whoever shows the output receives. One place: "something is new" needs no count.
    news: (Sender<()>, Receiver<()>),
}

struct Heard {
    kept: Kept,
    lines: u64,
    screen: Screen,
    /// The same as a terminal is given it.
    shown: Kept,
    sealed: bool,
}

impl Output {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        let heard = Heard {
            kept: Kept::new(KEPT),
            lines: 0,
            screen: Screen::default(),
            // Enough before the end to see whether that begins in the middle of something.
            shown: Kept::new(Printed::LONGEST_AT_END + screen::LONGEST),
            sealed: false,
        };
        Self {
            heard: Mutex::new(heard),
            news: bounded(1),
        }
    }

    /// Takes what was read; nothing more once sealed.
    pub(crate) fn push(&self, chunk: &[u8]) {
        if self.heard.lock().push(chunk) {
            let _told_already = self.news.0.try_send(());
        }
    }

    /// Takes no more: the command is over, whatever its descendants still print.
    pub(super) fn seal(&self) {
        self.heard.lock().sealed = true;
    }

    /// Receives once after something new came.
    pub(crate) fn news(&self) -> &Receiver<()> {
        &self.news.1
    }

    /// The output from byte `start` on.
    pub(crate) fn since(&self, start: u64) -> Excerpt {
        self.heard.lock().kept.since(start)
    }

    /// How much came so far, and the readable end of it.
    pub(crate) fn progress(&self) -> Progress {
        let (total, lines, bytes, printed) = {
            let heard = self.heard.lock();
            let total = heard.kept.total();
            // The kept end is longer than a tail, so there is no gap in it.
            let start = total.saturating_sub(Progress::LONGEST as u64);
            let printed = ends(&heard.shown, Printed::LONGEST);
            (total, heard.lines, heard.kept.since(start).bytes(), printed)
        };
        let mut tail = readable(&bytes);
        let excess = tail.len().saturating_sub(Progress::LONGEST);
        tail.drain(..tail.ceil_char_boundary(excess));
        Progress {
            tail,
            total,
            lines,
            printed,
            ..Progress::default()
        }
    }

    /// The output of a command that has ended as a terminal is given it.
    pub(crate) fn printed(&self) -> Printed {
        ends(&self.heard.lock().shown, Printed::LONGEST_AT_END)
    }
}

impl Heard {
    fn push(&mut self, chunk: &[u8]) -> bool {
        if self.sealed {
            return false;
        }
        self.kept.push(chunk);
        self.lines += chunk.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.shown.push(self.screen.read(chunk).as_bytes());
        true
    }
}

/// The first and the last bytes of what a terminal is given, `most` of each; all where there are no more.
fn ends(shown: &Kept, most: usize) -> Printed {
    let total = shown.total();
    let bytes = shown.since(0).bytes();
    if total <= 2 * most as u64 {
        return Printed {
            head: String::from_utf8_lossy(&bytes).into_owned(),
            ..Printed::default()
        };
    }
    let head = &bytes[..whole_end(&bytes[..most])];
    let tail = &bytes[whole_start(&bytes, bytes.len() - most)..];
    Printed {
        left_out: total - (head.len() + tail.len()) as u64,
        head: String::from_utf8_lossy(head).into_owned(),
        tail: String::from_utf8_lossy(tail).into_owned(),
    }
}

impl Excerpt {
    /// Leaves the last character to a later excerpt, if only its first bytes have come.
    #[must_use]
    pub(crate) fn up_to_whole_character(mut self) -> Self {
        let last = if self.tail.is_empty() {
            &mut self.head
        } else {
            &mut self.tail
        };
        let whole = whole_characters(last);
        self.total -= (last.len() - whole) as u64;
        last.truncate(whole);
        self
    }

    /// The same with `most` bytes of the beginning and as many of the end.
    pub(crate) fn narrowed(self, most: usize) -> Self {
        let (total, left_out) = (self.total, self.left_out);
        let from_head = self.head.len().min(most);
        let mut head = self.bytes();
        if left_out == 0 && head.len() <= 2 * most {
            return Self {
                head,
                left_out,
                tail: Vec::new(),
                total,
            };
        }
        let tail = head.split_off(head.len() - most.min(head.len() - from_head));
        let kept = head.len() + tail.len();
        head.truncate(from_head);
        Self {
            left_out: left_out + (kept - head.len() - tail.len()) as u64,
            head,
            tail,
            total,
        }
    }

    /// The text as people and models read it, with the count of what was left out in its place.
    pub(crate) fn text(&self) -> String {
        if self.left_out == 0 {
            return readable(&[self.head.as_slice(), self.tail.as_slice()].concat());
        }
        let head = &self.head[..whole_characters(&self.head)];
        let begun = self
            .tail
            .iter()
            .take(3)
            .take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000)
            .count();
        let left_out = self.left_out + (self.head.len() - head.len() + begun) as u64;
        let (head, tail) = (readable(head), readable(&self.tail[begun..]));
        let gap = if head.is_empty() || head.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!("{head}{gap}{}\n{tail}", bytes_left_out(left_out))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn output(chunks: &[&[u8]]) -> Output {
        let output = Output::new();
        chunks.iter().for_each(|chunk| output.push(chunk));
        output
    }

    #[test]
    fn a_character_split_over_reads_survives() {
        let output = output(&[b"a\xe2\x82", b"\xac!"]);
        assert_eq!(output.since(0).text(), "a€!");
    }

    #[test]
    fn an_excerpt_leaves_a_begun_character_to_the_next() {
        let output = output(&[b"a\xe2\x82"]);
        let first = output.since(0).up_to_whole_character();
        output.push(b"\xac!");
        assert_eq!((first.text().as_str(), first.total), ("a", 1));
        assert_eq!(output.since(first.total).text(), "€!");
    }

    #[test]
    fn head_and_tail_are_kept_and_the_middle_is_counted() {
        let middle = vec![b'm'; 300_000];
        let output = output(&[b"first\n", &middle, b"\nlast"]);
        let excerpt = output.since(0);
        assert_eq!(excerpt.left_out, 300_011 - 2 * KEPT as u64);
        assert_eq!(excerpt.total, 300_011);
        let text = excerpt.text();
        assert!(
            text.starts_with("first\nmmm") && text.ends_with("mmm\nlast"),
            "both ends are there"
        );
        assert!(text.contains("\n… 168,939 bytes left out …\n"), "the middle is counted");
    }

    #[test]
    fn a_narrowed_excerpt_counts_all_that_it_leaves_out() {
        let check = |length: usize, most, expect: &str| {
            let bytes: Vec<u8> = (0..length).map(|n| b'0' + u8::try_from(n % 10).unwrap()).collect();
            assert_eq!(output(&[&bytes]).since(0).narrowed(most).text(), expect);
        };
        check(6, 3, "012345");
        check(7, 3, "012\n… 1 bytes left out …\n456");
        check(1_000_000, 3, "012\n… 999,994 bytes left out …\n789");
    }

    #[test]
    fn a_character_cut_by_the_gap_is_left_out_whole() {
        let text = "€".repeat(100_000);
        let output = output(&[text.as_bytes()]);
        assert!(
            !output.since(0).text().contains('\u{fffd}'),
            "no half character is shown"
        );
    }

    #[test]
    fn an_excerpt_may_begin_anywhere() {
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| b'a' + u8::try_from(n % 26).unwrap()).collect();
        let output = output(&[&bytes]);
        for start in [
            0, 10, 65_535, 65_536, 100_000, 234_463, 234_464, 299_999, 300_000, 400_000,
        ] {
            let excerpt = output.since(start);
            let begin = usize::try_from(start).unwrap();
            let kept = excerpt.head.len() + excerpt.tail.len();
            assert_eq!(
                kept as u64 + excerpt.left_out,
                300_000_u64.saturating_sub(start),
                "from {start}"
            );
            assert!(
                excerpt.head.is_empty() || bytes[begin..].starts_with(&excerpt.head),
                "head from {start}"
            );
            assert!(bytes.ends_with(&excerpt.tail), "tail from {start}");
        }
    }

    #[test]
    fn a_tail_is_bounded_and_whole() {
        let progress = output(&["ü".repeat(50_000).as_bytes()]).progress();
        assert_eq!(progress.total, 100_000);
        let length = progress.tail.len();
        assert!(length <= Progress::LONGEST && length > Progress::LONGEST - 4);
        let replaced = output(&[&[0xff; 50_000]]).progress().tail;
        assert!(
            replaced.len() <= Progress::LONGEST,
            "replacements are longer than what they replace"
        );
    }

    #[test]
    fn lines_are_counted_whatever_becomes_of_them() {
        let progress = output(&[b"a\x1b[1m\n0%\r1", b"00%\r\n\x1b]0;t\nb"]).progress();
        assert_eq!((progress.tail.as_str(), progress.lines), ("a\n100%\n\nb", 3));
    }

    #[test]
    fn a_terminal_is_given_the_colours_and_both_ends() {
        let short = output(&[b"\x1b[3", b"1mred\x1b[0m\x1b[2J\n"]);
        assert_eq!(short.printed().since(0), "\x1b[31mred\x1b[0m\n");
        assert_eq!(short.progress().printed, short.printed());
        let line = "\x1b[32m€\x1b[0m\n";
        let long = output(&[line.repeat(100_000).as_bytes()]);
        for (printed, most) in [
            (long.progress().printed, Printed::LONGEST),
            (long.printed(), Printed::LONGEST_AT_END),
        ] {
            assert_eq!(printed.total(), 100_000 * line.len() as u64);
            for part in [&printed.head, &printed.tail] {
                assert!(part.len() <= most && part.len() > most - 16, "{}", part.len());
                let known = part.replace("\x1b[32m", "").replace("\x1b[0m", "");
                assert!(known.chars().all(|char| char == '€' || char == '\n'), "{known}");
            }
        }
    }

    #[test]
    fn nothing_is_taken_once_sealed() {
        let output = output(&[b"a"]);
        output.seal();
        output.push(b"b");
        assert_eq!(output.since(0).text(), "a");
    }
}
