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
pub(crate) fn read(files: &Files, uri: &str) -> Content {
    let Some(link) = Link::parse(uri) else {
        return note(uri, "only links to files are followed");
    };
    let found = files.places.locate(&link.path).and_then(|place| {
        if fs::metadata(&place.real).is_ok_and(|metadata| metadata.is_dir()) {
            folder(files, uri, &place)
        } else {
            file(files, uri, &place, &link)
        }
    });
    found.unwrap_or_else(|error| note(uri, &error.message))
}

fn note(uri: &str, why: &str) -> Content {
    Content::text(format!("[{} was not put in: {why}]", title::line(uri)))
}

fn file(files: &Files, uri: &str, place: &Place, link: &Link) -> Result<Content, ToolError> {
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
    let shown = window::read(&head, file, wanted, &Cancel::new())
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
            return Some(Self {
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
