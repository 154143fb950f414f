//! What a connection settles at its beginning: the version, what the client can show, and how one signs in.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, AuthMethodTerminal, Error, Implementation, InitializeRequest,
    InitializeResponse, Meta, PromptCapabilities, SessionAdditionalDirectoriesCapabilities, SessionCapabilities,
    SessionCloseCapabilities, SessionListCapabilities, SessionResumeCapabilities,
};
use agent_core::setup::{Setup, SetupError};
use serde_json::{Map, Value, json};

use super::{fault, params};

/// The id of the sign-in method that runs this program in a terminal.
pub(crate) const SETUP_METHOD: &str = "talaria-setup";
const TERMINAL_AUTH: &str = "terminal-auth";

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
    /// What the user has set up; asked only when a client claims that the set-up is done.
    pub setup: Arc<dyn Setup>,
}

/// What the client said of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Client {
    /// It shows notices.
    pub notices: bool,
    /// How it can run a set-up in a terminal.
    pub terminal_auth: TerminalAuth,
}

/// How a client can run a set-up in a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminalAuth {
    /// Not at all.
    #[default]
    None,
    /// By the protocol's terminal method.
    Method,
    /// By the command line that `_meta["terminal-auth"]` of the method gives, as clients did before there was one.
    Meta,
}

/// Which requests may come now.
pub(crate) enum Gate {
    /// Only `initialize`.
    Closed,
    /// All; `initialize` again as long as nothing else has come.
    Greeted(Client),
    /// All but `initialize`.
    Open(Client),
}

impl Gate {
    /// Lets a request pass, or says why not.
    pub(crate) fn admit(&mut self, method: &str) -> Result<(), Error> {
        let greeting = method == "initialize";
        match self {
            Self::Closed if greeting => Ok(()),
            Self::Closed => Err(fault::invalid_request("the first request must be `initialize`")),
            Self::Greeted(_) if greeting => Ok(()),
            Self::Greeted(client) => {
                *self = Self::Open(std::mem::take(client));
                Ok(())
            }
            Self::Open(_) if greeting => Err(fault::invalid_request("this connection is initialized already")),
            Self::Open(_) => Ok(()),
        }
    }

    /// Notes who is there; the version is fixed from now on.
    pub(crate) fn greet(&mut self, client: Client) {
        *self = Self::Greeted(client);
    }

    /// The client; one that can do nothing before it has said what it can.
    pub(crate) fn client(&self) -> Client {
        match self {
            Self::Closed => Client::default(),
            Self::Greeted(client) | Self::Open(client) => client.clone(),
        }
    }
}

impl Client {
    /// Reads the parameters of `initialize`. Any version is answered with ours; it must only be one.
    pub(crate) fn read(params: Value) -> Result<Self, Error> {
        let mut params = params::object(params)?;
        let version = match params.get("protocolVersion") {
            None => return Err(fault::invalid_field("protocolVersion", "is missing")),
            Some(version) => version.as_u64().and_then(|version| u16::try_from(version).ok()),
        };
        let Some(version) = version else {
            return Err(fault::invalid_field(
                "protocolVersion",
                "expected an integer from 0 to 65535",
            ));
        };
        if version >= 2 && !params.contains_key("clientCapabilities") {
            take_over_v2(&mut params);
        }
        let request: InitializeRequest = params::read(Value::Object(params))?;
        if let Some(info) = &request.client_info {
            tracing::info!(client = info.name, version = info.version, "a client has connected");
        }
        Ok(Self::from_request(&request))
    }

    fn from_request(request: &InitializeRequest) -> Self {
        let capabilities = &request.client_capabilities;
        let asks_by_meta = asks_for_terminal(capabilities.meta.as_ref()) || asks_for_terminal(request.meta.as_ref());
        Self {
            notices: capabilities
                .session
                .as_ref()
                .is_some_and(|session| session.notices.is_some()),
            terminal_auth: match (asks_by_meta, capabilities.auth.terminal) {
                (true, _) => TerminalAuth::Meta,
                (false, true) => TerminalAuth::Method,
                (false, false) => TerminalAuth::None,
            },
        }
    }
}

/// Of a client that speaks the next version only, takes what means the same in ours: never files or terminals.
fn take_over_v2(params: &mut Map<String, Value>) {
    let Some(Value::Object(theirs)) = params.remove("capabilities") else {
        return;
    };
    let mut ours = Map::new();
    if theirs
        .get("auth")
        .and_then(|auth| auth.get("terminal"))
        .is_some_and(is_given)
    {
        ours.insert("auth".into(), json!({ "terminal": true }));
    }
    if let Some(meta) = theirs.get("_meta") {
        ours.insert("_meta".into(), meta.clone());
    }
    params.insert("clientCapabilities".into(), Value::Object(ours));
    if let Some(info) = params.remove("info") {
        params.insert("clientInfo".into(), info);
    }
}

fn asks_for_terminal(meta: Option<&Meta>) -> bool {
    meta.and_then(|meta| meta.get(TERMINAL_AUTH)).is_some_and(is_given)
}

