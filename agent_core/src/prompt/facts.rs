//! What a model has been told of its session, and the notes that tell it what has changed since. What a change means
//! is said by the prompt's own words.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{meaning, shown, told};
use crate::approval::Mode;
use crate::content::Content;
use crate::provider::ModelRef;
use crate::workspace::{RuleBook, Rules, Scope};

/// How a note from the runtime begins.
const NOTE: &str = "[runtime]";

/// What a model was told of its session, without the words, so that it is short enough to be stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    mode: Mode,
    model: ModelRef,
    /// Of the folders the session works in, its own first.
    folders: Mark,
    /// The user's own rules.
    user: Option<Known>,
    /// The project's rules.
    project: Vec<Known>,
}

/// A file of rules that the model knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Known {
    /// As it was named to the model.
    file: String,
    text: Mark,
}

/// The beginning of a SHA-256 in hexadecimal: enough to see that something is not what it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Mark(String);

impl Facts {
    /// What [`system_prompt`](super::system_prompt) tells of the same session.
    pub fn new(mode: Mode, model: ModelRef, scope: &Scope, rules: &RuleBook) -> Self {
        Self {
            mode,
            model,
            folders: Mark::of(scope.roots().map(|root| root.as_os_str().as_encoded_bytes())),
            user: rules.user.as_ref().map(Known::new),
            project: rules.project.iter().map(Known::new).collect(),
        }
    }
}

impl Known {
    fn new(rules: &Rules) -> Self {
        Self {
            file: shown(&rules.path),
            text: Mark::of([rules.text.as_bytes()]),
        }
    }
}

impl Mark {
    fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            // The length first, so that no two lists have the same bytes.
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        let bytes = digest.finalize();
        Self(bytes[..8].iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// The note for the next message of the user: what has changed since the model was last told. None if nothing has.
/// `scope` and `book` are those of `now`.
pub fn changed(before: &Facts, now: &Facts, scope: &Scope, book: &RuleBook) -> Option<String> {
    let mut news = String::new();
    if before.mode != now.mode {
        news.push_str(&format!(
            "\nThe mode is now {}. {}\n",
            now.mode.name(),
            meaning(now.mode)
        ));
    }
    if before.model != now.model {
        news.push_str(&format!(
            "\nThe model is now {}; before it was {}.\n",
            now.model, before.model
        ));
    }
    if before.folders != now.folders {
        news.push_str(&folders(scope));
    }
    news.push_str(&rules("The user's", before.user.as_slice(), book.user.as_slice()));
    news.push_str(&rules("The project's", &before.project, &book.project));
    (!news.is_empty()).then(|| format!("{NOTE} Since the last message:\n{news}"))
}

/// Whether a piece of a message is a note from [`changed`].
pub fn is_note(piece: &Content) -> bool {
    match piece {
        Content::Text { text } => text.starts_with(NOTE),
        Content::Image { .. } | Content::Resource { .. } | Content::Link { .. } => false,
    }
}

fn folders(scope: &Scope) -> String {
    let cwd = shown(&scope.cwd);
    let further: Vec<String> = scope.extra_roots.iter().map(|root| shown(root)).collect();
    if further.is_empty() {
        format!("\nThe working folder is now {cwd}, with no further folders.\n")
    } else {
        format!("\nThe working folder is now {cwd}, with {}.\n", further.join(", "))
    }
}

/// What is new about rules: each file that is new or edited with its text, each that is gone by its name.
fn rules(whose: &str, before: &[Known], now: &[Rules]) -> String {
    let edited = now
        .iter()
        .filter(|rules| !before.contains(&Known::new(rules)))
        .map(|rules| format!("\n{whose} rules have changed.\n{}", told(rules)));
    let is_gone = |known: &&Known| now.iter().all(|rules| shown(&rules.path) != known.file);
    let gone = before
        .iter()
        .filter(is_gone)
        .map(|known| format!("\n{whose} rules in {} are gone.\n", known.file));
    edited.chain(gone).collect()
}
