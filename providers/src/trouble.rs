//! Everything that can go wrong between a request and its reply, and the one sentence that a person reads about it.

use std::error::Error;
use std::io;
use std::iter::successors;
use std::time::Duration;

use agent_core::event::{ErrorClass, Failure};
use agent_core::provider::ProviderError;
use reqwest::{StatusCode, Url};

use crate::classify::Said;
use crate::json::TooMany;
use crate::service::{Service, host, is_loopback};
use crate::sse::SseError;

/// How much of foreign words is passed on, in characters.
const LONGEST_WORDS: usize = 300;

/// Why there is no reply.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The caller wanted no more.
    Cancelled,
    /// Something went wrong.
    Failed(Trouble),
}

impl<T: Into<Trouble>> From<T> for Stop {
    fn from(trouble: T) -> Self {
        Self::Failed(trouble.into())
    }
}

impl Stop {
    /// What the core is told.
    pub(crate) fn into_error(self, service: &Service) -> ProviderError {
        match self {
            Self::Cancelled => ProviderError::Cancelled,
            Self::Failed(trouble) => ProviderError::Failed(Box::new(trouble.into_failure(service))),
        }
    }
}

/// What went wrong.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The service answered with a status that is none of success.
    Refused(Refusal),
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

/// An answer that is no reply.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub said: Said,
    pub retry_after_ms: Option<u64>,
    /// The service's name for the request: its people ask for it, a person who only wants an answer does not.
    pub request_id: Option<String>,
}

impl Trouble {
    fn into_failure(self, service: &Service) -> Failure {
        self.log(service);
        let class = self.class();
        let host = host(&service.base_url).unwrap_or_default();
        let (what, next) = (self.what(service), self.next(class, service));
        let (status, retry_after_ms) = match self {
            Self::Refused(refusal) => (Some(refusal.status.as_u16()), refusal.retry_after_ms),
            Self::Said(said) => (None, said.retry_after_ms),
            Self::Redirected { .. } | Self::Stalled(_) | Self::Connection(_) | Self::EndedEarly | Self::Broke(_) => {
                (None, None)
            }
        };
        Failure {
            class,
            message: format!("{} ({host}) {what}; {next}", service.name),
            provider: Some(service.name.clone()),
            status,
            retry_after_ms,
        }
    }

    /// Notes what only those who look into it want to know.
    fn log(&self, service: &Service) {
        if let Self::Refused(Refusal { status, request_id, .. }) = self {
            tracing::info!(
                status = status.as_u16(),
                request_id = request_id.as_ref().map(|id| foreign(id, service)),
                "a model service refused a request"
            );
        }
    }

    /// What to do about it.
    fn next(&self, class: ErrorClass, service: &Service) -> String {
        let thinking = ["reasoning", "thinking"];
        match self {
            Self::Refused(Refusal { said, .. }) | Self::Said(said)
                if class == ErrorClass::BadRequest && thinking.iter().any(|word| said.words.contains(word)) =>
            {
                "the model may take no thought level: choose none for it, or take thought_level out of the configuration"
                    .into()
            }
            Self::Connection(error) if speaks_no_tls(error) => {
                "nobody speaks TLS there: for a server on this machine try http:// in its base_url".into()
            }
            Self::Refused(_)
            | Self::Said(_)
            | Self::Redirected { .. }
            | Self::Stalled(_)
            | Self::Connection(_)
            | Self::EndedEarly
            | Self::Broke(_) => next(class, service),
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Refused(refusal) => refusal.said.class(Some(refusal.status.as_u16())),
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
            Self::Refused(Refusal { status, said, .. }) => {
                format!("answered {}{}", status_words(*status), quoted(said, service))
            }
            Self::Said(said) => format!("failed{}", quoted(said, service)),
            Self::Redirected { to } => format!("redirects to {}, which is not followed", foreign(to, service)),
            Self::Stalled(wait) => format!("sent nothing for {} s", wait.as_secs_f32()),
            Self::Connection(error) if error.is_connect() => {
                format!("could not be reached: {}", foreign(&root(error), service))
            }
            Self::Connection(error) => format!("broke the connection: {}", foreign(&root(error), service)),
            Self::EndedEarly => "ended early: the reply has no end".into(),
            Self::Broke(what) => foreign(what, service),
        }
    }
}

/// A status with its name, where it has one.
fn status_words(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(name) => format!("{} {name}", status.as_str()),
        None => status.as_str().to_owned(),
    }
}

/// A service's own words, cut, and without its key should it have echoed that.
fn quoted(said: &Said, service: &Service) -> String {
    match foreign(&said.words, service) {
        words if words.is_empty() => words,
        words => format!(": {words}"),
    }
}

