//! What the user has set up, as the core asks for it: the configuration, keys and models, read anew at each call, so
//! that a running server sees what `agent setup` wrote.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

use agent_core::config::{Config, ModelConfig};
use agent_core::event::{ErrorClass, Failure};
use agent_core::provider::{ModelInfo, ModelRef, Origin, Provider, ProviderError};
use agent_core::setup::{Setup, SetupError};
use parking_lot::Mutex;

use crate::catalogue::{self, Catalogue};
use crate::config;
use crate::credentials::{self, Credentials, Environment, Key};
use crate::doubt::doubt;
use crate::guess;
use crate::paths::Paths;
use crate::service::{self, Backend, KeyRule, Remote, ResolveError};
use crate::wiring::{self, Handle, Http, LIST_PATIENCE, ListedModel, Service};

/// What this user has set up. Holds no key and no open model.
pub(crate) struct UserSetup {
    /// The user's files; without a home there are none.
    paths: Option<Paths>,
    environment: Environment,
    http: Http,
    /// The addresses that were asked for their models in the background.
    asked: Mutex<BTreeSet<String>>,
}

impl UserSetup {
    /// Reads nothing yet.
    pub(crate) fn new(paths: Option<Paths>, environment: Environment) -> Self {
        Self {
            paths,
            environment,
            http: Http::new(),
            asked: Mutex::default(),
        }
    }

    /// The edge to the network.
    pub(crate) fn http(&self) -> &Http {
        &self.http
    }

    /// Asks a service for its models, and remembers what it says.
    pub(crate) fn list_models(&self, service: &Service) -> Result<Vec<ListedModel>, ProviderError> {
        let handle = self
            .http
            .handle()
            .map_err(|message| ProviderError::Failed(Box::new(Failure::new(ErrorClass::Config, message))))?;
        let listed = wiring::list_models(LIST_PATIENCE, service, &handle)?;
        if let Some(paths) = &self.paths {
            catalogue::note(&paths.models_file(), &service.base_url, &listed);
        }
        Ok(listed)
    }

    /// Asks a service for its models in the background, once, so that the next session knows what they hold.
    fn learn_models(&self, service: &Service, handle: &Handle) {
        let Some(paths) = &self.paths else { return };
        if !self.asked.lock().insert(service.base_url.clone()) {
            return;
        }
        let (service, handle, file) = (service.clone(), handle.clone(), paths.models_file());
        let asking = move || match wiring::list_models(LIST_PATIENCE, &service, &handle) {
            Ok(listed) => catalogue::note(&file, &service.base_url, &listed),
            Err(error) => tracing::info!(service = service.name, %error, "the service's models are not known"),
        };
        if let Err(error) = thread::Builder::new().name("models".to_owned()).spawn(asking) {
            tracing::warn!(%error, "no thread can be started to ask for models");
        }
    }

    /// What services have said of their models.
    pub(crate) fn catalogue(&self) -> Catalogue {
        let file = self.paths.as_ref().map(Paths::models_file);
        file.map_or_else(Catalogue::default, |file| Catalogue::read(&file))
    }

    /// The keys as they are now.
    pub(crate) fn credentials(&self) -> Credentials {
        let file = self.paths.as_ref().map(Paths::env_file);
        Credentials::read(self.environment.clone(), file.as_deref())
    }

    /// A service ready to be asked.
    ///
    /// # Errors
    /// [`SetupError::NoCredentials`] without a key it can't do without.
    pub(crate) fn service(&self, name: &str, remote: &Remote) -> Result<Service, SetupError> {
        let credentials = self.credentials();
        for warning in &credentials.warnings {
            tracing::warn!("{warning}");
        }
        let key = key(&credentials, name, &remote.key)?;
        let named = key.as_ref().map(|key| credentials.words(key));
        let key_env = named.or_else(|| remote.key.variable().map(str::to_owned));
        Ok(remote.service(name, key.map(|key| key.secret), key_env))
    }
}

/// The key that a rule asks for.
fn key(credentials: &Credentials, name: &str, rule: &KeyRule) -> Result<Option<Key>, SetupError> {
    let (variable, required) = match rule {
        KeyRule::None => return Ok(None),
        KeyRule::Optional(variable) => (variable, false),
        KeyRule::Required(variable) => (variable, true),
    };
    match credentials.key(variable) {
        None if required => Err(SetupError::NoCredentials {
            provider: name.to_owned(),
            message: format!("there is no key for {name}: run `agent setup`, or set {variable} in the environment"),
        }),
        found => Ok(found),
    }
}

impl Setup for UserSetup {
    fn config(&self) -> Result<Config, SetupError> {
        match &self.paths {
            Some(paths) => config::read(&paths.config_file())
                .map_err(|error| SetupError::Config(format!("{:#}", anyhow::Error::new(error)))),
            None => Ok(Config::default()),
        }
    }

