//! HTTP to one service: its address and headers, nobody else's, and bounds on all that comes back. It knows nothing
//! of what is said.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, RequestBuilder, Response, Url};
use rustls::crypto::{CryptoProvider, ring};
use tokio::time::timeout;

use crate::classify::Said;
use crate::dialect::Address;
use crate::retry_after::retry_after_ms;
use crate::service::{Service, ServiceError, host_of, is_loopback};
use crate::trouble::{Refusal, Trouble};

/// The longest reply, in bytes.
const LONGEST_REPLY: usize = 64 * 1024 * 1024;
/// How much of an error's body is read, in bytes.
const LONGEST_ERROR: usize = 64 * 1024;
/// How long an error's body is waited for.
const ERROR_PATIENCE: Duration = Duration::from_secs(5);
const USER_AGENT: &str = concat!("talaria/", env!("CARGO_PKG_VERSION"));
const CONNECT_PATIENCE: Duration = Duration::from_secs(20);

/// The way to one service. Clones share its connections.
#[derive(Clone)]
pub(crate) struct Connection {
    client: Client,
    base: Url,
    headers: HeaderMap,
    stall: Duration,
}

impl Connection {
    /// Prepares the way; doesn't touch the network.
    pub(crate) fn open(service: &Service) -> Result<Self, ServiceError> {
        let base = service.url()?;
        let client = client(&base, service)?;
        Ok(Self {
            client,
            base,
            headers: service.header_map()?,
            stall: service.stall,
        })
    }

    /// The service's host.
    pub(crate) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// Fetches something below the service's address.
    pub(crate) async fn get(&self, address: &Address) -> Result<Body, Trouble> {
        self.send(self.client.get(self.url(address))).await
    }

    /// Sends JSON to something below the service's address.
    pub(crate) async fn post(&self, address: &Address, json: String) -> Result<Body, Trouble> {
        let request = self.client.post(self.url(address));
        let request = request.header(CONTENT_TYPE, "application/json");
        self.send(request.header(ACCEPT, "text/event-stream").body(json)).await
    }

    fn url(&self, address: &Address) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(&address.path);
        }
        if let Some(query) = address.query {
            url.set_query(Some(query));
        }
        url
    }

    async fn send(&self, request: RequestBuilder) -> Result<Body, Trouble> {
        let answer = timeout(self.stall, request.headers(self.headers.clone()).send());
        let response = answer.await.map_err(|_| Trouble::Stalled(self.stall))??;
        if response.status().is_redirection() {
            return Err(Trouble::Redirected {
                to: self.redirect_target(&response),
            });
        }
        if !response.status().is_success() {
            return Err(refused(response).await);
        }
        Ok(Body {
            response,
            stall: self.stall,
            left: LONGEST_REPLY,
        })
    }

    fn redirect_target(&self, response: &Response) -> String {
        let location = response
            .headers()
            .get(LOCATION)
            .and_then(|location| location.to_str().ok());
        match location.and_then(|location| self.base.join(location).ok()) {
            Some(url) => format!("{}://{}{}", url.scheme(), host_of(&url), url.path()),
            None => "nowhere".into(),
        }
    }
}

/// The body of an answer, as it comes.
pub(crate) struct Body {
    response: Response,
    stall: Duration,
    left: usize,
}

impl Body {
    /// What the service says the body is, such as `text/event-stream`.
    pub(crate) fn media_type(&self) -> &str {
        let value = self.response.headers().get(CONTENT_TYPE);
        let value = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim()
    }

    /// The next bytes, none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Trouble> {
        self.next_within(self.stall).await
    }

    /// The next bytes, if they come within `patience`.
    pub(crate) async fn next_within(&mut self, patience: Duration) -> Result<Option<Vec<u8>>, Trouble> {
        let patience = patience.min(self.stall);
        let bytes = timeout(patience, self.response.chunk()).await;
        let Some(bytes) = bytes.map_err(|_| Trouble::Stalled(patience))?? else {
            return Ok(None);
        };
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(too_long)?;
        Ok(Some(bytes.into()))
    }

    /// The rest of the body as text.
    pub(crate) async fn text(mut self) -> Result<String, Trouble> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            whole.extend(bytes);
        }
        String::from_utf8(whole).map_err(|_| Trouble::Broke("sent a reply that is not UTF-8".into()))
    }
}

