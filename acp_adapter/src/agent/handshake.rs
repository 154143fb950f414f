//! What a connection settles at its beginning: what the client can show, and which requests may come.

use agent_client_protocol_schema::v1::{ElicitationCapabilities, Error, InitializeRequest, Meta};
use agent_core::surface::Abilities;
use serde_json::{Map, Value, json};

use super::{fault, params};

/// Where clients asked for a terminal sign-in before the protocol had a place for it.
pub(crate) const TERMINAL_AUTH: &str = "terminal-auth";

/// Where clients say that they show what a command prints as a terminal does.
const TERMINAL_OUTPUT: &str = "terminal_output";

/// What the client said of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// It shows notices.
    pub notices: bool,
    /// It shows that room was made in the model's context, and the summary.
    pub compaction: bool,
    /// It knows plans by their names.
    pub plan: bool,
    /// It shows what a command prints as a terminal does.
    pub terminals: bool,
    /// How it can run a set-up in a terminal.
    pub terminal_auth: TerminalAuth,
    /// What it can do for tools.
    pub abilities: Abilities,
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
                *self = Self::Open(*client);
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

    /// Whether a greeting has come.
    pub(crate) fn is_greeted(&self) -> bool {
        match self {
            Self::Closed => false,
            Self::Greeted(_) | Self::Open(_) => true,
        }
    }

    /// The client; one that can do nothing before it has said what it can.
    pub(crate) fn client(&self) -> Client {
        match self {
            Self::Closed => Client::default(),
            Self::Greeted(client) | Self::Open(client) => *client,
        }
    }
}

impl Client {
    /// Reads the parameters of `initialize`. Any version is answered with ours; it must only be one.
    ///
    /// # Errors
    /// When a field is not of its type.
    pub fn read(params: Value) -> Result<Self, Error> {
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
        let session = capabilities.session.as_ref();
        Self {
            notices: session.is_some_and(|session| session.notices.is_some()),
            compaction: session.is_some_and(|session| session.compaction.is_some()),
            plan: capabilities.plan.is_some(),
            terminals: is_true(capabilities.meta.as_ref(), TERMINAL_OUTPUT),
            terminal_auth: match (asks_by_meta, capabilities.auth.terminal) {
                (true, _) => TerminalAuth::Meta,
                (false, true) => TerminalAuth::Method,
                (false, false) => TerminalAuth::None,
            },
            abilities: Abilities {
                reads_files: capabilities.fs.read_text_file,
                writes_files: capabilities.fs.write_text_file,
                has_terminals: capabilities.terminal,
                shows_forms: capabilities
                    .elicitation
                    .as_ref()
                    .is_some_and(ElicitationCapabilities::supports_form),
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
    for field in ["elicitation", "_meta"] {
        if let Some(value) = theirs.get(field) {
            ours.insert(field.into(), value.clone());
        }
    }
    params.insert("clientCapabilities".into(), Value::Object(ours));
    if let Some(info) = params.remove("info") {
        params.insert("clientInfo".into(), info);
    }
}

fn asks_for_terminal(meta: Option<&Meta>) -> bool {
    meta.and_then(|meta| meta.get(TERMINAL_AUTH)).is_some_and(is_given)
}

fn is_true(meta: Option<&Meta>, key: &str) -> bool {
    meta.and_then(|meta| meta.get(key)) == Some(&Value::Bool(true))
}

fn is_given(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn client(terminal_auth: TerminalAuth) -> Client {
        Client {
            terminal_auth,
            ..Client::default()
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
            ..Client::default()
        };
        check(
            json!({ "clientCapabilities": { "session": { "notices": {} } } }),
            notices,
        );
        check(
            json!({ "clientCapabilities": { "session": { "notices": null } } }),
            Client::default(),
        );
        let all = json!({ "plan": {}, "session": { "compaction": {} } });
        let gated = Client {
            compaction: true,
            plan: true,
            ..Client::default()
        };
        check(json!({ "clientCapabilities": all }), gated);
        let terminals = Client {
            terminals: true,
            ..Client::default()
        };
        check(
            json!({ "clientCapabilities": { "_meta": { "terminal_output": true } } }),
            terminals,
        );
        for odd in [json!("true"), json!({}), json!(1), json!(null)] {
            let params = json!({ "clientCapabilities": { "_meta": { "terminal_output": odd } } });
            check(params, Client::default());
        }
    }

    #[test]
    fn only_what_the_client_says_in_so_many_words_is_asked_of_it() {
        let check = |capabilities: Value, expect: [bool; 4]| {
            let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
            let [reads_files, writes_files, has_terminals, shows_forms] = expect;
            let abilities = Abilities {
                reads_files,
                writes_files,
                has_terminals,
                shows_forms,
            };
            assert_eq!(Client::read(params).unwrap().abilities, abilities);
        };
        check(json!({}), [false; 4]);
        check(json!({ "fs": { "readTextFile": true } }), [true, false, false, false]);
        check(json!({ "fs": { "writeTextFile": true } }), [false, true, false, false]);
        check(json!({ "terminal": true }), [false, false, true, false]);
        check(json!({ "elicitation": { "form": {} } }), [false, false, false, true]);
        for odd in [
            json!({ "fs": true }),
            json!({ "fs": { "readTextFile": "yes", "writeTextFile": null } }),
            json!({ "terminal": {} }),
            json!({ "elicitation": {} }),
            json!({ "elicitation": { "url": {} } }),
            json!({ "elicitation": { "form": null } }),
            json!({ "elicitation": true }),
        ] {
            check(odd, [false; 4]);
        }
    }

    #[test]
    fn of_the_next_version_only_sign_in_and_forms_are_taken_over() {
        let params = json!({ "protocolVersion": 2, "info": { "name": "c", "version": "1" },
            "capabilities": { "auth": { "terminal": {} }, "session": { "notices": {} }, "elicitation": { "form": {} },
                "fs": { "readTextFile": true }, "terminal": true } });
        let abilities = Abilities {
            shows_forms: true,
            ..Abilities::default()
        };
        let expect = Client {
            abilities,
            ..client(TerminalAuth::Method)
        };
        assert_eq!(Client::read(params).unwrap(), expect);
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
    fn only_a_version_that_is_none_is_refused() {
        for version in [json!("1"), json!(-1), json!(70000), json!(1.5), json!(null)] {
            let error = Client::read(json!({ "protocolVersion": version })).unwrap_err();
            assert_eq!(i32::from(error.code), -32602);
            assert_eq!(error.data, Some(json!({ "field": "protocolVersion" })));
        }
        assert!(Client::read(Value::Null).is_err());
        for version in [0, 1, 2, 99, 65535] {
            Client::read(json!({ "protocolVersion": version })).unwrap();
        }
    }
}
