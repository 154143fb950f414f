//! A text that is nothing but simple commands with literal words: what the shell will do with it is beyond doubt.
//!
//! A white list: of node kinds, of characters outside quotes, of redirections. What is not named here is not plain.

use tree_sitter::Node;

use super::syntax::tree;

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

/// The simple commands that a text consists of; none if there is anything else in it.
pub(super) fn steps(text: &str) -> Option<Vec<Step>> {
    if text
        .chars()
        .any(|char| char.is_control() && char != '\n' && char != '\t')
    {
        return None;
    }
    let tree = tree(text)?;
    let root = tree.root_node();
    if root.has_error() || root.kind() != "program" {
        return None;
    }
    let mut reader = Reader {
        text,
        steps: Vec::new(),
        read_to: 0,
    };
    reader.program(root)?;
    reader.gap(text.len())?;
    (!reader.steps.is_empty()).then_some(reader.steps)
}

struct Reader<'a> {
    text: &'a str,
    steps: Vec<Step>,
    /// Up to here each byte is accounted for: by a node that was read or by blanks.
    read_to: usize,
}

impl<'a> Reader<'a> {
    fn program(&mut self, node: Node<'_>) -> Option<()> {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if child.is_named() {
                self.statement(child, Joint::Then, 0)?;
            } else {
                self.operator(child, &[";", "\n"])?;
            }
        }
        Some(())
    }

    fn statement(&mut self, node: Node<'_>, joint: Joint, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match node.kind() {
            "list" => self.joined(node, joint, depth, &["&&", "||"]),
            "pipeline" => self.joined(node, joint, depth, &["|"]),
            "redirected_statement" => self.redirected(node, joint, depth),
            "command" => self.command(node, joint),
            _ => None,
        }
    }

    fn joined(&mut self, node: Node<'_>, first: Joint, depth: usize, operators: &[&str]) -> Option<()> {
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
            }
        }
        Some(())
    }

    fn redirected(&mut self, node: Node<'_>, joint: Joint, depth: usize) -> Option<()> {
        let (mut cursor, mut body) = (node.walk(), Some(node.child_by_field_name("body")?));
        for child in node.children(&mut cursor) {
            if body == Some(child) {
                self.statement(child, joint, depth + 1)?;
                body = None;
            } else {
                self.redirection(child)?;
            }
        }
        body.is_none().then_some(())
    }

    /// Part by part: the grammar takes the words after a target for more of them, the shell for arguments.
    fn redirection(&mut self, node: Node<'_>) -> Option<()> {
        let mut cursor = node.walk();
        let parts: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let (descriptor, operator, target) = match (node.kind(), parts.as_slice()) {
            ("file_redirect", [operator, target]) => (None, operator, target),
            ("file_redirect", [descriptor, operator, target]) if descriptor.kind() == "file_descriptor" => {
                (Some(descriptor), operator, target)
            }
            _ => return None,
        };
        let descriptor = descriptor.map_or(Some(""), |descriptor| self.leaf(*descriptor))?;
        let attached = descriptor.is_empty() || operator.start_byte() == self.read_to;
        let operator = self.leaf(*operator)?;
        // A line break before the target is no blank to the shell.
        let on_line = !self.text.get(self.read_to..target.start_byte())?.contains('\n');
        let known = HARMLESS.contains(&(descriptor, operator, self.leaf(*target)?));
        (attached && on_line && known).then_some(())
    }

    fn command(&mut self, node: Node<'_>, joint: Joint) -> Option<()> {
        let (mut cursor, mut words) = (node.walk(), Vec::new());
        for child in node.children(&mut cursor) {
            words.push(match (words.is_empty(), child.kind()) {
                (true, "command_name") => self.program_name(child)?,
                (true, _) => return None,
                (false, _) => self.word(child)?,
            });
        }
        self.steps.push(Step { joint, words });
        Some(())
    }

    fn program_name(&mut self, node: Node<'_>) -> Option<String> {
        let name = self.leaf(node)?;
        let plain = name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "-_./+".contains(char));
        plain.then(|| name.to_owned())
    }

    fn word(&mut self, node: Node<'_>) -> Option<String> {
        if node.kind() != "concatenation" {
            return literal(node.kind(), self.leaf(node)?);
        }
        let (mut cursor, mut word) = (node.walk(), String::new());
        self.gap(node.start_byte())?;
        for child in node.children(&mut cursor) {
            (child.start_byte() == self.read_to).then_some(())?;
            word.push_str(&literal(child.kind(), self.leaf(child)?)?);
        }
        Some(word)
    }

    fn operator(&mut self, node: Node<'_>, known: &[&str]) -> Option<&'a str> {
        self.leaf(node).filter(|operator| known.contains(operator))
    }

    /// The whole text of a node, which is then accounted for.
    fn leaf(&mut self, node: Node<'_>) -> Option<&'a str> {
        self.gap(node.start_byte())?;
        self.read_to = node.end_byte();
        self.text.get(node.byte_range())
    }

    /// What lies between two nodes must be nothing but blanks, or the parser has left something out.
    fn gap(&mut self, to: usize) -> Option<()> {
        let between = self.text.get(self.read_to..to)?;
        self.read_to = to;
        between
            .chars()
            .all(|char| matches!(char, ' ' | '\t' | '\n'))
            .then_some(())
    }
}

/// The text that the shell makes of a word without any expansion.
fn literal(kind: &str, text: &str) -> Option<String> {
    let inner = match kind {
        // No glob, brace, tilde, escape, history, comment or expansion; no letter that looks like another.
        "word" | "number" => {
            let plain = |char: char| char.is_ascii_alphanumeric() || "-_./,:=+@%^".contains(char);
            text.chars().all(plain).then_some(text)
        }
        "string" => text
            .strip_prefix('"')?
            .strip_suffix('"')
            .filter(|inner| !inner.contains(['$', '`', '\\', '"'])),
        "raw_string" => text
            .strip_prefix('\'')?
            .strip_suffix('\'')
            .filter(|inner| !inner.contains('\'')),
        _ => None,
    };
    inner.map(str::to_owned)
}
