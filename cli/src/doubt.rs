//! Whether a model's name is probably a slip: what its provider has is known to be something else. A list in the
//! configuration is the whole of it. A list of the service's may lack a model, so that beside it only a name like another
//! one is doubted.

use agent_core::config::{Config, ModelConfig};
use agent_core::nearest::nearest;
use agent_core::provider::ModelRef;

use crate::catalogue::Catalogue;
use crate::service::{self, Backend};

/// So many names are told.
const MOST: usize = 20;

/// What speaks against a name, with what was probably meant.
pub(crate) fn doubt(config: &Config, catalogue: &Catalogue, model: &ModelRef) -> Option<String> {
    let backend = service::resolve(&model.provider, config).ok()?;
    let entry = config.providers.get(&model.provider);
    let named: &[ModelConfig] = entry.map_or(&[], |entry| &entry.models);
    let listed = match &backend {
        Backend::Remote(remote) => catalogue.models(&remote.base_url),
        Backend::Offline | Backend::Script(_) => &[],
    };
    let named_ids = || named.iter().map(|named| named.id.as_str());
    let ids = || named_ids().chain(listed.iter().map(|listed| listed.id.as_str()));
    let mut configured = std::iter::once(&config.model).chain(&config.fallback_models);
    if ids().any(|id| id == model.model) || configured.any(|configured| configured == model) {
        return None;
    }
    let provider = &model.provider;
    let near = nearest(&model.model, ids()).map(|near| format!(": did you mean `{provider}/{near}`?"));
    if named.is_empty() {
        return near.map(|near| format!("there is no model `{model}`{near}"));
    }
    let names: Vec<String> = named_ids().take(MOST).map(|id| format!("`{provider}/{id}`")).collect();
    let more = if named.len() > MOST { ", …" } else { "" };
    Some(format!(
        "there is no model `{model}`{} `models` of [providers.{provider}] has {}{more}",
        near.as_deref().unwrap_or(":"),
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use super::*;
    use crate::config;
    use crate::wiring::ListedModel;

    #[test]
    fn a_name_is_doubted_where_it_is_known_what_there_is() {
        let text = r#"
            model = "mine/default"
            fallback_models = ["mine/spare"]
            [providers.mine]
            api = "openai-chat"
            base_url = "http://127.0.0.1:8080/v1"
            models = [{ id = "alpha" }, { id = "beta" }]
            [providers.open]
            api = "openai-chat"
            base_url = "http://127.0.0.1:8081/v1"
        "#;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.json");
        for base_url in ["http://127.0.0.1:8080/v1", "http://127.0.0.1:8081/v1"] {
            let listed = ["listed-1", "listed-2"].map(|id| ListedModel {
                id: id.to_owned(),
                context_window: None,
                max_output: None,
                images: None,
            });
            crate::catalogue::note(&path, base_url, &listed);
        }
        let config = config::parse(text, Path::new("/c.toml")).unwrap();
        let check = |model: &str, expect: &str| {
            let said = doubt(&config, &Catalogue::read(&path), &model.parse().unwrap());
            assert_eq!(said.unwrap_or_default(), expect, "{model}");
        };
        for known in [
            "mine/alpha",
            "mine/listed-1",
            "mine/default",
            "mine/spare",
            "open/listed-2",
        ] {
            check(known, "");
        }
        // Nobody knows, or the opening of it says more.
        for unknown in ["open/other", "openai/gpt-9", "offline/other", "nobody/x"] {
            check(unknown, "");
        }
        check(
            "open/lisetd-1",
            "there is no model `open/lisetd-1`: did you mean `open/listed-1`?",
        );
        check(
            "mine/alhpa",
            "there is no model `mine/alhpa`: did you mean `mine/alpha`? `models` of [providers.mine] has \
             `mine/alpha`, `mine/beta`",
        );
        check(
            "mine/typo",
            "there is no model `mine/typo`: `models` of [providers.mine] has `mine/alpha`, `mine/beta`",
        );
    }
}
