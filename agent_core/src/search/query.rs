//! What is looked for: the query language. It has no errors: what is no filter, no phrase and no sign is a word.

use super::Role;
use super::slip::Slip;
use super::spelling::{has_words, spelled};

/// The most characters of a query that count.
const LONGEST: usize = 2_000;

/// The most words and phrases that count, those that must match and those that must not.
const MOST: usize = 32;

/// A query that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// All of them must be in a message.
    words: Vec<Phrase>,
    /// None of them may.
    without: Vec<Phrase>,
    /// One of them must have said it; anybody, if there are none.
    roles: Vec<Role>,
    /// The folder that its session works in, or one above.
    pub(crate) folder: Option<String>,
    /// The day from which on it was said.
    pub(crate) since: Option<Date>,
    /// The last day on which it was said.
    pub(crate) until: Option<Date>,
    /// The beginning or the end of its session's id.
    pub(crate) session: Option<String>,
    /// What among the words may have been meant as a filter.
    slips: Vec<Slip>,
}

/// Words that must follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Phrase {
    text: String,
    /// The last word may go on.
    goes_on: bool,
}

/// A day in local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Date {
    Day { year: u16, month: u8, day: u8 },
    DaysAgo(u16),
}

/// A query's text, taken apart from its front.
struct Rest<'a>(&'a str);

impl Query {
    /// Reads a query. Any text is one.
    pub fn read(text: &str) -> Self {
        let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(end, _)| end);
        let mut query = Self::default();
        let mut rest = Rest(&text[..end]);
        while rest.skip_spaces() {
            query.take(&mut rest);
        }
        query
    }

    /// Whether it names nothing that could be found.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Words that look like filters and were searched for as text, since their values are none.
    pub fn slips(&self) -> &[Slip] {
        &self.slips
    }

    fn take(&mut self, rest: &mut Rest<'_>) {
        let signed = rest.0;
        if rest.take_minus() {
            let phrase = rest.phrase().unwrap_or_else(|| {
                let text = rest.word();
                Slip::note(&mut self.slips, &signed[..=text.len()]);
                word(text)
            });
            return push(&mut self.without, phrase);
        }
        if let Some(phrase) = rest.phrase() {
            return push(&mut self.words, phrase);
        }
        let before = rest.0;
        if let Some((name, value)) = rest.filter()
            && self.filter(name, value).is_some()
        {
            return;
        }
        rest.0 = before;
        let text = rest.word();
        Slip::note(&mut self.slips, text);
        push(&mut self.words, word(text));
    }

    /// Takes a filter in; none if it is no filter, and so a word.
    fn filter(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "role" => {
                let role = |name: &str| Role::ALL.into_iter().find(|role| role.id() == name);
                let roles: Option<Vec<Role>> = value.split(['|', ',']).map(role).collect();
                self.roles.extend(roles?);
            }
            "in" => self.folder = Some(value.to_owned()),
            "since" => self.since = Some(Date::read(value)?),
            "until" => self.until = Some(Date::read(value)?),
            "session" => self.session = Some(value.to_owned()),
            _ => return None,
        }
        Some(())
    }

    /// The query as FTS5 takes it, without the filters that are no columns; none if there is nothing to look for.
    pub(crate) fn expression(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let mut expression = format!("({})", joined(&self.words, " "));
        if !self.roles.is_empty() {
            let columns: Vec<&str> = self.roles.iter().map(|role| role.id()).collect();
            expression = format!("{{{}}} : {expression}", columns.join(" "));
        }
        if !self.without.is_empty() {
            expression = format!("({expression}) NOT ({})", joined(&self.without, " OR "));
        }
        Some(expression)
    }
}

fn push(phrases: &mut Vec<Phrase>, phrase: Phrase) {
    if has_words(&phrase.text) && phrases.len() < MOST {
        phrases.push(phrase);
    }
}