fn is_given(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

impl Settings {
    /// The answer to `initialize`.
    pub fn greeting(&self, client: &Client) -> InitializeResponse {
        let session = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .session_capabilities(session);
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(self.auth_methods(client))
            .agent_info(Implementation::new(self.name.clone(), self.version.clone()).title("Talaria".to_owned()))
    }

    /// The ways to sign in: always one that needs no terminal, and the set-up for clients that can run it.
    pub(crate) fn auth_methods(&self, client: &Client) -> Vec<AuthMethod> {
        let key = AuthMethodAgent::new(self.key_method().to_owned(), format!("Key of {}", self.key_method()))
            .description("Uses the key in the environment or in Talaria's `.env`; `agent setup` writes it".to_owned());
        let mut methods = vec![AuthMethod::Agent(key)];
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
        self.provider.as_deref().unwrap_or("talaria")
    }

    /// Answers `authenticate`. The key is looked up at each session's start, so there is nothing to keep; of the
    /// set-up one can only say whether it has left a model that could be used now.
    pub(crate) fn authenticate(&self, method: &str) -> Result<(), Error> {
        if method == self.key_method() {
            return Ok(());
        }
        if method != SETUP_METHOD {
            return Err(fault::invalid_field(
                "methodId",
                "is none of the methods that `initialize` offered",
            ));
        }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use agent_core::config::Config;
    use agent_core::provider::{ModelRef, Provider};

    /// Nothing is set up: the model's key is missing.
    struct NoKey;

    impl Setup for NoKey {
        fn config(&self) -> Result<Config, SetupError> {
            Ok(Config::default())
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
            setup: Arc::new(NoKey),
        }
    }

    fn client(terminal_auth: TerminalAuth) -> Client {
        Client {
            notices: false,
            terminal_auth,
        }
    }

    #[test]
    fn only_a_version_that_is_none_is_refused() {
        for version in [json!("1"), json!(-1), json!(70000), json!(1.5), json!(null)] {
            let error = Client::read(json!({ "protocolVersion": version })).unwrap_err();
            assert_eq!(i32::from(error.code), -32602);
            assert_eq!(error.data, Some(json!({ "field": "protocolVersion" })));
        }
        assert!(Client::read(Value::Null).is_err());
        for version in [0, 1, 2, 99, 65535] {
            let client = Client::read(json!({ "protocolVersion": version })).unwrap();
            let greeting = serde_json::to_value(settings().greeting(&client)).unwrap();
            assert_eq!(greeting["protocolVersion"], 1);
        }
    }

    #[test]
    fn capabilities_are_read_leniently_and_never_guessed() {
        let check = |params: Value, expect: Client| {
            let mut all = json!({ "protocolVersion": 1 });
            all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
            assert_eq!(Client::read(all).unwrap(), expect);
        };
        check(json!({}), Client::default());
        check(
            json!({ "clientCapabilities": "junk", "clientInfo": 5 }),
            Client::default(),
        );
        check(
            json!({ "clientCapabilities": { "auth": { "terminal": true } } }),
            client(TerminalAuth::Method),
        );
        check(
            json!({ "clientCapabilities": { "_meta": { "terminal-auth": true } } }),
            client(TerminalAuth::Meta),
        );
        check(json!({ "_meta": { "terminal-auth": {} } }), client(TerminalAuth::Meta));
        check(json!({ "_meta": { "terminal-auth": false } }), Client::default());
        let notices = Client {
            notices: true,
            terminal_auth: TerminalAuth::None,
        };
        check(
            json!({ "clientCapabilities": { "session": { "notices": {} } } }),
            notices,
        );
        check(
            json!({ "clientCapabilities": { "session": { "notices": null } } }),
            Client::default(),
        );
    }

    #[test]
    fn of_the_next_version_only_sign_in_is_taken_over() {
        let params = json!({ "protocolVersion": 2, "info": { "name": "c", "version": "1" },
            "capabilities": { "auth": { "terminal": {} }, "session": { "notices": {} } } });
        assert_eq!(Client::read(params).unwrap(), client(TerminalAuth::Method));
    }

    #[test]
    fn initialize_comes_first_and_may_come_again_until_another_request() {
        let mut gate = Gate::Closed;
        assert!(gate.admit("session/new").is_err());
        gate.admit("initialize").unwrap();
        gate.greet(Client::default());
        gate.admit("initialize").unwrap();
        gate.greet(client(TerminalAuth::Meta));
        gate.admit("session/new").unwrap();
        assert_eq!(gate.client(), client(TerminalAuth::Meta));
        assert_eq!(i32::from(gate.admit("initialize").unwrap_err().code), -32600);
        gate.admit("session/list").unwrap();
    }

    #[test]
    fn the_terminal_method_is_offered_only_to_clients_that_can_run_it() {
        let methods = |terminal_auth| serde_json::to_value(settings().auth_methods(&client(terminal_auth))).unwrap();
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
    }

    #[test]
    fn authenticate_knows_its_methods_and_believes_no_unfinished_setup() {
        assert_eq!(settings().authenticate("local"), Ok(()));
        for other in ["openai", "", "LOCAL"] {
            assert_eq!(i32::from(settings().authenticate(other).unwrap_err().code), -32602);
        }
        let error = settings().authenticate("talaria-setup").unwrap_err();
        assert_eq!(
            (i32::from(error.code), error.message.as_str()),
            (-32000, "set LOCAL_KEY")
        );
    }
}
