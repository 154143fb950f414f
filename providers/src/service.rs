//! A model service as the user has set it up: where it is, and what opens it. It opens no connection.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use crate::dialect::Dialect;
use crate::mask::without;

/// Where a service is and what opens it. Its `Debug` shows neither the key nor a header's value.
#[derive(Clone)]
pub struct Service {
    /// Its name in the configuration.
    pub name: String,
    /// How it speaks.
    pub dialect: Dialect,
    /// Its address, to which the dialect's own path is added, such as `/chat/completions`.
    pub base_url: String,
    /// The key, sent to this address and to no other.
    pub key: Option<SecretString>,
    /// Where the key comes from, such as `OPENAI_API_KEY`; for messages only.
    pub key_env: Option<String>,
    /// Further headers of each request.
    pub headers: BTreeMap<String, String>,
    /// How long nothing may come before the service counts as stalled.
    pub stall: Duration,
    /// A file of certificates in PEM form that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
}

impl Service {
    /// How long nothing may come, unless someone knows better: a large prompt on a slow machine takes a while.
    pub const STALL: Duration = Duration::from_secs(120);

    /// A service without a key that speaks Chat Completions.
    pub fn new(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            dialect: Dialect::default(),
            base_url: base_url.into(),
            key: None,
            key_env: None,
            headers: BTreeMap::new(),
            stall: Self::STALL,
            ca_file: None,
        }
    }

    /// Its address, if it is one that a key may be sent to.
    pub(crate) fn url(&self) -> Result<Url, ServiceError> {
        let url = Url::parse(&self.base_url).map_err(|source| ServiceError::NotAnAddress {
            service: self.name.clone(),
            why: source.to_string(),
        })?;
        if is_secret(&url) {
            return Err(ServiceError::KeyInAddress {
                service: self.name.clone(),
            });
        }
        match url.scheme() {
            "https" => Ok(url),
            "http" if is_loopback(&url) => Ok(url),
            scheme => Err(ServiceError::NotSafe {
                service: self.name.clone(),
                scheme: scheme.to_owned(),
                host: host_of(&url),
            }),
        }
    }

    /// The headers of each request, the key among them.
    pub(crate) fn header_map(&self) -> Result<HeaderMap, ServiceError> {
        let mut map = HeaderMap::new();
        let codec = self.dialect.codec();
        for (name, value) in codec.headers() {
            map.insert(*name, HeaderValue::from_static(value));
        }
        if let Some(key) = self.bare_key() {
            let (name, value) = codec.key_header(key);
            let value = header_value(&value).map_err(|why| self.bad_header(name.as_str(), why))?;
            map.insert(name, value);
        }
        for (name, value) in &self.headers {
            let (name, value) = header(name, value).map_err(|why| self.bad_header(name, why))?;
            map.insert(name, value);
        }
        Ok(map)
    }

    /// The key without the blanks and the quotes that a file or a paste left around it.
    fn bare_key(&self) -> Option<&str> {
        let key = self.key.as_ref()?.expose_secret().trim();
        let unquoted = |quote: char| key.strip_prefix(quote)?.strip_suffix(quote);
        let key = unquoted('"').or_else(|| unquoted('\'')).unwrap_or(key).trim();
        Some(key).filter(|key| !key.is_empty())
    }

    /// The key, and what the headers hold that are named as if it were one; each if it is long enough to be a secret and
    /// no word such as `not-needed`, as local servers are given: in a reply a word must stay, and the project's address
    /// too. An error has fewer of them, and so less to lose: see [`Self::masked`].
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        const LEAST: usize = 16;
        let headers = self.headers.iter().filter(|(name, _)| names_secret(name));
        // The word before it, as in `Bearer …`, is none.
        let headers = headers.filter_map(|(_, value)| value.split_whitespace().next_back());
        self.bare_key()
            .into_iter()
            .chain(headers)
            .filter(|secret| secret.len() >= LEAST)
    }

    fn bad_header(&self, name: &str, why: &'static str) -> ServiceError {
        ServiceError::BadHeader {
            service: self.name.clone(),
            header: name.to_owned(),
            why,
        }
    }

    /// `text` without anything that opens the service, in case it was echoed.
    pub(crate) fn masked(&self, text: &str) -> String {
        // What is as short as `a` is no secret, and masking it would make holes in every sentence.
        const LEAST: usize = 8;
        let headers = self.headers.values().map(String::as_str);
        let secrets = self.bare_key().into_iter().chain(headers);
        let secrets: Vec<&str> = secrets.filter(|secret| secret.len() >= LEAST).collect();
        without(text, &secrets)
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("name", &self.name)
            .field("host", &Url::parse(&self.base_url).map(|url| host_of(&url)).ok())
            .field("has_key", &self.key.is_some())
            .field("headers", &self.headers.keys())
            .field("stall", &self.stall)
            .finish_non_exhaustive()
    }
}

