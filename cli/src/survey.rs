//! Asks all providers that could answer, side by side: those of the configuration, well-known ones whose key is there,
//! the built-in one, and model servers found on this machine. How it is shown is the commands' business.

use std::collections::BTreeSet;
use std::thread;

use agent_core::config::Config;
use agent_core::event::ErrorClass;
use agent_core::provider::ProviderError;
use agent_core::visible;

use crate::credentials::KeySource;
use crate::exit::{Exit, Fail};
use crate::known::KNOWN;
use crate::local::{self, LocalServer, Place};
use crate::service::{self, Backend, KeyRule, Remote, ResolveError};
use crate::setup_port::UserSetup;
use crate::wiring;

/// What is known of a provider once it was asked.
#[derive(Debug, PartialEq)]
pub(crate) struct Surveyed {
    /// Its name.
    pub(crate) name: String,
    /// Its dialect; none where its entry makes no sense.
    pub(crate) api: Option<&'static str>,
    /// Where it is; none for one inside this program.
    pub(crate) base_url: Option<String>,
    /// What opens it.
    pub(crate) key: KeyFound,
    /// How it is: what it offers, or why it offers nothing.
    pub(crate) state: Result<String, String>,
    /// The models that the user has listed, or else those that it lists.
    pub(crate) models: Vec<String>,
}

/// A provider's key, by where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyFound {
    /// It needs none.
    None,
    /// It is in this variable.
    In(String, KeySource),
    /// It would be in this variable, which is not set.
    Missing(String),
}

impl Surveyed {
    /// Its host, with the port if that is an unusual one.
    pub(crate) fn host(&self) -> Option<String> {
        wiring::host(self.base_url.as_ref()?)
    }
}

/// Asks them all, and the places on this machine where a server may be that nobody has configured.
pub(crate) fn all(setup: &UserSetup, config: &Config, places: &[Place]) -> Vec<Surveyed> {
    let names = names(setup, config);
    let http = setup.http().handle();
    let (mut surveyed, found) = thread::scope(|scope| {
        let searching = scope.spawn(|| http.map(|handle| local::find(places, local::PATIENCE, &handle)));
        let asked: Vec<_> = names
            .iter()
            .map(|name| scope.spawn(|| one(setup, config, name)))
            .collect();
        let surveyed = asked
            .into_iter()
            .map(|thread| thread.join().expect("a survey doesn't panic"));
        let surveyed: Vec<Surveyed> = surveyed.collect();
        (surveyed, searching.join().expect("a search doesn't panic"))
    });
    let is_new = |server: &LocalServer| {
        let (name, there) = (server.place.name, wiring::host(&server.place.base_url));
        !names.contains(name) && surveyed.iter().all(|one| one.host() != there)
    };
    let found: Vec<LocalServer> = found.unwrap_or_default().into_iter().filter(is_new).collect();
    surveyed.extend(found.into_iter().map(of_server));
    surveyed
}

/// The exit code that a survey stands for: whether the default model's provider can be used.
pub(crate) fn exit(surveyed: &[Surveyed], config: &Config) -> Exit {
    let default = surveyed.iter().find(|one| one.name == config.model.provider);
    match default.map(|one| &one.state) {
        Some(Err(_)) => Exit::Failed,
        Some(Ok(_)) | None => Exit::Done,
    }
}

/// The configured providers, that of the default model, and well-known ones whose key is there.
fn names(setup: &UserSetup, config: &Config) -> BTreeSet<String> {
    let credentials = setup.credentials();
    let has_key = |variable: &str| credentials.key(variable).is_some();
    let with_key = KNOWN
        .iter()
        .filter(|known| known.key_env.is_some_and(has_key))
        .map(|known| known.name.to_owned());
    config
        .providers
        .keys()
        .cloned()
        .chain([config.model.provider.clone(), "offline".to_owned()])
        .chain(with_key)
        .collect()
}

/// Asks one provider.
///
/// # Errors
/// When nobody has this name.
pub(crate) fn named(setup: &UserSetup, config: &Config, name: &str) -> Result<Surveyed, Fail> {
    match service::resolve(name, config) {
        Err(unknown @ ResolveError::Unknown { .. }) => Err(Fail::new(Exit::Failed, unknown)),
        Err(ResolveError::Wrong(_)) | Ok(_) => Ok(one(setup, config, name)),
    }
}

fn one(setup: &UserSetup, config: &Config, name: &str) -> Surveyed {
    let of = |api, state, models| Surveyed {
        name: name.to_owned(),
        api,
        base_url: None,
        key: KeyFound::None,
        state,
        models,
    };
    match service::resolve(name, config) {
        Err(error) => of(None, Err(error.to_string()), Vec::new()),
        Ok(Backend::Offline) => of(Some("offline"), Ok("built in".to_owned()), vec!["offline".to_owned()]),
        Ok(Backend::Script(path)) if path.is_file() => {
            let plays = format!("plays {}", path.display());
            of(Some("script"), Ok(plays), configured(config, name))
        }
        Ok(Backend::Script(path)) => of(
            Some("script"),
            Err(format!("there is no script {}", path.display())),
            configured(config, name),
        ),
        Ok(Backend::Remote(remote)) => {
            let (api, base_url) = (remote.dialect.name(), remote.base_url.clone());
            let key = key_found(setup, &remote.key);
            let (state, found) = match ask(setup, name, remote) {
                Ok((state, found)) => (Ok(state), found),
                Err(why) => (Err(visible::line(&why)), Vec::new()),
            };
            let said = configured(config, name);
            Surveyed {
                base_url: Some(base_url),
                key,
                ..of(Some(api), state, if said.is_empty() { found } else { said })
            }
        }
    }
}

