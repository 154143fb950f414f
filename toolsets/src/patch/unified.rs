//! Unified diffs, as `diff -u` and `git diff` write them. Line numbers are taken as hints: models count badly.

use super::format::{FileAction, FilePatch, FormatError, trim_separators};
use super::hunk::{Hunk, HunkLine};

pub(crate) const EXPECTED: &str = "each line of a hunk begins with a space (kept), `-` (removed) or `+` (added)";

/// Reads the files of a diff; lines that are neither headers nor hunks are skipped, as `patch` does.
pub(crate) fn parse(lines: &[&str]) -> Result<Vec<FilePatch>, FormatError> {
    let mut reader = Reader { lines, at: 0 };
    let mut files = Vec::new();
    while reader.at < lines.len() {
        let header = reader.header()?;
        if let Some(file) = header.file(reader.hunks()?)? {
            files.push(file);
        }
    }
    Ok(files)
}

/// The line index that a hunk's header names, from what follows its `@@`.
pub(crate) fn first_line(header: &str) -> Option<usize> {
    let old = header.trim_start().strip_prefix('-')?;
    let (numbers, new) = old.split_once(' ')?;
    new.trim_start().strip_prefix('+')?;
    let (line, count) = numbers.split_once(',').unwrap_or((numbers, "1"));
    let (line, count): (usize, usize) = (line.parse().ok()?, count.parse().ok()?);
    // A hunk without old lines names the line it comes behind.
    Some(if count == 0 { line } else { line.saturating_sub(1) })
}

/// One line of a hunk; models leave out the space of an empty kept line.
pub(crate) fn hunk_line(line: &str) -> Option<HunkLine> {
    let mut characters = line.chars();
    let kind = characters.next();
    let rest = characters.as_str().to_owned();
    match kind {
        None => Some(HunkLine::Keep(String::new())),
        Some(' ') => Some(HunkLine::Keep(rest)),
        Some('-') => Some(HunkLine::Remove(rest)),
        Some('+') => Some(HunkLine::Add(rest)),
        Some(_) => None,
    }
}

/// What a file's header says.
#[derive(Default)]
struct Header {
    old: Option<String>,
    new: Option<String>,
    rename: Option<(String, String)>,
    deleted: bool,
    added: bool,
    git: Option<(String, String)>,
}

impl Header {
    fn file(self, hunks: Vec<Hunk>) -> Result<Option<FilePatch>, FormatError> {
        let (old, new) = self.names();
        let (path, action) = match (old, new) {
            (None, Some(new)) => (new, FileAction::Add(added_text(&hunks))),
            (Some(old), None) => (old, FileAction::Delete),
            (Some(old), Some(new)) => {
                let to = (old != new).then_some(new);
                if hunks.is_empty() && to.is_none() {
                    return Err(FormatError::NoChange(old));
                }
                (old, FileAction::Update { to, hunks })
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(FilePatch { path, action }))
    }

    /// The two paths, none for `/dev/null`, without git's `a/` and `b/`.
    fn names(self) -> (Option<String>, Option<String>) {
        if let Some((from, to)) = self.rename {
            return (Some(from), Some(to));
        }
        let (old, new) = match (self.old, self.new, self.git) {
            (Some(old), Some(new), _) => (old, new),
            (_, _, Some(git)) => git,
            (Some(_) | None, _, None) => return (None, None),
        };
        let is_null = |name: &str| name == "/dev/null";
        let prefixed = (old.starts_with("a/") || is_null(&old)) && (new.starts_with("b/") || is_null(&new));
        let strip = |name: String| if prefixed { name[2..].to_owned() } else { name };
        let old = (!self.added && !is_null(&old)).then(|| strip(old.clone()));
        let new = (!self.deleted && !is_null(&new)).then(|| strip(new));
        (old, new)
    }
}

fn added_text(hunks: &[Hunk]) -> String {
    let added = hunks.iter().flat_map(|hunk| &hunk.lines).filter_map(|line| match line {
        HunkLine::Add(text) => Some(text.as_str()),
        HunkLine::Keep(_) | HunkLine::Remove(_) => None,
    });
    let mut text: String = added.flat_map(|line| [line, "\n"]).collect();
    if hunks.last().is_some_and(|hunk| hunk.final_newline == Some(false)) {
        text.pop();
    }
    text
}

struct Reader<'a> {
    lines: &'a [&'a str],
    at: usize,
}

impl<'a> Reader<'a> {
    fn starts(&self, ahead: usize, prefix: &str) -> bool {
        self.lines
            .get(self.at + ahead)
            .is_some_and(|line| line.starts_with(prefix))
    }

    fn header(&mut self) -> Result<Header, FormatError> {
        let mut header = Header::default();
        while let Some(line) = self.lines.get(self.at).filter(|line| !line.starts_with("@@")) {
            if line.starts_with("diff --git ") && header.git.is_some() {
                break;
            }
            self.at += 1;
            self.header_line(&mut header, line)?;
            if header.new.is_some() && !self.starts(0, "@@") {
                break;
            }
        }
        Ok(header)
    }

