//! A session's plain title, made from its first prompt. Better ones come from the user, or from a model.

use crate::content::Content;
use crate::search::masked;
use crate::{inline, visible};
use unicode_normalization::UnicodeNormalization;

/// The most characters a title has.
const LONGEST: usize = 80;

/// The title for a session that begins with this prompt: its first line, each mention by its name. None where the
/// prompt says nothing that could name a session: a slash command, nothing at all.
pub(crate) fn from_prompt(content: &[Content]) -> Option<String> {
    let text = inline::text(content, mention);
    let line = text
        .split(['\n', '\r', '\u{2028}', '\u{2029}'])
        .map(seen)
        .find(|line| !line.is_empty());
    match line {
        // Titles are shown by every client.
        Some(line) => (!is_slash_command(&line)).then(|| shortened(&masked(&line))),
        None => pictures(content),
    }
}

/// What stands for pictures without a word.
fn pictures(content: &[Content]) -> Option<String> {
    let is_picture = |piece: &&Content| matches!(piece, Content::Image { .. });
    match content.iter().filter(is_picture).count() {
        0 => None,
        1 => Some("A picture".into()),
        count => Some(format!("{count} pictures")),
    }
}

/// Why a text is no title.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTitle {
    /// It is empty, or of characters without a shape.
    #[error("nothing in this title can be seen")]
    Invisible,
    /// It has more characters than a title has.
    #[error("this title has {0} characters, and a title has at most {LONGEST}")]
    TooLong(usize),
}