/// Where the key that a rule asks for is.
pub(crate) fn key_found(setup: &UserSetup, rule: &KeyRule) -> KeyFound {
    match rule.variable() {
        None => KeyFound::None,
        Some(variable) => match setup.credentials().key(variable) {
            Some(key) => KeyFound::In(key.variable, key.from),
            None => KeyFound::Missing(variable.to_owned()),
        },
    }
}

fn of_server(server: LocalServer) -> Surveyed {
    let name = server.place.name;
    Surveyed {
        name: name.to_owned(),
        api: Some(wiring::Dialect::OpenaiChat.name()),
        base_url: Some(server.place.base_url),
        key: KeyFound::None,
        state: Ok(format!(
            "found on this machine, {}; `agent setup --provider {name}` uses it",
            counted(server.models.len())
        )),
        models: server.models,
    }
}

/// The models the user has listed.
fn configured(config: &Config, name: &str) -> Vec<String> {
    let entry = config.providers.get(name);
    let models = entry.map(|entry| entry.models.iter().map(|model| model.id.clone()).collect());
    models.unwrap_or_default()
}

/// Asks a service for its models.
fn ask(setup: &UserSetup, name: &str, remote: Remote) -> Result<(String, Vec<String>), String> {
    let service = setup.service(name, &remote).map_err(|error| error.to_string())?;
    match setup.list_models(&service) {
        Ok(listed) => {
            let found: Vec<String> = listed.into_iter().map(|model| model.id).collect();
            Ok((format!("answers, {}", counted(found.len())), found))
        }
        // It answers, and what is said of models tells whether the address is right.
        Err(ProviderError::Failed(failure)) if failure.class == ErrorClass::ModelNotFound => {
            Ok(("answers, but lists no models".to_owned(), Vec::new()))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// A number of models, in words.
pub(crate) fn counted(models: usize) -> String {
    match models {
        1 => "1 model".to_owned(),
        many => format!("{many} models"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use talaria_tests::mock::{Mock, Reply};

    use super::*;
    use crate::credentials::Environment;

    fn parsed(text: &str) -> Config {
        crate::config::parse(text, Path::new("/c.toml")).unwrap()
    }

    #[test]
    fn only_what_could_answer_is_asked() {
        let setup = UserSetup::new(None, Environment::of(&[("GROQ_API_KEY", "k")]));
        let names: Vec<String> = names(&setup, &parsed("model = \"mistral/m\"")).into_iter().collect();
        assert_eq!(names, ["groq", "mistral", "offline"]);
    }

    #[test]
    fn a_server_that_nobody_configured_is_shown_and_one_of_the_configuration_not_twice() {
        let mock = Mock::answering(|_| Reply::answer("HTTP/1.1 200 OK", r#"{"data": [{"id": "m"}]}"#)).with_list();
        let setup = UserSetup::new(None, Environment::of(&[]));
        let places = [Place {
            name: "llamacpp",
            base_url: mock.base_url(),
        }];
        let shown = |config: &str| {
            let surveyed = all(&setup, &parsed(config), &places);
            let named = surveyed
                .into_iter()
                .map(|one| (one.name, one.state.is_ok(), one.models));
            named.collect::<Vec<_>>()
        };
        let one = |name: &str, model: &str| (name.to_owned(), true, vec![model.to_owned()]);
        assert_eq!(shown(""), [one("offline", "offline"), one("llamacpp", "m")]);
        let same = format!(
            "[providers.mine]\napi = \"openai-chat\"\nbase_url = \"{}\"",
            mock.base_url()
        );
        assert_eq!(shown(&same), [one("mine", "m"), one("offline", "offline")]);
    }

    #[test]
    fn a_service_without_a_list_is_one_that_answers() {
        let mock = Mock::answering(|asked| match asked.header("authorization") {
            Some("Bearer k") => Reply::answer("HTTP/1.1 404 Not Found", "no such page"),
            _ => Reply::answer("HTTP/1.1 401 Unauthorized", "who are you?"),
        })
        .with_list();
        let check = |variables: &'static [(&'static str, &'static str)], expect: Result<&str, &str>| {
            let setup = UserSetup::new(None, Environment::of(variables));
            let text = format!(
                "[providers.mine]\napi = \"openai-chat\"\nbase_url = \"{}\"\napi_key_env = \"K\"",
                mock.base_url()
            );
            let state = one(&setup, &parsed(&text), "mine").state;
            match expect {
                Ok(state_expected) => assert_eq!(state.as_deref(), Ok(state_expected)),
                Err(part) => assert!(state.as_ref().is_err_and(|why| why.contains(part)), "{state:?}"),
            }
        };
        check(&[("K", "k")], Ok("answers, but lists no models"));
        check(&[("K", "x")], Err("401"));
        check(&[], Err("401"));
    }
}
