//! The tool `read_file`: a window of a text's lines, or a picture.

use std::io::Read;
use std::sync::Arc;

use agent_core::content::{Blob, Content};
use agent_core::event::{Display, ToolKind, ToolOutput};
use agent_core::plan::{Location, Place, Plan};
use agent_core::provider::ToolSpec;
use agent_core::tool::{Planned, Run, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::Files;
use crate::window::{self, Shown, Wanted};
use crate::{input, picture, title};

const DEFAULT_LIMIT: u64 = 2_000;

/// Reads a file.
pub(crate) struct ReadFile {
    files: Arc<Files>,
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    #[serde(default, deserialize_with = "input::number")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<u64>,
}

impl Arguments {
    fn wanted(&self) -> Wanted {
        Wanted {
            offset: self.offset.unwrap_or(1).max(1),
            limit: self.limit.unwrap_or(DEFAULT_LIMIT).max(1),
            numbered: true,
        }
    }
}

impl ReadFile {
    pub(crate) fn new(files: Arc<Files>) -> Self {
        let spec = ToolSpec {
            name: "read_file".to_owned(),
            description: "Read a text file with line numbers, or look at an image (png, jpeg, gif, webp). \
                          Use it instead of cat, head or tail."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Absolute, or relative to the working folder"},
                    "offset": {"type": "integer", "minimum": 1, "description": "First line; default 1"},
                    "limit": {"type": "integer", "minimum": 1, "description": "Number of lines; default 2000"}
                },
                "required": ["path"]
            }),
        };
        Self { files, spec }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn title(&self, input: &Value) -> String {
        let path = title::text(input, "path");
        let number = |field: &str| input.get(field).and_then(Value::as_u64);
        let range = match (number("offset"), number("limit")) {
            (None, None) => String::new(),
            (Some(offset), None) => format!(":{offset}-"),
            (offset, Some(limit)) => {
                let offset = offset.unwrap_or(1).max(1);
                format!(":{offset}-{}", offset.saturating_add(limit.max(1) - 1))
            }
        };
        title::line(&format!("Read {path}{range}"))
    }

    fn only_reads(&self, _input: &Value) -> bool {
        true
    }

    fn plan(&self, input: &Value) -> Result<Planned, ToolError> {
        let arguments: Arguments = input::parse(&self.spec.name, input)?;
        let place = self.files.places.resolve(&arguments.path)?;
        let wanted = arguments.wanted();
        let line = arguments
            .offset
            .map(|_| u32::try_from(wanted.offset).unwrap_or(u32::MAX));
        let path = place.path.clone();
        let files = Arc::clone(&self.files);
        Ok(Planned {
            plan: Plan::Read {
                places: vec![place.clone()],
            },
            locations: vec![Location { path, line }],
            action: Box::new(move |run| read(&files, &place, wanted, run)),
        })
    }
}

fn read(files: &Files, place: &Place, wanted: Wanted, run: &Run<'_>) -> Result<ToolOutput, ToolError> {
    let (mut file, metadata) = files.open(place)?;
    let shown = files.places.shown(&place.path);
    let failed = |error| ToolError::new(format!("cannot read {shown}: {error}"));
    let head = window::head(&mut file).map_err(failed)?;
    if let Some(media_type) = picture::media_type(&head) {
        return look(&shown, media_type, head, file, metadata.len());
    }
    let window = window::read(&head, file, wanted, run.cancel)
        .map_err(failed)?
        .ok_or_else(|| {
            let size = metadata.len();
            ToolError::new(format!(
                "{shown} is a binary file ({size} bytes), which is not shown; use a command to inspect it"
            ))
        })?;
    if run.cancel.is_set() {
        return Err(ToolError::new(format!("reading {shown} was cancelled")));
    }
    if let Some(fingerprint) = window.fingerprint {
        files.saw(place, fingerprint);
    }
    output(&shown, &window, wanted)
}

fn output(shown: &str, window: &Shown, wanted: Wanted) -> Result<ToolOutput, ToolError> {
    let nothing = window.last < wanted.offset;
    if nothing && let Some(total) = window.total.filter(|total| *total > 0 || wanted.offset > 1) {
        let offset = wanted.offset;
        return Err(ToolError::new(format!(
            "{shown} has {total} lines, so none from line {offset}; choose an offset from 1 to {}",
            total.max(1)
        )));
    }
    let mut text = window.text.clone();
    if nothing {
        text.push_str("[the file is empty]\n");
    }
    if let Some(label) = window.coding.label() {
        text.push_str(&format!("[encoding: {label}; kept when the file is changed]\n"));
    }
    let next = window.more.then_some(window.last + 1);
    if let Some(next) = next {
        let of = window
            .total
            .map_or_else(|| "more than are counted".to_owned(), |total| total.to_string());
        text.push_str(&format!(
            "[lines {}-{} of {of}; next_offset={next}]\n",
            wanted.offset, window.last
        ));
    }
    Ok(ToolOutput {
        text,
        display: Display::Verbatim,
        raw: Some(json!({"lines": window.total, "next_offset": next})),
        images: Vec::new(),
    })
}

fn look(shown: &str, media_type: &str, head: Vec<u8>, rest: impl Read, size: u64) -> Result<ToolOutput, ToolError> {
    let bytes = picture(head, rest).ok_or_else(|| {
        let most = picture::MAX_PICTURE;
        ToolError::new(format!(
            "{shown} is a picture of {size} bytes, more than the {most} that are given to a model; make a smaller copy \
             with a command and read that"
        ))
    })?;
    Ok(ToolOutput {
        text: format!("{shown}: {media_type}, {} bytes", bytes.len()),
        images: vec![Content::Image {
            mime_type: media_type.to_owned(),
            data: Blob::Inline(bytes.into()),
            uri: None,
        }],
        display: Display::Prose,
        raw: None,
    })
}

/// The whole picture; none if it is too large or can't be read to its end.
pub(crate) fn picture(mut head: Vec<u8>, rest: impl Read) -> Option<Vec<u8>> {
    rest.take(picture::MAX_PICTURE).read_to_end(&mut head).ok()?;
    (head.len() as u64 <= picture::MAX_PICTURE).then_some(head)
}
