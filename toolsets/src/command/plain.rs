//! A text that is nothing but simple commands with literal words: what the shell will do with it is beyond doubt.
//!
//! A white list: of node kinds, of characters outside quotes, of redirections. What is not named here is not plain.

use tree_sitter::Node;

use super::syntax::{Deadline, tree};

/// How a command is joined to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    /// Nothing is before it, or `;` or a line break.
    Then,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
}

/// A simple command: its program and its arguments, as they will be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) joint: Joint,
    pub(super) words: Vec<String>,
}

/// Deeper nesting is not plain.
const DEEPEST: usize = 64;

/// Redirections that change nothing: the descriptor, the operator, and the one target.
const HARMLESS: [(&str, &str, &str); 10] = [
    ("2", ">&", "1"),
    ("1", ">&", "2"),
    ("", ">&", "2"),
    ("", ">", "/dev/null"),
    ("1", ">", "/dev/null"),
    ("2", ">", "/dev/null"),
    ("", "&>", "/dev/null"),
    ("", ">>", "/dev/null"),
    ("2", ">>", "/dev/null"),
    ("", "<", "/dev/null"),
];

/// What was read, or why a text is not plain, as a question says it.
pub(super) type Read<T> = Result<T, &'static str>;

const UNREADABLE: &str = "its text can't be read for sure";

/// Longer texts are not looked at for reads: nobody writes such a command to read something.
pub(super) const LONGEST: usize = 16 * 1024;

/// The simple commands that a text consists of, if there is nothing else in it.
pub(super) fn steps(text: &str, deadline: Deadline) -> Read<Vec<Step>> {
    if text.len() > LONGEST {
        return Err("it is too long to be sure what it does");
    }
    let odd = |char: char| char.is_control() && char != '\n' && char != '\t';
    if text.chars().any(odd) {
        return Err("it has control characters");
    }
    let tree = tree(text, deadline).ok_or(UNREADABLE)?;
    let root = tree.root_node();
    if root.has_error() || root.kind() != "program" {
        return Err(UNREADABLE);
    }
    let mut reader = Reader {
        text,
        steps: Vec::new(),
        read_to: 0,
        may_break: true,
    };
    reader.program(root)?;
    reader.may_break = true;
    reader.gap(text.len())?;
    if reader.steps.is_empty() {
        return Err("there is no command in it");
    }
    Ok(reader.steps)
}

/// What it is of a text that is not plain.
fn not_plain(kind: &str) -> &'static str {
    match kind {
        "command_substitution" => "it has a substitution such as `$(…)`",
        "process_substitution" => "it has a substitution such as `<(…)`",
        "simple_expansion" | "expansion" | "arithmetic_expansion" | "string_expansion" => "it has a variable in it",
        "variable_assignment" | "variable_assignments" => "it sets a variable",
        "declaration_command" | "unset_command" => "it changes the shell's variables",
        "function_definition" => "it defines a function",
        "subshell" | "compound_statement" => "it groups commands in brackets",
        "test_command" => "it has a test in brackets",
        "if_statement" | "while_statement" | "for_statement" | "c_style_for_statement" | "case_statement" => {
            "it has a loop or a condition"
        }
        "heredoc_redirect" | "herestring_redirect" => "it has a text for a command's input",
        "file_redirect" => "it redirects to or from a file",
        "ansi_c_string" | "translated_string" => "it has a text in quotes that stands for another",
        "brace_expression" | "extglob_pattern" => FILLED_IN,
        "comment" => "it has a comment",
        "&" => "it runs something in the background",
        _ => "it is more than simple commands",
    }
}

const FILLED_IN: &str = "it has a word that the shell replaces, by names of files or others";

struct Reader<'a> {
    text: &'a str,
    steps: Vec<Step>,
    /// Up to here each byte is accounted for: by a node that was read or by blanks.
    read_to: usize,
    /// Line breaks are blanks here: between statements and behind an operator that joins. Elsewhere the shell ends a
    /// command at one, though the grammar may pass over it.
    may_break: bool,
}

impl<'a> Reader<'a> {
    fn program(&mut self, node: Node<'_>) -> Read<()> {
        let (mut cursor, mut apart) = (node.walk(), true);
        for child in node.children(&mut cursor) {
            self.may_break = true;
            if child.is_named() {
                let between = self.text.get(self.read_to..child.start_byte()).ok_or(UNREADABLE)?;
                (apart || between.contains('\n')).then_some(()).ok_or(UNREADABLE)?;
                self.statement(child, Joint::Then, 0)?;
            } else {
                self.operator(child, &[";", "\n"])?;
            }
            apart = !child.is_named();
        }
        Ok(())
    }

    fn statement(&mut self, node: Node<'_>, joint: Joint, depth: usize) -> Read<()> {
        if depth > DEEPEST {
            return Err("it nests too deep to be sure what it does");
        }
        match node.kind() {
            "list" => self.joined(node, joint, depth, &["&&", "||"]),
            "pipeline" => self.joined(node, joint, depth, &["|"]),
            "redirected_statement" => self.redirected(node, joint, depth),
            "command" => self.command(node, joint),
            kind => Err(not_plain(kind)),
        }
    }

    fn joined(&mut self, node: Node<'_>, first: Joint, depth: usize, operators: &[&str]) -> Read<()> {
        let (mut cursor, mut joint) = (node.walk(), first);
        for child in node.children(&mut cursor) {
            if child.is_named() {
                self.statement(child, joint, depth + 1)?;
            } else {
                joint = match self.operator(child, operators)? {
                    "&&" => Joint::And,
                    "||" => Joint::Or,
                    _ => Joint::Pipe,
                };
                self.may_break = true;
            }
        }
        Ok(())
    }

