//! Text in files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::cancel::Cancel;
use agent_core::plan::Place;
use agent_core::tool::ToolError;
use grep_matcher::LineTerminator;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::page::Page;
use super::{Output, Search, walk};
use crate::files::Files;
use crate::forbidden::Known;

/// A longer line is cut, in characters.
const MAX_LINE: usize = 500;
/// What a search holds of one file at most: a longer line, or a larger file for a pattern over lines, is passed by.
const MAX_HEAP: usize = 64 * 1024 * 1024;

/// A regular expression over lines, or over line ends if it names them.
pub(super) struct Pattern {
    matcher: RegexMatcher,
    over_lines: bool,
}

impl Pattern {
    pub(super) fn new(pattern: &str) -> Result<Self, ToolError> {
        if pattern.is_empty() {
            return Err(ToolError::new(
                "search_files: the pattern is empty; to list files use target \"files\" and \"*\"",
            ));
        }
        let by_line = builder().line_terminator(Some(b'\n')).crlf(true).build(pattern);
        let over_lines = matches!(&by_line, Err(error) if matches!(error.kind(), ErrorKind::NotAllowed(_)));
        let built = if over_lines {
            builder().multi_line(true).build(pattern)
        } else {
            by_line
        };
        let matcher = built.map_err(|error| {
            ToolError::new(format!(
                "search_files: the pattern {pattern:?} is no regular expression: {error}\nEscape characters that are meant \
                 literally with a backslash, such as \\( \\[ \\{{ \\. \\* \\+ \\?"
            ))
        })?;
        Ok(Self { matcher, over_lines })
    }

    fn searcher(&self, context: usize) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .multi_line(self.over_lines)
            .line_terminator(if self.over_lines {
                LineTerminator::byte(b'\n')
            } else {
                LineTerminator::crlf()
            })
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_HEAP))
            .build()
    }
}

/// A pattern of a few characters may ask for gigabytes of states: `(\w{1000}){1000}`.
fn builder() -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder.size_limit(10 << 20).dfa_size_limit(32 << 20);
    builder
}

/// Tells the lines, or the files, in which the pattern matches.
pub(super) fn search(files: &Files, search: &Search, pattern: &Pattern, cancel: &Cancel) -> Page {
    let noun = match search.output {
        Output::Matches => ("match", "matches"),
        Output::Files | Output::Count => ("file with matches", "files with matches"),
    };
    let mut page = Page::new(search.window, noun);
    let (mut matched, mut unread) = (0, 0);
    let context = if search.output == Output::Matches {
        search.context
    } else {
        0
    };
    let mut searcher = pattern.searcher(context);
    let mut walk = walk::files(files, &search.place.real, search.glob.as_ref(), cancel);
    let known = Arc::clone(&walk.known);
    for path in &mut walk {
        let shown = search.shown(files, &path);
        let mut hits = Hits {
            shown: &shown,
            output: search.output,
            page: &mut page,
            matches: 0,
            headed: false,
            tells: false,
            after: None,
        };
        let searched = open(files, &path, &known).is_some_and(|file| {
            let reader = UntilCancelled { file, cancel };
            searcher.search_reader(&pattern.matcher, reader, &mut hits).is_ok()
        });
        unread += u64::from(!searched);
        let matches = hits.matches;
        matched += u64::from(matches > 0);
        if matches > 0 && search.output != Output::Matches && page.count() {
            page.text.push_str(&match search.output {
                Output::Count => format!("{shown}: {matches}\n"),
                Output::Matches | Output::Files => format!("{shown}\n"),
            });
        }
        if !page.has_room() {
            break;
        }
    }
    let unread_folders = walk.unread.summary(|path| search.shown(files, path));
    let files = |count: u64| format!("{count} {}", if count == 1 { "file" } else { "files" });
    if search.output == Output::Matches && matched > 0 {
        page.detail = format!(" in {}", files(matched));
    }
    if unread > 0 {
        page.detail
            .push_str(&format!("; {} could not be searched", files(unread)));
    }
    let root = &search.place.real;
    let wanted = |path: &Path| {
        let glob = search.glob.as_ref();
        glob.is_none_or(|glob| glob.is_match(walk::relative(root, path)))
    };
    page.detail.push_str(&walk.kept_secret(wanted));
    page.detail.push_str(&unread_folders);
    page
}

impl Search {
    /// A file below the search's place as it is told: by the path that was asked for, not by where that really is.
    pub(super) fn shown(&self, files: &Files, real: &Path) -> String {
        let path = match real.strip_prefix(&self.place.real) {
            Ok(inside) if inside.as_os_str().is_empty() => self.place.path.clone(),
            Ok(inside) => self.place.path.join(inside),
            Err(_) => real.to_owned(),
        };
        files.places.shown(&path)
    }
}

fn open(files: &Files, path: &Path, known: &Known) -> Option<File> {
    let place = Place {
        path: path.to_owned(),
        real: PathBuf::from(path),
    };
    files.open_real(&place, known).ok().map(|(file, _)| file)
}

/// A file that ends with an error once the search is cancelled, since a large one without a match calls no sink.
struct UntilCancelled<'a> {
    file: File,
    cancel: &'a Cancel,
}

impl Read for UntilCancelled<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_set() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

/// Takes the hits of one file.
struct Hits<'a> {
    shown: &'a str,
    output: Output,
    page: &'a mut Page,
    matches: u64,
    /// The file's name has been told.
    headed: bool,
    /// The last match was one of those that are told, so its context is too.
    tells: bool,
    /// The number of the last line that was told.
    after: Option<u64>,
}

impl Hits<'_> {
    fn tell(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) {
        let first = number.unwrap_or(0);
        if !self.headed {
            self.page.text.push_str(self.shown);
            self.page.text.push('\n');
            self.headed = true;
        } else if mark == '-' && self.after.is_some_and(|after| after + 1 < first) {
            self.page.text.push_str("  …\n");
        }
        let text = String::from_utf8_lossy(bytes);
        for (number, line) in (first..).zip(text.lines()) {
            // A match over lines can be as long as its file.
            if self.page.is_over() {
                self.page.text.push_str("  … [cut]\n");
                return;
            }
            self.page.text.push_str(&format!("{number:>6}{mark} {}\n", cut(line)));
            self.after = Some(number);
        }
    }
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        if self.output == Output::Files {
            return Ok(false);
        }
        if self.output == Output::Matches {
            self.tells = self.page.count();
            if self.tells {
                self.tell(found.line_number(), ':', found.bytes());
            }
        }
        Ok(self.page.has_room())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        use grep_searcher::SinkContextKind::{After, Before, Other};
        let tells = match context.kind() {
            Before => !self.page.is_full() && self.page.is_begun(),
            After | Other => self.tells,
        };
        if tells {
            self.tell(context.line_number(), '-', context.bytes());
        }
        Ok(true)
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE) {
        Some((at, _)) => format!(
            "{}… [cut: the line has {} characters]",
            &line[..at],
            line.chars().count()
        ),
        None => line.to_owned(),
    }
}
