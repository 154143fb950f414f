//! The tool `write_file`: a file's whole content.

use std::sync::Arc;

use agent_core::change::FileChange;
use agent_core::event::{Display, ToolKind, ToolOutput};
use agent_core::plan::{Location, Place, Plan};
use agent_core::provider::ToolSpec;
use agent_core::tool::{Planned, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::coding::{self, Coding};
use crate::edit::{self, Edit};
use crate::files::{Files, MAX_WHOLE};
use crate::lines::LineEnd;
use crate::{input, title};

/// Writes a file.
pub(crate) struct WriteFile {
    files: Arc<Files>,
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
}

impl WriteFile {
    pub(crate) fn new(files: Arc<Files>) -> Self {
        let spec = ToolSpec {
            name: "write_file".to_owned(),
            description: "Create a file (folders are made) or replace a file's whole content. An existing file must \
                          have been read first; to change parts of it use patch."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "content": {"type": "string", "description": "The whole new content"}
                },
                "required": ["path", "content"]
            }),
        };
        Self { files, spec }
    }

    /// Works out the new bytes from the content and from what the existing file is like.
    fn edit(&self, place: Place, content: &str) -> Result<Edit, ToolError> {
        let shown = self.files.places.shown(&place.path);
        let Some(before) = self.files.load(&place)? else {
            return Ok(Edit {
                shown: FileChange::new(place.clone(), None, Some(content)),
                place,
                before: None,
                after: Some(content.as_bytes().to_vec()),
                known: true,
                mode: None,
            });
        };
        if !self.files.knows(&place, &before) {
            return Err(ToolError::new(format!(
                "{shown} exists, and this session has not read it since it last changed: read it first with read_file, \
                 then write it, or change parts of it with patch"
            )));
        }
        edit::check_writable(&self.files, &place)?;
        let (old, coding) = decode(&shown, &before)?;
        let new = LineEnd::of(&old).apply(content);
        let after = encode(&shown, &new, coding)?;
        Ok(Edit {
            shown: FileChange::new(place.clone(), Some(&old), Some(&new)),
            place,
            before: Some(before),
            after: Some(after),
            known: true,
            mode: None,
        })
    }
}

/// The text of a file that is to be changed.
pub(crate) fn decode(shown: &str, bytes: &[u8]) -> Result<(String, Coding), ToolError> {
    coding::decode(bytes).ok_or_else(|| {
        ToolError::new(format!(
            "{shown} is no text that could be changed without loss ({} bytes, binary or in a mixed encoding); \
             use a command instead",
            bytes.len()
        ))
    })
}

/// The bytes of a changed text, in its file's encoding.
pub(crate) fn encode(shown: &str, text: &str, coding: Coding) -> Result<Vec<u8>, ToolError> {
    coding.encode(text).map_err(|character| {
        let name = coding.encoding.name();
        ToolError::new(format!(
            "{shown} is in {name}, which has no {character:?}; write it with other characters, or convert the file to \
             UTF-8 with a command first"
        ))
    })
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Edit
    }

    fn title(&self, input: &Value) -> String {
        title::line(&format!("Write {}", title::text(input, "path")))
    }

    fn only_reads(&self, _input: &Value) -> bool {
        false
    }

    fn plan(&self, input: &Value) -> Result<Planned, ToolError> {
        let arguments: Arguments = input::parse(&self.spec.name, input)?;
        if arguments.path.ends_with('/') {
            let path = arguments.path;
            return Err(ToolError::new(format!(
                "{path:?} names a folder; folders are made with the files in them"
            )));
        }
        if arguments.content.len() as u64 > MAX_WHOLE {
            return Err(ToolError::new(format!(
                "the content is larger than the {MAX_WHOLE} bytes of a whole file"
            )));
        }
        let place = self.files.places.resolve(&arguments.path)?;
        let edit = self.edit(place, &arguments.content)?;
        Ok(planned(Arc::clone(&self.files), edit))
    }
}

fn planned(files: Arc<Files>, edit: Edit) -> Planned {
    let path = edit.place.path.clone();
    let shown = files.places.shown(&path);
    let lines = edit.shown.new.as_deref().unwrap_or_default().lines().count();
    let text = match &edit.before {
        None => format!("created {shown} ({lines} lines)"),
        Some(before) if Some(before) == edit.after.as_ref() => format!("{shown} holds just this already"),
        Some(_) => format!("wrote {shown}"),
    };
    Planned {
        plan: Plan::Change {
            changes: vec![edit.shown.clone()],
        },
        locations: vec![Location { path, line: None }],
        action: Box::new(move |_| {
            edit::commit(&files, &[edit])?;
            Ok(ToolOutput {
                display: Display::AsPlanned,
                ..ToolOutput::text(text)
            })
        }),
    }
}