fn word(text: &str) -> Phrase {
    Phrase {
        text: text.to_owned(),
        goes_on: text.ends_with('*'),
    }
}

fn joined(phrases: &[Phrase], by: &str) -> String {
    let quoted: Vec<String> = phrases.iter().map(Phrase::quoted).collect();
    quoted.join(by)
}

impl Phrase {
    /// As a string of FTS5. Signs in it only part words, so none needs to stay.
    fn quoted(&self) -> String {
        let text = spelled(&self.text).replace('"', " ");
        // A word that goes on has to be the last one: a sign behind it would be no part of it, and a gap is none.
        let star = if self.goes_on { " *" } else { "" };
        format!("\"{text}\"{star}")
    }
}

impl Date {
    /// `2026-11-30`, or `7d` for seven days ago.
    fn read(text: &str) -> Option<Self> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(days) = text.strip_suffix('d') {
            return is_number(days).then(|| days.parse().ok().map(Self::DaysAgo))?;
        }
        let (year, rest) = text.split_once('-')?;
        let (month, day) = rest.split_once('-')?;
        let lengths = (year.len(), month.len(), day.len());
        if lengths != (4, 2, 2) || ![year, month, day].into_iter().all(is_number) {
            return None;
        }
        let (year, month, day) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        (day >= 1 && day <= days_of(year, month)).then_some(Self::Day { year, month, day })
    }
}

/// The days of a month; none of a month that is none.
fn days_of(year: u16, month: u8) -> u8 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => 0,
    }
}

impl<'a> Rest<'a> {
    /// Whether anything is left.
    fn skip_spaces(&mut self) -> bool {
        self.0 = self.0.trim_start();
        !self.0.is_empty()
    }

    /// The sign before what must not match. `--locked` and `-` are words.
    fn take_minus(&mut self) -> bool {
        let behind = self.0.strip_prefix('-');
        let is_sign = |behind: &&str| behind.starts_with(|c: char| c == '"' || !(c == '-' || c.is_whitespace()));
        let Some(behind) = behind.filter(is_sign) else {
            return false;
        };
        self.0 = behind;
        true
    }

    /// What stands in quotes, with a `*` behind them.
    fn phrase(&mut self) -> Option<Phrase> {
        let (text, behind) = self.0.strip_prefix('"')?.split_once('"')?;
        let goes_on = behind.starts_with('*');
        self.0 = behind.strip_prefix('*').unwrap_or(behind);
        Some(Phrase {
            text: text.to_owned(),
            goes_on,
        })
    }

