//! Everything that can go wrong between a request and its reply, and the one sentence that a person reads about it.

use std::error::Error;
use std::io;
use std::iter::successors;
use std::time::Duration;

use agent_core::event::{ErrorClass, Failure};
use agent_core::provider::ProviderError;
use reqwest::{StatusCode, Url};

use crate::calls::Nameless;
use crate::classify::Said;
use crate::service::{Service, host, is_loopback};
use crate::sse::SseError;

/// How much of a service's own words is passed on, in characters.
const LONGEST_WORDS: usize = 300;

/// Why there is no reply.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The caller wanted no more.
    Cancelled,
    /// The service answered with a status that is none of success.
    Refused {
        status: StatusCode,
        said: Said,
        retry_after_ms: Option<u64>,
    },
    /// The service told of an error where a reply should be.
    Said(Said),
    /// The service sent us elsewhere.
    Redirected { to: String },
    /// Nothing came for so long.
    Stalled(Duration),
    /// The connection failed.
    Connection(reqwest::Error),
    /// The reply has no end.
    EndedEarly,
    /// The service broke the format: what it did.
    Broke(String),
}

impl Trouble {
    /// What the core is told.
    pub(crate) fn into_error(self, service: &Service) -> ProviderError {
        if matches!(self, Self::Cancelled) {
            return ProviderError::Cancelled;
        }
        let class = self.class();
        let url = Url::parse(&service.base_url).ok();
        let host = url.as_ref().map(host).unwrap_or_default();
        let message = format!(
            "{} ({host}) {}; {}",
            service.name,
            self.what(service),
            next(class, service)
        );
        ProviderError::Failed(Box::new(Failure {
            class,
            message,
            provider: Some(service.name.clone()),
            status: self.status(),
            retry_after_ms: self.retry_after_ms(),
        }))
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Cancelled => ErrorClass::Internal,
            Self::Refused { status, said, .. } => said.class(Some(status.as_u16())),
            Self::Said(said) => said.class(None),
            Self::Redirected { .. } => ErrorClass::Config,
            Self::Stalled(_) => ErrorClass::Timeout,
            Self::Connection(error) if is_tls(error) => ErrorClass::Tls,
            Self::Connection(_) | Self::EndedEarly => ErrorClass::Network,
            Self::Broke(_) => ErrorClass::Protocol,
        }
    }

    /// What happened, without the service's name.
    fn what(&self, service: &Service) -> String {
        match self {
            Self::Cancelled => "was cancelled".into(),
            Self::Refused { status, said, .. } if said.words.is_empty() => format!("answered {status}"),
            Self::Refused { status, said, .. } => format!("answered {status}: {}", cut(&service.masked(&said.words))),
            Self::Said(said) if said.words.is_empty() => "failed without saying why".into(),
            Self::Said(said) => format!("failed: {}", cut(&service.masked(&said.words))),
            Self::Redirected { to } => format!("redirects to {to}, which is not where its key may go"),
            Self::Stalled(wait) => format!("sent nothing for {} s", wait.as_secs_f32()),
            Self::Connection(error) if error.is_connect() => format!("could not be reached: {}", root(error)),
            Self::Connection(error) => format!("broke the connection: {}", root(error)),
            Self::EndedEarly => "ended early: the reply has no finish reason".into(),
            Self::Broke(what) => service.masked(what),
        }
    }

    fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(status.as_u16()),
            Self::Cancelled
            | Self::Said(_)
            | Self::Redirected { .. }
            | Self::Stalled(_)
            | Self::Connection(_)
            | Self::EndedEarly
            | Self::Broke(_) => None,
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Refused { retry_after_ms, .. } => *retry_after_ms,
            Self::Cancelled
            | Self::Said(_)
            | Self::Redirected { .. }
            | Self::Stalled(_)
            | Self::Connection(_)
            | Self::EndedEarly
            | Self::Broke(_) => None,
        }
    }
}

/// What to do about a failure of this class.
fn next(class: ErrorClass, service: &Service) -> String {
    match class {
        ErrorClass::Auth => match &service.key_env {
            Some(variable) => format!("check the key in {variable} or run `agent setup`"),
            None => "check its key or run `agent setup`".into(),
        },
        ErrorClass::Billing => "add credit to the account or choose another model".into(),
        ErrorClass::RateLimit => "wait a little or choose another model".into(),
        ErrorClass::Overloaded | ErrorClass::Server => "try again in a moment or choose another model".into(),
        ErrorClass::Timeout => "try again, or choose a faster model".into(),
        ErrorClass::Network => unreachable_hint(service),
        ErrorClass::Tls => "check the system's certificates (SSL_CERT_FILE) with `agent doctor`".into(),
        ErrorClass::ContextOverflow => "shorten the conversation with /compact or begin a new session".into(),
        ErrorClass::PayloadTooLarge => "send less, or begin a new session".into(),
        ErrorClass::ImageRejected => "leave the picture out or choose a model that sees".into(),
        ErrorClass::ModelNotFound => "check the model's name (`agent models` lists them) and the base_url".into(),
        ErrorClass::ContentPolicy => "put it in other words or choose another model".into(),
        ErrorClass::BadRequest => "check the model's settings or choose another model".into(),
        ErrorClass::Protocol => "check that its base_url speaks Chat Completions".into(),
        ErrorClass::Config => "correct its base_url or run `agent setup`".into(),
        ErrorClass::Internal => "please report it".into(),
    }
}

fn unreachable_hint(service: &Service) -> String {
    match Url::parse(&service.base_url) {
        Ok(url) if is_loopback(&url) => "check that the server runs and that base_url is right".into(),
        _ => "check the network and try again".into(),
    }
}

fn cut(words: &str) -> String {
    match words.char_indices().nth(LONGEST_WORDS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// The innermost cause: the outer ones only repeat that something failed, and the outermost names the address, whose
/// query may hold a key.
fn root(error: &reqwest::Error) -> String {
    let innermost = causes(error).skip(1).last();
    innermost.map_or_else(|| "no further reason".into(), ToString::to_string)
}

fn is_tls(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| cause.is::<rustls::Error>())
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(Some(error as &(dyn Error + 'static)), |&error| {
        // An `io::Error` hides the error that it wraps from `source`.
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        }
    })
}

impl From<SseError> for Trouble {
    fn from(error: SseError) -> Self {
        Self::Broke(error.to_string())
    }
}

impl From<Nameless> for Trouble {
    fn from(error: Nameless) -> Self {
        Self::Broke(error.to_string())
    }
}

impl From<reqwest::Error> for Trouble {
    fn from(error: reqwest::Error) -> Self {
        Self::Connection(error.without_url())
    }
}
