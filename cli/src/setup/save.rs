//! Writes what setup has learnt: the model and the provider's entry into `config.toml`, with everything else in it as
//! it was, and the key into `.env`.

use std::io;
use std::path::Path;

use agent_core::config::{Api, ProviderConfig};
use agent_core::provider::ModelRef;
use anyhow::{Context, anyhow};
use secrecy::{ExposeSecret, SecretString};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::config;
use crate::credentials::{with_variable, without_variable};
use crate::paths::write_private;

/// The text that `config.toml` will have.
pub(super) fn config_text(path: &Path, entry: &ProviderConfig, model: &ModelRef) -> anyhow::Result<String> {
    let text = edited(&read(path)?, entry, model).with_context(|| format!("can't change {}", path.display()))?;
    // What setup writes must be what the next start reads.
    config::parse(&text, path)?;
    Ok(text)
}

/// Stores a key.
pub(super) fn key(path: &Path, variable: &str, secret: &SecretString) -> anyhow::Result<()> {
    let text = with_variable(&read(path)?, variable, secret.expose_secret());
    write_private(path, &text)
}

/// Removes a key.
pub(super) fn no_key(path: &Path, variable: &str) -> anyhow::Result<()> {
    write_private(path, &without_variable(&read(path)?, variable))
}

fn read(path: &Path) -> anyhow::Result<String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(anyhow!("can't read {}: {error}", path.display())),
    }
}

/// The text with the model and the provider's entry set; comments and order stay.
fn edited(text: &str, entry: &ProviderConfig, model: &ModelRef) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse()?;
    set(document.as_table_mut(), "model", &model.to_string());
    let keys = [
        ("api", entry.api.map(Api::name)),
        ("base_url", entry.base_url.as_deref()),
        ("api_key_env", entry.api_key_env.as_deref()),
    ];
    if keys.iter().any(|(_, value)| value.is_some()) {
        let providers = document.entry("providers").or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let table = table(providers, "providers")?
            .entry(&model.provider)
            .or_insert_with(|| Item::Table(Table::new()));
        let table = self::table(table, &model.provider)?;
        for (key, value) in keys {
            if let Some(value) = value {
                set(table, key, value);
            }
        }
    }
    Ok(document.to_string())
}

fn table<'a>(item: &'a mut Item, name: &str) -> anyhow::Result<&'a mut dyn TableLike> {
    item.as_table_like_mut().ok_or_else(|| anyhow!("`{name}` is no table"))
}

/// Sets a key; a comment behind its old value stays.
fn set(table: &mut dyn TableLike, key: &str, text: &str) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(value) => {
            let around = value.decor().clone();
            *value = Value::from(text);
            *value.decor_mut() = around;
        }
        None => _ = table.insert(key, toml_edit::value(text)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_else_is_in_the_file_stays() {
        let check = |before: &str, entry: &ProviderConfig, model: &str, expect: &str| {
            let after = edited(before, entry, &model.parse().unwrap()).unwrap();
            assert_eq!(after, expect, "{before:?}");
        };
        let plain = ProviderConfig::default();
        let mine = ProviderConfig {
            api: Some(Api::OpenaiChat),
            base_url: Some("http://x/v1".into()),
            ..ProviderConfig::default()
        };
        check("", &plain, "openai/gpt-5", "model = \"openai/gpt-5\"\n");
        check(
            "# mine\nmodel = \"a/b\" # good\n\n# modes\n[agent]\nmode = \"plan\"\n",
            &plain,
            "openai/gpt-5",
            "# mine\nmodel = \"openai/gpt-5\" # good\n\n# modes\n[agent]\nmode = \"plan\"\n",
        );
        check(
            "",
            &mine,
            "mine/m",
            "model = \"mine/m\"\n\n[providers.mine]\napi = \"openai-chat\"\nbase_url = \"http://x/v1\"\n",
        );
        check(
            "[providers.mine]\nbase_url = \"http://old/v1\" # old\nmodels = [{ id = \"m\" }]\n",
            &mine,
            "mine/m",
            "model = \"mine/m\"\n[providers.mine]\nbase_url = \"http://x/v1\" # old\nmodels = [{ id = \"m\" }]\napi = \"openai-chat\"\n",
        );
    }

    #[test]
    fn a_file_that_makes_no_sense_is_not_overwritten() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.toml");
        std::fs::write(&path, "model = \"a/b\"\ncolour = 1\n").unwrap();
        let error = config_text(&path, &ProviderConfig::default(), &ModelRef::offline()).unwrap_err();
        assert!(error.to_string().contains("unknown key `colour`"), "{error}");
    }
}
