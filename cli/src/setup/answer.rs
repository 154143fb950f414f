//! What makes sense as an answer, whether it came by a flag or was typed. Errors are sentences.

use agent_core::config::Config;
use secrecy::SecretString;

use crate::credentials::is_variable;
use crate::known::{KNOWN, known};
use crate::nearest::nearest;

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

/// What is wrong with the name of a variable for a key. The message never shows it: it may be the key itself.
pub(super) fn variable_fault(name: &str) -> Option<String> {
    let is_fine = is_variable(name) && !looks_like_key(name);
    let way = "to store a key, give it to --key-stdin, as in echo \"$KEY\" | agent setup … --key-stdin";
    (!is_fine).then(|| {
        if looks_like_key(name) {
            format!("takes the name of a variable, and what it got looks like a key: {way}")
        } else {
            format!("takes the name of a variable, such as OPENAI_API_KEY, and what it got is none; {way}")
        }
    })
}

/// Keys begin with a word of their service in small letters, or are long and mixed.
fn looks_like_key(text: &str) -> bool {
    const BEGINNINGS: [&str; 8] = ["sk-", "sk_", "gsk_", "xai-", "pk-", "hf_", "AIza", "key-"];
    let has = |fits: fn(&char) -> bool| text.chars().any(|char| fits(&char));
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
        || (text.len() >= 20 && !text.contains('_') && has(char::is_ascii_lowercase) && has(char::is_ascii_digit))
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
