//! `docs/run.md` and the output for programs say the same: every event, every field, every fixed word.

#![allow(clippy::unwrap_used, reason = "tests")]

mod events;
mod fields;
mod words;

use std::collections::BTreeSet;
use std::path::Path;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/run.md");
    let text = std::fs::read_to_string(path).unwrap();
    text.split_once("\n## JSON\n").unwrap().1.to_owned()
}

/// What stands between single backticks.
fn terms(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}
