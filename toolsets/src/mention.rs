//! What a mention in the user's prompt puts in: the file that the link names, or the reason why not. The user named it
//! themselves, so it may lie anywhere but in the forbidden folders.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use agent_core::cancel::Cancel;
use agent_core::content::{Blob, Content};
use agent_core::plan::Place;
use agent_core::tool::ToolError;

use crate::files::{Files, name};
use crate::read_file::picture;
use crate::window::{self, Wanted};
use crate::{picture, title};

/// So many entries of a folder are listed.
const MAX_ENTRIES: usize = 500;

/// Puts in what a link names.
pub(crate) fn read(files: &Files, uri: &str, cancel: &Cancel) -> Content {
    let Some(link) = Link::parse(uri) else {
        return note(uri, "only links to files are followed");
    };
    let found = files.places.locate(&link.path).and_then(|place| {
        if fs::metadata(&place.real).is_ok_and(|metadata| metadata.is_dir()) {
            folder(files, uri, &place)
        } else {
            file(files, uri, &place, &link, cancel)
        }
    });
    found.unwrap_or_else(|error| note(uri, &error.message))
}

fn note(uri: &str, why: &str) -> Content {
    Content::text(format!("[{} was not put in: {why}]", title::line(uri)))
}

fn file(files: &Files, uri: &str, place: &Place, link: &Link, cancel: &Cancel) -> Result<Content, ToolError> {
    let (mut file, metadata) = files.open(place)?;
    let failed = |error| ToolError::new(format!("it cannot be read: {error}"));
    let head = window::head(&mut file).map_err(failed)?;
    if let Some(mime_type) = picture::media_type(&head) {
        let most = picture::MAX_PICTURE;
        let too_large = || ToolError::new(format!("it is a picture of {} bytes, more than {most}", metadata.len()));
        return Ok(Content::Image {
            mime_type: mime_type.to_owned(),
            data: Blob::Inline(picture(head, file).ok_or_else(too_large)?.into()),
            uri: Some(uri.to_owned()),
        });
    }
    let wanted = link.wanted();
    let current = files.current(place, head, file, cancel).map_err(failed)?;
    let shown = window::read(&current.head, current.rest, wanted, cancel)
        .map_err(failed)?
        .ok_or_else(|| ToolError::new(format!("it is a binary file of {} bytes", metadata.len())))?;
    let mut text = shown.text;
    if text.is_empty() {
        let total = shown.total.unwrap_or_default();
        text = if total == 0 {
            "[the file is empty]".to_owned()
        } else {
            format!("[the file has only {total} lines]")
        };
    } else if shown.more && link.lines.is_none_or(|(_, last)| shown.last < last) {
        text.push_str(&format!(
            "[cut after line {}; read the file for the rest]\n",
            shown.last
        ));
    } else if link.lines.is_none()
        && let Some(fingerprint) = shown.fingerprint
    {
        files.saw(place, fingerprint);
    }
    text.push_str(current.note.unwrap_or_default());
    Ok(Content::Resource {
        uri: uri.to_owned(),
        mime_type: None,
        text,
    })
}

fn folder(files: &Files, uri: &str, place: &Place) -> Result<Content, ToolError> {
    let shown = files.places.shown(&place.path);
    let entries =
        fs::read_dir(&place.real).map_err(|error| ToolError::new(format!("{shown} cannot be listed: {error}")))?;
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| !files.places.forbids_name(&entry.path()))
        .map(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            format!(
                "{}{}\n",
                title::line(&name(&entry.path())),
                if is_folder { "/" } else { "" }
            )
        })
        .collect();
    names.sort();
    let rest = names.len().saturating_sub(MAX_ENTRIES);
    names.truncate(MAX_ENTRIES);
    let mut text = names.concat();
    if text.is_empty() {
        text.push_str("[the folder is empty]\n");
    }
    if rest > 0 {
        text.push_str(&format!("[{rest} more entries]\n"));
    }
    Ok(Content::Resource {
        uri: uri.to_owned(),
        mime_type: None,
        text,
    })
}

/// A link to a file, or a plain path.
#[derive(Debug, PartialEq)]
struct Link {
    path: PathBuf,
    /// The first and the last line that are meant, from 1.
    lines: Option<(u64, u64)>,
}

impl Link {
    /// None for a link to anything else.
    fn parse(uri: &str) -> Option<Self> {
        let (rest, fragment) = uri
            .rsplit_once('#')
            .map_or((uri, ""), |(rest, fragment)| (rest, fragment));
        let lines = line_range(fragment);
        if let Some(rest) = rest
            .get(..5)
            .filter(|scheme| scheme.eq_ignore_ascii_case("file:"))
            .map(|_| &rest[5..])
        {
            let rest = rest.split('?').next().unwrap_or_default();
            let path = match rest.strip_prefix("//") {
                Some(host) => host
                    .find('/')
                    .filter(|at| ["", "localhost"].contains(&&host[..*at]))
                    .map(|at| &host[at..])?,
                None => rest,
            };
            return (!path.is_empty()).then(|| Self {
                path: decoded(path),
                lines,
            });
        }
        let scheme = rest.split_once(':').map_or("", |(scheme, _)| scheme);
        let is_scheme = scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        // A plain path can have a # of its own.
        let path = if lines.is_some() { rest } else { uri };
        (!is_scheme && !path.is_empty()).then(|| Self {
            path: path.into(),
            lines,
        })
    }

