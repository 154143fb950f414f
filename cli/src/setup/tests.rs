#![allow(clippy::unwrap_used, reason = "tests")]

mod typed;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use agent_core::config::{Api, Config};

use super::answer::checked_key;
use super::*;
use crate::args::ApiArg;

fn args(provider: &str, model: &str) -> SetupArgs {
    SetupArgs {
        provider: Some(provider.into()),
        model: Some(model.into()),
        no_check: true,
        ..SetupArgs::default()
    }
}

fn home() -> (tempfile::TempDir, Paths) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("talaria");
    let paths = Paths {
        config: folder.clone(),
        state: folder,
    };
    (home, paths)
}

fn answers(args: &SetupArgs, variables: &'static [(&'static str, &'static str)]) -> Result<Answers, Fail> {
    let (_home, paths) = home();
    let user = UserSetup::new(Some(paths), Environment::of(variables));
    let interview = Interview {
        args,
        user: &user,
        config: &Config::default(),
        questions: &Questions::none(),
    };
    interview.answers()
}

#[test]
fn without_a_terminal_a_missing_answer_names_its_flag() {
    let check = |args: &SetupArgs, flag: &str| {
        let fail = answers(args, &[]).err().unwrap();
        assert_eq!(fail.exit, Exit::Usage, "{flag}");
        assert!(fail.error.to_string().contains(flag), "{flag}: {}", fail.error);
    };
    check(&SetupArgs::default(), "--provider");
    check(&args("mine", "m"), "--base-url");
    check(
        &args("openai", "gpt-5"),
        "--key-stdin or --key-env NAME, or set OPENAI_API_KEY",
    );
    let no_model = SetupArgs {
        model: None,
        ..args("ollama", "")
    };
    check(&no_model, "--model");
    check(&args("a/b", "m"), "--provider");
    check(&args("opnai", "m"), "did you mean `openai`?");
    let bad_variable = SetupArgs {
        key_env: Some("sk-123".into()),
        ..args("openai", "gpt-5")
    };
    check(&bad_variable, "--key-env");
}

#[test]
fn a_key_in_place_of_a_variables_name_is_not_shown() {
    for key in ["sk-123", "gsk_abcdef", "a b", "Ab1Ab1Ab1Ab1Ab1Ab1Ab1"] {
        let args = SetupArgs {
            key_env: Some(key.into()),
            ..args("openai", "gpt-5")
        };
        let fail = answers(&args, &[]).err().unwrap().error.to_string();
        assert!(fail.contains("--key-stdin") && !fail.contains(key), "{fail}");
    }
}

#[test]
fn a_service_on_this_machine_needs_no_key() {
    let answers = answers(&args("ollama", "ollama/qwen3"), &[]).ok().unwrap();
    assert_eq!(answers.model, "qwen3");
    assert_eq!(answers.entry, ProviderConfig::default());
    assert!(matches!(answers.key, KeyChoice::Stays));
}

#[test]
fn a_key_of_the_environment_is_not_stored() {
    let answers = answers(&args("openai", "gpt-5"), &[("OPENAI_API_KEY", "k")])
        .ok()
        .unwrap();
    assert!(matches!(answers.key, KeyChoice::Stays));
}

#[test]
fn an_own_service_gets_a_variable_of_its_own() {
    let far = SetupArgs {
        base_url: Some("https://far.example/v1".into()),
        ..args("my-far", "m")
    };
    let answers = answers(&far, &[("MY_FAR_API_KEY", "k")]).ok().unwrap();
    assert_eq!(answers.entry.api, Some(Api::OpenaiChat));
    assert_eq!(answers.entry.api_key_env.as_deref(), Some("MY_FAR_API_KEY"));
}

#[test]
fn a_key_goes_to_another_host_only_if_that_is_said() {
    let moved = |key_env: Option<&str>, base_url: &str| SetupArgs {
        base_url: Some(base_url.into()),
        key_env: key_env.map(str::to_owned),
        ..args("openai", "m")
    };
    let variables: &[_] = &[("OPENAI_API_KEY", "k")];
    let fail = answers(&moved(None, "https://api.example/v1"), variables)
        .err()
        .unwrap();
    assert!(
        fail.error.to_string().contains("--key-env OPENAI_API_KEY"),
        "{}",
        fail.error
    );
    assert!(answers(&moved(Some("OPENAI_API_KEY"), "https://api.example/v1"), variables).is_ok());
    assert!(answers(&moved(None, "https://api.openai.com/v2"), variables).is_ok());
}

#[test]
fn a_key_that_stays_in_the_environment_must_be_there_to_be_checked() {
    let named = SetupArgs {
        key_env: Some("MINE".into()),
        ..args("openai", "gpt-5")
    };
    let unchecked = answers(&named, &[]).ok().unwrap();
    assert_eq!(unchecked.entry.api_key_env.as_deref(), Some("MINE"));
    assert!(matches!(unchecked.key, KeyChoice::Stays));
    let checked = SetupArgs {
        no_check: false,
        ..named
    };
    let fail = answers(&checked, &[]).err().unwrap();
    assert!(fail.error.to_string().contains("MINE is not set"), "{}", fail.error);
}

#[test]
fn an_address_that_could_never_be_asked_is_refused_unasked_too() {
    let elsewhere = SetupArgs {
        base_url: Some("http://example.com/v1".into()),
        key_env: Some("MINE".into()),
        ..args("mine", "m")
    };
    let fail = answers(&elsewhere, &[]).err().unwrap().error.to_string();
    assert!(fail.contains("use https"), "{fail}");
}

#[test]
fn the_built_in_model_needs_no_more_than_its_name() {
    let only_name = SetupArgs {
        provider: Some("offline".into()),
        ..SetupArgs::default()
    };
    assert_eq!(answers(&only_name, &[]).ok().unwrap().model, "offline");
    let script = SetupArgs {
        api: Some(ApiArg::Script),
        base_url: Some("/s.json".into()),
        ..args("show", "one")
    };
    assert_eq!(answers(&script, &[]).ok().unwrap().model, "one");
}

#[test]
fn keys_that_cannot_be_are_refused_unseen() {
    assert!(checked_key(" sk-1 \n").is_ok());
    for key in ["", " \n", "a b", "schlüssel"] {
        let why = checked_key(key).err().unwrap();
        assert!(!why.contains("schl"), "{why}");
    }
}

#[test]
fn what_is_saved_is_private_and_read_at_the_next_start() {
    let (_home, paths) = home();
    let answers = Answers {
        provider: "openai".into(),
        entry: ProviderConfig::default(),
        key: KeyChoice::New(NewKey {
            variable: "OPENAI_API_KEY".into(),
            secret: "k".to_owned().into(),
        }),
        model: "gpt-5".into(),
    };
    save_all(&paths, &answers).ok().unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&paths.config), 0o700);
    assert_eq!(mode(&paths.config_file()), 0o600);
    assert_eq!(mode(&paths.env_file()), 0o600);
    let user = UserSetup::new(Some(paths), Environment::of(&[]));
    let config = user.config().unwrap();
    assert_eq!(user.models(&config)[0].to_string(), "openai/gpt-5");
}
