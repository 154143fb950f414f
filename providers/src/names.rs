//! Names that a conversation goes back with, as its service takes them: ids of calls, and of tools that a model made
//! up. One that is refused would cost the whole conversation, and it may have begun with another service.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The longest name of a tool that all services take.
const LONGEST_TOOL: usize = 64;

/// What the ids of a service look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// Of letters, digits, `_` and `-`, and no longer than this.
    Plain(usize),
    /// Of anything, and no longer than this: some models want back what they gave, such as `functions.read:0`.
    Any(usize),
    /// Of exactly so many letters and digits.
    Exactly(usize),
}

/// The ids of a conversation so far, each once: those of some services are unique within a reply only. The same
/// conversation gives the same ids.
pub(crate) struct Ids<'a> {
    form: Form,
    taken: HashSet<String>,
    /// What the last call with an id is called, and how many had that id.
    calls: HashMap<&'a str, (String, usize)>,
}

impl<'a> Ids<'a> {
    /// None yet.
    pub(crate) fn new(form: Form) -> Self {
        Self {
            form,
            taken: HashSet::new(),
            calls: HashMap::new(),
        }
    }

    /// What a call with this id is called.
    pub(crate) fn call(&mut self, id: &'a str) -> String {
        let (name, count) = self.calls.entry(id).or_default();
        loop {
            *count += 1;
            *name = self.form.shape(id, *count);
            if self.taken.insert(name.clone()) {
                return name.clone();
            }
        }
    }

    /// What the call is called that a result belongs to: the last one with its id.
    pub(crate) fn result(&self, id: &str) -> String {
        match self.calls.get(id) {
            Some((name, _)) => name.clone(),
            None => self.form.shape(id, 1),
        }
    }
}

impl Form {
    /// The `count`th id that is made of this one.
    fn shape(self, id: &str, count: usize) -> String {
        let of_count = |id: &str| match count {
            1 => id.to_owned(),
            _ => format!("{id}_{count}"),
        };
        match self {
            Self::Plain(longest) => shortened(of_count(&plain(id)), longest),
            Self::Any(longest) if id.trim().is_empty() => shortened(of_count("_"), longest),
            Self::Any(longest) => shortened(of_count(id), longest),
            Self::Exactly(length) => {
                let fits = id.len() == length && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
                match fits && count == 1 {
                    true => id.to_owned(),
                    false => format!("{:016x}", hash(&of_count(id))).chars().take(length).collect(),
                }
            }
        }
    }
}

/// A tool's name as all services take it. Those of real tools are left as they are.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    let begins = |name: &str| name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    if name.len() <= LONGEST_TOOL && name.chars().all(is_plain) && begins(name) {
        return name.into();
    }
    let name = plain(name);
    let name = if begins(&name) { name } else { format!("_{name}") };
    shortened(name, LONGEST_TOOL).into()
}

/// A name of letters, digits, `_` and `-` only.
fn plain(name: &str) -> String {
    let replace = |letter: char| if is_plain(letter) { letter } else { '_' };
    let name: String = name.chars().map(replace).collect();
    if name.is_empty() { "_".into() } else { name }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// A name of at most so many bytes; what is cut off is told apart by its hash.
fn shortened(name: String, longest: usize) -> String {
    if name.len() <= longest {
        return name;
    }
    let end = format!("_{:016x}", hash(&name));
    let start = name.floor_char_boundary(longest - end.len());
    format!("{}{end}", &name[..start])
}

fn hash(text: &str) -> u64 {
    // It has no seed of its own, so each request of a session has the same names.
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(form: Form, table: &[(&str, &str)]) {
        let mut ids = Ids::new(form);
        for (id, expect) in table {
            let names = (ids.call(id), ids.result(id));
            assert_eq!(names, ((*expect).to_owned(), (*expect).to_owned()), "{form:?} {id}");
        }
    }

    #[test]
    fn every_call_has_an_id_that_the_service_takes_and_its_result_the_same() {
        let table = [
            ("toolu_1-A", "toolu_1-A"),
            ("functions.read:0", "functions_read_0"),
            ("functions_read_0", "functions_read_0_2"),
            ("a", "a"),
            ("a", "a_2"),
            ("a_2", "a_2_2"),
            ("a", "a_3"),
            ("", "_"),
        ];
        check(Form::Plain(64), &table);
        let mut ids = Ids::new(Form::Plain(64));
        for (id, _) in table {
            ids.call(id);
        }
        assert_eq!(ids.result("functions.read:0"), "functions_read_0");
        check(
            Form::Any(40),
            &[
                ("functions.read:0", "functions.read:0"),
                ("functions.read:0", "functions.read:0_2"),
                (" ", "_"),
            ],
        );
    }

    #[test]
    fn long_ids_are_cut_and_still_told_apart() {
        let (one, other) = ("ü".repeat(50) + "1", "ü".repeat(50) + "2");
        for form in [Form::Plain(40), Form::Any(40), Form::Exactly(9)] {
            let mut ids = Ids::new(form);
            let names = [ids.call(&one), ids.call(&other), ids.call(&one)];
            assert_eq!(ids.result(&other), names[1], "{form:?}");
            assert!(names[0] != names[1] && names[0] != names[2], "{names:?}");
            assert!(names.iter().all(|name| name.len() <= 40), "{names:?}");
        }
    }

    #[test]
    fn an_id_of_exact_length_stays_if_it_has_it() {
        let mut ids = Ids::new(Form::Exactly(9));
        assert_eq!(ids.call("abcDEF123"), "abcDEF123");
        for id in ["abcDEF123", "call_0", "abcDEF12_"] {
            let name = ids.call(id);
            let is_plain = name.len() == 9 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
            assert!(is_plain && name != id, "{name}");
        }
    }

    #[test]
    fn a_made_up_tool_has_a_name_that_every_service_takes() {
        for (name, expect) in [
            ("read_file", "read_file"),
            ("two words", "two_words"),
            ("functions.read", "functions_read"),
            ("1st", "_1st"),
            ("-", "_-"),
            ("", "_"),
        ] {
            assert_eq!(tool_name(name), expect);
        }
        assert_eq!(tool_name(&"x".repeat(300)).len(), 64);
    }
}
