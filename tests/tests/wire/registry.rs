//! What the registry of ACP agents asks: a manifest of the right form, and a way to sign in, as its own check finds it
//! in a bare environment.

use std::process::Command;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, binary};

const PLATFORMS: [&str; 6] = [
    "darwin-aarch64",
    "darwin-x86_64",
    "linux-aarch64",
    "linux-x86_64",
    "windows-aarch64",
    "windows-x86_64",
];

fn manifest() -> Value {
    serde_json::from_str(include_str!("../../../registry/agent.json")).unwrap()
}

/// The targets of the manifest by their platforms.
fn targets(manifest: &Value) -> Vec<(&String, &Value)> {
    manifest["distribution"]["binary"].as_object().unwrap().iter().collect()
}

#[test]
fn the_manifest_has_the_registrys_form_and_agrees_with_the_package() {
    let manifest = manifest();
    let fields = manifest.as_object().unwrap();
    let known = [
        "id",
        "name",
        "version",
        "description",
        "authors",
        "license",
        "distribution",
    ];
    assert!(fields.keys().all(|field| known.contains(&field.as_str())), "{manifest}");
    let id = manifest["id"].as_str().unwrap();
    assert!(id.starts_with(|c: char| c.is_ascii_lowercase()));
    assert!(
        id.chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    );
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    for field in ["name", "description", "license"] {
        assert!(!manifest[field].as_str().unwrap().is_empty(), "{field}");
    }
    assert!(manifest["authors"].as_array().unwrap().iter().all(Value::is_string));
    for (platform, target) in targets(&manifest) {
        assert!(PLATFORMS.contains(&platform.as_str()), "{platform}");
        assert!(target["archive"].as_str().unwrap().starts_with("https://"));
        assert_eq!(target["cmd"], "./agent", "{platform}");
    }
    let icon = include_str!("../../../registry/icon.svg");
    assert!(icon.contains(r#"width="16" height="16""#) && icon.contains("currentColor"));
}

#[test]
fn an_agent_started_as_the_manifest_says_offers_a_way_to_sign_in() {
    for (platform, target) in targets(&manifest()) {
        let home = Home::new();
        let mut command = Command::new(binary());
        let arguments = target["args"].as_array().unwrap().iter();
        command.args(arguments.map(|argument| argument.as_str().unwrap()));
        command.env_clear().env("TERM", "dumb").env("HOME", home.workspace());
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.current_dir(home.workspace());
        let mut client = Client::spawn(command);
        let capabilities = json!({
            "terminal": true,
            "fs": {"readTextFile": true, "writeTextFile": true},
            "_meta": {"terminal_output": true, "terminal-auth": true},
        });
        let params = json!({
            "protocolVersion": 1,
            "clientInfo": {"name": "ACP Registry Validator", "version": "1.0.0"},
            "clientCapabilities": capabilities,
        });
        let greeting = client.request("initialize", params).unwrap();
        assert_eq!(greeting["agentInfo"]["name"], "talaria", "{platform}");
        assert_eq!(greeting["agentInfo"]["version"], env!("CARGO_PKG_VERSION"));
        // One without a type is of the agent's own.
        let kind = |method: &Value| method["type"].as_str().unwrap_or("agent").to_owned();
        let kinds: Vec<String> = greeting["authMethods"].as_array().unwrap().iter().map(kind).collect();
        assert_eq!(kinds, ["agent", "terminal"], "{greeting}");
        assert!(client.close().success());
    }
}
