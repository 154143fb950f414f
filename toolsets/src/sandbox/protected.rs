//! What of a workspace steers tools that run on their own, as it is on disk now: what a wall holds, and what a command
//! has made that no wall could hold, since it was not there.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent_core::boundary::is_protected_name;

use super::repository;

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
    /// Files and folders. Those below them are not told.
    places: BTreeMap<PathBuf, Seen>,
    /// The `.git` folders right in the folders looked through, each with what in it makes git run programs.
    repositories: BTreeMap<PathBuf, BTreeMap<PathBuf, Seen>>,
    /// All was looked through.
    pub(crate) is_whole: bool,
}

/// What a place was, so that it is known when another stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    /// Where it leads if it is a link.
    to: Option<PathBuf>,
    /// The system's name for it, where nobody but a command changes it in the usual course of things. Editors make a file
    /// anew when they save it.
    id: Option<(u64, u64)>,
}

impl Seen {
    fn at(path: &Path, is_saved_by_editors: bool) -> Self {
        let facts = fs::symlink_metadata(path).ok();
        let to = facts
            .as_ref()
            .filter(|facts| facts.is_symlink())
            .map(|_| fs::read_link(path).unwrap_or_default());
        let facts = facts.filter(|facts| facts.is_dir() || !is_saved_by_editors);
        let id = facts.map(|facts| (facts.dev(), facts.ino()));
        Self { to, id }
    }
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
                    found.places.insert(entry.path(), Seen::at(&entry.path(), true));
                    if name == ".git" && kind.is_dir() && roots.contains(&folder) {
                        found.look_into(entry.path());
                    }
                } else if kind.is_dir() && !PASSED_BY.iter().any(|passed| name == *passed) {
                    folders.push_back(entry.path());
                }
            }
        }
        found
    }

    /// One that is too much to look at is not told apart from all else that is protected.
    fn look_into(&mut self, git: PathBuf) {
        let steering = repository::steering(&git).filter(|found| self.places.len() + found.len() < PLACES);
        if let Some(steering) = steering {
            let seen = steering.into_iter().map(|path| {
                let seen = Seen::at(&path, false);
                (path, seen)
            });
            self.repositories.insert(git, seen.collect());
        }
    }

    /// What a wall can keep as it is.
    pub(crate) fn held(&self) -> Vec<PathBuf> {
        self.places.iter().filter_map(real).collect()
    }

    /// The same where commands may write history, and the `.git` folders that they may write in for that.
    pub(crate) fn held_beside_history(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let others = self
            .places
            .iter()
            .filter(|(path, _)| !self.repositories.contains_key(*path));
        let steering = self.repositories.values().flatten();
        let held = others.chain(steering).filter_map(real).collect();
        (held, self.repositories.keys().cloned().collect())
    }

    /// What is there now and was not, or is another one. Nothing can be said where not all was looked through before.
    pub(crate) fn made_since(&self, before: &Self) -> Vec<&Path> {
        if !before.is_whole {
            return Vec::new();
        }
        let places = self.places.iter().filter(is_new_since(&before.places));
        let mut made: Vec<&Path> = places.map(|(path, _)| path.as_path()).collect();
        for (git, steering) in &self.repositories {
            let was = before.repositories.get(git).filter(|_| !made.contains(&git.as_path()));
            let new = steering
                .iter()
                .filter(|place| was.is_some_and(|was| is_new_since(was)(place)));
            made.extend(new.map(|(path, _)| path.as_path()));
        }
        made
    }
}

/// A link can be taken away, but what it leads to can be kept.
fn real((path, seen): (&PathBuf, &Seen)) -> Option<PathBuf> {
    match seen.to {
        None => Some(path.clone()),
        Some(_) => fs::canonicalize(path).ok(),
    }
}

fn is_new_since(before: &BTreeMap<PathBuf, Seen>) -> impl Fn(&(&PathBuf, &Seen)) -> bool + '_ {
    move |(path, seen)| before.get(*path) != Some(seen)
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

    #[test]
    fn history_is_told_apart_from_what_makes_git_run_programs() {
        let room = Room::new();
        for name in [
            ".git/config",
            ".git/refs/heads/main",
            ".git/modules/m/config",
            "a/.git/config",
        ] {
            room.write(name, "");
        }
        let roots = [room.path("")];
        let before = Protected::look(&roots);
        let (held, free) = before.held_beside_history();
        assert_eq!(names(&room, &held), ["a/.git", ".git/config", ".git/modules/m/config"]);
        assert_eq!(names(&room, &free), [".git"]);
        assert_eq!(names(&room, &before.held()), [".git", "a/.git"]);
        room.write(".git/refs/heads/other", "");
        room.write(".git/commondir", "/elsewhere");
        fs::rename(room.path(".git/modules"), room.path(".git/away")).unwrap();
        room.write(".git/modules/m/config", "");
        let after = Protected::look(&roots);
        let made: Vec<PathBuf> = after.made_since(&before).into_iter().map(Path::to_owned).collect();
        assert_eq!(names(&room, &made), [".git/commondir", ".git/modules/m/config"]);
        fs::rename(room.path(".git"), room.path("was")).unwrap();
        room.write(".git/config", "");
        let after = Protected::look(&roots);
        assert_eq!(after.made_since(&before), [room.path(".git")]);
    }
}
