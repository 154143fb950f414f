//! What a provider's name stands for: its entry of the configuration, completed by what is known of well-known names.
//! Reads no key and opens nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use agent_core::config::{Api, Config, ProviderConfig};
use agent_core::nearest::nearest;
use secrecy::SecretString;
use url::{Host, Url};

use crate::known::{KNOWN, Known, known};
use crate::wiring::{self, Dialect, Service, holds_secret};

/// What answers for a provider.
#[derive(Debug, PartialEq)]
pub(crate) enum Backend {
    /// A service behind a URL.
    Remote(Remote),
    /// The built-in model.
    Offline,
    /// A file of replies.
    Script(PathBuf),
}

/// A service behind a URL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Remote {
    /// How it speaks.
    pub(crate) dialect: Dialect,
    /// Where it is.
    pub(crate) base_url: String,
    /// It runs on this machine.
    pub(crate) is_here: bool,
    /// Its key.
    pub(crate) key: KeyRule,
    /// Headers sent with each request.
    pub(crate) headers: BTreeMap<String, String>,
    /// A file of certificates that are trusted beside the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// How long nothing may come before it counts as stalled, if the user has said.
    pub(crate) stall: Option<Duration>,
    /// Its models take pictures unless the configuration says otherwise.
    pub(crate) images: bool,
}

impl Remote {
    /// Whether nobody can read on the way what is sent there.
    pub(crate) fn is_safe(&self) -> bool {
        self.is_here || self.base_url.starts_with("https:")
    }

    /// It, ready to be asked: with its key, and the variable that is named where that is wrong.
    pub(crate) fn service(&self, name: &str, key: Option<SecretString>, key_env: Option<String>) -> Service {
        Service {
            key,
            key_env,
            dialect: self.dialect,
            headers: self.headers.clone(),
            ca_file: self.ca_file.clone(),
            stall: self.stall.unwrap_or(Service::STALL),
            ..Service::new(name, self.base_url.clone())
        }
    }

    /// Whether a key of one may go to the other: they are the same program at the same host.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        self.is_under(&other.base_url)
    }

    /// Whether it is the same program at the same host as what is at this address.
    pub(crate) fn is_under(&self, base_url: &str) -> bool {
        let origin = |base_url: &str| Url::parse(base_url).ok().map(|url| url.origin());
        origin(&self.base_url) == origin(base_url)
    }
}

/// Whether a service has a key, and the variable that holds it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyRule {
    /// It has none.
    None,
    /// It is sent where there is one: a server on this machine.
    Optional(String),
    /// Nothing works without.
    Required(String),
}

impl KeyRule {
    /// The variable that holds the key.
    pub(crate) fn variable(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Optional(variable) | Self::Required(variable) => Some(variable),
        }
    }
}

/// A provider's name or entry makes no sense.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum ResolveError {
    /// Nobody has this name.
    #[error("there is no provider `{name}`{hint}; `agent setup` adds one")]
    Unknown {
        /// The name.
        name: String,
        /// A name like it, in words.
        hint: String,
    },
    /// Its entry is incomplete or wrong.
    #[error("{0}")]
    Wrong(String),
}

/// Finds what a provider's name stands for.
pub(crate) fn resolve(name: &str, config: &Config) -> Result<Backend, ResolveError> {
    let well_known = known(name);
    let empty = ProviderConfig::default();
    let entry = match config.providers.get(name) {
        Some(entry) => entry,
        None if well_known.is_some() || name == "offline" => &empty,
        None => return Err(unknown(name, config)),
    };
    let api = match (entry.api, well_known) {
        (Some(api), _) => api,
        (None, Some(known)) => known.api,
        (None, None) if name == "offline" => Api::Offline,
        (None, None) => {
            return Err(ResolveError::Wrong(format!(
                "providers.{name} needs api: write api = \"openai-chat\", as most services speak it"
            )));
        }
    };
    let remote = |dialect| remote(name, entry, well_known, dialect).map(Backend::Remote);
    match api {
        Api::OpenaiChat => remote(Dialect::OpenaiChat),
        Api::OpenaiResponses => remote(Dialect::OpenaiResponses),
        Api::Anthropic => remote(Dialect::Anthropic),
        Api::Gemini => remote(Dialect::Gemini),
        Api::Offline => Ok(Backend::Offline),
        Api::Script => script(name, entry).map(Backend::Script),
    }
}

fn unknown(name: &str, config: &Config) -> ResolveError {
    let names = config.providers.keys().map(String::as_str);
    let all = names.chain(KNOWN.iter().map(|known| known.name)).chain(["offline"]);
    ResolveError::Unknown {
        name: name.to_owned(),
        hint: nearest(name, all).map_or_else(String::new, |near| format!(" (did you mean `{near}`?)")),
    }
}

fn remote(
    name: &str,
    entry: &ProviderConfig,
    well_known: Option<&'static Known>,
    dialect: Dialect,
) -> Result<Remote, ResolveError> {
    let base_url = match (&entry.base_url, well_known) {
        (Some(url), _) => url.trim_end_matches('/').to_owned(),
        (None, Some(known)) => known.base_url.to_owned(),
        (None, None) => {
            return Err(ResolveError::Wrong(format!(
                "providers.{name} needs base_url: write base_url = \"https://…/v1\""
            )));
        }
    };
    let is_here = is_loopback(&address(name, &base_url)?);
    let variable = entry
        .api_key_env
        .clone()
        .or_else(|| well_known.and_then(|known| known.key_env).map(str::to_owned));
    for (header, value) in &entry.headers {
        if let Some(fault) = wiring::header_fault(header, value) {
            return Err(ResolveError::Wrong(format!(
                "providers.{name}.headers: `{header}` {fault}"
            )));
        }
    }
    Ok(Remote {
        dialect,
        base_url,
        is_here,
        key: match variable {
            None => KeyRule::None,
            Some(variable) if is_here => KeyRule::Optional(variable),
            Some(variable) => KeyRule::Required(variable),
        },
        headers: entry.headers.clone(),
        stall: entry.stall_s.map(Duration::from_secs),
        ca_file: entry.ca_file.clone(),
        images: well_known.is_some_and(|known| known.images),
    })
}

