//! The tool `patch`: changes parts of files, one text for another or by a patch over several files.

mod apply;
mod draft;
mod find;
mod folded;
mod format;
mod hunk;
mod nearest;
mod replace;
mod rewrite;
#[cfg(test)]
mod tests;
mod unified;
mod v4a;

use std::sync::Arc;

use agent_core::cancel::Cancel;
use agent_core::event::{Display, ToolKind, ToolOutput};
use agent_core::plan::{Location, Place, Plan};
use agent_core::provider::ToolSpec;
use agent_core::tool::{Planned, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use self::apply::Change;
use self::draft::Drafts;
use self::format::{FileAction, FilePatch};
use crate::edit;
use crate::files::Files;
use crate::{input, title};

/// Changes parts of files.
pub(crate) struct Patch {
    files: Arc<Files>,
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    #[serde(default, deserialize_with = "input::flag")]
    replace_all: bool,
    patch: Option<String>,
}

impl Patch {
    pub(crate) fn new(files: Arc<Files>) -> Self {
        let spec = ToolSpec {
            name: "patch".to_owned(),
            description: "Change files. Either path, old_string and new_string: replaces a text, which must be unique \
                          in the file (include lines around it) unless replace_all. Or patch: a V4A patch (`*** Begin \
                          Patch`, `*** Update File: PATH`, `@@`, lines with ' ', '-', '+', `*** End Patch`; also Add \
                          File, Delete File, Move to) or a unified diff, over several files: all are changed or none."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "old_string": {"type": "string", "description": "As it stands in the file, without line numbers"},
                    "new_string": {"type": "string"},
                    "replace_all": {"type": "boolean"},
                    "patch": {"type": "string"}
                }
            }),
        };
        Self { files, spec }
    }
}

impl Arguments {
    /// What is wanted, whichever way it was said.
    fn files(self) -> Result<Vec<Step>, ToolError> {
        let wrong = |message: &str| Err(ToolError::new(format!("patch: {message}")));
        match (self.path, self.old_string, self.patch.filter(|patch| !patch.is_empty())) {
            (Some(path), Some(old), None) => {
                let Some(new) = self.new_string else {
                    return wrong("`new_string` is missing; give the text that replaces old_string (\"\" removes it)");
                };
                let all = self.replace_all;
                Ok(vec![Step::Change(path, Change::Replace { old, new, all })])
            }
            (_, None, Some(patch)) => match format::parse(&patch) {
                Ok(files) => Ok(files.into_iter().map(Step::from).collect()),
                Err(error) => wrong(&error.to_string()),
            },
            (_, Some(_), Some(_)) => wrong("give either `old_string` and `new_string` or `patch`, not both"),
            (None, Some(_), None) => wrong("`path` is missing; it names the file that old_string is in"),
            (_, None, None) => wrong("give `path`, `old_string` and `new_string`, or give `patch`"),
        }
    }
}

/// One thing to do to one file.
enum Step {
    Add(String, String),
    Delete(String),
    Change(String, Change),
    Move(String, String, Change),
}

impl From<FilePatch> for Step {
    fn from(file: FilePatch) -> Self {
        match file.action {
            FileAction::Add(text) => Self::Add(file.path, text),
            FileAction::Delete => Self::Delete(file.path),
            FileAction::Update { to: None, hunks } => Self::Change(file.path, Change::Hunks(hunks)),
            FileAction::Update { to: Some(to), hunks } => Self::Move(file.path, to, Change::Hunks(hunks)),
        }
    }
}

impl Tool for Patch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Edit
    }

    fn title(&self, input: &Value) -> String {
        let mut paths = input
            .get("patch")
            .and_then(Value::as_str)
            .map(format::paths)
            .unwrap_or_default();
        paths.dedup();
        let title = match paths.as_slice() {
            [] => format!("Edit {}", title::text(input, "path")),
            [path] => format!("Edit {path}"),
            [path, rest @ ..] => format!("Edit {path} and {} more", rest.len()),
        };
        title::line(&title)
    }

    fn only_reads(&self, _input: &Value) -> bool {
        false
    }

    fn plan(&self, input: &Value, cancel: &Cancel) -> Result<Planned, ToolError> {
        let arguments: Arguments = input::parse(&self.spec.name, input)?;
        let mut drafts = Drafts::new(&self.files, cancel);
        for step in arguments.files()? {
            let done = match step {
                Step::Add(path, text) => drafts.add(&path, text),
                Step::Delete(path) => drafts.delete(&path),
                Step::Change(path, change) => drafts.change(&path, &change),
                Step::Move(from, to, change) => drafts.rename(&from, &to, &change),
            };
            if let Err(error) = done {
                return refused(drafts.places(), error);
            }
        }
        match drafts.finish() {
            Ok(finished) => Ok(planned(Arc::clone(&self.files), finished)),
            Err((places, error)) => refused(places, error),
        }
    }
}

/// A patch that does not fit still tells what stands in the file. So its plan is to read it, which policy judges as
/// any other reading, and its end is the error.
fn refused(places: Vec<Place>, error: ToolError) -> Result<Planned, ToolError> {
    if places.is_empty() {
        return Err(error);
    }
    let location = |place: &Place| Location {
        path: place.path.clone(),
        line: None,
    };
    Ok(Planned {
        locations: places.iter().map(location).collect(),
        plan: Plan::Read { places },
        action: Box::new(move |_| Err(error)),
    })
}

fn planned(files: Arc<Files>, finished: draft::Finished) -> Planned {
    let changes = finished.edits.iter().map(|edit| edit.shown.clone()).collect();
    Planned {
        plan: Plan::Change { changes },
        locations: finished.locations,
        action: Box::new(move |run| {
            let remarks = edit::commit(&files, &finished.edits, run)?;
            Ok(ToolOutput {
                display: Display::AsPlanned,
                ..ToolOutput::text(edit::told(finished.summary, &remarks))
            })
        }),
    }
}
