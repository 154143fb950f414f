//! The tool `write_file`: a file's whole content.

use std::borrow::Cow;
use std::sync::Arc;

use agent_core::cancel::Cancel;
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
    fn edit(&self, place: Place, content: &str, cancel: &Cancel) -> Result<Edit, ToolError> {
        let shown = self.files.places.shown(&place.path);
        let Some(loaded) = self.files.look_to_change(&place, cancel)? else {
            return Ok(Edit {
                shown: FileChange::new(place.clone(), None, Some(content)),
                place,
                before: None,
                unsaved: None,
                after: Some(content.as_bytes().into()),
                known: true,
                mode: None,
                mode_now: None,
            });
        };
        let base = loaded.unsaved().unwrap_or(&loaded.disk);
        // Before it is asked for: reading it would be refused too.
        let (old, coding) = decode(&shown, base)?;
        if !self.files.knows(&place, base) {
            return Err(ToolError::new(format!(
                "{shown} exists, and this session has not read it since it last changed: read it first with read_file, \
                 then write it, or change parts of it with patch"
            )));
        }
        edit::check_writable(&self.files, &place)?;
        let new = LineEnd::of(&old).apply(content);
        let change = FileChange::new(place.clone(), Some(&old), Some(&new));
        drop(old);
        let after = encode(&shown, &new, coding)?;
        Ok(Edit {
            shown: change,
            place,
            unsaved: loaded.unsaved().map(Into::into),
            before: Some(loaded.disk),
            after: Some(after.as_ref().into()),
            known: true,
            mode: None,
            mode_now: None,
        })
    }
}

/// The text of a file that is to be changed.
pub(crate) fn decode(shown: &str, bytes: &[u8]) -> Result<(String, Coding), ToolError> {
    coding::decode(bytes).ok_or_else(|| {
        ToolError::new(format!(
            "{shown} is binary, or text in a mixed encoding ({} bytes), and can't be edited by this tool without loss; \
             use a command instead",
            bytes.len()
        ))
    })
}

