//! Every command anywhere in a text, as far as it can be read: also of what is in substitutions, functions and loops.
//! For what must never run; whether a text is simple enough to be let through is [`super::plain`]'s.

use tree_sitter::{Node, Parser, Tree};

use super::unwrap::{base_name, is_shell};

/// More texts for shells are not looked at.
const MOST_FED: usize = 16;

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

pub(super) fn tree(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .expect("the grammar is built for this version of the parser");
    parser.parse(text, None)
}

/// Reads all of a text, however broken. The walk keeps no stack of calls, since a text may nest without end.
pub(super) fn parse(text: &str) -> Script {
    let mut script = Script::default();
    let Some(tree) = tree(text) else {
        return script;
    };
    let mut cursor = tree.walk();
    loop {
        script.take(cursor.node(), text);
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return script;
            }
        }
    }
}

impl Script {
    fn take(&mut self, node: Node<'_>, text: &str) {
        match node.kind() {
            "command" => self.commands.push(words(node, text)),
            "heredoc_body" | "herestring_redirect" if self.fed.len() < MOST_FED => self.fed.extend(fed(node, text)),
            "pipeline" if self.fed.len() < MOST_FED => self.fed.extend(printed(node, text)),
            // `rm 2>log -rf /`: the grammar takes the words after a redirection for further targets of it.
            "redirected_statement" => self.join_late_words(node, text),
            "file_redirect" => self.redirects.extend(destinations(node, text)),
            "function_definition" => self.bombs.extend(bomb(node, text)),
            _ => {}
        }
    }

    fn join_late_words(&mut self, node: Node<'_>, text: &str) {
        let Some(body) = node.child_by_field_name("body").filter(|body| body.kind() == "command") else {
            return;
        };
        let mut cursor = node.walk();
        let redirects = node.children_by_field_name("redirect", &mut cursor);
        let late: Vec<String> = redirects
            .flat_map(|redirect| destinations(redirect, text).into_iter().skip(1))
            .collect();
        if !late.is_empty() {
            self.commands.push(words(body, text).into_iter().chain(late).collect());
        }
    }
}

/// The text of a here-document or here-string, if a shell stands in its statement. That is looked for by the word alone:
/// `sudo bash -s` and `cat | sh` are such statements.
fn fed(node: Node<'_>, text: &str) -> Option<String> {
    let statement = std::iter::successors(node.parent(), Node::parent)
        .take_while(|parent| !matches!(parent.kind(), "program" | "compound_statement" | "subshell"))
        .take(8)
        .last()?;
    let around = [
        &text[statement.start_byte()..node.start_byte()],
        &text[node.end_byte()..statement.end_byte().max(node.end_byte())],
    ];
    let shell = around.iter().any(|text| names_shell(text.split_whitespace()));
    let written = text[node.byte_range()].trim_start_matches("<<<").trim();
    shell.then(|| match node.kind() {
        "herestring_redirect" => unquoted(written),
        _ => written.to_owned(),
    })
}

/// What `echo` and `printf` print into a pipe that a shell reads.
fn printed(pipeline: Node<'_>, text: &str) -> Vec<String> {
    let mut cursor = pipeline.walk();
    let commands: Vec<Vec<String>> = pipeline
        .named_children(&mut cursor)
        .map(|command| words(command, text))
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

fn words(command: Node<'_>, text: &str) -> Vec<String> {
    let mut cursor = command.walk();
    let parts = command.named_children(&mut cursor);
    let parts = parts.filter(|part| {
        !matches!(
            part.kind(),
            "variable_assignment" | "file_redirect" | "herestring_redirect"
        )
    });
    parts.map(|part| unquoted(&text[part.byte_range()])).collect()
}

fn destinations(redirect: Node<'_>, text: &str) -> Vec<String> {
    let mut cursor = redirect.walk();
    let destinations = redirect.children_by_field_name("destination", &mut cursor);
    destinations
        .map(|destination| unquoted(&text[destination.byte_range()]))
        .collect()
}

/// `f(){ f|f& }`: the function calls itself at least twice, and something of it runs in the background.
fn bomb(function: Node<'_>, text: &str) -> Option<String> {
    let name = &text[function.child_by_field_name("name")?.byte_range()];
    let body = &text[function.child_by_field_name("body")?.byte_range()];
    let calls = parse_calls(body, name);
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
