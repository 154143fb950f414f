//! The part of a message that matches, in one line with the matches marked.
//!
//! What matches is decided by the tokenizer of the index itself, over a table in memory that holds the messages of one
//! page and nothing else.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};

use super::spelling::{spelled, unspelled};
use super::{Role, key_shape};
use crate::visible;

/// The columns and the tokenizer of the index.
macro_rules! fts5 {
    ($name:literal, $more:literal) => {
        concat!(
            "CREATE VIRTUAL TABLE ",
            $name,
            " USING fts5(tool, agent, user, title, ",
            $more,
            "tokenize = 'unicode61 remove_diacritics 2');"
        )
    };
}

/// The index. It keeps no text, only where its words are.
pub(crate) const TABLE: &str = fts5!("search", "content = '', contentless_delete = 1, ");

/// The table of a page.
const PAGE: &str = fts5!("page", "");

/// Characters around a mark that are shown.
const BEFORE: usize = 60;
const LENGTH: usize = 200;

/// Bytes around the first match that a snippet is made of.
const NEAR: usize = 4 * LENGTH;

/// A mark's begin and end in the text that SQLite gives back.
const OPEN: char = '\u{2}';
const CLOSE: char = '\u{3}';

/// A part of a message in one line, without characters that hide something, and without keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    text: String,
    marks: Vec<Range<usize>>,
}

impl Snippet {
    /// The text alone.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text with something around each match.
    pub fn marked(&self, open: &str, close: &str) -> String {
        let pieces = self.pieces().map(|(piece, is_match)| match is_match {
            true => format!("{open}{piece}{close}"),
            false => piece.to_owned(),
        });
        pieces.collect()
    }

    /// The text in pieces, of each whether it matches.
    pub fn pieces(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut at = 0;
        let up_to_mark = move |mark: &Range<usize>| {
            let before = std::mem::replace(&mut at, mark.end)..mark.start;
            [(before, false), (mark.clone(), true)]
        };
        let last = self.marks.last().map_or(0, |mark| mark.end)..self.text.len();
        let ranges = self.marks.iter().flat_map(up_to_mark).chain([(last, false)]);
        ranges
            .filter(|(range, _)| !range.is_empty())
            .map(|(range, is_match)| (&self.text[range], is_match))
    }

    fn push(&mut self, text: &str, is_mark: bool) {
        let start = self.text.len();
        self.text.push_str(&visible::line(text));
        if is_mark && self.text.len() > start {
            self.marks.push(start..self.text.len());
        }
    }
}

