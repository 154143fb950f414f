//! The services that setup offers, those first that need nothing more: whose key is there, then model servers that run
//! on this machine, then all others that are well known. None is chosen for anybody.

use agent_core::config::Config;

use crate::credentials::Credentials;
use crate::known::{KNOWN, Known};
use crate::local::{self, LocalServer};
use crate::setup_port::UserSetup;
use crate::survey::counted;

/// A service as a row of the menu.
#[derive(Debug, PartialEq)]
pub(super) struct Offer {
    /// Its well-known name.
    pub(super) name: &'static str,
    /// What the person reads.
    pub(super) row: String,
}

/// All offers; looks for model servers on this machine.
pub(super) fn all(user: &UserSetup, config: &Config) -> Vec<Offer> {
    // A server that the configuration has elsewhere would be asked there.
    let is_moved = |name: &str| config.providers.get(name).is_some_and(|entry| entry.base_url.is_some());
    let mut places = local::usual_places();
    places.retain(|place| !is_moved(place.name));
    // Without the search there are still all the others.
    let found = user
        .http()
        .handle()
        .map(|handle| local::find(&places, local::PATIENCE, &handle));
    in_order(&user.credentials(), &found.unwrap_or_default())
}

fn in_order(credentials: &Credentials, found: &[LocalServer]) -> Vec<Offer> {
    let mut ranked: Vec<(u8, Offer)> = KNOWN.iter().map(|known| offer(known, credentials, found)).collect();
    // Stable: within each group it is the order of the well-known ones.
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, offer)| offer).collect()
}

/// A service with its place in the list: the smaller the further up.
fn offer(known: &Known, credentials: &Credentials, found: &[LocalServer]) -> (u8, Offer) {
    let key = known.key_env.and_then(|variable| credentials.key(variable));
    let server = found.iter().find(|server| server.place.name == known.name);
    let (rank, note) = match (key, server) {
        (Some(key), _) => (0, format!(" ({} {})", key.variable, key.from)),
        (None, Some(server)) => (1, format!(" (found on this machine, {})", counted(server.models.len()))),
        (None, None) if known.key_env.is_none() => (2, " (on this machine)".to_owned()),
        (None, None) => (2, String::new()),
    };
    let row = format!("{}{note}", known.title);
    (rank, Offer { name: known.name, row })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::Environment;
    use crate::local::Place;

    #[test]
    fn what_needs_nothing_more_comes_first() {
        let variables = &[("GROQ_API_KEY", "k"), ("GOOGLE_API_KEY", "k")];
        let credentials = Credentials::read(Environment::of(variables), None);
        let server = LocalServer {
            place: Place {
                name: "vllm",
                base_url: "http://127.0.0.1:8000/v1".to_owned(),
            },
            models: vec!["m".to_owned()],
        };
        let offers = in_order(&credentials, &[server]);
        assert_eq!(offers.len(), KNOWN.len());
        let rows: Vec<&str> = offers.iter().map(|offer| offer.row.as_str()).collect();
        assert_eq!(
            rows[..5],
            [
                "Google Gemini (GOOGLE_API_KEY from the environment)",
                "Groq (GROQ_API_KEY from the environment)",
                "vLLM (found on this machine, 1 model)",
                "OpenAI",
                "Anthropic",
            ]
        );
        assert!(rows.contains(&"Ollama (on this machine)"), "{rows:?}");
    }
}