/// The title that a user gives, made fit to be shown. One that is too long is left to the user to shorten.
pub(crate) fn from_text(text: &str) -> Result<String, BadTitle> {
    let title = seen(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    match title.chars().count() {
        0 => Err(BadTitle::Invisible),
        count if count > LONGEST => Err(BadTitle::TooLong(count)),
        _ => Ok(title),
    }
}

/// The title of a fork: its parent's with a mark, which counts on where the parent is a fork itself.
pub(crate) fn of_fork(title: &str) -> String {
    let (base, number) = fork_mark(title).unwrap_or((title, 0_u64));
    match number.saturating_add(1) {
        1 => marked(base, " (fork)"),
        number => marked(base, &format!(" (fork {number})")),
    }
}

/// What to try where another session has this title: the same with a number, or with the next one.
pub(crate) fn next(title: &str) -> String {
    if fork_mark(title).is_some() {
        return of_fork(title);
    }
    let (base, number) = number_mark(title).unwrap_or((title, 1));
    marked(base, &format!(" ({})", number.saturating_add(1)))
}

/// A title of which the same was there before, taken apart.
fn number_mark(title: &str) -> Option<(&str, u64)> {
    let (base, number) = title.strip_suffix(')')?.rsplit_once(" (")?;
    // A year is no such number.
    (number.len() <= 3).then_some((base, number.parse().ok()?))
}

/// The title with a mark behind it, cut where both have no room.
fn marked(base: &str, mark: &str) -> String {
    let room = LONGEST - mark.chars().count();
    let kept: String = base.chars().take(room).collect();
    format!("{}{mark}", kept.trim_end_matches([' ', visible::JOINER]))
}

/// A fork's title taken apart: what it was before, and its number.
fn fork_mark(title: &str) -> Option<(&str, u64)> {
    let (base, mark) = title.strip_suffix(')')?.rsplit_once(" (fork")?;
    let number = match mark {
        "" => 1,
        number => number
            .strip_prefix(' ')
            .filter(|number| number.len() <= 9)?
            .parse()
            .ok()?,
    };
    Some((base, number))
}

/// A mention by what a person calls it, or by the last part of its path.
fn mention(uri: &str, name: Option<&str>) -> String {
    match name {
        Some(name) if !name.trim().is_empty() => name.to_owned(),
        Some(_) | None => {
            let path = inline::path_of(uri);
            let last = path.trim_end_matches('/').rsplit('/').next();
            last.unwrap_or(&path).to_owned()
        }
    }
}

/// The line without what can't be seen, with single spaces, and in the one form that all have which look like it.
fn seen(line: &str) -> String {
    let line = line.replace('\t', " ");
    let letters = visible::in_place(&line).filter(|(letter, hides)| !hides || *letter == ' ');
    let letters: String = letters.map(|(letter, _)| letter).nfc().collect();
    letters.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the line is `/word`, alone or with arguments. `/etc/hosts` is a path.
fn is_slash_command(line: &str) -> bool {
    let name = line.strip_prefix('/').and_then(|rest| rest.split(' ').next());
    name.is_some_and(|name| {
        let mut letters = name.chars();
        letters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
            && letters.all(|letter| letter.is_ascii_alphanumeric() || "-_:".contains(letter))
    })
}

/// The line, cut at a word if it is too long; within a word if that would leave less than half.
fn shortened(line: &str) -> String {
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    // One character is for the `…`, and the one behind the cut tells whether a word ends there.
    let letters: Vec<char> = line.chars().take(LONGEST).collect();
    let word_end = letters.iter().rposition(|letter| *letter == ' ');
    let end = word_end.filter(|end| *end >= LONGEST / 2).unwrap_or(LONGEST - 1);
    let kept: String = letters[..end].iter().collect();
    format!("{}…", kept.trim_end_matches([' ', ',', ';', ':', '.', visible::JOINER]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::content::Blob;

    fn image() -> Content {
        Content::Image {
            mime_type: "image/png".into(),
            data: Blob::from_base64("AAAA").unwrap(),
            uri: None,
        }
    }

    #[test]
    fn the_first_line_that_can_be_seen_is_the_title() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(from_prompt(&[Content::text(text)]).as_deref(), expect, "{text:?}");
        };
        check("Fix the tests", Some("Fix the tests"));
        check("  Fix\t the   tests  \nand more", Some("Fix the tests"));
        check("\n \u{200b}\n\r\nSecond", Some("Second"));
        check("one\rtwo", Some("one"));
        check("\u{feff}a\u{202e}b\u{200d}c\u{1b}[31md\u{0}", Some("abc[31md"));
        check("日本語を直す", Some("日本語を直す"));
        check("cafe\u{301}", Some("café"));
        check(
            "👨\u{200d}👩\u{200d}👧\u{200d} x❤\u{fe0f}\u{200d}🔥",
            Some("👨\u{200d}👩\u{200d}👧 x❤\u{fe0f}\u{200d}🔥"),
        );
        check("", None);
        check(" \n\t", None);
        check("/help", None);
        check("/compact the parser", None);
        check("/etc/hosts is wrong", Some("/etc/hosts is wrong"));
        check("/ is full", Some("/ is full"));
    }

    #[test]
    fn a_forks_title_is_its_parents_with_a_mark() {
        let check = |title: &str, expect: &str| assert_eq!(of_fork(title), expect, "{title}");
        check("Fix it", "Fix it (fork)");
        check("Fix it (fork)", "Fix it (fork 2)");
        check("Fix it (fork 9)", "Fix it (fork 10)");
        check("Fix it (fork x)", "Fix it (fork x) (fork)");
        check("日本語", "日本語 (fork)");
        check(&"x".repeat(80), &format!("{} (fork)", "x".repeat(73)));
    }

    #[test]
    fn a_title_that_is_taken_counts_on() {
        let check = |title: &str, expect: &str| assert_eq!(next(title), expect, "{title}");
        check("Fix it", "Fix it (2)");
        check("Fix it (2)", "Fix it (3)");
        check("Fix it (2026)", "Fix it (2026) (2)");
        check("Fix it (999)", "Fix it (1000)");
        check("Fix it (fork)", "Fix it (fork 2)");
        check("(2)", "(2) (2)");
        check(&"x".repeat(80), &format!("{} (2)", "x".repeat(76)));
    }

    #[test]
    fn a_long_line_is_cut_at_a_word() {
        let check = |text: String, expect: String| {
            let title = from_prompt(&[Content::text(text)]).unwrap();
            assert_eq!(title, expect);
            assert!(title.chars().count() <= LONGEST);
        };
        check("x".repeat(80), "x".repeat(80));
        check("x".repeat(81), format!("{}…", "x".repeat(79)));
        check("語".repeat(100), format!("{}…", "語".repeat(79)));
        check(format!("{} {}", "a".repeat(79), "b"), format!("{}…", "a".repeat(79)));
        check(
            format!("{} {}", "a".repeat(60), "b".repeat(60)),
            format!("{}…", "a".repeat(60)),
        );
        check(
            format!("{}, {}", "a".repeat(60), "b".repeat(60)),
            format!("{}…", "a".repeat(60)),
        );
        check(
            format!("{} {}", "a".repeat(20), "b".repeat(90)),
            format!("{} {}…", "a".repeat(20), "b".repeat(58)),
        );
    }

    #[test]
    fn a_mention_is_called_by_its_name() {
        let link = |name: &str| Content::Link {
            uri: "file:///w/src/a%20b.rs".into(),
            name: name.into(),
        };
        let check = |content: &[Content], expect: Option<&str>| {
            assert_eq!(from_prompt(content).as_deref(), expect);
        };
        check(
            &[Content::text("explain "), link("a.rs"), Content::text(" please")],
            Some("explain a.rs please"),
        );
        check(&[Content::text("explain "), link("")], Some("explain a b.rs"));
        check(&[image(), Content::text("What is this?")], Some("What is this?"));
        check(&[image()], Some("A picture"));
        check(&[image(), Content::text(" "), image()], Some("2 pictures"));
        check(&[], None);
    }

    #[test]
    fn a_given_title_is_taken_whole_or_refused() {
        let check = |text: &str, expect: Result<&str, BadTitle>| {
            assert_eq!(from_text(text), expect.map(str::to_owned), "{text:?}");
        };
        check(" The \n great\u{2028}plan\t", Ok("The great plan"));
        check(&"語".repeat(80), Ok(&"語".repeat(80)));
        check(&"語".repeat(81), Err(BadTitle::TooLong(81)));
        check("\u{200b} \u{feff}", Err(BadTitle::Invisible));
        // What is not seen doesn't count.
        check(&"a\u{200b}".repeat(80), Ok(&"a".repeat(80)));
    }

    proptest::proptest! {
        #[test]
        fn any_prompt_makes_a_short_line_that_can_be_seen(text in proptest::prelude::any::<String>()) {
            if let Some(title) = from_prompt(&[Content::text(text)]) {
                assert!(title.chars().count() <= LONGEST && !title.is_empty(), "{title:?}");
                assert!(!visible::in_place(&title).any(|(_, hides)| hides), "{title:?}");
                assert_eq!(title.trim(), title);
            }
        }
    }
}