    /// All up to the next space.
    fn word(&mut self) -> &'a str {
        let (word, behind) = self
            .0
            .split_at(self.0.find(char::is_whitespace).unwrap_or(self.0.len()));
        self.0 = behind;
        word
    }

    /// `name:value` or `name:"value"`.
    fn filter(&mut self) -> Option<(&'a str, &'a str)> {
        let (name, value) = self.0.split_once(':')?;
        if let Some((value, behind)) = value.strip_prefix('"').and_then(|value| value.split_once('"')) {
            self.0 = behind;
            return Some((name, value));
        }
        self.0 = value;
        let value = self.word();
        (!value.is_empty()).then_some((name, value))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn check(text: &str, expect: &str) {
        let expression = Query::read(text).expression().unwrap_or_default();
        assert_eq!(expression.replace('\u{1}', "|"), expect, "{text}");
    }

    #[test]
    fn words_phrases_signs_and_roles_are_read() {
        check("", "");
        check("one two", r#"("one" "two")"#);
        check(r#""one two" three"#, r#"("one two" "three")"#);
        check("one -two", r#"(("one")) NOT ("two")"#);
        check(
            r#"one -"two three" -four*"#,
            r#"(("one")) NOT ("two three" OR "four*" *)"#,
        );
        check("pre*", r#"("pre*" *)"#);
        check(r#""a pre"*"#, r#"("a pre" *)"#);
        check("role:user one", r#"{user} : ("one")"#);
        check("role:user|agent role:tool one", r#"{user agent tool} : ("one")"#);
        check("role:user one -two", r#"({user} : ("one")) NOT ("two")"#);
        check("日本", r#"("日|本|")"#);
    }

    #[test]
    fn all_else_is_a_word() {
        check(r#"foo"bar"#, r#"("foo bar")"#);
        check(r#""open end"#, r#"(" open" "end")"#);
        check("NEAR( a AND OR NOT", r#"("NEAR(" "a" "AND" "OR" "NOT")"#);
        check("--locked x", r#"("--locked" "x")"#);
        check(
            "role:boss since:soon https://a.org:80/",
            r#"("role:boss" "since:soon" "https://a.org:80/")"#,
        );
        check("in: x", r#"("in:" "x")"#);
        check("since:2026-02-30", r#"("since:2026-02-30")"#);
        // What has no letter can't be found, and hides nothing.
        check("a && - * \" ::", r#"("a")"#);
        check("-only -negations", "");
        check("a\0b", r#"("a b")"#);
    }

    #[test]
    fn a_word_like_a_filter_that_is_none_is_told() {
        let check = |text: &str, expect: &[&str]| {
            let told: Vec<String> = Query::read(text).slips().iter().map(Slip::to_string).collect();
            assert_eq!(told, expect, "{text}");
        };
        let role = "was searched for as text; role: takes user, agent, tool or title";
        let since = "was searched for as text; since: takes a day such as 2026-01-31, or 7d for seven days ago";
        check("role:assistant apple", &[&format!("role:assistant {role}")]);
        check(
            "Role:user role:user|x",
            &[&format!("Role:user {role}"), &format!("role:user|x {role}")],
        );
        check("since:yesterdayy", &[&format!("since:yesterdayy {since}")]);
        check("in: apple", &["in: was searched for as text; in: takes a folder"]);
        check(
            "apple -role:tool",
            &[
                "-role:tool left out messages with that text; role: takes user, agent, tool or title, and no `-` before it",
            ],
        );
        check("role:a role:a", &[&format!("role:a {role}")]);
        check(
            "role:user since:7d in:x session:a until:0d \"role:x\" -\"in: y\" https://a.org foo:bar",
            &[],
        );
        assert_eq!(Query::read("role:1 role:2 role:3 role:4").slips().len(), 3);
        let long = Query::read(&format!("role:{}", "x".repeat(1000)));
        assert!(long.slips()[0].word().chars().count() <= 61);
    }

    #[test]
    fn filters_are_taken_out() {
        let query = Query::read(r#"a in:"/w/my app" since:2026-02-28 until:7d session:3f9a"#);
        assert_eq!(query.expression().as_deref(), Some(r#"("a")"#));
        assert_eq!(query.folder.as_deref(), Some("/w/my app"));
        let (year, month, day) = (2026, 2, 28);
        assert_eq!(query.since, Some(Date::Day { year, month, day }));
        assert_eq!(query.until, Some(Date::DaysAgo(7)));
        assert_eq!(query.session.as_deref(), Some("3f9a"));
    }

    #[test]
    fn a_long_query_is_cut() {
        let query = Query::read(&"word ".repeat(20_000));
        assert_eq!(query.words.len(), MOST);
        assert_eq!(Query::read(&"語".repeat(50_000)).words[0].text.chars().count(), LONGEST);
    }

    #[test]
    fn a_date_is_a_day_that_there_is() {
        let check = |text: &str, is_day: bool| assert_eq!(Date::read(text).is_some(), is_day, "{text}");
        check("2024-02-29", true);
        check("2023-02-29", false);
        check("2026-13-01", false);
        check("2026-1-1", false);
        check("+026-01-01", false);
        check("0d", true);
        check("99999d", false);
        check("d", false);
        check("", false);
    }
}
