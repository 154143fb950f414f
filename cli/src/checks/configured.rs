//! What the user has set up: the configuration, the file of keys, the keys of the models.

use agent_core::config::Config;
use agent_core::setup::Setup;

use super::{Finding, State};
use crate::paths::{NoHome, Paths};
use crate::service::{self, Backend, KeyRule};
use crate::setup_port::UserSetup;

/// Whether the configuration can be read.
pub(crate) fn configuration(setup: &UserSetup, paths: Result<&Paths, NoHome>) -> Finding {
    const CHECK: &str = "configuration";
    if let Err(error) = setup.config() {
        return Finding::failed(CHECK, error.to_string());
    }
    match paths.map(Paths::config_file) {
        Ok(file) if file.exists() => Finding::ok(CHECK, file.display().to_string()),
        Ok(file) => Finding::ok(CHECK, format!("the default one; there is no {}", file.display())),
        Err(no_home) => Finding::ok(CHECK, format!("the default one; {no_home}")),
    }
}

/// Whether the file of keys is private and can be read.
pub(crate) fn keys_file(setup: &UserSetup, paths: &Paths) -> Finding {
    const CHECK: &str = ".env";
    let (file, credentials) = (paths.env_file(), setup.credentials());
    match credentials.warnings.as_slice() {
        [] if !file.exists() => Finding::ok(
            CHECK,
            format!("there is no {}; keys come from the environment", file.display()),
        ),
        [] => {
            let keys = match credentials.stored_count() {
                1 => "1 key".to_owned(),
                count => format!("{count} keys"),
            };
            Finding::ok(CHECK, format!("{keys} in {}", file.display()))
        }
        warnings => Finding::warning(CHECK, warnings.join("; ")),
    }
}

/// Whether a provider has the key that it needs; `missing` says how bad it is if not.
pub(crate) fn credentials(setup: &UserSetup, config: &Config, provider: &str, missing: State) -> Finding {
    const CHECK: &str = "credentials";
    let credentials = setup.credentials();
    let rule = match service::resolve(provider, config) {
        Ok(Backend::Remote(remote)) => remote.key,
        Ok(Backend::Offline | Backend::Script(_)) => KeyRule::None,
        Err(error) => return Finding::new(CHECK, missing, error.to_string()),
    };
    let found = |variable: &str| {
        credentials
            .key(variable)
            .map(|key| format!("{} {}", key.variable, key.from))
    };
    match rule {
        KeyRule::None => Finding::ok(CHECK, format!("{provider} needs none")),
        KeyRule::Optional(variable) => {
            let without = || format!("{variable} is not set; a server of this machine may do without");
            Finding::ok(CHECK, found(&variable).unwrap_or_else(without))
        }
        KeyRule::Required(variable) => match found(&variable) {
            Some(found) => Finding::ok(CHECK, found),
            None => Finding::new(
                CHECK,
                missing,
                format!("{variable} is not set: run `agent setup`, or set it"),
            ),
        },
    }
}