/// Why a service can't be used as it is set up.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Its address is none.
    #[error(
        "the base_url of provider {service} is not an address ({why}): write one such as https://api.openai.com/v1"
    )]
    NotAnAddress {
        /// The service's name.
        service: String,
        /// What is wrong with it.
        why: String,
    },
    /// Its address holds a user, a password or a key.
    #[error(
        "the base_url of provider {service} holds a user, a password or a key: put the key into api_key_env instead"
    )]
    KeyInAddress {
        /// The service's name.
        service: String,
    },
    /// What is sent there could be read on the way.
    #[error(
        "provider {service} would be reached over {scheme} at {host}: use https, plain http is for this machine only"
    )]
    NotSafe {
        /// The service's name.
        service: String,
        /// The scheme of its address.
        scheme: String,
        /// The host of its address.
        host: String,
    },
    /// A header that can't be sent.
    #[error("the header {header} of provider {service} {why}: correct it")]
    BadHeader {
        /// The service's name.
        service: String,
        /// The header's name.
        header: String,
        /// What is wrong with it, without its value.
        why: &'static str,
    },
    /// The file of further certificates is none.
    #[error(
        "the ca_file {path} of provider {service} can't be used ({why}): name a file of certificates in PEM form",
        path = .path.display()
    )]
    BadCertificates {
        /// The service's name.
        service: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// HTTP itself could not be set up.
    #[error(
        "could not set up HTTP for provider {service} ({why}): check the system's certificates, or name a file of them in SSL_CERT_FILE"
    )]
    NoClient {
        /// The service's name.
        service: String,
        /// What failed.
        why: String,
    },
}

/// Whether a service's address holds what belongs into `api_key_env`: it is shown and told in many places.
pub fn holds_secret(base_url: &str) -> bool {
    Url::parse(base_url).is_ok_and(|url| is_secret(&url))
}

/// Other parameters are fine, such as `api-version`; one without a value may be a key itself.
fn is_secret(url: &Url) -> bool {
    let mut parameters = url.query_pairs();
    !url.username().is_empty()
        || url.password().is_some()
        || parameters.any(|(name, value)| value.is_empty() || name == "sig" || names_secret(&name))
}

/// Whether what has this name may be a secret.
fn names_secret(name: &str) -> bool {
    const PARTS: [&str; 7] = ["key", "token", "auth", "secret", "password", "cookie", "signature"];
    let name = name.to_lowercase();
    PARTS.iter().any(|part| name.contains(part))
}

/// Whether an address is this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    }
}

/// What is wrong with a header, in words that do not show its value: it may be a key.
pub fn header_fault(name: &str, value: &str) -> Option<&'static str> {
    header(name, value).err()
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), &'static str> {
    let name = HeaderName::try_from(name).map_err(|_| "has a name that no header can have")?;
    Ok((name, header_value(value)?))
}

fn header_value(value: &str) -> Result<HeaderValue, &'static str> {
    let value = HeaderValue::from_str(value);
    let mut value = value.map_err(|_| "holds a line break or another control character")?;
    value.set_sensitive(true);
    Ok(value)
}

/// The host of an address as a person reads it, with its port if it has an unusual one; none if it names no host.
pub fn host(base_url: &str) -> Option<String> {
    let url = Url::parse(base_url).ok()?;
    url.has_host().then(|| host_of(&url))
}

/// The same of an address that was read already.
pub(crate) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}
