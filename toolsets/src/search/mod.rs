//! The tool `search_files`: text in files, or files by their names. In process, with ripgrep's crates.

mod content;
mod names;
mod page;
#[cfg(test)]
mod tests;
mod walk;

use std::fs;
use std::sync::Arc;

use agent_core::cancel::Cancel;
use agent_core::event::{ToolKind, ToolOutput};
use agent_core::plan::{Location, Place, Plan};
use agent_core::provider::ToolSpec;
use agent_core::tool::{Planned, Run, Tool, ToolError};
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::Files;
use crate::{input, title};

const DEFAULT_LIMIT: u64 = 50;
const MAX_CONTEXT: u64 = 20;

/// Searches.
pub(crate) struct SearchFiles {
    files: Arc<Files>,
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    target: Option<Target>,
    path: Option<String>,
    file_glob: Option<String>,
    output: Option<Output>,
    #[serde(default, deserialize_with = "input::number")]
    context: Option<u64>,
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "input::number")]
    offset: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Target {
    Content,
    Files,
}

/// What is told of each hit.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Output {
    Matches,
    Files,
    Count,
}

/// Which hits are told.
#[derive(Clone, Copy)]
struct Window {
    offset: u64,
    limit: u64,
}

/// A search, understood.
struct Search {
    place: Place,
    glob: Option<GlobMatcher>,
    output: Output,
    context: usize,
    window: Window,
    wanted: Wanted,
}

enum Wanted {
    Content(content::Pattern),
    Names(GlobMatcher),
}

impl SearchFiles {
    pub(crate) fn new(files: Arc<Files>) -> Self {
        let spec = ToolSpec {
            name: "search_files".to_owned(),
            description:
                "Search text in files by a regular expression, or with target \"files\" find files by a glob. \
                          Ignored, binary and secret files are left out. Use it instead of grep, find or ls."
                    .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description":
                        "content: a regex (Rust syntax; (?i) ignores case). files: a glob such as *.rs or src/**"},
                    "target": {"enum": ["content", "files"], "description": "Default content"},
                    "path": {"type": "string", "description": "Folder or file; default the working folder"},
                    "file_glob": {"type": "string", "description": "Only files like this, such as *.{ts,tsx}"},
                    "output": {"enum": ["matches", "files", "count"], "description": "Default matches"},
                    "context": {"type": "integer", "description": "Lines around each match"},
                    "limit": {"type": "integer", "description": "Default 50"},
                    "offset": {"type": "integer"}
                },
                "required": ["pattern"]
            }),
        };
        Self { files, spec }
    }

    fn search(&self, arguments: Arguments) -> Result<Search, ToolError> {
        let place = self
            .files
            .places
            .resolve(arguments.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("."))?;
        let wanted = match arguments.target.unwrap_or(Target::Content) {
            Target::Content => Wanted::Content(content::Pattern::new(&arguments.pattern)?),
            Target::Files => Wanted::Names(names::matcher(&arguments.pattern)?),
        };
        let glob = arguments.file_glob.as_deref().filter(|glob| !glob.is_empty());
        Ok(Search {
            place,
            glob: glob.map(|text| glob_matcher("file_glob", text)).transpose()?,
            output: arguments.output.unwrap_or(Output::Matches),
            context: usize::try_from(arguments.context.unwrap_or(0).min(MAX_CONTEXT)).unwrap_or_default(),
            window: Window {
                offset: arguments.offset.unwrap_or(0),
                limit: arguments.limit.unwrap_or(DEFAULT_LIMIT).max(1),
            },
            wanted,
        })
    }
}

impl Search {
    fn run(&self, files: &Files, run: &Run<'_>) -> Result<ToolOutput, ToolError> {
        files.check_unmoved(&self.place)?;
        if let Err(error) = fs::metadata(&self.place.real) {
            return Err(files.unreadable(&self.place, &error));
        }
        let page = match &self.wanted {
            Wanted::Content(pattern) => content::search(files, self, pattern, run.cancel),
            Wanted::Names(matcher) => names::search(files, self, matcher, run.cancel),
        };
        if run.cancel.is_set() {
            let shown = files.places.shown(&self.place.path);
            return Err(ToolError::new(format!("the search in {shown} was cancelled")));
        }
        Ok(page.output())
    }
}

/// A glob over paths; one without a slash is about names, in whatever folder.
fn glob_matcher(field: &str, text: &str) -> Result<GlobMatcher, ToolError> {
    let text = text.strip_prefix("./").unwrap_or(text);
    let anywhere = if text.contains('/') {
        text.trim_start_matches('/').to_owned()
    } else {
        format!("**/{text}")
    };
    GlobBuilder::new(&anywhere)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| {
            ToolError::new(format!(
                "search_files: the {field} {text:?} is no glob: {}",
                error.kind()
            ))
        })
}

impl Tool for SearchFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Search
    }

    fn title(&self, input: &Value) -> String {
        let verb = if title::text(input, "target") == "files" {
            "Find"
        } else {
            "Search"
        };
        let field = |name: &str| {
            input
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty() && *text != ".")
        };
        let within = [field("path"), field("file_glob")];
        let within: Vec<&str> = within.into_iter().flatten().collect();
        let within = if within.is_empty() {
            String::new()
        } else {
            format!(" in {}", within.join(" "))
        };
        // The place matters as much as the pattern, so a long pattern is cut before the whole line is.
        let pattern: String = title::text(input, "pattern").chars().take(120).collect();
        title::line(&format!("{verb} \"{pattern}\"{within}"))
    }

    fn only_reads(&self, _input: &Value) -> bool {
        true
    }

    fn plan(&self, input: &Value, _cancel: &Cancel) -> Result<Planned, ToolError> {
        let arguments: Arguments = input::parse(&self.spec.name, input)?;
        let search = self.search(arguments)?;
        let files = Arc::clone(&self.files);
        Ok(Planned {
            plan: Plan::Read {
                places: vec![search.place.clone()],
            },
            locations: vec![Location {
                path: search.place.path.clone(),
                line: None,
            }],
            action: Box::new(move |run| search.run(&files, run)),
        })
    }
}
