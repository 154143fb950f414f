//! The port to what the user has set up: configuration and models, read anew at each session's start, so that a
//! running server sees what `agent setup` wrote.

use std::sync::Arc;

use crate::config::Config;
use crate::provider::{ModelRef, Provider};

/// What the user has set up.
pub trait Setup: Send + Sync {
    /// Reads the configuration.
    ///
    /// # Errors
    /// [`SetupError::Config`] when it can't be read or makes no sense.
    fn config(&self) -> Result<Config, SetupError>;

    /// Opens a model. Reads credentials; doesn't touch the network.
    ///
    /// # Errors
    /// [`SetupError::NoCredentials`] without its key, [`SetupError::UnknownModel`] for a name that nobody serves.
    fn provider(&self, config: &Config, model: &ModelRef) -> Result<Arc<dyn Provider>, SetupError>;

    /// What speaks against a model's name, in a sentence, where it is known what its provider has. Nothing does against
    /// one that the configuration itself names.
    fn doubt(&self, _config: &Config, _model: &ModelRef) -> Option<String> {
        None
    }

    /// The models a user can choose from now, the usable ones only, without asking any service.
    fn models(&self, config: &Config) -> Vec<ModelRef>;

    /// Forgets the key that the set-up has stored for a provider, if it has. What is in the environment is out of reach.
    ///
    /// # Errors
    /// [`SetupError::Config`] when it can't be taken out of where it is stored.
    fn forget_key(&self, provider: &str) -> Result<(), SetupError> {
        tracing::debug!(provider, "no key is stored that could be forgotten");
        Ok(())
    }
}

/// Why something set up can't be used. Each message says what to do next.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SetupError {
    /// The configuration can't be read or makes no sense.
    #[error("{0}")]
    Config(String),
    /// The model's key is missing.
    #[error("{message}")]
    NoCredentials {
        /// The provider's name in the configuration.
        provider: String,
        /// What is missing and how to give it.
        message: String,
    },
    /// Nobody serves a model of this name.
    #[error("{0}")]
    UnknownModel(String),
}
