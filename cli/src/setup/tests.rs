#![allow(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use agent_core::config::{Api, Config};
use serde_json::json;
use talaria_tests::mock::{Asked, Mock, Reply};

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

/// A service on this machine that wants the key `k` and has the models `m1` and `m2`.
fn service() -> Mock {
    Mock::answering(|asked: &Asked| {
        if asked.header("authorization") != Some("Bearer k") {
            return Reply::answer("HTTP/1.1 401 Unauthorized", "wrong key");
        }
        if asked.line == "GET /v1/models" {
            let list = json!({"data": [{"id": "m1"}, {"id": "m2"}]}).to_string();
            return Reply::answer("HTTP/1.1 200 OK\ncontent-type: application/json", list);
        }
        match asked.body["model"].as_str() {
            Some("m1" | "m2") => Reply::text("ok"),
            _ => Reply::answer("HTTP/1.1 404 Not Found", "model not found"),
        }
    })
    .with_list()
}

/// The answers of somebody who types these lines; the model was given by a flag.
fn typed_answers(mock: &Mock, model: &str, typed: &'static str) -> Result<Answers, Fail> {
    let (_home, paths) = home();
    let args = SetupArgs {
        base_url: Some(mock.base_url()),
        no_check: false,
        ..args("mine", model)
    };
    let interview = Interview {
        args: &args,
        user: &UserSetup::new(Some(paths), Environment::of(&[])),
        config: &Config::default(),
        questions: &Questions::typed(typed.as_bytes()),
    };
    interview.answers()
}

#[test]
fn a_server_of_this_machine_that_wants_a_key_gets_one() {
    let mock = service();
    let answers = typed_answers(&mock, "m1", "wrong\n\nk\n").ok().unwrap();
    assert_eq!(answers.entry.api_key_env.as_deref(), Some("MINE_API_KEY"));
    assert!(matches!(&answers.key, KeyChoice::New(key) if key.variable == "MINE_API_KEY"));
    let sent: Vec<_> = mock
        .requests()
        .iter()
        .filter(|asked| asked.line.starts_with("POST"))
        .map(|asked| asked.header("authorization").map(str::to_owned))
        .collect();
    assert_eq!(
        sent,
        [None, Some("Bearer wrong".to_owned()), Some("Bearer k".to_owned())]
    );
}

#[test]
fn a_model_that_is_not_there_is_asked_for_again() {
    let answers = typed_answers(&service(), "m3", "k\nm4\n\nm2\n").ok().unwrap();
    assert_eq!(answers.model, "m2");
    let fail = typed_answers(&service(), "m3", "k\n").err().unwrap();
    assert!(fail.error.to_string().contains("nothing was saved"), "{}", fail.error);
}

#[test]
fn a_slip_in_a_name_or_an_address_is_asked_for_again() {
    let name = |typed: &'static str| Questions::typed(typed.as_bytes()).name(&Config::default()).ok();
    assert_eq!(name("opn ai\nopnai\nopenai\n").as_deref(), Some("openai"));
    assert_eq!(name("opnai\nopnai\n").as_deref(), Some("opnai"));
    assert_eq!(name("mine\n").as_deref(), Some("mine"));
    let no_address = SetupArgs {
        key_env: Some("K".into()),
        ..args("mine", "m")
    };
    let interview = Interview {
        args: &no_address,
        user: &UserSetup::new(None, Environment::of(&[])),
        config: &Config::default(),
        questions: &Questions::typed(&b"htp:/x\nx\nhttps://x.example/v1\n"[..]),
    };
    let answers = interview.answers().ok().unwrap();
    assert_eq!(answers.entry.base_url.as_deref(), Some("https://x.example/v1"));
}

#[test]
fn an_address_at_which_nobody_answers_or_that_is_not_safe_is_asked_for_again() {
    let mock = service();
    let typed = format!("http://127.0.0.1:1/v1\nhttp://x.example/v1\n{}\nk\n", mock.base_url());
    let args = SetupArgs {
        no_check: false,
        ..args("mine", "m1")
    };
    let (_home, paths) = home();
    let interview = Interview {
        args: &args,
        user: &UserSetup::new(Some(paths), Environment::of(&[])),
        config: &Config::default(),
        questions: &Questions::typed(std::io::Cursor::new(typed)),
    };
    let answers = interview.answers().ok().unwrap();
    assert_eq!(answers.entry.base_url, Some(mock.base_url()));
    assert!(matches!(answers.key, KeyChoice::New(_)));
}

/// A service on this machine at this address, which its one user types.
fn typed_setup(typed: String, change: impl FnOnce(&mut SetupArgs)) -> Result<Answers, Fail> {
    let mut args = SetupArgs {
        no_check: false,
        ..args("mine", "m1")
    };
    change(&mut args);
    let (_home, paths) = home();
    let interview = Interview {
        args: &args,
        user: &UserSetup::new(Some(paths), Environment::of(&[])),
        config: &Config::default(),
        questions: &Questions::typed(std::io::Cursor::new(typed)),
    };
    interview.answers()
}

