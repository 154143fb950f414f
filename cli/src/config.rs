//! Reads `config.toml`. What its keys mean is said by [`Config`]; what they are good for, by those who use it.

use std::io;
use std::path::{Path, PathBuf};

use agent_core::config::Config;

mod sense;
mod words;

/// Where a key of a service belongs.
const OF_KEYS: &str = "keys don't stand in this file: `agent setup` stores one in .env beside it, and api_key_env names the \
                       variable that holds it";

/// The configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// Its file can't be read.
    #[error("can't read the configuration {path}", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of it makes no sense.
    #[error("{path}:{line}: {what}", path = .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A value makes no sense beside the others.
    #[error("{path}: {what}", path = .path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Which value, what is wrong with it, and what would be right.
        what: String,
    },
}

/// Reads the configuration; without a file it is the default one.
pub(crate) fn read(path: &Path) -> Result<Config, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, path),
        Err(error) if is_absent(error.kind()) => Ok(Config::default()),
        Err(source) => Err(ConfigError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Whether there is no such file, or no such folder for it.
fn is_absent(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Reads the text of a configuration; the path is for its errors.
pub(crate) fn parse(text: &str, path: &Path) -> Result<Config, ConfigError> {
    let at_line = |error: &toml_edit::de::Error, key: &str| ConfigError::Line {
        path: path.to_owned(),
        line: error.span().map_or(1, |span| line_at(text, span.start)),
        what: words::explain(error.message(), key),
    };
    let document = toml_edit::de::Deserializer::parse(text).map_err(|error| at_line(&error, ""))?;
    let config: Config = serde_path_to_error::deserialize(document)
        .map_err(|error| at_line(error.inner(), &error.path().to_string()))?;
    sense::make_sense(&config).map_err(|what| ConfigError::Value {
        path: path.to_owned(),
        what,
    })?;
    Ok(config)
}

fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}

#[cfg(test)]
mod tests;