fn script(name: &str, entry: &ProviderConfig) -> Result<PathBuf, ResolveError> {
    match entry.base_url.as_deref().map(PathBuf::from) {
        // A relative path would let a workspace choose what the model says.
        Some(path) if path.is_absolute() => Ok(path),
        Some(_) | None => Err(ResolveError::Wrong(format!(
            "providers.{name}.base_url must be the absolute path of the script"
        ))),
    }
}

/// A service's address, if it is one, and holds nothing that should not be shown.
fn address(name: &str, base_url: &str) -> Result<Url, ResolveError> {
    let wrong = |why: &str| {
        ResolveError::Wrong(format!(
            "providers.{name}.base_url `{base_url}` {why}: write it like https://api.example.com/v1"
        ))
    };
    if holds_secret(base_url) {
        return Err(ResolveError::Wrong(format!(
            "providers.{name}.base_url holds a name, a password or a key: give a key by api_key_env instead"
        )));
    }
    let url = Url::parse(base_url).map_err(|error| wrong(&format!("is no URL ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("begins with neither http:// nor https://"));
    }
    match url.host() {
        Some(_) => Ok(url),
        None => Err(wrong("names no host")),
    }
}

/// Whether an address is of this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(domain)) => domain == "localhost" || domain.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn config(name: &str, entry: ProviderConfig) -> Config {
        Config {
            providers: BTreeMap::from([(name.to_owned(), entry)]),
            ..Config::default()
        }
    }

    fn key(backend: &Backend) -> &KeyRule {
        match backend {
            Backend::Remote(remote) => &remote.key,
            Backend::Offline | Backend::Script(_) => &KeyRule::None,
        }
    }

    #[test]
    fn well_known_names_need_no_entry() {
        for known in &KNOWN {
            let backend = resolve(known.name, &Config::default()).unwrap();
            let expect = known
                .key_env
                .map_or(KeyRule::None, |variable| KeyRule::Required(variable.into()));
            assert_eq!(key(&backend), &expect, "{}", known.name);
        }
        assert_eq!(resolve("offline", &Config::default()), Ok(Backend::Offline));
    }

    #[test]
    fn a_well_known_name_speaks_its_own_dialect_unless_its_entry_says_otherwise() {
        let check = |name: &str, api: Option<Api>, expect: Dialect| {
            let entry = ProviderConfig {
                api,
                ..ProviderConfig::default()
            };
            let Backend::Remote(remote) = resolve(name, &config(name, entry)).unwrap() else {
                panic!("{name} is no service");
            };
            assert_eq!(remote.dialect, expect, "{name} {api:?}");
        };
        check("openai", None, Dialect::OpenaiChat);
        check("openai", Some(Api::OpenaiResponses), Dialect::OpenaiResponses);
        check("gemini", None, Dialect::Gemini);
        check("anthropic", None, Dialect::Anthropic);
        check("anthropic", Some(Api::OpenaiChat), Dialect::OpenaiChat);
        check("ollama", Some(Api::Anthropic), Dialect::Anthropic);
    }

    #[test]
    fn an_unknown_name_is_told_with_the_nearest() {
        let error = resolve("opnai", &Config::default()).unwrap_err().to_string();
        assert!(error.contains("did you mean `openai`?"), "{error}");
    }

    #[test]
    fn a_key_is_optional_on_this_machine_only() {
        let check = |base_url: &str, expect: KeyRule| {
            let entry = ProviderConfig {
                api: Some(Api::OpenaiChat),
                base_url: Some(base_url.to_owned()),
                api_key_env: Some("K".into()),
                ..ProviderConfig::default()
            };
            let backend = resolve("mine", &config("mine", entry)).unwrap();
            assert_eq!(key(&backend), &expect, "{base_url}");
        };
        check("http://127.0.0.1:8080/v1", KeyRule::Optional("K".into()));
        check("http://127.9.9.9/v1", KeyRule::Optional("K".into()));
        check("http://localhost:1/v1/", KeyRule::Optional("K".into()));
        check("http://[::1]:1/v1", KeyRule::Optional("K".into()));
        check("https://localhost.example.com/v1", KeyRule::Required("K".into()));
        check("http://10.0.0.2/v1", KeyRule::Required("K".into()));
    }

    #[test]
    fn a_url_with_a_secret_is_refused_without_showing_it() {
        for base_url in [
            "https://me:hunter2@api.openai.com/v1",
            "https://api.openai.com/v1?key=hunter2",
            "ftp://api.openai.com/v1?x=1&access_token=hunter2",
            "https://api.openai.com/v1?hunter2",
        ] {
            let entry = ProviderConfig {
                base_url: Some(base_url.into()),
                ..ProviderConfig::default()
            };
            let error = resolve("openai", &config("openai", entry)).unwrap_err().to_string();
            assert!(error.contains("api_key_env") && !error.contains("hunter2"), "{error}");
        }
    }
}
