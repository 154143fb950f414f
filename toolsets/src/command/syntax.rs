//! Every command anywhere in a text, as far as it can be read: also of what is in substitutions, functions and loops.
//! For what must never run; whether a text is simple enough to be let through is [`super::plain`]'s.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::unwrap::{base_name, is_shell};

/// So much of a processor's time a text may take, with all the texts in it. A build for tests has a slow parser.
const LONGEST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1000 } else { 30 });

/// Texts with more of these are not read: the parser takes time and memory that grow with the square of a pipe's length,
/// and can't be stopped in it.
const MOST_PIPES: usize = 1000;

/// After so many nodes the time is looked at.
const NODES_AT_ONCE: usize = 32;

/// More texts for shells are not looked at.
const MOST_FED: usize = 16;

/// Texts of nodes inside more nodes that are copied than this are folded: what is nested in them is left out and only
/// read for itself. So a text that nests without end is copied a bounded number of times.
const DEEPEST_WHOLE: usize = 32;

/// For this many times its length a text is searched for shells before here-documents. After that any may be one.
const MOST_SEARCHED: usize = 16;

/// What is not longer, such as `$(pwd)`, is not folded: it can hold little.
const SHORT: usize = 16;

/// Nodes whose text is copied, wholly or in part.
const COPIED: [&str; 7] = [
    "command",
    "heredoc_body",
    "herestring_redirect",
    "pipeline",
    "redirected_statement",
    "file_redirect",
    "function_definition",
];

/// What is left out of a folded text. Its commands are found all the same, each for itself.
const FOLDED: [&str; 8] = [
    "command_substitution",
    "process_substitution",
    "function_definition",
    "heredoc_body",
    "pipeline",
    "redirected_statement",
    "subshell",
    "compound_statement",
];

/// What was found in a text.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// All commands, each with its program first. Expansions and globs stand in the words as they were written.
    pub(super) commands: Vec<Vec<String>>,
    /// What shells are given to read: here-documents, here-strings, what `echo` prints into them.
    pub(super) fed: Vec<String>,
    /// Where redirections go.
    pub(super) redirects: Vec<String>,
    /// Names of functions that call themselves more than once in a background pipe.
    pub(super) bombs: Vec<String>,
}

/// When the reading of a command must be over, with all the texts in it: by the time that this thread has had a processor,
/// so that a busy machine does not make a text a longer one. It is of use on this thread only.
#[derive(Clone, Copy)]
pub(super) struct Deadline(Duration);

impl Deadline {
    /// From now on.
    pub(super) fn begin() -> Self {
        Self(processor_time() + LONGEST)
    }

    fn is_over(self) -> bool {
        processor_time() >= self.0
    }
}

/// What this thread has had so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Reads a text; none if that takes too long: then it is none that anybody has written to be run.
pub(super) fn tree(text: &str, deadline: Deadline) -> Option<Tree> {
    if text.bytes().filter(|byte| *byte == b'|').count() > MOST_PIPES {
        return None;
    }
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .expect("the grammar is built for this version of the parser");
    let mut go_on = |_: &ParseState| match deadline.is_over() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(ParseOptions::new().progress_callback(&mut go_on)))
}

/// Reads all of a text, however broken; none if that takes too long. The walk keeps no stack of calls, since a text may
/// nest without end.
pub(super) fn parse(text: &str, deadline: Deadline) -> Option<Script> {
    let mut script = Script::default();
    let tree = tree(text, deadline)?;
    let mut cursor = tree.walk();
    let mut walk = Walk {
        text,
        above: Vec::new(),
        copied: 0,
        seen: 0,
        searches: MOST_SEARCHED.saturating_mul(text.len()),
    };
    loop {
        if walk.is_time_to_look() && deadline.is_over() {
            return None;
        }
        let node = cursor.node();
        script.take(node, &mut walk);
        if cursor.goto_first_child() {
            walk.enter(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Some(script);
            }
            walk.leave();
        }
    }
}

/// Where the walk over a text stands.
struct Walk<'a, 'tree> {
    text: &'a str,
    /// All nodes above this one, the nearest last. Asking a node for its parent costs a way down from the root.
    above: Vec<Node<'tree>>,
    /// How many of them are copied.
    copied: usize,
    /// How many nodes were looked at.
    seen: usize,
    /// So many bytes may still be searched for the names of shells.
    searches: usize,
}