    fn redirected(&mut self, node: Node<'_>, joint: Joint, depth: usize) -> Read<()> {
        let body = node.child_by_field_name("body").ok_or(not_plain("file_redirect"))?;
        let (mut cursor, mut body) = (node.walk(), Some(body));
        for child in node.children(&mut cursor) {
            if body == Some(child) {
                self.statement(child, joint, depth + 1)?;
                body = None;
            } else {
                self.redirection(child)?;
            }
        }
        body.is_none().then_some(()).ok_or(UNREADABLE)
    }

    /// Part by part: the grammar takes the words after a target for more of them, the shell for arguments.
    fn redirection(&mut self, node: Node<'_>) -> Read<()> {
        let mut cursor = node.walk();
        let parts: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let (descriptor, operator, target) = match (node.kind(), parts.as_slice()) {
            ("file_redirect", [operator, target]) => (None, operator, target),
            ("file_redirect", [descriptor, operator, target]) if descriptor.kind() == "file_descriptor" => {
                (Some(descriptor), operator, target)
            }
            (kind, _) => return Err(not_plain(kind)),
        };
        let descriptor = descriptor.map_or(Ok(""), |descriptor| self.leaf(*descriptor))?;
        let attached = descriptor.is_empty() || operator.start_byte() == self.read_to;
        let operator = self.leaf(*operator)?;
        // A line break before the target is no blank to the shell.
        let before = self.text.get(self.read_to..target.start_byte());
        let on_line = before.is_some_and(|before| !before.contains('\n'));
        let known = HARMLESS.contains(&(descriptor, operator, self.leaf(*target)?));
        let harmless = attached && on_line && known;
        harmless.then_some(()).ok_or(not_plain("file_redirect"))
    }

    fn command(&mut self, node: Node<'_>, joint: Joint) -> Read<()> {
        let (mut cursor, mut words) = (node.walk(), Vec::new());
        for child in node.children(&mut cursor) {
            words.push(match (words.is_empty(), child.kind()) {
                (true, "command_name") => self.program_name(child)?,
                (true, kind) => return Err(not_plain(kind)),
                (false, _) => self.word(child)?,
            });
        }
        self.steps.push(Step { joint, words });
        Ok(())
    }

    fn program_name(&mut self, node: Node<'_>) -> Read<String> {
        let name = self.leaf(node)?;
        let plain = name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "-_./+".contains(char));
        plain
            .then(|| name.to_owned())
            .ok_or("the name of a program is not plain letters")
    }

    fn word(&mut self, node: Node<'_>) -> Read<String> {
        if node.kind() != "concatenation" {
            return literal(node.kind(), self.leaf(node)?);
        }
        let (mut cursor, mut word) = (node.walk(), String::new());
        self.gap(node.start_byte())?;
        for child in node.children(&mut cursor) {
            (child.start_byte() == self.read_to).then_some(()).ok_or(UNREADABLE)?;
            word.push_str(&literal(child.kind(), self.leaf(child)?)?);
        }
        Ok(word)
    }

    fn operator(&mut self, node: Node<'_>, known: &[&str]) -> Read<&'a str> {
        let operator = self.leaf(node)?;
        known.contains(&operator).then_some(operator).ok_or(not_plain(operator))
    }

    /// The whole text of a node, which is then accounted for.
    fn leaf(&mut self, node: Node<'_>) -> Read<&'a str> {
        self.gap(node.start_byte())?;
        self.read_to = node.end_byte();
        self.text.get(node.byte_range()).ok_or(UNREADABLE)
    }

    /// What lies between two nodes must be nothing but blanks, or the parser has left something out.
    fn gap(&mut self, to: usize) -> Read<()> {
        let between = self.text.get(self.read_to..to).ok_or(UNREADABLE)?;
        self.read_to = to;
        let may_break = std::mem::take(&mut self.may_break);
        let blank = between
            .chars()
            .all(|char| matches!(char, ' ' | '\t') || (char == '\n' && may_break));
        blank.then_some(()).ok_or(UNREADABLE)
    }
}

/// The text that the shell makes of a word without any expansion.
fn literal(kind: &str, text: &str) -> Read<String> {
    let inner = match kind {
        // No glob, brace, tilde, escape, history, comment or expansion; no letter that looks like another.
        "word" | "number" => {
            let plain = |char: char| char.is_ascii_alphanumeric() || "-_./,:=+@%^".contains(char);
            match text.chars().find(|char| !plain(*char)) {
                None => Some(text),
                Some('*' | '?' | '[' | ']' | '~' | '{' | '}' | '!') => return Err(FILLED_IN),
                Some('\\') => return Err("it has a backslash outside quotes"),
                Some('$' | '`') => return Err(not_plain("expansion")),
                Some(_) => return Err("it has a letter outside quotes that is not plain"),
            }
        }
        "string" => inside(text, '"').filter(|inner| !inner.contains(['$', '`', '"']) && keeps_backslashes(inner)),
        "raw_string" => inside(text, '\'').filter(|inner| !inner.contains('\'')),
        _ => return Err(not_plain(kind)),
    };
    inner
        .map(str::to_owned)
        .ok_or("it has a text in quotes that the shell changes")
}

/// Whether each backslash in double quotes is one: before other letters than these the shell leaves it.
fn keeps_backslashes(inner: &str) -> bool {
    let mut parts = inner.split('\\').skip(1);
    parts.all(|part| !part.is_empty() && !part.starts_with(['$', '`', '"', '\n']))
}

/// What is between two quotes.
fn inside(text: &str, quote: char) -> Option<&str> {
    text.strip_prefix(quote)?.strip_suffix(quote)
}
