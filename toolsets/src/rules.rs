//! Files of rules: the user's own, and those of a project from its root down to the session's folder. They advise the
//! model and change nothing else.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use agent_core::workspace::Rules;
use rustix::fs::OFlags;

use crate::place::Places;

/// The rules of a project are cut at this size, in bytes; those of the user too.
const MAX_RULES: usize = 32 * 1024;

/// A folder's rules are the first of these.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The user's rules.
pub(crate) fn of_user(path: &Path) -> Option<Rules> {
    read(path, path, &mut MAX_RULES.clone())
}

/// The rules of each folder from the project's root to the session's folder.
pub(crate) fn of_project(places: &Places) -> Vec<Rules> {
    let cwd = places.cwd();
    let root = cwd
        .ancestors()
        .find(|folder| folder.join(".git").exists())
        .unwrap_or(cwd);
    let mut folders: Vec<&Path> = cwd.ancestors().take_while(|folder| folder.starts_with(root)).collect();
    folders.reverse();
    let mut room = MAX_RULES;
    folders
        .into_iter()
        .filter_map(|folder| of_folder(places, root, folder, &mut room))
        .collect()
}

fn of_folder(places: &Places, root: &Path, folder: &Path, room: &mut usize) -> Option<Rules> {
    let root = fs::canonicalize(root).ok()?;
    NAMES.into_iter().find_map(|name| {
        let place = places.locate(&folder.join(name)).ok()?;
        // A link out of the project would put any file of the user's into the prompt.
        if !place.real.starts_with(&root) {
            return None;
        }
        read(&place.path, &place.real, room)
    })
}

fn read(path: &Path, real: &Path, room: &mut usize) -> Option<Rules> {
    if !fs::metadata(real).ok()?.is_file() {
        return None;
    }
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(real).ok()?;
    let mut bytes = Vec::new();
    file.take(*room as u64 + 1).read_to_end(&mut bytes).ok()?;
    let text = text(&bytes, room);
    (!text.trim().is_empty()).then(|| Rules {
        path: PathBuf::from(path),
        text,
    })
}

/// As much of the text as there is room for.
fn text(bytes: &[u8], room: &mut usize) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let cut = bytes.len() > *room;
    let kept = &bytes[..bytes.len().min(*room)];
    *room -= kept.len();
    let mut text = String::from_utf8_lossy(kept).into_owned();
    if cut {
        while text.ends_with(char::REPLACEMENT_CHARACTER) {
            text.pop();
        }
        text.push_str("\n[cut: rules are read up to 32 KiB in all; read the file for the rest]\n");
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::symlink;

    use super::*;
    use crate::place::Places;
    use crate::testing::{Room, fifo};

    fn names(room: &Room, cwd: &str) -> Vec<(String, String)> {
        let mut scope = room.scope();
        scope.cwd = room.path(cwd);
        let places = Places::new(&scope, &[]);
        let base = room.path("");
        let name = |rules: &Rules| rules.path.strip_prefix(&base).unwrap().display().to_string();
        of_project(&places)
            .iter()
            .map(|rules| (name(rules), rules.text.clone()))
            .collect()
    }

    #[test]
    fn rules_are_read_from_the_root_down() {
        let room = Room::new();
        room.write("AGENTS.md", "root");
        room.write("CLAUDE.md", "not read beside the other");
        room.write("a/CLAUDE.md", "a");
        room.write("a/b/AGENTS.md", "b");
        room.write("a/other/AGENTS.md", "not on the way");
        let expect = |names: &[(&str, &str)]| -> Vec<(String, String)> {
            names
                .iter()
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect()
        };
        assert_eq!(names(&room, "a/b"), expect(&[("a/b/AGENTS.md", "b")]));
        fs::create_dir(room.path(".git")).unwrap();
        let all = [("AGENTS.md", "root"), ("a/CLAUDE.md", "a"), ("a/b/AGENTS.md", "b")];
        assert_eq!(names(&room, "a/b"), expect(&all));
    }

    #[test]
    fn long_rules_are_cut_with_a_note() {
        let room = Room::new();
        fs::create_dir(room.path(".git")).unwrap();
        room.write("AGENTS.md", "é".repeat(10_000));
        room.write("a/AGENTS.md", "é".repeat(10_000));
        let rules = names(&room, "a");
        assert_eq!(rules[0].1.len(), 20_000);
        assert!(rules[1].1.len() < 13_000 && rules[1].1.contains("[cut: rules"));
        let user = of_user(&room.write("user", "x".repeat(40_000))).unwrap();
        assert!(user.text.len() < 33_000 && user.text.contains("[cut: rules"));
    }

    #[test]
    fn links_to_the_outside_and_pipes_are_no_rules() {
        let room = Room::new();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        symlink(outside.path().join("secret"), room.path("AGENTS.md")).unwrap();
        fifo(&room.path("CLAUDE.md"));
        assert_eq!(names(&room, ""), Vec::new());
    }
}