/// Words that are not ours, cut, and without what opens the service.
fn foreign(words: &str, service: &Service) -> String {
    // Far more than is shown, so that no secret is cut before it is masked.
    const LOOKED_AT: usize = 16 * 1024;
    let beginning = &words[..words.floor_char_boundary(LOOKED_AT)];
    excerpt(&service.masked(beginning), LONGEST_WORDS)
}

/// The beginning of a text, of at most so many characters.
pub(crate) fn excerpt(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What to do about a failure of this class.
fn next(class: ErrorClass, service: &Service) -> String {
    match class {
        ErrorClass::Auth => match (&service.key, &service.key_env) {
            (Some(_), Some(variable)) => format!("check the key in {variable} or run `agent setup`"),
            (Some(_), None) => "check its key or run `agent setup`".into(),
            (None, Some(variable)) => format!("it was asked without a key: set {variable} or run `agent setup`"),
            (None, None) => "it was asked without a key: run `agent setup`".into(),
        },
        ErrorClass::Billing => "add credit to the account or choose another model".into(),
        ErrorClass::RateLimit => "wait a little or choose another model".into(),
        ErrorClass::Overloaded | ErrorClass::Server => "try again in a moment or choose another model".into(),
        ErrorClass::Timeout => "try again, or choose a faster model".into(),
        ErrorClass::Network => unreachable_hint(service),
        ErrorClass::Tls => "check the system's certificates, or name a file with the issuer's certificate in the provider's ca_file or \
                            in SSL_CERT_FILE"
            .into(),
        ErrorClass::ContextOverflow => "make room with /compact, or begin anew with /clear".into(),
        ErrorClass::PayloadTooLarge => "make room with /compact, or send less".into(),
        ErrorClass::ImageRejected => "leave the picture out or choose a model that sees".into(),
        ErrorClass::ModelNotFound => not_found_hint(service),
        ErrorClass::ContentPolicy => "put it in other words or choose another model".into(),
        ErrorClass::BadRequest => "check the model's settings or choose another model".into(),
        ErrorClass::Protocol => format!("check that its base_url speaks {}", service.dialect.codec().title()),
        ErrorClass::Config => "correct its base_url or run `agent setup`".into(),
        ErrorClass::Held | ErrorClass::Internal => "please report it".into(),
    }
}

fn not_found_hint(service: &Service) -> String {
    let check = "check the model's name (`agent models` lists them) and the base_url";
    let path = Url::parse(&service.base_url).map(|url| url.path().trim_end_matches('/').to_owned());
    match path {
        Ok(path) if path.ends_with("/completions") => {
            format!("{check}: `/chat/completions` must not be part of it, and most services' addresses end in /v1")
        }
        Ok(path) if !path.ends_with("/v1") => format!("{check}: most services' addresses end in /v1"),
        Ok(_) | Err(_) => check.into(),
    }
}

fn unreachable_hint(service: &Service) -> String {
    match Url::parse(&service.base_url) {
        Ok(url) if is_loopback(&url) => "check that the server runs and that base_url is right".into(),
        _ => "check the network and try again".into(),
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

/// Whether what came where TLS should begin is something else.
fn speaks_no_tls(error: &reqwest::Error) -> bool {
    let is_other = |cause: &(dyn Error + 'static)| {
        let cause = cause.downcast_ref::<rustls::Error>();
        matches!(
            cause,
            Some(rustls::Error::InvalidMessage(
                rustls::InvalidMessage::InvalidContentType
            ))
        )
    };
    causes(error).any(is_other)
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

impl From<TooMany> for Trouble {
    fn from(error: TooMany) -> Self {
        Self::Broke(error.to_string())
    }
}

impl From<SseError> for Trouble {
    fn from(error: SseError) -> Self {
        Self::Broke(error.to_string())
    }
}

impl From<reqwest::Error> for Trouble {
    fn from(error: reqwest::Error) -> Self {
        Self::Connection(error.without_url())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_found_may_be_due_to_the_address() {
        let check = |base_url: &str, expect: &[&str]| {
            let hint = not_found_hint(&Service::new("mine", base_url.to_owned()));
            for words in ["/chat/completions", "end in /v1"] {
                assert_eq!(hint.contains(words), expect.contains(&words), "{base_url}: {hint}");
            }
        };
        check("https://api.example.com/v1", &[]);
        check("https://api.example.com/v1/", &[]);
        check("https://api.example.com", &["end in /v1"]);
        check("https://api.example.com/api", &["end in /v1"]);
        check(
            "https://api.example.com/v1/chat/completions",
            &["/chat/completions", "end in /v1"],
        );
    }
}
