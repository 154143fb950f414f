//! Files by their names.

use std::path::Path;

use agent_core::cancel::Cancel;
use agent_core::tool::ToolError;
use globset::GlobMatcher;

use super::page::Page;
use super::walk::{self, relative};
use super::{Output, Search, glob_matcher};
use crate::files::Files;

/// A glob; a word without its signs stands for any name that contains it.
pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, ToolError> {
    let is_word = !pattern.contains(['*', '?', '[', '{', '/']);
    let pattern = if is_word {
        format!("*{pattern}*")
    } else {
        pattern.to_owned()
    };
    glob_matcher("pattern", &pattern)
}

/// Tells the files whose path below the search's folder matches.
pub(super) fn search(files: &Files, search: &Search, matcher: &GlobMatcher, cancel: &Cancel) -> Page {
    let root = &search.place.real;
    let mut page = Page::new(search.window, ("file", "files"));
    let mut walk = walk::files(files, root, search.glob.as_ref(), cancel);
    for path in &mut walk {
        if !matcher.is_match(relative(root, &path)) {
            continue;
        }
        if page.count() && search.output != Output::Count {
            page.text.push_str(&search.shown(files, &path));
            page.text.push('\n');
        }
        if !page.has_room() {
            break;
        }
    }
    let wanted = |path: &Path| {
        let path = relative(root, path);
        matcher.is_match(path) && search.glob.as_ref().is_none_or(|glob| glob.is_match(path))
    };
    page.detail.push_str(&walk.kept_secret(wanted));
    page.detail
        .push_str(&walk.unread.summary(|path| search.shown(files, path)));
    page
}
