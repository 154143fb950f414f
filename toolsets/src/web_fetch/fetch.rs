//! One fetch over the network: from hop to hop, each with an address that was looked at before anybody is spoken to.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_core::cancel::Cancel;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::address::is_public;
use super::page::Sent;
use crate::tls;

/// How long a fetch may take in all.
const PATIENCE: Duration = Duration::from_secs(30);
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// The most of a page that is read, in bytes.
pub(crate) const LARGEST: usize = 5 * 1024 * 1024;
/// Redirects that are followed.
const MOST_HOPS: usize = 5;
const USER_AGENT: &str = concat!("talaria/", env!("CARGO_PKG_VERSION"));

/// What came of a fetch.
pub(crate) struct Fetched {
    /// Where it was in the end.
    pub(crate) url: Url,
    pub(crate) sent: Sent,
    /// There is more of it than was read.
    pub(crate) is_cut: bool,
}

/// The way to the public internet, and to the private hosts that the user allows.
pub(crate) struct Network {
    private: Arc<BTreeSet<String>>,
    /// Made for the first fetch: it reads the system's certificates.
    client: OnceLock<Client>,
}

impl Network {
    pub(crate) fn new(private: BTreeSet<String>) -> Self {
        Self {
            private: Arc::new(private),
            client: OnceLock::new(),
        }
    }

    /// Whether an address may be spoken to for this host's sake.
    ///
    /// # Errors
    /// Why not: the rest of a sentence that begins with the page's address.
    pub(crate) fn check(&self, host: &str, address: IpAddr) -> Result<(), String> {
        check(&self.private, host, address)
    }

