//! What `initialize` is answered with.

use std::sync::Arc;
use std::time::Duration;

use acp_adapter::agent::{Client, Settings, TerminalAuth};
use agent_core::config::Config;
use agent_core::provider::{ModelRef, Provider};
use agent_core::setup::{Setup, SetupError};
use serde_json::json;
use talaria_tests::schema::valid;

#[test]
fn the_greeting_advertises_what_is_served_and_nothing_else() {
    let settings = settings();
    for terminal_auth in [TerminalAuth::None, TerminalAuth::Method, TerminalAuth::Meta] {
        let client = Client {
            terminal_auth,
            ..Client::default()
        };
        let greeting = valid("InitializeResponse", settings.greeting(&client));
        let capabilities = &greeting["agentCapabilities"];
        assert_eq!(greeting["protocolVersion"], 1);
        assert_eq!(capabilities["loadSession"], true);
        assert_eq!(
            capabilities["promptCapabilities"],
            json!({ "image": true, "audio": false, "embeddedContext": true })
        );
        assert_eq!(capabilities["mcpCapabilities"], json!({ "http": true, "sse": false }));
        let session = json!({ "list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {},
            "additionalDirectories": {}, "systemPrompt": { "mode": { "override": {} } } });
        assert_eq!(capabilities["sessionCapabilities"], session);
        assert_eq!(capabilities["auth"], json!({ "logout": {} }));
        assert_eq!(greeting["_meta"]["steering"]["supported"], true);
        assert_eq!(greeting["authMethods"][0]["id"], "local");
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        name: "talaria".into(),
        version: "0.1.0".into(),
        provider: Some("local".into()),
        longest_silence: Duration::ZERO,
        setup_args: vec!["--setup".into()],
        command: vec!["/bin/agent".into(), "acp".into()],
        setup: Arc::new(Untouched),
    }
}

/// Never asked: `initialize` opens nothing.
struct Untouched;

impl Setup for Untouched {
    fn config(&self) -> Result<Config, SetupError> {
        panic!("`initialize` reads no configuration")
    }

    fn provider(&self, _: &Config, _: &ModelRef) -> Result<Arc<dyn Provider>, SetupError> {
        panic!("`initialize` opens no provider")
    }

    fn models(&self, _: &Config) -> Vec<ModelRef> {
        panic!("`initialize` asks for no models")
    }
}
