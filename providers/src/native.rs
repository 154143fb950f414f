//! What a dialect keeps of a reply, to its opaque form and back. What is inside, only the dialect knows.

use agent_core::provider::{Native, Origin};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What was kept of a reply, if it came from here.
pub(crate) fn opened<T: DeserializeOwned + Default>(native: Option<&Native>, origin: &Origin) -> T {
    native
        .filter(|native| native.origin == *origin)
        .and_then(|native| serde_json::from_str(&native.item).ok())
        .unwrap_or_default()
}

/// The opaque form.
pub(crate) fn sealed<T: Serialize>(kept: &T, origin: &Origin) -> Native {
    Native {
        origin: origin.clone(),
        item: serde_json::to_string(kept).expect("texts, numbers, JSON and maps with text keys are JSON"),
    }
}