/// The bytes of a changed text, in its file's encoding.
pub(crate) fn encode<'a>(shown: &str, text: &'a str, coding: Coding) -> Result<Cow<'a, [u8]>, ToolError> {
    if coding == Coding::PLAIN {
        return Ok(text.as_bytes().into());
    }
    coding.encode(text).map(Cow::Owned).map_err(|character| {
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

    fn plan(&self, input: &Value, cancel: &Cancel) -> Result<Planned, ToolError> {
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
        let edit = self.edit(place, &arguments.content, cancel)?;
        Ok(planned(Arc::clone(&self.files), edit))
    }
}

fn planned(files: Arc<Files>, edit: Edit) -> Planned {
    let path = edit.place.path.clone();
    let shown = files.places.shown(&path);
    let locations = vec![Location { path, line: None }];
    if edit.base() == edit.after.as_deref() {
        let places = vec![edit.place];
        return Planned {
            plan: Plan::Read { places },
            locations,
            action: Box::new(move |_| Ok(ToolOutput::text(format!("{shown} holds just this already")))),
        };
    }
    let lines = edit.shown.new.as_deref().unwrap_or_default().lines().count();
    let text = match &edit.before {
        None => format!("created {shown} ({lines} lines)"),
        Some(_) => format!("wrote {shown}"),
    };
    Planned {
        plan: Plan::Change {
            changes: vec![edit.shown.clone()],
        },
        locations,
        action: Box::new(move |run| {
            let remarks = edit::commit(&files, &[edit], run)?;
            Ok(ToolOutput {
                display: Display::AsPlanned,
                ..ToolOutput::text(edit::told(text, &remarks))
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use agent_core::tool::Run;

    use super::*;
    use crate::read_file::ReadFile;
    use crate::testing::{Room, call, fifo, plan};

    fn write(room: &Room, path: &str, content: &str) -> Result<String, ToolError> {
        let tool = WriteFile::new(Arc::clone(&room.files));
        call(&tool, json!({"path": path, "content": content})).map(|output| output.text)
    }

    fn read(room: &Room, path: &str) {
        call(&ReadFile::new(Arc::clone(&room.files)), json!({"path": path})).unwrap();
    }

    #[test]
    fn a_session_folder_that_is_gone_is_not_made_again() {
        let room = Room::new();
        let tool = WriteFile::new(Arc::clone(&room.files));
        let planned = tool
            .plan(&json!({"path": "planned/f", "content": "x"}), &Cancel::new())
            .unwrap();
        fs::remove_dir(room.path("")).unwrap();
        let cancel = Cancel::new();
        let run = Run {
            cancel: &cancel,
            report: &|_| {},
            keep: &|_| Ok(()),
        };
        let late = (planned.action)(&run).unwrap_err();
        let patch = crate::patch::Patch::new(Arc::clone(&room.files));
        let added = "*** Begin Patch\n*** Add File: g\n+x\n*** End Patch";
        for error in [
            late,
            write(&room, "f", "x").unwrap_err(),
            write(&room, "new/f", "x").unwrap_err(),
            call(&patch, json!({ "patch": added })).unwrap_err(),
        ] {
            assert!(
                error.message.contains("folder") && error.message.contains("is gone"),
                "{error}"
            );
        }
        assert!(!room.path("").exists());
    }

    #[test]
    fn a_new_file_is_made_with_its_folders() {
        let room = Room::new();
        assert_eq!(
            write(&room, "a/b/c.txt", "one\ntwo\n").as_deref(),
            Ok("created a/b/c.txt (2 lines)")
        );
        assert_eq!(room.text("a/b/c.txt"), "one\ntwo\n");
        // What the session wrote itself it may write again.
        assert_eq!(write(&room, "a/b/c.txt", "x").as_deref(), Ok("wrote a/b/c.txt"));
        assert_eq!(
            write(&room, "a/b/c.txt", "x").as_deref(),
            Ok("a/b/c.txt holds just this already")
        );
        let left: Vec<_> = fs::read_dir(room.path("a/b")).unwrap().collect();
        assert_eq!(left.len(), 1);
    }

    #[test]
    fn an_existing_file_has_to_be_read_first() {
        let room = Room::new();
        room.write("f", "old");
        assert!(write(&room, "f", "new").unwrap_err().message.contains("read it first"));
        read(&room, "f");
        room.write("f", "by someone else");
        assert!(write(&room, "f", "new").unwrap_err().message.contains("read it first"));
        read(&room, "f");
        write(&room, "f", "new").unwrap();
        assert_eq!(room.text("f"), "new");
        fs::remove_file(room.path("f")).unwrap();
        write(&room, "f", "again").unwrap();
    }

    #[test]
    fn the_diff_holds_the_old_text() {
        let room = Room::new();
        room.write("f", "old\r\n");
        read(&room, "f");
        let tool = WriteFile::new(Arc::clone(&room.files));
        let Plan::Change { changes } = plan(&tool, json!({"path": "f", "content": "new\n"})).unwrap() else {
            panic!("a change")
        };
        assert_eq!(
            (changes[0].old.as_deref(), changes[0].new.as_deref()),
            (Some("old\r\n"), Some("new\r\n"))
        );
    }

    #[test]
    fn line_ends_mark_and_encoding_are_kept() {
        let check = |old: &[u8], content: &str, expect: &[u8]| {
            let room = Room::new();
            room.write("f", old);
            read(&room, "f");
            write(&room, "f", content).unwrap();
            assert_eq!(room.bytes("f"), expect);
        };
        check(b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n");
        check(b"a\nb\n", "x\ny", b"x\ny");
        check(b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n");
        check(b"\xff\xfea\0", "\u{e9}", b"\xff\xfe\xe9\0");
        check(b"caf\xe9\n", "th\u{e9}\n", b"th\xe9\n");
        let room = Room::new();
        room.write("f", b"caf\xe9\n");
        read(&room, "f");
        let error = write(&room, "f", "→").unwrap_err();
        assert!(error.message.contains("windows-1252, which has no '→'"), "{error}");
    }

    #[test]
    fn mode_and_link_are_kept() {
        let room = Room::new();
        let target = room.write("target", "a");
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("target", room.path("link")).unwrap();
        symlink("not yet", room.path("dangling")).unwrap();
        read(&room, "link");
        write(&room, "link", "b").unwrap();
        write(&room, "dangling", "c").unwrap();
        assert!(room.path("link").is_symlink() && room.path("dangling").is_symlink());
        assert_eq!(
            (room.text("target").as_str(), room.text("not yet").as_str()),
            ("b", "c")
        );
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn what_can_not_be_written_is_refused() {
        let room = Room::new();
        fifo(&room.path("pipe"));
        room.write("binary", b"a\0");
        let read_only = room.write("fixed", "a");
        fs::set_permissions(&read_only, fs::Permissions::from_mode(0o444)).unwrap();
        read(&room, "fixed");
        let check = |path: &str, part: &str| {
            let message = write(&room, path, "x").unwrap_err().message;
            assert!(message.contains(part), "{path}: {message}");
        };
        check("pipe", "named pipe");
        check(".", "a folder");
        check("new/", "names a folder");
        check(
            "binary",
            "is binary, or text in a mixed encoding (2 bytes), and can't be edited by this tool",
        );
        check("fixed", "read-only");
        check("", "empty");
        check(
            &room.forbidden().join("x").display().to_string(),
            "belongs to the agent itself",
        );
    }

    #[test]
    fn a_file_that_changed_while_the_question_was_open_stays() {
        let room = Room::new();
        room.write("f", "old");
        read(&room, "f");
        let tool = WriteFile::new(Arc::clone(&room.files));
        let planned = tool
            .plan(&json!({"path": "f", "content": "new"}), &Cancel::new())
            .unwrap();
        room.write("f", "other");
        let run = Run {
            cancel: &Cancel::new(),
            report: &|_| {},
            keep: &|_| Ok(()),
        };
        assert!(
            (planned.action)(&run)
                .unwrap_err()
                .message
                .contains("changed since it was shown")
        );
        assert_eq!(room.text("f"), "other");
    }
}
