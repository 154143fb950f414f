//! What of a workspace steers tools that run on their own, as it is on disk now: what a wall holds, and what a command
//! has made that no wall could hold, since it was not there.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent_core::boundary::is_protected_name;

/// Folders of what others have written, in which nothing is looked for: they are large, and nothing is steered there.
const PASSED_BY: [&str; 4] = ["node_modules", "target", ".venv", "__pycache__"];

/// So much is looked through.
const ENTRIES: usize = 50_000;
const TIME: Duration = Duration::from_millis(250);
/// The same where somebody has been told already that all of it is held.
const LONGER: Duration = Duration::from_secs(3);
/// So much can be held: each is a mount of its own.
const PLACES: usize = 256;

/// What is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Protected {
    /// Files and folders, each with where it leads if it is a link. Those below them are not told.
    places: BTreeMap<PathBuf, Option<PathBuf>>,
    /// All was looked through.
    pub(crate) is_whole: bool,
}

impl Protected {
    /// Looks through folders, the nearest first.
    pub(crate) fn look(roots: &[PathBuf]) -> Self {
        Self::look_within(roots, ENTRIES, TIME)
    }

    /// Looks again where time has run out, which on a busy machine says little of the workspace.
    pub(crate) fn look_longer(roots: &[PathBuf]) -> Self {
        Self::look_within(roots, ENTRIES, LONGER)
    }

    fn look_within(roots: &[PathBuf], mut entries: usize, time: Duration) -> Self {
        let deadline = Instant::now() + time;
        let mut found = Self {
            is_whole: true,
            ..Self::default()
        };
        let mut folders: VecDeque<PathBuf> = roots.iter().cloned().collect();
        while let Some(folder) = folders.pop_front() {
            if Instant::now() > deadline {
                found.is_whole = false;
                return found;
            }
            let parent = folder.file_name().map(PathBuf::from).unwrap_or_default();
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if entries == 0 || found.places.len() >= PLACES {
                    found.is_whole = false;
                    return found;
                }
                entries -= 1;
                let name = entry.file_name();
                let Ok(kind) = entry.file_type() else { continue };
                if is_protected_name(&parent.join(&name)) {
                    let to = kind
                        .is_symlink()
                        .then(|| fs::read_link(entry.path()).unwrap_or_default());
                    found.places.insert(entry.path(), to);
                } else if kind.is_dir() && !PASSED_BY.iter().any(|passed| name == *passed) {
                    folders.push_back(entry.path());
                }
            }
        }
        found
    }

    /// What a wall can keep as it is: a link can be taken away, but what it leads to can be kept.
    pub(crate) fn held(&self) -> Vec<PathBuf> {
        let real = |(path, to): (&PathBuf, &Option<PathBuf>)| match to {
            None => Some(path.clone()),
            Some(_) => fs::canonicalize(path).ok(),
        };
        self.places.iter().filter_map(real).collect()
    }

    /// What is there now and was not, or leads elsewhere. Nothing can be said where not all was looked through before.
    pub(crate) fn made_since(&self, before: &Self) -> Vec<&Path> {
        if !before.is_whole {
            return Vec::new();
        }
        let is_new = |(path, to): &(&PathBuf, &Option<PathBuf>)| before.places.get(*path) != Some(to);
        self.places
            .iter()
            .filter(is_new)
            .map(|(path, _)| path.as_path())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::testing::Room;

    fn names(room: &Room, found: &[PathBuf]) -> Vec<String> {
        let root = room.path("");
        let inside = found.iter().map(|path| path.strip_prefix(&root).unwrap_or(path));
        inside.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn what_is_protected_is_found_in_any_depth_but_not_in_folders_of_others() {
        let room = Room::new();
        for name in [
            ".git/config",
            "a/.git",
            "a/b/AGENTS.md",
            ".cargo/config.toml",
            ".cargo/other",
            ".github/workflows/ci.yml",
            ".github/CODEOWNERS",
            "node_modules/x/.npmrc",
            "src/main.rs",
        ] {
            room.write(name, "");
        }
        let found = Protected::look(&[room.path("")]);
        assert!(found.is_whole);
        assert_eq!(
            names(&room, &found.held()),
            [
                ".cargo/config.toml",
                ".git",
                ".github/workflows",
                "a/.git",
                "a/b/AGENTS.md"
            ]
        );
        assert!(!Protected::look_within(&[room.path("")], 3, TIME).is_whole);
    }

    #[test]
    fn what_is_made_and_what_leads_elsewhere_is_told() {
        let room = Room::new();
        room.write("CLAUDE.md", "");
        std::os::unix::fs::symlink("CLAUDE.md", room.path("AGENTS.md")).unwrap();
        let roots = [room.path("")];
        let before = Protected::look(&roots);
        assert_eq!(names(&room, &before.held()), ["CLAUDE.md", "CLAUDE.md"]);
        assert!(Protected::look(&roots).made_since(&before).is_empty());
        fs::remove_file(room.path("AGENTS.md")).unwrap();
        room.write("AGENTS.md", "");
        room.write("sub/.vscode/tasks.json", "");
        let after = Protected::look(&roots);
        assert_eq!(
            after.made_since(&before),
            [room.path("AGENTS.md"), room.path("sub/.vscode")]
        );
        let part = Protected::look_within(&roots, 1, TIME);
        assert!(after.made_since(&part).is_empty());
    }
}
