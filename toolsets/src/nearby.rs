//! What may have been meant by the path of a file that does not exist.

use std::fs;
use std::path::{Path, PathBuf};

use similar::TextDiff;

/// So many names are told.
const MAX_NAMES: usize = 5;
/// So many entries are looked at.
const MAX_ENTRIES: usize = 5_000;
/// Names at least this much alike are told.
const ALIKE: f32 = 0.6;

/// Files and folders with a similar name beside the missing one, and files of the same name elsewhere in `cwd`.
pub(crate) fn names(cwd: &Path, missing: &Path) -> Vec<PathBuf> {
    let mut names = similar_beside(missing);
    if missing.starts_with(cwd) {
        names.extend(same_name_below(cwd, missing));
    }
    names.truncate(MAX_NAMES);
    names
}

fn similar_beside(missing: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (missing.parent(), missing.file_name()) else {
        return Vec::new();
    };
    let wanted = name.to_string_lossy().to_lowercase();
    let mut scored: Vec<(f32, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(MAX_ENTRIES)
        .filter_map(Result::ok)
        .map(|entry| {
            (
                likeness(&wanted, &entry.file_name().to_string_lossy().to_lowercase()),
                entry.path(),
            )
        })
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, path)| path).collect()
}

/// From 0 (nothing alike) to 1 (the same).
fn likeness(wanted: &str, name: &str) -> f32 {
    // A ratio over names of very different length is low anyway, and costs the most.
    if wanted.len() > 4 * name.len() + 4 || name.len() > 4 * wanted.len() + 4 {
        return 0.0;
    }
    TextDiff::from_chars(wanted, name).ratio()
}

fn same_name_below(cwd: &Path, missing: &Path) -> Vec<PathBuf> {
    let walk = ignore::WalkBuilder::new(cwd).sort_by_file_path(Path::cmp).build();
    walk.take(MAX_ENTRIES)
        .filter_map(Result::ok)
        .filter(|entry| Some(entry.file_name()) == missing.file_name() && entry.path() != missing)
        .map(ignore::DirEntry::into_path)
        .take(MAX_NAMES)
        .collect()
}
