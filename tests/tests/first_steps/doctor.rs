//! The doctor: what it looks at, and how to mend what it finds.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use talaria_tests::client::{Home, run};

use crate::service;

#[test]
fn the_doctor_finds_a_new_installation_in_order() {
    let home = Home::new();
    let found = findings(&home, &["--offline"], 0);
    for (check, part) in [
        ("version", env!("CARGO_PKG_VERSION")),
        ("home folder", "private"),
        ("store", "schema "),
        ("sessions", "0"),
        ("log", "home/logs/agent."),
        ("configuration", "the default one"),
        (".env", "there is no"),
        ("proxies", "HTTPS_PROXY http://p.example:3128 (with a login)"),
        ("model", "offline/offline is built in"),
    ] {
        expect(&found, check, "ok", part);
    }
    let (.., says) = found.iter().find(|(check, ..)| check == "sandbox").unwrap();
    assert!(
        says.starts_with("In the sandbox (") || says.starts_with("No sandbox: "),
        "{says}"
    );
    let (_, shown, _) = run(home.command(&["doctor", "--offline"]), "");
    assert_eq!(shown.lines().count(), found.len(), "{shown}");
    let states = ["ok      ", "warning ", "FAILED  "];
    assert!(
        shown
            .lines()
            .all(|line| states.iter().any(|state| line.starts_with(state))),
        "{shown}"
    );
}

#[test]
fn the_doctor_asks_the_models_and_only_the_default_one_is_needed() {
    let mock = service();
    let config = |model: &str| {
        let url = mock.base_url();
        format!(
            "model = \"mock/{model}\"\nfallback_models = [\"mock/m2\", \"groq/x\"]\n[providers.mock]\n\
             api = \"openai-chat\"\nbase_url = \"{url}\"\napi_key_env = \"MOCK_API_KEY\"\n"
        )
    };
    let home = Home::with_config(&config("m"));
    let found = findings(&home, &["--offline"], 0);
    assert!(mock.requests().is_empty(), "{:?}", mock.requests());
    assert!(
        found
            .iter()
            .all(|(check, ..)| check != "model" && check != "local servers"),
        "{found:?}"
    );
    let found = findings(&home, &[], 0);
    expect(&found, "credentials", "ok", "MOCK_API_KEY from the environment");
    expect(
        &found,
        "credentials",
        "warning",
        "GROQ_API_KEY is not set: run `agent setup`",
    );
    expect(&found, "model", "ok", "answered \"ok\"");
    expect(&found, "fallback", "warning", "mock/m2: ");
    expect(&found, "local servers", "ok", "");
    home.write_config(&config("m3"));
    expect(&findings(&home, &[], 1), "model", "failed", "check the model's name");
}

#[test]
fn the_doctor_says_how_to_mend_what_is_wrong() {
    let home = Home::with_config("modle = \"a/b\"\n");
    let expect = |check: &str, state: &str, part: &str| {
        let code = i32::from(state == "failed");
        expect(&findings(&home, &["--offline"], code), check, state, part);
    };
    expect("configuration", "failed", "did you mean `model`?");
    home.write_config("model = \"openai/gpt-5\"\n");
    expect("credentials", "failed", "OPENAI_API_KEY is not set: run `agent setup`");

    home.write_config(
        "[providers.mine]\napi = \"openai-chat\"\nbase_url = \"https://x/v1\"\nca_file = \"/nowhere/ca.pem\"\n",
    );
    expect("TLS roots", "warning", "correct providers.mine.ca_file");

    home.write_config("");
    let set_mode = |name: &str, mode: u32| {
        std::fs::set_permissions(home.state().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // Nobody gets at a file in a folder that is private.
    set_mode("config.toml", 0o644);
    expect("home folder", "ok", "private");
    set_mode("", 0o711);
    expect(
        "home folder",
        "warning",
        "config.toml (mode 0644); that was mended just now",
    );
    set_mode("config.toml", 0o600);
    set_mode("", 0o755);
    expect("home folder", "warning", "(mode 0755); that was mended just now");
    std::fs::write(home.state().join(".env"), "A=hunter2\nhunter2\n").unwrap();
    set_mode(".env", 0o644);
    expect(".env", "warning", "chmod 600 ");
    expect(".env", "warning", "line 2 of ");

    let database = home.state().join("state.db");
    let mut bytes = std::fs::read(&database).unwrap();
    // The header stays, so that it opens.
    bytes[4096..].fill(0x55);
    std::fs::write(&database, bytes).unwrap();
    expect("store", "failed", "`agent doctor --repair`");
    std::fs::remove_dir_all(home.state()).unwrap();
    std::fs::write(home.state(), "").unwrap();
    expect("home folder", "failed", "is not a folder: move it away");
}

/// The lines of a doctor's report as (check, state, message).
fn findings(home: &Home, arguments: &[&str], code: i32) -> Vec<(String, String, String)> {
    let mut command = home.command(&[&["doctor", "--json"], arguments].concat());
    command
        .env("MOCK_API_KEY", "right")
        .env("HTTPS_PROXY", "http://me:hunter2@p.example:3128");
    let (status, stdout, stderr) = run(command, "");
    assert_eq!(status.code(), Some(code), "{stdout}{stderr}");
    assert_eq!(stderr, "");
    assert!(!stdout.contains("hunter2"), "{stdout}");
    let array: Vec<Value> = serde_json::from_str(&stdout).unwrap();
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let finding = |finding: &Value| (text(finding, "check"), text(finding, "state"), text(finding, "message"));
    array.iter().map(finding).collect()
}

/// Makes sure that a check came out so, with a message that holds `part`.
#[track_caller]
fn expect(findings: &[(String, String, String)], check: &str, state: &str, part: &str) {
    let of_check = findings.iter().filter(|(found, ..)| found == check);
    let is_it = |(_, found, message): &&(String, String, String)| found == state && message.contains(part);
    assert!(
        of_check.clone().any(|finding| is_it(&finding)),
        "{findings:#?}\n{check} {state}: {part}"
    );
}
