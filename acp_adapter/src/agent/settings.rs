//! The program around the adapter: its name, and how one signs in.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthMethodAgent, AuthMethodTerminal, Error, Implementation,
    InitializeResponse, LogoutCapabilities, McpCapabilities, Meta, PromptCapabilities,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
    SessionForkCapabilities, SessionListCapabilities, SessionResumeCapabilities, SessionSystemPromptCapabilities,
    SessionSystemPromptModeCapabilities, SessionSystemPromptOverrideCapabilities,
};
use agent_core::provider::ModelRef;
use agent_core::setup::{Setup, SetupError};
use serde_json::json;

use super::handshake::{Client, TERMINAL_AUTH, TerminalAuth};
use super::{fault, steering};

/// The id of the sign-in method that runs this program in a terminal.
const SETUP_METHOD: &str = "talaria-setup";

/// The id of the other method where nobody knows the provider, since the configuration can't be read.
const NOT_CONFIGURED: &str = "talaria";

/// What the adapter is told about the program it is part of.
#[derive(Clone)]
pub struct Settings {
    /// The agent's name, as clients show it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The name of the configured model's provider; none where the configuration can't be read.
    pub provider: Option<String>,
    /// The arguments that turn this program's command line into its interactive set-up.
    pub setup_args: Vec<String>,
    /// The command line that this program was started with: its file, then its arguments.
    pub command: Vec<String>,
    /// How long a running turn may be silent before an update shows that it goes on; zero for any time.
    pub longest_silence: Duration,
    /// What the user has set up; asked only when a client claims that the set-up is done.
    pub setup: Arc<dyn Setup>,
}

impl Settings {
    /// The answer to `initialize`.
    pub fn greeting(&self, client: &Client) -> InitializeResponse {
        let override_ = SessionSystemPromptOverrideCapabilities::new();
        let modes = SessionSystemPromptModeCapabilities::new().override_(override_);
        let session = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new())
            .fork(SessionForkCapabilities::new())
            .system_prompt(SessionSystemPromptCapabilities::new().mode(modes))
            .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(true))
            .session_capabilities(session)
            .auth(AgentAuthCapabilities::new().logout(LogoutCapabilities::new()));
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(self.auth_methods(client, None))
            .agent_info(Implementation::new(self.name.clone(), self.version.clone()).title("Talaria".to_owned()))
            .meta(steering::advertised())
    }

    /// The ways to sign in: always one that needs no terminal, and the set-up for clients that can run it. The key is
    /// that of `provider`, or of the one that was configured at the start.
    pub(crate) fn auth_methods(&self, client: &Client, provider: Option<&str>) -> Vec<AuthMethod> {
        let provider = provider.unwrap_or(self.key_method());
        let mut methods = vec![AuthMethod::Agent(as_set_up(provider))];
        if client.terminal_auth != TerminalAuth::None {
            methods.push(AuthMethod::Terminal(self.setup_method(client.terminal_auth)));
        }
        methods
    }

    fn setup_method(&self, terminal_auth: TerminalAuth) -> AuthMethodTerminal {
        let method = AuthMethodTerminal::new(SETUP_METHOD, "Set up Talaria")
            .description("Asks for a provider, its key and a model in a terminal".to_owned())
            .args(self.setup_args.clone())
            .env(HashMap::new());
        match (terminal_auth, self.command.split_first()) {
            (TerminalAuth::Meta, Some((program, args))) => {
                let args: Vec<&String> = args.iter().chain(&self.setup_args).collect();
                let launch = json!({ "label": "Set up Talaria", "command": program, "args": args, "env": {} });
                method.meta(Meta::from_iter([(TERMINAL_AUTH.to_owned(), launch)]))
            }
            (TerminalAuth::Meta, None) | (TerminalAuth::Method | TerminalAuth::None, _) => method,
        }
    }

    fn key_method(&self) -> &str {
        self.provider.as_deref().unwrap_or(NOT_CONFIGURED)
    }

    /// Answers `authenticate`; reads files. The key is looked up at each session's start, so there is nothing to keep;
    /// of the set-up one can only say whether it has left a model that could be used now.
    pub(crate) fn authenticate(&self, method: &str, was_offered: bool) -> Result<(), Error> {
        if method == SETUP_METHOD {
            return self.is_set_up();
        }
        if was_offered || method == self.key_method() || self.is_configured(method) {
            return Ok(());
        }
        Err(fault::invalid_field(
            "methodId",
            "is none of the methods that this agent has offered",
        ))
    }

    /// Answers `logout`; writes files. The key that the set-up has stored is forgotten; one in the environment is not ours.
    pub(crate) fn log_out(&self) -> Result<(), Error> {
        let configured = self.setup.config().ok().map(|config| config.model.provider);
        let Some(provider) = self.provider.clone().or(configured) else {
            return Ok(());
        };
        self.setup.forget_key(&provider).map_err(|error| {
            Error::new(fault::INTERNAL, error.to_string()).data(json!({ "class": "config", "provider": provider }))
        })
    }

    /// Whether the configuration as it is now has to do with this provider.
    fn is_configured(&self, provider: &str) -> bool {
        self.setup.config().is_ok_and(|config| {
            let mut models = std::iter::once(&config.model).chain(&config.fallback_models);
            config.providers.contains_key(provider) || models.any(|model| model.provider == provider)
        })
    }

    fn is_set_up(&self) -> Result<(), Error> {
        let opened = self
            .setup
            .config()
            .and_then(|config| self.setup.provider(&config, &config.model));
        match opened {
            Ok(_) => Ok(()),
            Err(SetupError::NoCredentials { provider, message }) => {
                Err(Error::new(fault::AUTH_REQUIRED, message).data(json!({ "provider": provider })))
            }
            Err(SetupError::Config(message) | SetupError::UnknownModel(message)) => {
                Err(Error::new(fault::AUTH_REQUIRED, message).data(json!({ "class": "config" })))
            }
        }
    }
}