/// The snippets of texts, for the matches of an expression of FTS5. Where the only match is in a key, a snippet is its
/// text's beginning.
pub(crate) fn snippets(expression: &str, texts: &[(Role, Cow<'_, str>)]) -> rusqlite::Result<Vec<Snippet>> {
    let spelled: Vec<String> = texts
        .iter()
        .map(|(_, text)| spelled(&key_shape::masked(text)))
        .collect();
    let page = empty_page()?;
    // It is never written: the table is empty again for the next page.
    page.prepare_cached("BEGIN")?.execute([])?;
    for (number, ((role, _), text)) in (0_i64..).zip(texts.iter().zip(&spelled)) {
        page.prepare_cached(&format!("INSERT INTO page (rowid, {}) VALUES (?1, ?2)", role.id()))?
            .execute(params![number, text])?;
    }
    let found = marked(&page, expression)?;
    page.prepare_cached("ROLLBACK")?.execute([])?;
    PAGES.lock().push(page);
    let snippets = (0..)
        .zip(&spelled)
        .map(|(number, text)| cut(found.get(&number).unwrap_or(text)));
    Ok(snippets.collect())
}

/// Tables of pages that nobody uses now: to make one takes longer than to fill it. There are as many as there were
/// searches at one time.
static PAGES: Mutex<Vec<Connection>> = Mutex::new(Vec::new());

fn empty_page() -> rusqlite::Result<Connection> {
    if let Some(page) = PAGES.lock().pop() {
        return Ok(page);
    }
    let page = Connection::open_in_memory()?;
    page.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    page.execute_batch(PAGE)?;
    Ok(page)
}

/// The texts of a page that match, with marks, by their numbers.
fn marked(page: &Connection, expression: &str) -> rusqlite::Result<HashMap<i64, String>> {
    let column = Role::ALL.map(|role| format!("WHEN {} IS NOT NULL THEN {}", role.id(), role.column()));
    let mut statement = page.prepare_cached(&format!(
        "SELECT rowid, highlight(page, CASE {} END, ?2, ?3) FROM page WHERE page MATCH ?1",
        column.join(" ")
    ))?;
    let (open, close) = (OPEN.to_string(), CLOSE.to_string());
    let rows = statement.query_map(params![expression, open, close], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Cuts the part around the first mark out of a spelled text with marks.
fn cut(spelled: &str) -> Snippet {
    let first = spelled.find(OPEN).unwrap_or(0);
    let near = spelled.floor_char_boundary(first.saturating_sub(NEAR))..spelled.ceil_char_boundary(first + 2 * NEAR);
    let is_begin = near.start == 0;
    let is_end = near.end >= spelled.len();
    let text = unspelled(&spelled[near]);
    let letters: Vec<char> = one_line(&text);
    let mark = letters.iter().position(|c| *c == OPEN).unwrap_or(0);
    let begin = word_begin(&letters, mark);
    let end = word_end(&letters, begin);
    let mut snippet = Snippet::default();
    if begin > 0 || !is_begin {
        snippet.push("…", false);
    }
    for (index, piece) in letters[begin..end].split(|c| matches!(*c, OPEN | CLOSE)).enumerate() {
        snippet.push(&piece.iter().collect::<String>(), index % 2 == 1);
    }
    if end < letters.len() || !is_end {
        snippet.push("…", false);
    }
    snippet
}

/// With single spaces, and without any at the ends.
fn one_line(text: &str) -> Vec<char> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().collect()
}

/// Where the text before a mark begins, at a word if there is one near. Never inside another mark: it is the first.
fn word_begin(letters: &[char], mark: usize) -> usize {
    let least = mark.saturating_sub(BEFORE);
    if least == 0 {
        return 0;
    }
    let space = letters[least..mark].iter().position(|c| *c == ' ');
    space.map_or(least, |space| least + space + 1)
}

/// Where it ends; behind a mark that is open there.
fn word_end(letters: &[char], begin: usize) -> usize {
    let most = begin + LENGTH;
    if most >= letters.len() {
        return letters.len();
    }
    let space = letters[begin + LENGTH / 2..most].iter().rposition(|c| *c == ' ');
    let end = space.map_or(most, |space| begin + LENGTH / 2 + space);
    let signs = |sign: char| letters[begin..end].iter().filter(|c| **c == sign).count();
    if signs(OPEN) == signs(CLOSE) {
        return end;
    }
    let close = letters[end..].iter().position(|c| *c == CLOSE);
    close.map_or(letters.len(), |close| end + close + 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::search::Query;

    fn snippet(query: &str, text: &str) -> String {
        let expression = Query::read(query).expression().unwrap();
        let texts = [
            (Role::Agent, Cow::Borrowed("before")),
            (Role::User, Cow::Borrowed(text)),
        ];
        snippets(&expression, &texts).unwrap()[1].marked("[", "]")
    }

    #[test]
    fn the_matches_are_marked_as_the_text_has_them() {
        let check = |query: &str, text: &str, expect: &str| assert_eq!(snippet(query, text), expect, "{query}");
        check("word", "a word, a Word\nand words", "a [word], a [Word] and words");
        check("wor*", "a word, and words", "a [word], and [words]");
        check("naive cafe", "Naïve? In a café!", "[Naïve]? In a [café]!");
        check("\"one two\"", "two one two one", "two [one two] one");
        check("本", "日本語", "日[本]語");
        check("日本", "日本語 in 日本", "[日本]語 in [日本]");
        check("검색", "기록검색은 검색", "기록[검색]은 [검색]");
        check("🎉", "done🎉!", "done[🎉]!");
        check("one -two", "one", "[one]");
        check("role:user one", "one", "[one]");
        check("a", "\u{1b}[31m a \u{202e}b", "\\u{1b}[31m [a] \\u{202e}b");
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_match() {
        let long = format!("{} needle {}", "before ".repeat(5_000), "after ".repeat(5_000));
        let text = snippet("needle", &long);
        assert!(text.starts_with("…before ") && text.ends_with(" after…"), "{text}");
        assert!(text.contains(" [needle] ") && text.chars().count() < 220, "{text}");
        let text = snippet("語", &"語".repeat(100_000));
        assert!(text.chars().count() < 700, "{text}");
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = "sk-proj-abcdef0123456789XYZ";
        assert_eq!(snippet("with", &format!("try with {key} now")), "try [with] sk-*** now");
        assert_eq!(snippet("abcdef0123456789XYZ", &format!("try {key}")), "try sk-***");
    }
}
