//! Filters of `jq`: which read nothing but their input.

/// They read the environment or further files.
const READING: [&str; 5] = ["env", "ENV", "import", "include", "modulemeta"];

/// Whether no word of the filter, in texts and paths too, can read more than its input. `jq` has no names that are
/// made up while it runs.
pub(super) fn only_filters(filter: &str) -> bool {
    let mut words = filter.split(|char: char| !char.is_alphanumeric() && char != '_');
    words.all(|word| !READING.contains(&word))
}