    fn header_line(&self, header: &mut Header, line: &'a str) -> Result<(), FormatError> {
        let rest = |prefix: &str| line.strip_prefix(prefix).map(name);
        if let Some(names) = line.strip_prefix("diff --git ") {
            header.git = names
                .split_once(" b/")
                .map(|(old, new)| (old.to_owned(), format!("b/{new}")));
        } else if let Some(old) = rest("--- ") {
            header.old = Some(old);
        } else if let Some(new) = rest("+++ ") {
            header.new = Some(new);
        } else if let Some(from) = rest("rename from ") {
            header.rename = Some((from, String::new()));
        } else if let Some(to) = rest("rename to ") {
            header.rename = header.rename.take().map(|(from, _)| (from, to));
        } else if line.starts_with("deleted file") {
            header.deleted = true;
        } else if line.starts_with("new file") {
            header.added = true;
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            let name = header.git.as_ref().map_or("a file", |(_, new)| new.as_str());
            return Err(FormatError::Binary(name.to_owned()));
        }
        Ok(())
    }

    fn hunks(&mut self) -> Result<Vec<Hunk>, FormatError> {
        let mut hunks = Vec::new();
        while self.starts(0, "@@") {
            hunks.push(self.hunk()?);
        }
        Ok(hunks)
    }

    fn hunk(&mut self) -> Result<Hunk, FormatError> {
        let mut hunk = Hunk {
            near: first_line(&self.lines[self.at][2..]),
            ..Hunk::default()
        };
        self.at += 1;
        let mut empty = 0;
        while let Some(line) = self.lines.get(self.at).filter(|_| !self.ends_hunk()) {
            empty = if line.is_empty() { empty + 1 } else { 0 };
            if line.starts_with('\\') {
                let removed = matches!(hunk.lines.last(), Some(HunkLine::Remove(_)));
                hunk.final_newline = Some(removed);
            } else {
                let line = hunk_line(line).ok_or_else(|| FormatError::Unexpected {
                    line: self.at + 1,
                    text: (*line).to_owned(),
                    expected: EXPECTED,
                })?;
                hunk.lines.push(line);
            }
            self.at += 1;
        }
        trim_separators(&mut hunk, empty);
        Ok(hunk)
    }

    /// The next hunk or the next file begins here. A removed line can look like a file's header, three lines can't.
    fn ends_hunk(&self) -> bool {
        self.starts(0, "@@")
            || self.starts(0, "diff --git ")
            || (self.starts(0, "--- ")
                && self.starts(1, "+++ ")
                && (self.starts(2, "@@") || self.at + 2 >= self.lines.len()))
    }
}

/// A file's name in a header, without the time behind it.
fn name(text: &str) -> String {
    text.split('\t').next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::super::format;
    use super::*;

    fn names(patch: &str) -> Vec<String> {
        let name = |file: &FilePatch| match &file.action {
            FileAction::Add(text) => format!("add {} {text:?}", file.path),
            FileAction::Delete => format!("delete {}", file.path),
            FileAction::Update { to, hunks } => format!("update {} {to:?} {}", file.path, hunks.len()),
        };
        format::parse(patch).unwrap().iter().map(name).collect()
    }

    #[test]
    fn files_of_a_diff_are_read() {
        let check = |patch: &str, expect: &[&str]| assert_eq!(names(patch), expect, "{patch}");
        check("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", &["update x None 1"]);
        check(
            "--- x\t2026-01-01\n+++ x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-a\n+b\n",
            &["update x None 2"],
        );
        check(
            "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n",
            &["add n \"a\\nb\\n\""],
        );
        check(
            "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n",
            &["add n \"a\""],
        );
        check(
            "diff --git a/o b/o\ndeleted file mode 100644\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            &["delete o"],
        );
        check(
            "diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\ndiff --git a/x b/x\nindex 1..2 100644\n\
             --- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            &["update o Some(\"n\") 0", "update x None 1"],
        );
        check(
            "diff --git a/e b/e\nnew file mode 100644\nindex 0..0\n",
            &["add e \"\""],
        );
        check(
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- y\n+++ z\n--- a/w\n+++ b/w\n@@ -1 +1 @@\n-a\n+b\n",
            &["update x None 1", "update w None 1"],
        );
    }

    #[test]
    fn a_hunk_says_where_it_begins() {
        let check = |header: &str, expect: Option<usize>| assert_eq!(first_line(header), expect, "{header}");
        check(" -12,3 +14,4 @@ fn main", Some(11));
        check(" -1 +1 @@", Some(0));
        check(" -5,0 +6,2 @@", Some(5));
        check(" -0,0 +1 @@", Some(0));
        check(" fn main()", None);
        check("", None);
    }

    #[test]
    fn a_binary_diff_is_refused() {
        let patch = "diff --git a/x b/x\nGIT binary patch\nliteral 3\n";
        assert!(format::parse(patch).unwrap_err().to_string().contains("binary"));
    }
}
