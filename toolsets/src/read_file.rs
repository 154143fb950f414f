//! The tool `read_file`: a window of a text's lines, or a picture.

use std::io::Read;
use std::sync::Arc;

use agent_core::cancel::Cancel;
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
                    "path": {"type": "string"},
                    "offset": {"type": "integer", "minimum": 1, "description": "First line; default 1"},
                    "limit": {"type": "integer", "minimum": 1, "description": "Default 2000"}
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

    fn plan(&self, input: &Value, _cancel: &Cancel) -> Result<Planned, ToolError> {
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
    let current = files.current(place, head, file, run.cancel).map_err(failed)?;
    let window = window::read(&current.head, current.rest, wanted, run.cancel)
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
    output(&shown, &window, wanted, current.note)
}

fn output(shown: &str, window: &Shown, wanted: Wanted, note: Option<&str>) -> Result<ToolOutput, ToolError> {
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
    text.push_str(note.unwrap_or_default());
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;
    use crate::testing::{Room, call, fifo};

    fn read(room: &Room, input: Value) -> Result<ToolOutput, ToolError> {
        call(&ReadFile::new(Arc::clone(&room.files)), input)
    }

    #[test]
    fn a_window_of_numbered_lines_is_read() {
        let room = Room::new();
        room.write("f", "one\ntwo\r\nthree\rfour");
        room.write("empty", "");
        let check =
            |input: Value, expect: &str| assert_eq!(read(&room, input.clone()).unwrap().text, expect, "{input}");
        check(
            json!({"path": "f"}),
            "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n",
        );
        check(json!({"path": "f", "offset": 4}), "     4\tfour\n");
        check(
            json!({"path": "f", "offset": "0", "limit": 1}),
            "     1\tone\n[lines 1-1 of 4; next_offset=2]\n",
        );
        check(
            json!({"path": "f", "offset": 2, "limit": 2}),
            "     2\ttwo\n     3\tthree\n[lines 2-3 of 4; next_offset=4]\n",
        );
        check(json!({"path": "empty"}), "[the file is empty]\n");
        let error = read(&room, json!({"path": "f", "offset": 5})).unwrap_err();
        assert!(error.message.contains("f has 4 lines, so none from line 5"), "{error}");
    }

    #[test]
    fn long_lines_and_long_files_are_cut() {
        let room = Room::new();
        room.write("wide", format!("{}\nend", "é".repeat(5000)));
        let text = read(&room, json!({"path": "wide"})).unwrap().text;
        assert!(text.contains("é… [cut: the line has 5000 characters]\n     2\tend\n"));
        assert_eq!(text.matches('é').count(), 2000);
        room.write("long", format!("{}\n", "y".repeat(993)).repeat(300));
        let output = read(&room, json!({"path": "long"})).unwrap();
        assert!(
            output.text.ends_with("[lines 1-99 of 300; next_offset=100]\n"),
            "{}",
            &output.text[output.text.len() - 80..]
        );
        assert_eq!(output.raw.unwrap()["next_offset"], 100);
    }

    #[test]
    fn encodings_are_read_as_text() {
        let room = Room::new();
        let check = |bytes: &[u8], expect: &str| {
            room.write("f", bytes);
            assert_eq!(read(&room, json!({"path": "f"})).unwrap().text, expect);
        };
        check(
            b"\xef\xbb\xbfa",
            "     1\ta\n[encoding: UTF-8 with byte order mark; kept when the file is changed]\n",
        );
        check(
            b"\xff\xfea\0\n\0",
            "     1\ta\n[encoding: UTF-16LE with byte order mark; kept when the file is changed]\n",
        );
        check(
            b"\xfe\xff\0a",
            "     1\ta\n[encoding: UTF-16BE with byte order mark; kept when the file is changed]\n",
        );
        check(
            b"caf\xe9\n",
            "     1\tcaf\u{e9}\n[encoding: windows-1252; kept when the file is changed]\n",
        );
    }

    #[test]
    fn a_window_far_into_a_large_file_is_read() {
        let room = Room::new();
        // More than the sample, so that the text comes in several pieces, cut anywhere.
        let text: String = (1..=300_000).map(|number| format!("zeile {number} äöü\n")).collect();
        room.write("f", &text);
        let text = read(&room, json!({"path": "f", "offset": 250_000, "limit": 1}))
            .unwrap()
            .text;
        assert_eq!(
            text,
            "250000\tzeile 250000 äöü\n[lines 250000-250000 of 300000; next_offset=250001]\n"
        );
    }

    #[test]
    fn what_is_no_text_is_refused_with_a_reason() {
        let room = Room::new();
        room.write("binary", b"\x7fELF\0\0");
        room.write("src/main.rs", "");
        room.write("README.md", "");
        std::fs::create_dir(room.path("folder")).unwrap();
        fifo(&room.path("pipe"));
        symlink("pipe", room.path("link")).unwrap();
        room.write(
            "huge.png",
            [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![0; 4_000_000]].concat(),
        );
        let check = |path: &str, part: &str| {
            let message = read(&room, json!({"path": path})).unwrap_err().message;
            assert!(message.contains(part), "{path}: {message}");
        };
        check("binary", "binary file (6 bytes)");
        check("folder", "is a folder");
        check("pipe", "is a named pipe");
        check("link", "is a named pipe");
        check("/dev/zero", "is a device");
        check("huge.png", "picture of 4000008 bytes");
        check("REDME.md", "does not exist; similar: README.md");
        check("main.rs", "similar: src/main.rs");
        check("nothing/like/it", "look for it with search_files");
    }

    #[test]
    fn a_picture_is_looked_at() {
        let room = Room::new();
        let bytes = b"\x89PNG\r\n\x1a\nrest";
        room.write("a.txt", bytes);
        let output = read(&room, json!({"path": "a.txt"})).unwrap();
        let Content::Image { mime_type, data, .. } = &output.images[0] else {
            panic!("an image")
        };
        assert_eq!((mime_type.as_str(), data.bytes()), ("image/png", bytes.as_slice()));
        assert_eq!(output.text, "a.txt: image/png, 12 bytes");
    }

    #[test]
    fn a_path_that_leads_elsewhere_by_now_is_not_read() {
        let room = Room::new();
        room.write("f", "f");
        let outside = tempfile::NamedTempFile::new().unwrap();
        let planned = ReadFile::new(Arc::clone(&room.files))
            .plan(&json!({"path": "f"}), &Cancel::new())
            .unwrap();
        std::fs::remove_file(room.path("f")).unwrap();
        symlink(outside.path(), room.path("f")).unwrap();
        let run = Run {
            cancel: &Cancel::new(),
            report: &|_| {},
            keep: &|_| Ok(()),
        };
        let error = (planned.action)(&run).unwrap_err();
        assert!(error.message.contains("changed since it was shown"), "{error}");
    }

    #[test]
    fn the_plan_names_the_place_and_the_line() {
        let room = Room::new();
        let tool = ReadFile::new(Arc::clone(&room.files));
        let planned = tool
            .plan(&json!({"path": "src/a.rs", "offset": 10}), &Cancel::new())
            .unwrap();
        let path = room.path("src/a.rs");
        assert_eq!(
            planned.plan,
            Plan::Read {
                places: vec![Place {
                    path: path.clone(),
                    real: path.clone()
                }]
            }
        );
        assert_eq!(planned.locations, [Location { path, line: Some(10) }]);
        let check = |input: Value, expect: &str| assert_eq!(tool.title(&input), expect);
        check(json!({"path": "src/a.rs"}), "Read src/a.rs");
        check(
            json!({"path": "src/a.rs", "offset": 10, "limit": 31}),
            "Read src/a.rs:10-40",
        );
        check(json!({"path": "src/a.rs", "offset": 10}), "Read src/a.rs:10-");
        check(json!({"path": Path::new("a\nb")}), "Read a\\nb");
        check(json!(null), "Read ?");
    }
}
