//! The services that setup offers, those first that need nothing more: of the configuration, or whose key is there, then
//! model servers that run on this machine, then all others that are well known. None is chosen for anybody.

use agent_core::config::Config;

use crate::credentials::{Credentials, Key};
use crate::known::{KNOWN, Known, known};
use crate::local::{self, LocalServer};
use crate::service::{self, Backend, KeyRule};
use crate::setup_port::UserSetup;
use crate::survey::counted;
use crate::wiring;

/// A service as a row of the menu.
#[derive(Debug, PartialEq)]
pub(super) struct Offer {
    /// Its name in the configuration.
    pub(super) name: String,
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
    in_order(config, &user.credentials(), &found.unwrap_or_default())
}

fn in_order(config: &Config, credentials: &Credentials, found: &[LocalServer]) -> Vec<Offer> {
    let own = config.providers.keys().filter(|name| known(name).is_none());
    let own = own.filter_map(|name| own_offer(name, config, credentials));
    let known = KNOWN.iter().map(|known| offer(known, config, credentials, found));
    let mut ranked: Vec<(u8, Offer)> = own.chain(known).collect();
    // Stable: within each group it is the order of the well-known ones, after those of the configuration.
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, offer)| offer).collect()
}

/// A service that only the configuration knows, with its place in the list. One whose entry makes no sense is none.
fn own_offer(name: &str, config: &Config, credentials: &Credentials) -> Option<(u8, Offer)> {
    let Ok(Backend::Remote(remote)) = service::resolve(name, config) else {
        return None;
    };
    let key = remote.key.variable().and_then(|variable| credentials.key(variable));
    let rank = match (&remote.key, &key) {
        (KeyRule::Required(_), None) => 2,
        (KeyRule::None | KeyRule::Optional(_), _) | (KeyRule::Required(_), Some(_)) => 0,
    };
    let at = wiring::host(&remote.base_url).unwrap_or_default();
    let notes = [Some(at), key.as_ref().map(words)];
    Some((rank, row(name, name, notes.into_iter().flatten(), config)))
}

/// A well-known service with its place in the list: the smaller the further up.
fn offer(known: &Known, config: &Config, credentials: &Credentials, found: &[LocalServer]) -> (u8, Offer) {
    let key = known.key_env.and_then(|variable| credentials.key(variable));
    let server = found.iter().find(|server| server.place.name == known.name);
    let (rank, note) = match (key, server) {
        (Some(key), _) => (0, Some(words(&key))),
        (None, Some(server)) => (
            1,
            Some(format!("found on this machine, {}", counted(server.models.len()))),
        ),
        (None, None) if known.key_env.is_none() => (2, Some("on this machine".to_owned())),
        (None, None) => (2, None),
    };
    (rank, row(known.name, known.title, note.into_iter(), config))
}

fn words(key: &Key) -> String {
    format!("{} {}", key.variable, key.from)
}

fn row(name: &str, title: &str, notes: impl Iterator<Item = String>, config: &Config) -> Offer {
    let now = (config.model.provider == name).then(|| "the default now".to_owned());
    let notes: Vec<String> = notes.chain(now).collect();
    let row = match notes.as_slice() {
        [] => title.to_owned(),
        notes => format!("{title} ({})", notes.join(", ")),
    };
    Offer {
        name: name.to_owned(),
        row,
    }
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
        let offers = in_order(&Config::default(), &credentials, &[server]);
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
    #[test]
    fn those_of_the_configuration_are_offered_too_and_the_default_is_marked() {
        let text = "model = \"mine/m\"\n\
                    [providers.far]\napi = \"openai-chat\"\nbase_url = \"https://far.example/v1\"\napi_key_env = \"FAR\"\n\
                    [providers.mine]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9999/v1\"\napi_key_env = \"M\"\n\
                    [providers.openai]\nstall_s = 9\n[providers.show]\napi = \"script\"\nbase_url = \"/s.json\"\n";
        let config = crate::config::parse(text, std::path::Path::new("/c.toml")).expect("it makes sense");
        let credentials = Credentials::read(Environment::of(&[("M", "k"), ("OPENAI_API_KEY", "k")]), None);
        let offers = in_order(&config, &credentials, &[]);
        let rows: Vec<&str> = offers.iter().map(|offer| offer.row.as_str()).collect();
        assert_eq!(
            rows[..3],
            [
                "mine (127.0.0.1:9999, M from the environment, the default now)",
                "OpenAI (OPENAI_API_KEY from the environment)",
                "far (far.example)",
            ]
        );
        assert_eq!(rows.len(), KNOWN.len() + 2, "{rows:?}");
    }
}
