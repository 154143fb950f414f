//! What of a repository makes git run programs: its configuration, its hooks, and what says where these are. All else of
//! it is history and work, which a command that the user has allowed may write.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// In a repository, in each of its submodules and of its further worktrees.
const STEERING: [&str; 6] = [
    "config",
    "config.worktree",
    "hooks",
    "commondir",
    "gitdir",
    "info/attributes",
];

/// Where submodules and further worktrees are. The names of submodules may have slashes.
const NESTED: [&str; 2] = ["modules", "worktrees"];

/// So many folders are looked into.
const FOLDERS: usize = 1000;
/// The longest configuration.
const LONGEST: u64 = 1 << 20;

/// What is there of that in a `.git` folder; none if it is too much to look at.
pub(super) fn steering(git: &Path) -> Option<Vec<PathBuf>> {
    let mut found = named(git)?;
    let mut folders: Vec<PathBuf> = NESTED.iter().flat_map(|name| folders_in(&git.join(name))).collect();
    let mut looked_into = 0;
    while let Some(folder) = folders.pop() {
        looked_into += 1;
        if looked_into > FOLDERS {
            return None;
        }
        found.extend(named(&folder)?);
        // A repository's own folders hold nothing of the kind, and very many files.
        match folder.join("HEAD").exists() {
            true => folders.extend(NESTED.iter().flat_map(|name| folders_in(&folder.join(name)))),
            false => folders.extend(folders_in(&folder)),
        }
    }
    Some(found)
}

fn named(folder: &Path) -> Option<Vec<PathBuf>> {
    let there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    let named = STEERING.iter().map(|name| folder.join(name)).filter(there);
    let config = text(&folder.join("config"))?;
    Some(named.chain(led_to(folder, &config)).collect())
}

/// The text of a configuration, none if it is too long. A command may have put anything in its place.
fn text(config: &Path) -> Option<String> {
    let without_waiting = OFlags::NONBLOCK.bits().cast_signed();
    let Ok(file) = OpenOptions::new().read(true).custom_flags(without_waiting).open(config) else {
        return Some(String::new());
    };
    let mut bytes = Vec::new();
    let _broken_off = file.take(LONGEST).read_to_end(&mut bytes);
    ((bytes.len() as u64) < LONGEST).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// Files and folders beside a configuration that it leads to: further configuration, and hooks.
fn led_to(folder: &Path, config: &str) -> Vec<PathBuf> {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let name = name.rsplit(']').next().unwrap_or(name).trim().to_lowercase();
        ["path", "hookspath"]
            .contains(&name.as_str())
            .then(|| value.trim().trim_matches('"').to_owned())
    };
    let values: Vec<String> = config.lines().filter_map(value).collect();
    // A path is seen from the configuration, one of hooks from the folder that is worked in.
    let bases = [Some(folder), folder.parent()].into_iter().flatten();
    let places = bases.flat_map(|base| values.iter().map(move |value| base.join(value)));
    let places = places.filter_map(|place| fs::canonicalize(place).ok());
    places
        .filter(|place| place.starts_with(folder) && place != folder)
        .collect()
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // A link is what it is: it leads out, or to what is found elsewhere.
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::testing::Room;

    #[test]
    fn what_makes_git_run_programs_is_found_and_nothing_else() {
        let room = Room::new();
        let config = "[core]\n\thooksPath = .git/own\n[include] path = more\n[branch \"x\"]\n\tmerge = refs/heads/x\n";
        for (name, text) in [
            (".git/HEAD", ""),
            (".git/config", config),
            (".git/more", ""),
            (".git/own/pre-push", ""),
            (".git/hooks/pre-commit", ""),
            (".git/info/exclude", ""),
            (".git/refs/heads/x", ""),
            (".git/objects/00/config", ""),
            (".git/modules/a/b/HEAD", ""),
            (".git/modules/a/b/config", ""),
            (".git/modules/a/b/refs/heads/hooks", ""),
            (".git/modules/a/b/modules/c/hooks/x", ""),
            (".git/worktrees/w/commondir", "../.."),
            (".git/worktrees/w/index", ""),
        ] {
            room.write(name, text);
        }
        let git = room.path(".git");
        let found = steering(&git).unwrap();
        let names = found
            .iter()
            .map(|path| path.strip_prefix(&git).unwrap().display().to_string());
        let mut names: Vec<String> = names.collect();
        names.sort();
        assert_eq!(
            names,
            [
                "config",
                "hooks",
                "modules/a/b/config",
                "modules/a/b/modules/c/hooks",
                "more",
                "own",
                "worktrees/w/commondir"
            ]
        );
    }
}
