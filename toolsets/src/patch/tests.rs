//! The applier as a table and as a law, the tool on real files.

#![allow(clippy::unwrap_used, reason = "tests")]

mod laws;
mod table;
mod tool;

use super::apply::{Applied, MatchError};
use super::*;

fn apply(text: &str, change: &Change) -> Result<Applied, MatchError> {
    super::apply::apply(text, change, &Cancel::new())
}

fn replace(text: &str, old: &str, new: &str) -> Result<String, MatchError> {
    let (old, new) = (old.to_owned(), new.to_owned());
    apply(text, &Change::Replace { old, new, all: false }).map(|applied| applied.text)
}
