//! Setting up by answers that somebody types.

use std::io::Cursor;

use agent_core::config::Config;
use serde_json::json;
use talaria_tests::mock::{Asked, Mock, Reply};

use super::*;

#[test]
fn a_server_of_this_machine_that_wants_a_key_gets_one() {
    let mock = service();
    let answers = answers_at(&mock, "wrong\n\nk\n").ok().unwrap();
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
    let mock = service();
    let at = |args: &mut SetupArgs| {
        args.base_url = Some(mock.base_url());
        args.model = Some("m3".into());
    };
    assert_eq!(answers("k\nm4\n\nm2\n", at).ok().unwrap().model, "m2");
    let fail = answers("k\n", at).err().unwrap();
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
    let answers = answers(&typed, |_| {}).ok().unwrap();
    assert_eq!(answers.entry.base_url, Some(mock.base_url()));
    assert!(matches!(answers.key, KeyChoice::New(_)));
}

#[test]
fn an_address_is_tried_again_by_enter_alone() {
    let mock = service();
    let typed = format!("http://127.0.0.1:1/v1\n\n{}\nk\n", mock.base_url());
    let given = answers(&typed, |_| {}).ok().unwrap();
    assert_eq!(given.entry.base_url, Some(mock.base_url()));
    let fail = answers("http://127.0.0.1:1/v1\n\n\n", |_| {}).err().unwrap();
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
    let answers = answers(&typed, |_| {}).ok().unwrap();
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
        let answers = answers(&format!("{root}{given}\n"), |_| {}).ok().unwrap();
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
        let unchecked = answers_at(&mock, "\n").ok().unwrap();
        assert_eq!(unchecked.model, "m1", "{status}");
        let other = answers_at(&mock, "m2\n").ok().unwrap();
        assert_eq!(other.model, "m2", "{status}");
        let left = answers_at(&mock, "").err().unwrap();
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

/// A service on this machine that wants the key `k` and has the models `m1` and `m2`.
fn service() -> Mock {
    Mock::answering(|asked: &Asked| {
        if asked.header("authorization") != Some("Bearer k") {
            return Reply::answer("HTTP/1.1 401 Unauthorized", "wrong key");
        }
        if asked.line == "GET /v1/models" {
            let list = json!({"data": [{"id": "m1"}, {"id": "m2"}]}).to_string();
            return Reply::json(list);
        }
        match asked.body["model"].as_str() {
            Some("m1" | "m2") => Reply::text("ok"),
            _ => Reply::answer("HTTP/1.1 404 Not Found", "model not found"),
        }
    })
    .with_list()
}

/// The answers of somebody who sets up the model `m1` of the service `mine` and types these lines.
fn answers(typed: &str, change: impl FnOnce(&mut SetupArgs)) -> Result<Answers, Fail> {
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
        questions: &Questions::typed(Cursor::new(typed.to_owned())),
    };
    interview.answers()
}

/// The same where a flag says at which address this service is.
fn answers_at(mock: &Mock, typed: &str) -> Result<Answers, Fail> {
    answers(typed, |args| args.base_url = Some(mock.base_url()))
}