impl<'tree> Walk<'_, 'tree> {
    fn is_time_to_look(&mut self) -> bool {
        self.seen += 1;
        self.seen.is_multiple_of(NODES_AT_ONCE)
    }

    fn enter(&mut self, node: Node<'tree>) {
        self.copied += usize::from(COPIED.contains(&node.kind()));
        self.above.push(node);
    }

    fn leave(&mut self) {
        let left = self.above.pop();
        self.copied -= usize::from(left.is_some_and(|node| COPIED.contains(&node.kind())));
    }

    /// What is left out of the texts of the nodes here.
    fn folded(&self, kinds: &'static [&'static str]) -> &'static [&'static str] {
        if self.copied < DEEPEST_WHOLE { &[] } else { kinds }
    }

    /// Whether a shell is named in one of the texts; also if too much was searched to look once more.
    fn names_shell(&mut self, texts: [&str; 2]) -> bool {
        let length = texts.iter().map(|text| text.len()).sum();
        match self.searches.checked_sub(length) {
            Some(left) => self.searches = left,
            None => return true,
        }
        // `$(sh <<<…)` and `a;sh <<<…` too.
        let apart = |char: char| char.is_whitespace() || "()`;|&{}\"'".contains(char);
        texts.iter().any(|text| names_shell(text.split(apart)))
    }
}

impl Script {
    fn take(&mut self, node: Node<'_>, walk: &mut Walk<'_, '_>) {
        let source = Source {
            text: walk.text,
            folded: walk.folded(&FOLDED),
        };
        match node.kind() {
            "command" => {
                self.commands.push(words(node, source));
                self.commands.extend(lines(node, source));
            }
            "heredoc_body" | "herestring_redirect" if self.fed.len() < MOST_FED => self.fed.extend(fed(node, walk)),
            "pipeline" if self.fed.len() < MOST_FED => self.fed.extend(printed(node, source)),
            // `rm 2>log -rf /`: the grammar takes the words after a redirection for further targets of it.
            "redirected_statement" => self.join_late_words(node, source),
            "file_redirect" => self.redirects.extend(destinations(node, source)),
            "function_definition" => {
                let folded = walk.folded(&["function_definition"]);
                self.bombs.extend(bomb(node, Source { folded, ..source }));
            }
            _ => {}
        }
    }

    fn join_late_words(&mut self, node: Node<'_>, source: Source<'_>) {
        let Some(body) = node.child_by_field_name("body").filter(|body| body.kind() == "command") else {
            return;
        };
        let mut cursor = node.walk();
        let redirects = node.children_by_field_name("redirect", &mut cursor);
        let late: Vec<String> = redirects
            .flat_map(|redirect| destinations(redirect, source).into_iter().skip(1))
            .collect();
        if !late.is_empty() {
            self.commands
                .push(words(body, source).into_iter().chain(late).collect());
        }
    }
}

/// A text, and which nested nodes are left out of what is copied from it.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    folded: &'static [&'static str],
}

impl<'a> Source<'a> {
    /// The text of a node; `$(…)` stands for what is left out, so that nobody takes the rest for all of it.
    fn of(self, node: Node<'_>) -> Cow<'a, str> {
        let whole = &self.text[node.byte_range()];
        if self.folded.is_empty() {
            return Cow::Borrowed(whole);
        }
        let (mut cursor, mut kept, mut at) = (node.walk(), String::new(), node.start_byte());
        let mut depth = 0_usize;
        loop {
            let inner = cursor.node();
            let fold = inner.byte_range().len() > SHORT && self.folded.contains(&inner.kind());
            if fold {
                kept.push_str(self.text.get(at..inner.start_byte()).unwrap_or_default());
                kept.push_str("$(…)");
                at = at.max(inner.end_byte());
            }
            if !fold && cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            while depth > 0 && !cursor.goto_next_sibling() {
                cursor.goto_parent();
                depth -= 1;
            }
            if depth == 0 {
                kept.push_str(self.text.get(at..node.end_byte()).unwrap_or_default());
                return Cow::Owned(kept);
            }
        }
    }
}

/// The text of a here-document or here-string, if a shell stands in its statement. That is looked for by the word alone:
/// `sudo bash -s` and `cat | sh` are such statements.
fn fed(node: Node<'_>, walk: &mut Walk<'_, '_>) -> Option<String> {
    let text = walk.text;
    let statement = walk
        .above
        .iter()
        .rev()
        .take_while(|parent| !matches!(parent.kind(), "program" | "compound_statement" | "subshell"))
        .take(8)
        .last()?;
    let around = [
        &text[statement.start_byte()..node.start_byte()],
        &text[node.end_byte()..statement.end_byte().max(node.end_byte())],
    ];
    let shell = walk.names_shell(around);
    let written = text[node.byte_range()].trim_start_matches("<<<").trim();
    shell.then(|| match node.kind() {
        "herestring_redirect" => unquoted(written),
        _ => written.to_owned(),
    })
}

/// What `echo` and `printf` print into a pipe that a shell reads.
fn printed(pipeline: Node<'_>, source: Source<'_>) -> Vec<String> {
    let mut cursor = pipeline.walk();
    let commands: Vec<Vec<String>> = pipeline
        .named_children(&mut cursor)
        .map(|command| words(command, source))
        .collect();
    let Some(shell) = commands
        .iter()
        .rposition(|words| names_shell(words.iter().map(String::as_str)))
    else {
        return Vec::new();
    };
    commands[..shell]
        .iter()
        .filter(|words| matches!(words.first().map(String::as_str), Some("echo" | "printf")))
        .map(|words| words[1..].join(" ").replace("\\n", "\n"))
        .collect()
}

fn names_shell<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    words.any(|word| is_shell(base_name(word)))
}

