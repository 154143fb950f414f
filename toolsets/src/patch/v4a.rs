//! The V4A format: `*** Begin Patch`, sections by file, hunks found by their lines.

use super::format::{FileAction, FilePatch, FormatError, trim_separators};
use super::hunk::{Hunk, HunkLine};
use super::unified;

pub(crate) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";

/// Reads the sections between the first and the last line of the patch; what stands around them is no part of it.
pub(crate) fn parse(lines: &[&str]) -> Result<Vec<FilePatch>, FormatError> {
    let is = |wanted: &'static str| move |line: &&str| line.trim_end() == wanted;
    let begin = lines.iter().position(is(BEGIN)).ok_or(FormatError::Unknown)?;
    let end = lines
        .iter()
        .rposition(is(END))
        .filter(|end| *end > begin)
        .ok_or(FormatError::NoEnd)?;
    let mut reader = Reader {
        lines: &lines[..end],
        at: begin + 1,
    };
    let mut files = Vec::new();
    while let Some(file) = reader.file()? {
        files.push(file);
    }
    Ok(files)
}

struct Reader<'a> {
    lines: &'a [&'a str],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    /// The rest of the next line, if it begins like this.
    fn take(&mut self, prefix: &str) -> Option<&'a str> {
        let rest = self.peek()?.strip_prefix(prefix)?;
        self.at += 1;
        Some(rest)
    }

    fn unexpected(&self, expected: &'static str) -> FormatError {
        FormatError::Unexpected {
            line: self.at + 1,
            text: self.peek().unwrap_or_default().to_owned(),
            expected,
        }
    }

    fn file(&mut self) -> Result<Option<FilePatch>, FormatError> {
        while self.peek().is_some_and(|line| line.trim().is_empty()) {
            self.at += 1;
        }
        if self.peek().is_none() {
            return Ok(None);
        }
        let (path, action) = if let Some(path) = self.take("*** Add File: ") {
            (path, self.added()?)
        } else if let Some(path) = self.take("*** Delete File: ") {
            (path, FileAction::Delete)
        } else if let Some(path) = self.take("*** Update File: ") {
            (path, self.updated(path)?)
        } else {
            return Err(
                self.unexpected("a line `*** Update File: PATH`, `*** Add File: PATH` or `*** Delete File: PATH`")
            );
        };
        let path = path.trim().to_owned();
        Ok(Some(FilePatch { path, action }))
    }

    fn added(&mut self) -> Result<FileAction, FormatError> {
        let mut text = String::new();
        while let Some(line) = self.peek().filter(|line| !line.starts_with("*** ")) {
            match line.strip_prefix('+') {
                Some(line) => {
                    text.push_str(line);
                    text.push('\n');
                }
                None if line.trim().is_empty() => {}
                None => return Err(self.unexpected("each line of a new file begins with `+`")),
            }
            self.at += 1;
        }
        Ok(FileAction::Add(text))
    }

    fn updated(&mut self, path: &str) -> Result<FileAction, FormatError> {
        let to = self.take("*** Move to: ").map(|to| to.trim().to_owned());
        let mut hunks = Vec::new();
        while self
            .peek()
            .is_some_and(|line| !line.starts_with("*** ") || line.trim_end() == END_OF_FILE)
        {
            let hunk = self.hunk()?;
            // Models also send hunks that only show context.
            if hunk.lines.iter().any(|line| !matches!(line, HunkLine::Keep(_))) {
                hunks.push(hunk);
            }
        }
        if hunks.is_empty() && to.is_none() {
            return Err(FormatError::NoChange(path.trim().to_owned()));
        }
        Ok(FileAction::Update { to, hunks })
    }

    fn hunk(&mut self) -> Result<Hunk, FormatError> {
        let mut hunk = Hunk::default();
        while let Some(anchor) = self.take("@@") {
            match unified::first_line(anchor) {
                Some(line) => hunk.near = Some(line),
                None if anchor.trim().is_empty() => {}
                None => hunk
                    .anchors
                    .push(anchor.trim().trim_end_matches("@@").trim_end().to_owned()),
            }
        }
        let mut empty = 0;
        while let Some(line) = self
            .peek()
            .filter(|line| !line.starts_with("@@") && !line.starts_with("*** "))
        {
            empty = if line.is_empty() { empty + 1 } else { 0 };
            let line = unified::hunk_line(line).ok_or_else(|| self.unexpected(unified::EXPECTED))?;
            hunk.lines.push(line);
            self.at += 1;
        }
        trim_separators(&mut hunk, empty);
        if self.peek().is_some_and(|line| line.trim_end() == END_OF_FILE) {
            self.at += 1;
            hunk.at_end = true;
        }
        Ok(hunk)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::super::format;
    use super::*;

    #[test]
    fn all_kinds_of_sections_are_read() {
        let patch = "*** Begin Patch\n*** Add File: new.txt\n+a\n+\n+b\n*** Delete File: old.txt\n\
                     *** Update File: a.rs\n*** Move to: b.rs\n@@ fn main() {\n keep\n-old\n+new\n\n@@\n+last\n\
                     *** End of File\n*** End Patch";
        let files = format::parse(patch).unwrap();
        assert_eq!(files[0].action, FileAction::Add("a\n\nb\n".to_owned()));
        assert_eq!(files[1].action, FileAction::Delete);
        let FileAction::Update { to, hunks } = &files[2].action else {
            panic!("an update")
        };
        assert_eq!(to.as_deref(), Some("b.rs"));
        assert_eq!(hunks[0].anchors, ["fn main() {"]);
        assert_eq!(hunks[0].lines.len(), 3);
        assert!(hunks[1].at_end);
    }

    #[test]
    fn what_is_no_patch_is_told_with_its_line() {
        let check = |patch: &str, part: &str| {
            let message = format::parse(patch).unwrap_err().to_string();
            assert!(message.contains(part), "{patch:?}: {message}");
        };
        check("", "neither");
        check("*** Begin Patch\n*** Update File: a\n-x\n", "End Patch");
        check("*** Begin Patch\n*** End Patch", "no file");
        check("*** Begin Patch\n*** Update File: a\n*** End Patch", "no change for a");
        check("*** Begin Patch\nhello\n*** End Patch", "line 2");
        check("*** Begin Patch\n*** Update File: a\n@@\nx\n*** End Patch", "line 4");
        check("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "line 3");
    }
}