/// The way that needs no terminal: with what is there already.
fn as_set_up(provider: &str) -> AuthMethodAgent {
    let (name, description) = if provider == ModelRef::offline().provider {
        let name = "Built-in offline model".to_owned();
        (
            name,
            "Needs no key, and is no language model; `agent setup` chooses one",
        )
    } else if provider == NOT_CONFIGURED {
        (
            "Use what is configured".to_owned(),
            "The configuration can't be read yet; a new session says what is wrong with it",
        )
    } else {
        let name = format!("Use {provider} as it is set up");
        (
            name,
            "Takes the key, if one is needed, from the environment or from Talaria's `.env`; `agent setup` writes it",
        )
    };
    AuthMethodAgent::new(provider.to_owned(), name).description(description.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use agent_core::config::{Config, ProviderConfig};
    use agent_core::provider::Provider;

    /// The key of the configured model is missing; `later` was configured after the start.
    struct NoKey;

    impl Setup for NoKey {
        fn config(&self) -> Result<Config, SetupError> {
            let providers = [("later".to_owned(), ProviderConfig::default())];
            Ok(Config {
                providers: providers.into(),
                ..Config::default()
            })
        }

        fn provider(&self, _: &Config, _: &ModelRef) -> Result<Arc<dyn Provider>, SetupError> {
            Err(SetupError::NoCredentials {
                provider: "local".into(),
                message: "set LOCAL_KEY".into(),
            })
        }

        fn models(&self, _: &Config) -> Vec<ModelRef> {
            Vec::new()
        }
    }

    fn settings() -> Settings {
        Settings {
            name: "talaria".into(),
            version: "0.1.0".into(),
            provider: Some("local".into()),
            setup_args: vec!["--setup".into()],
            command: vec!["/bin/agent".into(), "acp".into()],
            longest_silence: Duration::ZERO,
            setup: Arc::new(NoKey),
        }
    }

    fn client(terminal_auth: TerminalAuth) -> Client {
        Client {
            terminal_auth,
            ..Client::default()
        }
    }

    #[test]
    fn the_terminal_method_is_offered_only_to_clients_that_can_run_it() {
        let methods =
            |terminal_auth| serde_json::to_value(settings().auth_methods(&client(terminal_auth), None)).unwrap();
        let none = methods(TerminalAuth::None);
        assert_eq!(none.as_array().unwrap().len(), 1);
        assert_eq!((&none[0]["id"], none[0].get("type")), (&json!("local"), None));
        let method = methods(TerminalAuth::Method);
        assert_eq!(method[1]["type"], "terminal");
        assert_eq!(
            (&method[1]["id"], &method[1]["args"]),
            (&json!("talaria-setup"), &json!(["--setup"]))
        );
        assert_eq!(method[1].get("_meta"), None);
        let launch =
            json!({ "label": "Set up Talaria", "command": "/bin/agent", "args": ["acp", "--setup"], "env": {} });
        assert_eq!(methods(TerminalAuth::Meta)[1]["_meta"]["terminal-auth"], launch);
        let refused = settings().auth_methods(&client(TerminalAuth::None), Some("later"));
        assert_eq!(serde_json::to_value(refused).unwrap()[0]["id"], "later");
    }

    #[test]
    fn a_method_speaks_of_a_key_only_where_there_may_be_one() {
        let check = |provider: &str, name: &str, key: &str| {
            let methods = settings().auth_methods(&client(TerminalAuth::None), Some(provider));
            let method = serde_json::to_value(&methods[0]).unwrap();
            assert_eq!((&method["id"], &method["name"]), (&json!(provider), &json!(name)));
            assert!(method["description"].as_str().unwrap().starts_with(key), "{method}");
        };
        check("offline", "Built-in offline model", "Needs no key");
        check(
            "openai",
            "Use openai as it is set up",
            "Takes the key, if one is needed",
        );
        check("talaria", "Use what is configured", "The configuration can't be read");
    }

    #[test]
    fn authenticate_knows_its_methods_and_believes_no_unfinished_setup() {
        for now in ["local", "later", "offline"] {
            assert_eq!(settings().authenticate(now, false), Ok(()));
        }
        for other in ["openai", "", "LOCAL"] {
            let error = settings().authenticate(other, false).unwrap_err();
            assert_eq!(i32::from(error.code), -32602);
        }
        assert_eq!(settings().authenticate("openai", true), Ok(()));
        let error = settings().authenticate("talaria-setup", false).unwrap_err();
        assert_eq!(
            (i32::from(error.code), error.message.as_str()),
            (-32000, "set LOCAL_KEY")
        );
    }
}