fn words(command: Node<'_>, source: Source<'_>) -> Vec<String> {
    let mut cursor = command.walk();
    let parts = command.named_children(&mut cursor).filter(is_word);
    parts.map(|part| unquoted(&source.of(part))).collect()
}

fn is_word(part: &Node<'_>) -> bool {
    !matches!(
        part.kind(),
        "variable_assignment" | "file_redirect" | "herestring_redirect"
    )
}

/// The lines of a command whose words lie on several: the grammar may pass over a line break that ends a command for the
/// shell, as in `ls | ls⏎⏎rm x 2>&1`, and takes what follows for more words.
fn lines(command: Node<'_>, source: Source<'_>) -> Vec<Vec<String>> {
    let mut cursor = command.walk();
    let parts: Vec<Node<'_>> = command.named_children(&mut cursor).filter(is_word).collect();
    let breaks = |pair: &[Node<'_>]| {
        let between = source.text.get(pair[0].end_byte()..pair[1].start_byte());
        between.is_some_and(|between| between.replace("\\\n", "").contains('\n'))
    };
    if !parts.windows(2).any(breaks) {
        return Vec::new();
    }
    let lines = parts.chunk_by(|one, next| !breaks(&[*one, *next]));
    lines
        .map(|line| line.iter().map(|part| unquoted(&source.of(*part))).collect())
        .collect()
}

fn destinations(redirect: Node<'_>, source: Source<'_>) -> Vec<String> {
    let mut cursor = redirect.walk();
    let destinations = redirect.children_by_field_name("destination", &mut cursor);
    destinations
        .map(|destination| unquoted(&source.of(destination)))
        .collect()
}

/// `f(){ f|f& }`: the function calls itself at least twice, and something of it runs in the background.
fn bomb(function: Node<'_>, source: Source<'_>) -> Option<String> {
    let name = &source.text[function.child_by_field_name("name")?.byte_range()];
    let body = source.of(function.child_by_field_name("body")?);
    let calls = parse_calls(&body, name);
    (calls >= 2 && body.contains('|') && body.contains('&')).then(|| name.to_owned())
}

fn parse_calls(body: &str, name: &str) -> usize {
    body.split(|char: char| char.is_whitespace() || "|&;(){}".contains(char))
        .filter(|word| *word == name)
        .count()
}

/// A word without its quotes and escapes. Expansions and globs stay as they are written.
fn unquoted(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    let (mut chars, mut quote) = (word.chars().peekable(), None);
    while let Some(char) = chars.next() {
        match (quote, char) {
            (None, '\'' | '"') => quote = Some(char),
            (Some(open), _) if open == char => quote = None,
            (None, '\\') => match chars.next() {
                Some('\n') | None => {}
                Some(escaped) => plain.push(escaped),
            },
            (Some('"'), '\\') if chars.peek().is_some_and(|next| "\"\\$`\n".contains(*next)) => {
                plain.extend(chars.next().filter(|next| *next != '\n'));
            }
            // `$'…'` and `$"…"`: what is quoted counts.
            (None, '$') if chars.peek().is_some_and(|next| matches!(next, '\'' | '"')) => {}
            _ => plain.push(char),
        }
    }
    plain
}
