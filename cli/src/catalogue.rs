//! What services said of their models when they were last asked: a file beside the sessions, so that nobody waits for a
//! network to know how much a model holds. Losing it costs nothing but the next question.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::paths::write_private;
use crate::wiring::ListedModel;

/// All lists that are known, by the services' addresses.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Catalogue(BTreeMap<String, Vec<ListedModel>>);

impl Catalogue {
    /// Reads it; without a file, or with one that makes no sense, nothing is known.
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.is_empty() {
            return Self::default();
        }
        serde_json::from_str(&text).unwrap_or_else(|error| {
            tracing::warn!(%error, path = %path.display(), "what is known of models can't be read; it is asked again");
            Self::default()
        })
    }

    /// The models of the service at this address, in its order; none where it was never asked.
    pub(crate) fn models(&self, base_url: &str) -> &[ListedModel] {
        self.0.get(base_url).map_or(&[], Vec::as_slice)
    }

    /// One of them.
    pub(crate) fn model(&self, base_url: &str, id: &str) -> Option<&ListedModel> {
        self.models(base_url).iter().find(|model| model.id == id)
    }
}

/// Notes what the service at this address has said. Two processes may do so at once: then one of the lists is asked for
/// again some day.
pub(crate) fn note(path: &Path, base_url: &str, listed: &[ListedModel]) {
    let mut catalogue = Catalogue::read(path);
    catalogue.0.insert(base_url.to_owned(), listed.to_vec());
    let text = serde_json::to_string(&catalogue).expect("texts and numbers are JSON");
    if let Err(error) = write_private(path, &text) {
        tracing::warn!("what a service said of its models is not kept: {error:#}");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_was_said_is_kept_by_address_and_a_broken_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("talaria/models.json");
        let listed = |id: &str| ListedModel {
            id: id.to_owned(),
            context_window: Some(9),
            max_output: None,
            images: None,
        };
        note(&path, "http://a/v1", &[listed("x"), listed("y")]);
        note(&path, "http://b/v1", &[listed("z")]);
        let catalogue = Catalogue::read(&path);
        assert_eq!(catalogue.models("http://a/v1").len(), 2);
        assert_eq!(catalogue.model("http://b/v1", "z").unwrap().context_window, Some(9));
        assert_eq!(catalogue.model("http://b/v1", "x"), None);
        std::fs::write(&path, "{").unwrap();
        assert!(Catalogue::read(&path).models("http://a/v1").is_empty());
    }
}
