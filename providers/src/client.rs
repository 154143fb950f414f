//! HTTP to one service: its address and headers, nobody else's, and bounds on all that comes back. It knows nothing
//! of what is said.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, RequestBuilder, Response, Url};
use rustls::crypto::{CryptoProvider, ring};
use tokio::time::{Instant, timeout, timeout_at};

use crate::classify::{Said, one_line};
use crate::dialect::Address;
use crate::kind::Kind;
use crate::retry_after::retry_after_ms;
use crate::service::{Service, ServiceError, host_of, is_loopback};
use crate::trouble::{Refusal, Trouble};

/// The longest reply, in bytes.
const LONGEST_REPLY: usize = 64 * 1024 * 1024;
/// The longest body that is read as a whole, in bytes: it is held several times while it is parsed.
const LONGEST_WHOLE: usize = 16 * 1024 * 1024;
/// How much is read of a body that is nothing of a model's, in bytes.
const LONGEST_BEGINNING: usize = 1024;
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
        // Some statuses of that kind, such as 304, lead nowhere.
        if let Some(location) = response.headers().get(LOCATION)
            && response.status().is_redirection()
        {
            return Err(Trouble::Redirected {
                to: self.redirect_target(location.to_str().ok()),
            });
        }
        if !response.status().is_success() {
            return Err(refused(response).await);
        }
        Ok(Body {
            response,
            stall: self.stall,
            left: LONGEST_REPLY,
            begun: Vec::new(),
        })
    }

    fn redirect_target(&self, location: Option<&str>) -> String {
        match location.and_then(|location| self.base.join(location).ok()) {
            Some(url) => format!("{}://{}{}", url.scheme(), host_of(&url), url.path()),
            None => "an address that is none".into(),
        }
    }
}

/// The body of an answer, as it comes.
pub(crate) struct Body {
    response: Response,
    stall: Duration,
    left: usize,
    /// What has been read to tell what it is, and not been given yet.
    begun: Vec<u8>,
}

impl Body {
    /// How long nothing may come.
    pub(crate) fn stall(&self) -> Duration {
        self.stall
    }

    /// What the body is, whatever the service calls it.
    pub(crate) async fn kind(&mut self) -> Result<Kind, Trouble> {
        loop {
            if let Some(kind) = Kind::of(&self.begun) {
                return Ok(kind);
            }
            match self.read().await? {
                Some(bytes) => self.begun.extend(bytes),
                // A stream that was cut before it had begun.
                None => return Ok(Kind::Events),
            }
        }
    }

    /// The next bytes, none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Trouble> {
        if !self.begun.is_empty() {
            return Ok(Some(std::mem::take(&mut self.begun)));
        }
        self.read().await
    }

    /// The next bytes, none at the end or if they don't come until then.
    pub(crate) async fn next_until(&mut self, then: Instant) -> Result<Option<Vec<u8>>, Trouble> {
        // What is always there would never let a clock be looked at.
        if Instant::now() >= then {
            return Ok(None);
        }
        timeout_at(then, self.next()).await.unwrap_or(Ok(None))
    }

    async fn read(&mut self) -> Result<Option<Vec<u8>>, Trouble> {
        let bytes = timeout(self.stall, self.response.chunk()).await;
        let Some(bytes) = bytes.map_err(|_| Trouble::Stalled(self.stall))?? else {
            return Ok(None);
        };
        let left = self.left.checked_sub(bytes.len());
        self.left = left.ok_or_else(|| too_long(LONGEST_REPLY))?;
        Ok(Some(bytes.into()))
    }

    /// The rest of the body as text.
    pub(crate) async fn text(mut self) -> Result<String, Trouble> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            whole.extend(bytes);
            if whole.len() > LONGEST_WHOLE {
                return Err(too_long(LONGEST_WHOLE));
            }
        }
        String::from_utf8(whole).map_err(|_| Trouble::Broke("sent a reply that is not UTF-8".into()))
    }

    /// The first words of a body that is nothing of a model's, as far as they come soon; none if it is no text.
    pub(crate) async fn first_words(mut self) -> Option<String> {
        let mut beginning = Vec::new();
        let then = Instant::now() + ERROR_PATIENCE;
        while beginning.len() < LONGEST_BEGINNING
            && let Ok(Some(bytes)) = self.next_until(then).await
        {
            beginning.extend(bytes);
        }
        let is_cut = beginning.len() > LONGEST_BEGINNING;
        beginning.truncate(LONGEST_BEGINNING);
        let text = match String::from_utf8(beginning) {
            Ok(text) => text,
            // The last character may have been cut.
            Err(error) if is_cut && error.utf8_error().error_len().is_none() => {
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            }
            Err(_) => return None,
        };
        let is_text = |c: char| !c.is_control() || c.is_whitespace();
        text.chars().all(is_text).then(|| one_line(&text))
    }
}

fn too_long(most: usize) -> Trouble {
    Trouble::Broke(format!("sent a reply of more than {} MiB", most / 1024 / 1024))
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
    let said = Said::in_body(&String::from_utf8_lossy(&body));
    Trouble::Refused(Refusal {
        status,
        retry_after_ms: retry_after_ms.or(said.retry_after_ms),
        said,
        request_id,
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
