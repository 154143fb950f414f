//! Programs of `awk`: which only compute and print. They are not parsed: what is taken for code may be a text, and then
//! costs a question and nothing more.

/// They run something, read the environment or files, or stand for one that does.
const DOING: [&str; 11] = [
    "system",
    "getline",
    "close",
    "extension",
    "bindtextdomain",
    "ENVIRON",
    "ARGV",
    "ARGC",
    "PROCINFO",
    "SYMTAB",
    "FUNCTAB",
];

/// What may stand before a bracket: functions that compute, and words of the language.
const CALLED: [&str; 30] = [
    "length", "substr", "index", "split", "sub", "gsub", "match", "sprintf", "tolower", "toupper", "int", "sqrt",
    "exp", "log", "sin", "cos", "atan2", "rand", "print", "printf", "if", "else", "for", "while", "in", "return",
    "exit", "NR", "NF", "BEGIN",
];

/// Whether a program runs nothing, writes no file, and reads only its input.
pub(super) fn only_prints(program: &str) -> bool {
    let plain = |char: char| char.is_ascii_graphic() || matches!(char, ' ' | '\n' | '\t');
    let letters = program.chars().all(|char| plain(char) && char != '@');
    // A line that goes on behind a backslash would part a function from its brackets.
    letters && !program.contains("\\\n") && pipes_nothing(program) && writes_nothing(program) && does_nothing(program)
}

fn does_nothing(program: &str) -> bool {
    words(program).all(|(word, rest)| {
        let called = rest.trim_start().starts_with('(');
        !DOING.contains(&word) && (!called || CALLED.contains(&word))
    })
}

/// A single `|` is a pipe, or in a regular expression; `||` is neither.
fn pipes_nothing(program: &str) -> bool {
    !program.replace("||", "").contains('|') && !program.contains("|||")
}

/// Before the first `{` stands a pattern, in which `>` compares. After it `print` may take it for a file.
fn writes_nothing(program: &str) -> bool {
    let actions = program.find('{').map_or("", |at| &program[at..]);
    !actions.replace(">=", "").contains('>')
}

/// Each word, and what follows it.
fn words(program: &str) -> impl Iterator<Item = (&str, &str)> {
    let part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let mut rest = program;
    std::iter::from_fn(move || {
        let start = rest.find(part)?;
        let from = &rest[start..];
        let end = from.find(|char: char| !part(char)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        rest = after;
        Some((word, after))
    })
}