    fn provider(&self, config: &Config, model: &ModelRef) -> Result<Arc<dyn Provider>, SetupError> {
        match service::resolve(&model.provider, config).map_err(|error| refuse(error, model))? {
            Backend::Offline if model.model == "offline" => Ok(wiring::offline(&config.model)),
            Backend::Offline => Err(SetupError::UnknownModel(format!(
                "there is no model `{model}`: the built-in one is {}/offline",
                model.provider
            ))),
            Backend::Script(path) => wiring::script(&path, model.clone()).map_err(SetupError::Config),
            Backend::Remote(remote) => {
                let mut info = info(config, model, &remote, &self.catalogue());
                let service = self.service(&model.provider, &remote)?;
                let handle = self.http.handle().map_err(SetupError::Config)?;
                if info.context_window.is_none() {
                    self.learn_models(&service, &handle);
                    info.context_window = guess::context_window(&remote, &model.model);
                }
                wiring::remote(service, info, handle).map_err(SetupError::Config)
            }
        }
    }

    fn doubt(&self, config: &Config, model: &ModelRef) -> Option<String> {
        doubt(config, &self.catalogue(), model)
    }

    fn models(&self, config: &Config) -> Vec<ModelRef> {
        let credentials = self.credentials();
        let catalogue = self.catalogue();
        let named = |provider: &str, models: Vec<String>| {
            let provider = provider.to_owned();
            models.into_iter().map(move |model| ModelRef {
                provider: provider.clone(),
                model,
            })
        };
        let configured = config.providers.iter().flat_map(|(provider, entry)| {
            let models = entry.models.iter().map(|model| model.id.clone()).collect();
            named(provider, models)
        });
        let own = std::iter::once(&config.model.provider).chain(config.providers.keys());
        let listed = own.flat_map(|provider| named(provider, listed(config, provider, &catalogue)));
        let all = std::iter::once(config.model.clone())
            .chain(configured)
            .chain(listed)
            .chain([ModelRef::offline()]);
        let mut seen = BTreeSet::new();
        all.filter(|model| seen.insert(model.to_string()))
            .filter(|model| is_usable(&credentials, config, model))
            .collect()
    }

    fn forget_key(&self, provider: &str) -> Result<(), SetupError> {
        let Some(paths) = &self.paths else { return Ok(()) };
        let Ok(Backend::Remote(remote)) = service::resolve(provider, &self.config()?) else {
            return Ok(());
        };
        let Some(variable) = remote.key.variable() else {
            return Ok(());
        };
        let forgotten = credentials::forget(&paths.env_file(), variable);
        forgotten.map_err(|error| SetupError::Config(format!("can't forget the key of {provider}: {error:#}")))
    }
}

/// The models that a provider's service has listed, where the user names none: as many as a person looks through.
fn listed(config: &Config, provider: &str, catalogue: &Catalogue) -> Vec<String> {
    const MOST: usize = 100;
    let names_some = config
        .providers
        .get(provider)
        .is_some_and(|entry| !entry.models.is_empty());
    match service::resolve(provider, config) {
        Ok(Backend::Remote(remote)) if !names_some => {
            let models = catalogue.models(&remote.base_url).iter().take(MOST);
            models.map(|model| model.id.clone()).collect()
        }
        Ok(_) | Err(_) => Vec::new(),
    }
}

fn refuse(error: ResolveError, model: &ModelRef) -> SetupError {
    match error {
        ResolveError::Unknown { .. } => SetupError::UnknownModel(format!("can't use the model {model}: {error}")),
        ResolveError::Wrong(_) => SetupError::Config(format!("can't use the model {model}: {error}")),
    }
}

/// Whether a model can be opened, as far as that can be told without the network.
fn is_usable(credentials: &Credentials, config: &Config, model: &ModelRef) -> bool {
    match service::resolve(&model.provider, config) {
        Ok(Backend::Offline) => model.model == "offline",
        Ok(Backend::Script(path)) => path.is_file(),
        Ok(Backend::Remote(remote)) => key(credentials, &model.provider, &remote.key).is_ok(),
        Err(_) => false,
    }
}

