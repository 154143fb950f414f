//! What makes sense as an answer, whether it came by a flag or was typed. Errors are sentences.

use agent_core::config::Config;
use agent_core::nearest::nearest;
use secrecy::SecretString;

use crate::credentials;
use crate::known::{KNOWN, known};

/// A name is the first part of a model's name and a key of the configuration.
pub(super) fn checked_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(fits) {
        return Err(format!("`{name}`: a name has only letters, digits, `-` and `_`"));
    }
    Ok(())
}

/// A provider that a new name may have been meant for.
pub(super) fn near_name<'a>(name: &str, config: &'a Config) -> Option<&'a str> {
    if name == "offline" || known(name).is_some() || config.providers.contains_key(name) {
        return None;
    }
    let configured = config.providers.keys().map(String::as_str);
    nearest(
        name,
        configured
            .chain(KNOWN.iter().map(|known| known.name))
            .chain(["offline"]),
    )
}

/// A key as it can be sent in a header. The message never shows it.
pub(super) fn checked_key(key: &str) -> Result<SecretString, String> {
    let key = key.trim();
    if key.is_empty() {
        return Err("the key is empty".to_owned());
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the key holds a space or another character that no key has".to_owned());
    }
    Ok(key.to_owned().into())
}

/// What is wrong with the name of a variable for a key, and what else could be meant. The message never shows it.
pub(super) fn variable_fault(name: &str) -> Option<String> {
    let fault = credentials::variable_fault(name)?;
    Some(format!(
        "{fault}; to store a key, give it to --key-stdin, as in echo \"$KEY\" | agent setup … --key-stdin"
    ))
}

/// The service's name for a model that may have been given with its provider.
pub(super) fn bare<'a>(provider: &str, model: &'a str) -> &'a str {
    model
        .strip_prefix(provider)
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(model)
}

/// The variable that holds the key of a provider nobody knows.
pub(super) fn own_variable(provider: &str) -> String {
    let name = provider.to_ascii_uppercase().replace('-', "_");
    let prefix = if name.starts_with(|c: char| c.is_ascii_digit()) {
        "_"
    } else {
        ""
    };
    format!("{prefix}{name}_API_KEY")
}
