//! A server behind an address that speaks streamable HTTP.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};

use super::unread::LONGEST;
use crate::tls;
use reader::Reader;

mod mask;
mod post;
mod reader;

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// Prepares the way to a server. To be called inside the runtime; an error is a sentence.
pub(super) fn transport(
    url: &str,
    headers: &[(String, String)],
) -> Result<StreamableHttpClientTransport<Reader>, String> {
    let parsed = Url::parse(url).map_err(|error| format!("its address makes no sense: {error}"))?;
    let mut builder = Client::builder()
        .user_agent(concat!("talaria/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_PATIENCE)
        // Headers hold keys, which are for this address alone.
        .redirect(Policy::none());
    if is_loopback(&parsed) {
        builder = builder.no_proxy();
    }
    tls::get_ready();
    let client = builder
        .build()
        .map_err(|error| format!("HTTP can't be used: {}", with_causes(&error)))?;
    let headers = headers.iter().map(|(name, value)| header(name, value));
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers.collect::<Result<HashMap<_, _>, _>>()?)
        .max_sse_event_size(LONGEST);
    Ok(StreamableHttpClientTransport::with_client(Reader(client), config))
}

/// A header; its value is in no error, since it may be a key.
fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::try_from(name).map_err(|_| format!("`{name}` is not the name of a header"))?;
    let mut value =
        HeaderValue::try_from(value).map_err(|_| format!("the value of the header {name} can't be sent"))?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

/// An address without what may be a key: no user, no query.
pub(super) fn shown(url: &str) -> String {
    match Url::parse(url) {
        Ok(mut url) => {
            // Both fail only for addresses that have no user.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.into()
        }
        Err(_) => "an address that makes no sense".to_owned(),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Why nothing could be sent or read, in one sentence. The library keeps what led to a failure of HTTP to itself.
pub(super) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut chain = std::iter::successors(Some(error), |error| error.source());
    let of_http = chain.find_map(|error| match error.downcast_ref() {
        Some(StreamableHttpError::<reqwest::Error>::Client(error)) => {
            let said = with_causes(error);
            Some(match error.url() {
                Some(url) => said.replace(url.as_str(), &shown(url.as_str())),
                None => said,
            })
        }
        Some(_) | None => None,
    });
    of_http.unwrap_or_else(|| with_causes(error))
}

/// An error in one sentence with what led to it.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_keys() {
        assert_eq!(shown("https://me:secret@h/mcp?key=secret#x"), "https://h/mcp");
        assert_eq!(shown("secret"), "an address that makes no sense");
    }

    #[test]
    fn a_header_that_can_not_be_sent_is_named_without_its_value() {
        assert!(header("a", "b").is_ok());
        for (name, value) in [("a b", "secret"), ("a", "secret\n")] {
            assert!(header(name, value).is_err_and(|error| !error.contains("secret")));
        }
    }
}