/// What is known of a model: what the user says of it, else its service, or what holds for all of that.
pub(crate) fn info(config: &Config, model: &ModelRef, remote: &Remote, catalogue: &Catalogue) -> ModelInfo {
    let said: Option<&ModelConfig> = config
        .providers
        .get(&model.provider)
        .and_then(|entry| entry.models.iter().find(|said| said.id == model.model));
    let listed = catalogue.model(&remote.base_url, &model.model);
    ModelInfo {
        name: model.clone(),
        origin: Origin {
            api: remote.dialect.name().to_owned(),
            base_url: remote.base_url.clone(),
            model: model.model.clone(),
        },
        context_window: said
            .and_then(|said| said.context_window)
            .or_else(|| listed?.context_window),
        max_output: said.and_then(|said| said.max_output).or_else(|| listed?.max_output),
        images: said
            .and_then(|said| said.images)
            .or_else(|| listed?.images)
            .unwrap_or(remote.images),
        tools: said.is_none_or(|said| said.tools),
        price: said.and_then(|said| said.price),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use super::*;

    fn setup(variables: &'static [(&'static str, &'static str)]) -> UserSetup {
        UserSetup::new(None, Environment::of(variables))
    }

    fn parsed(text: &str) -> Config {
        config::parse(text, Path::new("/c.toml")).unwrap()
    }

    #[test]
    fn only_usable_models_are_offered_each_once_the_default_first() {
        let text = r#"
            model = "local/a"
            [providers.local]
            api = "openai-chat"
            base_url = "http://127.0.0.1:8080/v1"
            models = [{ id = "b" }, { id = "a" }]
            [providers.openai]
            models = [{ id = "gpt-5" }]
            [providers.far]
            api = "openai-chat"
            base_url = "https://far.example/v1"
            api_key_env = "FAR_KEY"
            models = [{ id = "x" }]
        "#;
        let check = |variables: &'static [(&'static str, &'static str)], expect: &[&str]| {
            let models = setup(variables).models(&parsed(text));
            let names: Vec<String> = models.iter().map(ToString::to_string).collect();
            assert_eq!(names, expect, "{variables:?}");
        };
        check(&[], &["local/a", "local/b", "offline/offline"]);
        check(
            &[("OPENAI_API_KEY", "k")],
            &["local/a", "local/b", "openai/gpt-5", "offline/offline"],
        );
        check(&[("FAR_KEY", "k")], &["local/a", "far/x", "local/b", "offline/offline"]);
    }

    #[test]
    fn a_default_model_without_its_key_is_not_offered() {
        let models = setup(&[]).models(&parsed("model = \"openai/gpt-5\""));
        assert_eq!(models, [ModelRef::offline()]);
        let models = setup(&[("OPENAI_API_KEY", "k")]).models(&parsed("model = \"openai/gpt-5\""));
        assert_eq!(models[0].to_string(), "openai/gpt-5");
    }

    #[test]
    fn a_missing_key_names_the_variable_and_the_way_out() {
        let config = Config::default();
        let error = setup(&[]).provider(&config, &"openai/gpt-5".parse().unwrap()).err();
        let Some(SetupError::NoCredentials { provider, message }) = error else {
            panic!("{error:?}");
        };
        assert_eq!(provider, "openai");
        assert!(
            message.contains("OPENAI_API_KEY") && message.contains("agent setup"),
            "{message}"
        );
    }

    #[test]
    fn a_model_of_nobody_is_unknown() {
        for model in ["opnai/gpt-5", "offline/other"] {
            let error = setup(&[]).provider(&Config::default(), &model.parse().unwrap()).err();
            assert!(matches!(error, Some(SetupError::UnknownModel(_))), "{model}: {error:?}");
        }
    }

    #[test]
    fn a_broken_configuration_is_an_error_of_its_own_kind() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), "modle = 1").unwrap();
        let paths = Paths {
            config: home.path().into(),
            state: home.path().into(),
        };
        let setup = UserSetup::new(Some(paths), Environment::of(&[]));
        let Err(SetupError::Config(message)) = setup.config() else {
            panic!("it was accepted");
        };
        assert!(message.contains("did you mean `model`?"), "{message}");
    }

    #[test]
    fn a_key_stored_while_running_is_seen() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths {
            config: home.path().into(),
            state: home.path().into(),
        };
        let setup = UserSetup::new(Some(paths.clone()), Environment::of(&[]));
        let config = parsed("model = \"openai/gpt-5\"");
        assert_eq!(setup.models(&config).len(), 1);
        crate::paths::write_private(&paths.env_file(), "OPENAI_API_KEY=k\n").unwrap();
        assert_eq!(setup.models(&config).len(), 2);
    }

    #[test]
    fn a_well_known_model_has_a_size_although_its_service_says_none() {
        let open = |text: &str| {
            let setup = setup(&[("OPENAI_API_KEY", "k")]);
            let provider = setup.provider(&parsed(text), &"openai/gpt-5".parse().unwrap());
            provider.unwrap().model().context_window
        };
        assert_eq!(open(""), Some(400_000));
        let said = "[providers.openai]\nmodels = [{ id = \"gpt-5\", context_window = 9000 }]";
        assert_eq!(open(said), Some(9000));
    }

    #[test]
    fn what_the_user_says_of_a_model_counts() {
        let config = parsed("[providers.openai]\nmodels = [{ id = \"a\", images = false, context_window = 9000 }]");
        let Ok(Backend::Remote(remote)) = service::resolve("openai", &config) else {
            panic!("openai is no service");
        };
        let said = info(&config, &"openai/a".parse().unwrap(), &remote, &Catalogue::default());
        assert_eq!((said.images, said.context_window), (false, Some(9000)));
        let other = info(&config, &"openai/b".parse().unwrap(), &remote, &Catalogue::default());
        assert_eq!((other.images, other.context_window), (true, None));
    }
}