#[test]
fn an_address_is_tried_again_by_enter_alone() {
    let mock = service();
    let typed = format!("http://127.0.0.1:1/v1\n\n{}\nk\n", mock.base_url());
    let answers = typed_setup(typed, |_| {}).ok().unwrap();
    assert_eq!(answers.entry.base_url, Some(mock.base_url()));
    let fail = typed_setup("http://127.0.0.1:1/v1\n\n\n".to_owned(), |_| {})
        .err()
        .unwrap();
    assert_eq!(fail.exit, Exit::Interrupted);
}

#[test]
fn a_key_that_was_typed_stays_with_its_host() {
    // The first address is no service's, and answers with a way elsewhere: the key is asked for once.
    let mock = Mock::answering(|asked: &Asked| match asked.header("authorization") {
        Some("Bearer k") if asked.line.contains("/right/v1/") => Reply::text("ok"),
        Some("Bearer k") => Reply::answer("HTTP/1.1 404 Not Found", "no such page"),
        _ => Reply::answer("HTTP/1.1 401 Unauthorized", "who are you?"),
    });
    let root = mock.base_url().replace("/v1", "");
    let typed = format!("{root}/wrong/v1\nk\n{root}/right/v1\n");
    let answers = typed_setup(typed, |_| {}).ok().unwrap();
    assert_eq!(answers.entry.base_url, Some(format!("{root}/right/v1")));
    assert!(matches!(answers.key, KeyChoice::New(_)));
}

#[test]
fn a_slip_at_the_end_of_an_address_is_mended_where_the_service_shows_itself() {
    for given in ["", "/", "/v1/chat/completions"] {
        let mock = Mock::answering(|asked: &Asked| match asked.line.as_str() {
            "GET /v1/models" => Reply::answer("HTTP/1.1 200 OK", r#"{"data": [{"id": "m1"}]}"#),
            "POST /v1/chat/completions" => Reply::text("ok"),
            "GET /models" => Reply::answer("HTTP/1.1 200 OK\ncontent-type: text/html", "<html>It works!</html>"),
            _ => Reply::answer("HTTP/1.1 404 Not Found", "no such page"),
        })
        .with_list();
        let root = mock.base_url().replace("/v1", "");
        let answers = typed_setup(format!("{root}{given}\n"), |_| {}).ok().unwrap();
        assert_eq!(answers.entry.base_url, Some(mock.base_url()), "{given}");
    }
}

#[test]
fn a_model_that_can_not_answer_now_is_saved_unchecked_if_its_user_wants_that() {
    for status in [
        "500 Internal Server Error",
        "429 Too Many Requests",
        "402 Payment Required",
    ] {
        let mock = Mock::answering(move |asked: &Asked| match asked.body["model"].as_str() {
            Some("m2") => Reply::text("ok"),
            _ => Reply::answer(&format!("HTTP/1.1 {status}"), "not now"),
        });
        let at = |args: &mut SetupArgs| args.base_url = Some(mock.base_url());
        let unchecked = typed_setup("\n".to_owned(), at).ok().unwrap();
        assert_eq!(unchecked.model, "m1", "{status}");
        let other = typed_setup("m2\n".to_owned(), at).ok().unwrap();
        assert_eq!(other.model, "m2", "{status}");
        let left = typed_setup(String::new(), at).err().unwrap();
        assert_eq!(left.exit, Exit::Interrupted, "{status}");
    }
}

#[test]
fn a_wrong_key_of_the_environment_is_told_to_come_before_a_stored_one() {
    let mock = service();
    let (_home, paths) = home();
    save::key(&paths.env_file(), "MINE_API_KEY", &"k".to_owned().into()).unwrap();
    let args = SetupArgs {
        base_url: Some(mock.base_url()),
        no_check: false,
        ..args("mine", "m1")
    };
    let mut config = Config::default();
    let entry = ProviderConfig {
        api_key_env: Some("MINE_API_KEY".into()),
        ..ProviderConfig::default()
    };
    config.providers.insert("mine".into(), entry);
    let interview = Interview {
        args: &args,
        user: &UserSetup::new(Some(paths), Environment::of(&[("MINE_API_KEY", "wrong")])),
        config: &config,
        questions: &Questions::typed(&b""[..]),
    };
    let fail = interview.answers().err().unwrap().error.to_string();
    for part in [
        "MINE_API_KEY of the environment, which comes before the one in .env",
        "unset it",
    ] {
        assert!(fail.contains(part), "{fail}");
    }
    assert!(!fail.contains("agent setup"), "{fail}");
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