    fn wanted(&self) -> Wanted {
        let (first, last) = self.lines.unwrap_or((1, u64::MAX));
        Wanted {
            offset: first,
            limit: (last - first).saturating_add(1),
            numbered: false,
        }
    }
}

/// `L10`, `L10-20`, `L10-L20` and `L10:20`.
fn line_range(fragment: &str) -> Option<(u64, u64)> {
    let range = fragment.strip_prefix(['L', 'l'])?;
    let (first, last) = range.split_once(['-', ':']).unwrap_or((range, range));
    let number = |text: &str| text.trim_start_matches(['L', 'l']).parse::<u64>().ok();
    let (first, last) = (number(first)?.max(1), number(last)?.max(1));
    Some((first.min(last), first.max(last)))
}

/// A path without its percent signs; one that begins no code stands for itself.
fn decoded(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, behind @ ..] = rest {
        let code = behind
            .get(..2)
            .filter(|_| *byte == b'%')
            .and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*byte);
                rest = behind;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::testing::{Room, fifo};

    fn text(room: &Room, uri: &str) -> String {
        match read(&room.files, uri, &Cancel::new()) {
            Content::Text { text } => text,
            Content::Resource { uri: origin, text, .. } => {
                assert_eq!(origin, uri);
                text
            }
            Content::Image { .. } | Content::Link { .. } => panic!("a text for {uri}"),
        }
    }

    #[test]
    fn a_file_is_put_in_with_its_range() {
        let room = Room::new();
        let path = room.write("a b#é.txt", "one\ntwo\nthree\nfour\n").display().to_string();
        let uri = format!(
            "file://{}",
            path.replace(' ', "%20").replace('#', "%23").replace('é', "%C3%A9")
        );
        let check =
            |fragment: &str, expect: &str| assert_eq!(text(&room, &format!("{uri}{fragment}")), expect, "{fragment}");
        check("", "one\ntwo\nthree\nfour\n");
        check("#L2", "two\n");
        check("#L2-3", "two\nthree\n");
        check("#L2:3", "two\nthree\n");
        check("#L3-L2", "two\nthree\n");
        check("#L3-99", "three\nfour\n");
        check("?symbol=x#L1", "one\n");
        check("#section", "one\ntwo\nthree\nfour\n");
        check("#L9", "[the file has only 4 lines]");
        assert_eq!(text(&room, &path), "one\ntwo\nthree\nfour\n");
        assert_eq!(text(&room, "a b#é.txt"), "one\ntwo\nthree\nfour\n");
        assert_eq!(
            text(&room, &format!("{}#L4", uri.replace("file://", "file://localhost"))),
            "four\n"
        );
    }

    #[test]
    fn a_file_that_was_put_in_whole_counts_as_read() {
        let room = Room::new();
        room.write("f", "one\ntwo\n");
        let place = room.files.places.resolve("f").unwrap();
        text(&room, "f#L1");
        assert!(!room.files.knows(&place, b"one\ntwo\n"));
        text(&room, "f");
        assert!(room.files.knows(&place, b"one\ntwo\n"));
    }

    #[test]
    fn a_long_file_is_cut_with_a_note() {
        let room = Room::new();
        room.write("f", "x\n".repeat(60_000));
        let text = text(&room, "f");
        assert!(text.len() < 101_000 && text.ends_with("[cut after line 50000; read the file for the rest]\n"));
    }

    #[test]
    fn folders_and_pictures_are_put_in_as_such() {
        let room = Room::new();
        room.write("src/b", "");
        room.write("src/a/c", "");
        room.write("empty.png", b"\x89PNG\r\n\x1a\n.");
        assert_eq!(text(&room, "src"), "a/\nb\n");
        std::fs::create_dir(room.path("none")).unwrap();
        assert_eq!(text(&room, "none"), "[the folder is empty]\n");
        let Content::Image { mime_type, .. } = read(&room.files, "empty.png", &Cancel::new()) else {
            panic!("an image")
        };
        assert_eq!(mime_type, "image/png");
    }

    #[test]
    fn what_is_not_put_in_is_told() {
        let room = Room::new();
        room.write("binary", b"a\0b");
        room.write("empty", "");
        room.write_forbidden("state", "secret");
        fifo(&room.path("pipe"));
        let check = |uri: &str, part: &str| {
            let text = text(&room, uri);
            assert!(text.contains(part), "{uri}: {text}");
        };
        check("binary", "binary file of 3 bytes");
        check("empty", "[the file is empty]");
        check("missing", "does not exist");
        check("pipe", "named pipe");
        check(
            &format!("file://{}", room.forbidden().join("state").display()),
            "belongs to the agent itself",
        );
        check(
            &format!("file://{}", room.forbidden().display()),
            "belongs to the agent itself",
        );
        check(
            "https://example.org/a",
            "[https://example.org/a was not put in: only links to files",
        );
        check("zed:///agent/thread/1", "only links to files");
        check("file://server/share/x", "only links to files");
        check("", "was not put in");
        check("file:", "was not put in");
        check("file:///%00", "NUL");
        check("file:///%zz%", "does not exist");
    }
}