fn too_long() -> Trouble {
    Trouble::Broke(format!("sent a reply of more than {} MiB", LONGEST_REPLY / 1024 / 1024))
}

async fn refused(mut response: Response) -> Trouble {
    let status = response.status();
    let retry_after_ms = retry_after_ms(response.headers());
    let name = ["x-request-id", "request-id"]
        .into_iter()
        .find(|name| response.headers().contains_key(*name));
    let request_id = name
        .and_then(|name| response.headers()[name].to_str().ok())
        .map(str::to_owned);
    // The status alone is worth telling, so whatever the body's end is: what came of it will do.
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes[..bytes.len().min(LONGEST_ERROR - body.len())]);
            if body.len() == LONGEST_ERROR {
                break;
            }
        }
    };
    let _ = timeout(ERROR_PATIENCE, reading).await;
    // The service's people ask for this id; a person who only wants an answer does not.
    tracing::info!(
        status = status.as_u16(),
        request_id,
        "a model service refused a request"
    );
    let said = Said::in_body(&String::from_utf8_lossy(&body));
    Trouble::Refused(Refusal {
        status,
        retry_after_ms: retry_after_ms.or(said.retry_after_ms),
        said,
    })
}

/// One client for this machine, which no proxy may get between, and one for everywhere else. A service with certificates
/// of its own has one of its own.
fn client(base: &Url, service: &Service) -> Result<Client, ServiceError> {
    static HERE: OnceLock<Client> = OnceLock::new();
    static ELSEWHERE: OnceLock<Client> = OnceLock::new();
    let is_here = is_loopback(base);
    let builder = || if is_here { builder().no_proxy() } else { builder() };
    let client = match &service.ca_file {
        Some(path) => {
            let certificates = certificates(path, service)?;
            build(builder().tls_certs_merge(certificates))
        }
        // A machine without certificates can still ask its own model server, in the plain.
        None if is_here => shared(&HERE, builder()).or_else(|_| shared(&HERE, builder().tls_certs_only([]))),
        None => shared(&ELSEWHERE, builder()),
    };
    client.map_err(|error| ServiceError::NoClient {
        service: service.name.clone(),
        why: error.to_string(),
    })
}

/// The certificates that the user trusts beside the system's.
fn certificates(path: &Path, service: &Service) -> Result<Vec<Certificate>, ServiceError> {
    let bad = |why: String| ServiceError::BadCertificates {
        service: service.name.clone(),
        path: path.to_owned(),
        why,
    };
    let bytes = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
    let certificates = Certificate::from_pem_bundle(&bytes).map_err(|error| bad(error.to_string()))?;
    if certificates.is_empty() {
        return Err(bad("it holds no certificate in PEM form".to_owned()));
    }
    Ok(certificates)
}

/// No redirect is followed: it would carry the key to an address that nobody configured, and turn a question into a
/// fetch.
fn builder() -> ClientBuilder {
    let builder = Client::builder().user_agent(USER_AGENT).redirect(Policy::none());
    builder.connect_timeout(CONNECT_PATIENCE).referer(false)
}

fn shared(cell: &OnceLock<Client>, builder: ClientBuilder) -> Result<Client, reqwest::Error> {
    if let Some(client) = cell.get() {
        return Ok(client.clone());
    }
    let client = build(builder)?;
    Ok(cell.get_or_init(|| client).clone())
}

fn build(builder: ClientBuilder) -> Result<Client, reqwest::Error> {
    if CryptoProvider::get_default().is_none() {
        // It fails only if another thread was quicker, which is as good.
        let _ = ring::default_provider().install_default();
    }
    builder.build()
}
