//! The grammar of the offline model: one instruction a line, and the tool call it stands for.

use serde_json::{Value, json};

/// The grammar, as people are told it.
pub(super) const HELP: &str = "\
list [PATH]
read PATH [FROM-TO]
search TEXT [in PATH]
replace \"A\" with \"B\" in PATH
create PATH with TEXT
run COMMAND
plan A; B; C
say TEXT
help
";

/// What one line asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Instruction {
    /// To say a text.
    Say(String),
    /// To explain the grammar.
    Help,
    /// To call a tool.
    Call {
        /// The tool's name.
        tool: &'static str,
        /// Its arguments.
        input: Value,
    },
}

/// What became of reading one line.
pub(super) enum Line<'a> {
    /// It is an instruction.
    Fits(Instruction),
    /// It begins like an instruction and does not go on like one; how it is written.
    Almost(&'a str, &'static str),
    /// It is something else.
    Other(&'a str),
}

/// Reads the lines that are not empty.
pub(super) fn read(text: &str) -> Vec<Line<'_>> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(read_line)
        .collect()
}

fn read_line(line: &str) -> Line<'_> {
    let (verb, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let (usage, instruction) = match verb.to_ascii_lowercase().as_str() {
        "list" => ("list [PATH]", Some(list(rest))),
        "read" => ("read PATH [FROM-TO]", read_file(rest)),
        "search" => ("search TEXT [in PATH]", search(rest)),
        "replace" => ("replace \"A\" with \"B\" in PATH", replace(rest)),
        "create" => ("create PATH with TEXT", create(rest)),
        "run" => ("run COMMAND", run(rest)),
        "plan" => ("plan A; B; C", plan(rest)),
        "say" => (
            "say TEXT",
            (!rest.is_empty()).then(|| Instruction::Say(rest.to_owned())),
        ),
        "help" => ("help", rest.is_empty().then_some(Instruction::Help)),
        _ => return Line::Other(line),
    };
    match instruction {
        Some(instruction) => Line::Fits(instruction),
        None => Line::Almost(line, usage),
    }
}

fn call(tool: &'static str, input: Value) -> Instruction {
    Instruction::Call { tool, input }
}

fn list(rest: &str) -> Instruction {
    let path = path(rest).unwrap_or_else(|| ".".to_owned());
    call(
        "search_files",
        json!({ "pattern": "*", "target": "files", "path": path }),
    )
}

fn read_file(rest: &str) -> Option<Instruction> {
    let range = rest
        .rsplit_once(char::is_whitespace)
        .and_then(|(path, range)| Some((path, lines(range)?)));
    let input = match range {
        Some((rest, (from, to))) if (1..=to).contains(&from) => {
            json!({ "path": path(rest)?, "offset": from, "limit": to - from + 1 })
        }
        Some(_) => return None,
        None => json!({ "path": path(rest)? }),
    };
    Some(call("read_file", input))
}

/// A range of lines, `3-7`.
fn lines(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.split_once('-')?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

fn search(rest: &str) -> Option<Instruction> {
    let (text, place) = match quoted(rest) {
        Some((text, "")) => (text, None),
        Some((text, place)) => (text, Some(place.strip_prefix("in ")?)),
        None => match rest.rsplit_once(" in ") {
            Some((text, place)) => (text.trim().to_owned(), Some(place)),
            None => (rest.to_owned(), None),
        },
    };
    if text.is_empty() {
        return None;
    }
    let mut input = json!({ "pattern": literal(&text) });
    if let Some(place) = place {
        input["path"] = path(place)?.into();
    }
    Some(call("search_files", input))
}

/// A pattern that finds exactly this text.
fn literal(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

fn replace(rest: &str) -> Option<Instruction> {
    let (old, rest) = quoted(rest)?;
    let (new, rest) = quoted(rest.strip_prefix("with ")?.trim_start())?;
    let path = path(rest.strip_prefix("in ")?)?;
    let input = json!({ "path": path, "old_string": old, "new_string": new });
    (!old.is_empty()).then(|| call("patch", input))
}

fn create(rest: &str) -> Option<Instruction> {
    let (path, text) = match quoted(rest) {
        Some((path, rest)) => (path, rest.strip_prefix("with ")?.trim_start()),
        None => {
            let (name, text) = rest.split_once(" with ")?;
            (path(name)?, text.trim_start())
        }
    };
    let content = match quoted(text) {
        Some((content, "")) => content,
        Some(_) | None => text.to_owned(),
    };
    (!path.is_empty()).then(|| call("write_file", json!({ "path": path, "content": content })))
}

fn run(rest: &str) -> Option<Instruction> {
    (!rest.is_empty()).then(|| call("terminal", json!({ "command": rest })))
}

fn plan(rest: &str) -> Option<Instruction> {
    let items: Vec<Value> = rest
        .split(';')
        .map(str::trim)
        .filter(|step| !step.is_empty())
        .zip(1..)
        .map(|(step, number)| json!({ "id": number.to_string(), "content": step, "status": "pending" }))
        .collect();
    (!items.is_empty()).then(|| call("todo", json!({ "items": items })))
}

/// A path, bare or in quotes, that is the whole text.
fn path(text: &str) -> Option<String> {
    let text = text.trim();
    match quoted(text) {
        Some((path, "")) => Some(path),
        Some(_) => None,
        None => Some(text.to_owned()),
    }
    .filter(|path| !path.is_empty())
}

/// The text in double quotes that `text` begins with, its escapes (`\"`, `\\`, `\n`, `\t`) undone, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut content = String::new();
    let mut letters = inside.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((content, inside[at + 1..].trim_start())),
            '\\' => match letters.next()?.1 {
                'n' => content.push('\n'),
                't' => content.push('\t'),
                plain @ ('"' | '\\') => content.push(plain),
                other => content.extend(['\\', other]),
            },
            plain => content.push(plain),
        }
    }
    None
}