    fn client(&self) -> Result<&Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        tls::get_ready();
        let client = Client::builder()
            .user_agent(USER_AGENT)
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .connect_timeout(CONNECT_PATIENCE)
            // A connection lives as long as the fetch that made it.
            .pool_max_idle_per_host(0)
            .dns_resolver(Checked(Arc::clone(&self.private)))
            .build()
            .map_err(|error| format!("can't be fetched: {}", root(&error)))?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// Finds addresses and looks at each before it is spoken to: there is no second lookup that could find others. One that
/// may not be spoken to makes all of them suspect.
struct Checked(Arc<BTreeSet<String>>);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let private = Arc::clone(&self.0);
        Box::pin(async move {
            let host = name.as_str();
            let found = tokio::net::lookup_host((host, 0)).await;
            let found: Vec<SocketAddr> = found.map_err(|error| Unfit(lost(host, &error)))?.collect();
            for address in &found {
                check(&private, host, address.ip()).map_err(Unfit)?;
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

/// Why a host is not spoken to: the rest of a sentence that begins with the page's address.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unfit(String);

fn lost(host: &str, error: &io::Error) -> String {
    format!(
        "could not be fetched: {host} has no address ({error}); is the network there? A proxy is not used for pages"
    )
}

fn check(private: &BTreeSet<String>, host: &str, address: IpAddr) -> Result<(), String> {
    if is_public(address) || private.contains(host) {
        return Ok(());
    }
    Err(format!(
        "is not fetched: {address} is no address of the public internet; the user can allow the host by \
         `private_hosts = [{host:?}]` under [web] in config.toml"
    ))
}

/// Fetches a page, and nothing of a host that the `url` does not name. An error is the rest of a sentence that begins
/// with the address.
pub(crate) fn fetch(url: &Url, network: &Network, cancel: &Cancel) -> Result<Fetched, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("can't be fetched: no event loop could be started ({error})"))?;
    let cancelled = Arc::new(Notify::new());
    let wake_up = Arc::clone(&cancelled);
    let _guard = cancel.on_cancel(move || wake_up.notify_one());
    let fetched = runtime.block_on(async {
        tokio::select! {
            biased;
            () = cancelled.notified() => Err("was not fetched: cancelled".to_owned()),
            done = timeout(PATIENCE, hops(url.clone(), network)) => {
                done.unwrap_or_else(|_| Err(format!("did not answer in {} s", PATIENCE.as_secs())))
            }
        }
    });
    // A name lookup that hangs must not hold the call.
    runtime.shutdown_background();
    fetched
}

async fn hops(mut url: Url, network: &Network) -> Result<Fetched, String> {
    for _ in 0..=MOST_HOPS {
        let response = get(&url, network).await?;
        if !response.status().is_redirection() {
            return read(url, response).await;
        }
        url = next_hop(&url, &response)?;
    }
    Err(format!("redirects more than {MOST_HOPS} times"))
}

/// Where a redirect leads, if it stays at its host: the question that was asked named no other.
fn next_hop(url: &Url, response: &Response) -> Result<Url, String> {
    let status = response.status().as_u16();
    let location = response
        .headers()
        .get(LOCATION)
        .and_then(|location| location.to_str().ok());
    let next = location.and_then(|location| url.join(location).ok());
    let next = next.ok_or_else(|| format!("answered {status} without saying where to go"))?;
    if has_user(&next) {
        return Err("redirects to an address with a user or password, which is not fetched".to_owned());
    }
    if stays(url, &next) {
        Ok(next)
    } else {
        Err(format!(
            "redirects to {next}; fetch that address if it is what you want"
        ))
    }
}

/// Whether an address names a user or a password.
pub(crate) fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Whether the next address is of the same server; of its safe side too, at the same or the usual port.
fn stays(url: &Url, next: &Url) -> bool {
    let schemes = (url.scheme(), next.scheme());
    let is_same_port = match schemes {
        // A port is `None` where it is the scheme's usual one.
        ("http", "https") => url.port() == next.port(),
        _ => schemes.0 == schemes.1 && url.port_or_known_default() == next.port_or_known_default(),
    };
    is_same_port && url.host_str() == next.host_str()
}

async fn get(url: &Url, network: &Network) -> Result<Response, String> {
    // A host that is a number is looked up by nobody.
    if let (host, Some(address)) = host(url) {
        network.check(host, address)?;
    }
    let accept = "text/markdown, text/html, text/plain, application/json, */*;q=0.5";
    let sent = network.client()?.get(url.clone()).header(ACCEPT, accept).send().await;
    sent.map_err(
        |error| match causes(&error).find_map(|cause| cause.downcast_ref::<Unfit>()) {
            Some(Unfit(why)) => why.clone(),
            None => format!("could not be fetched: {}", root(&error)),
        },
    )
}

/// The host of an address, without brackets, and which address that is if it is one.
pub(crate) fn host(url: &Url) -> (&str, Option<IpAddr>) {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    (bare, bare.parse().ok())
}

async fn read(url: Url, mut response: Response) -> Result<Fetched, String> {
    let status = response.status();
    if !status.is_success() {
        return Err(format!("answered {status}"));
    }
    let content_type = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let mut bytes = Vec::new();
    let mut is_cut = false;
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| format!("broke off: {}", root(&error)))?
    {
        let room = LARGEST - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            is_cut = true;
            break;
        }
    }
    let sent = Sent { content_type, bytes };
    Ok(Fetched { url, sent, is_cut })
}

/// The innermost cause: the outer ones only repeat that something failed.
fn root(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(String::new, ToString::to_string)
}

/// An error and what it came from, the outermost first.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |cause| (*cause).source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_stays_at_its_server() {
        let check = |from: &str, to: &str, expect: bool| {
            let stayed = Url::parse(from).and_then(|from| Ok(stays(&from, &Url::parse(to)?)));
            assert_eq!(stayed, Ok(expect), "{from} {to}");
        };
        check("http://a.b/x", "http://a.b/y", true);
        check("http://a.b/x", "https://a.b/x", true);
        check("http://a.b/", "https://a.b:443/", true);
        check("http://a.b:8080/", "https://a.b:8080/", true);
        check("http://a.b/", "https://a.b:22/", false);
        check("http://a.b:8080/", "https://a.b/", false);
        check("http://a.b/", "http://a.b:81/", false);
        check("https://a.b/", "http://a.b/", false);
        check("http://a.b/", "http://c.b/", false);
    }
}
