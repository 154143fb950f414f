//! What somebody new does first: setting up a model, and asking whether all is well.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, run};
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::start::wait_until;

/// A service that serves one model, and nothing but its completions.
fn service() -> Mock {
    Mock::answering(|asked: &Asked| {
        let is_known = asked.line == "POST /v1/chat/completions" && asked.body["model"] == "m";
        match asked.header("authorization") {
            Some("Bearer right") if is_known => Reply::text("ok"),
            Some("Bearer right") => Reply::answer("HTTP/1.1 404 Not Found", "no such model or path"),
            _ => Reply::answer("HTTP/1.1 401 Unauthorized", "no entry"),
        }
    })
    .with_list()
}

#[test]
fn the_check_asks_the_model_itself() {
    let mock = service();
    let check = |key: &str, model: &str, path: &str, code: i32, said: &str| {
        let entry = format!(
            "model = \"mock/{model}\"\n[providers.mock]\napi = \"openai-chat\"\nbase_url = \"{}{path}\"\n\
             api_key_env = \"MOCK_API_KEY\"\n",
            mock.base_url()
        );
        let home = Home::with_config(&entry);
        let mut command = home.command(&["acp", "--check"]);
        command.env("MOCK_API_KEY", key);
        let (status, stdout, stderr) = run(command, "");
        assert_eq!(status.code(), Some(code), "{stdout}{stderr}");
        assert!(stdout.contains(said), "{stdout}\nexpected: {said}");
    };
    let url = mock.base_url();
    check(
        "right",
        "m",
        "",
        0,
        &format!("mock/m: asked for one word at {url}, answered \"ok\""),
    );
    check("wrong", "m", "", 1, "FAILED  model          mock/m: mock (127.0.0.1");
    check(
        "wrong",
        "m",
        "",
        1,
        "answered 401 Unauthorized: no entry; check the key in MOCK_API_KEY",
    );
    check(
        "",
        "m",
        "",
        1,
        "it was asked without a key: set MOCK_API_KEY or run `agent setup`",
    );
    check("right", "m2", "", 1, "check the model's name");
    check("right", "m", "/v9", 1, "base_url: most services' addresses end in /v1");
    let requests = mock.requests();
    // In the background the service is also asked what it lists.
    let asked = requests.iter().find(|asked| asked.line.starts_with("POST")).unwrap();
    // A turn sends no limit unless one is configured, and some services refuse it.
    assert!(asked.body["max_tokens"].is_null(), "{}", asked.raw);
    assert_eq!(asked.messages().len(), 2, "{}", asked.raw);
}

#[test]
fn the_check_speaks_the_dialect_of_the_provider() {
    let anthropic = [
        json!({"type": "message_start", "message": {"id": "1", "role": "assistant", "content": [], "usage": {}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ];
    let message = json!({"type": "message", "id": "1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "ok", "annotations": []}]});
    let responses = [
        json!({"type": "response.output_text.delta", "item_id": "1", "output_index": 0, "content_index": 0, "delta": "ok"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": message}),
        json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [message]}}),
    ];
    let gemini =
        [json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP"}]})];
    let check = |provider: &str, api: &str, reply: &[Value], line: &str, key: (&str, &str)| {
        let body: String = reply.iter().map(|event| format!("data: {event}\n\n")).collect();
        let mock = Mock::serve(vec![Reply::sse(body)]);
        let url = mock.base_url();
        let home = Home::with_config(&format!(
            "model = \"{provider}/m\"\n[providers.{provider}]\n{api}base_url = \"{url}\"\napi_key_env = \"MOCK_API_KEY\"\n"
        ));
        let mut command = home.command(&["acp", "--check"]);
        command.env("MOCK_API_KEY", "k");
        let (status, stdout, stderr) = run(command, "");
        assert_eq!(status.code(), Some(0), "{provider} {api}: {stdout}{stderr}");
        assert!(stdout.contains("answered \"ok\""), "{stdout}");
        let asked = &mock.requests()[0];
        assert_eq!((asked.line.as_str(), asked.header(key.0)), (line, Some(key.1)));
    };
    let (line, key) = ("POST /v1/messages", ("x-api-key", "k"));
    check("anthropic", "", &anthropic, line, key);
    check("mine", "api = \"anthropic\"\n", &anthropic, line, key);
    let (line, key) = ("POST /v1/responses", ("authorization", "Bearer k"));
    check("openai", "api = \"openai-responses\"\n", &responses, line, key);
    let (line, key) = (
        "POST /v1/models/m:streamGenerateContent?alt=sse",
        ("x-goog-api-key", "k"),
    );
    check("gemini", "", &gemini, line, key);
    check("mine", "api = \"gemini\"\n", &gemini, line, key);
}

#[test]
fn what_does_not_answer_is_not_saved() {
    let mock = service();
    let check = |key: &str, model: &str, code: i32, said: &str| {
        let home = Home::new();
        let url = mock.base_url();
        let arguments = [
            "setup",
            "--provider",
            "mock",
            "--base-url",
            &url,
            "--key-stdin",
            "--model",
            model,
        ];
        let (status, _, stderr) = run(home.command(&arguments), key);
        assert_eq!(status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(said), "{stderr}\nexpected: {said}");
        assert_eq!(home.state().join("config.toml").exists(), code == 0, "{stderr}");
    };
    check("right\n", "m", 0, "answered \"ok\"");
    check("wrong\n", "m", 1, "no entry");
    check("right\n", "m2", 1, "nothing was saved");
}

/// What `agent providers --json` says of a provider; null if it is not among them.
fn provider(array: &str, name: &str) -> Value {
    let array: Vec<Value> = serde_json::from_str(array).unwrap();
    let found = array.into_iter().find(|provider| provider["name"] == name);
    found.unwrap_or_default()
}

#[test]
fn every_provider_is_told_with_its_key_and_whether_it_answers() {
    let mock = Mock::answering(|asked: &Asked| match asked.header("authorization") {
        Some("Bearer right") => Reply::answer("HTTP/1.1 200 OK", r#"{"data": [{"id": "m"}, {"id": "n"}]}"#),
        _ => Reply::answer("HTTP/1.1 401 Unauthorized", "no entry"),
    })
    .with_list();
    let entry = format!(
        "model = \"mock/m\"\n[providers.mock]\napi = \"openai-chat\"\nbase_url = \"{}\"\n\
         api_key_env = \"MOCK_API_KEY\"\n",
        mock.base_url()
    );
    let home = Home::with_config(&entry);
    let ask = |arguments: &[&str], key: &str, code: i32| {
        let mut command = home.command(arguments);
        // Nobody listens there: what is on this machine is asked past it.
        command.env("MOCK_API_KEY", key).env("HTTP_PROXY", "http://127.0.0.1:9");
        let (status, stdout, stderr) = run(command, "");
        assert_eq!(status.code(), Some(code), "{stdout}{stderr}");
        stdout
    };
    let json = ask(&["providers", "--json"], "right", 0);
    let host = mock.base_url().replace("http://", "").replace("/v1", "");
    assert_eq!(
        provider(&json, "mock"),
        json!({
            "name": "mock", "api": "openai-chat", "host": host, "key_env": "MOCK_API_KEY", "key_from": "environment",
            "usable": true, "state": "answers, 2 models", "models": 2, "default": true,
        })
    );
    assert_eq!(provider(&json, "offline")["state"], "built in");
    assert_eq!(provider(&json, "groq"), Value::Null, "it has no key");

    let table = ask(&["providers"], "wrong-key", 1);
    let row = table.lines().find(|row| row.starts_with("mock ")).unwrap();
    for part in [
        host.as_str(),
        "MOCK_API_KEY from the environment",
        "not usable: ",
        "401 Unauthorized",
    ] {
        assert!(row.contains(part), "{row}");
    }
    assert!(!table.contains("wrong-key"), "{table}");

    let models = ask(&["models", "mock"], "right", 0);
    assert_eq!(
        models,
        format!(
            "mock: {} answers, 2 models\n  mock/m  (default)\n  mock/n\n",
            mock.base_url()
        )
    );
    assert!(ask(&["models"], "right", 0).contains("\n  mock/n\n"));
    ask(&["models"], "wrong", 1);
    ask(&["models", "mock"], "wrong", 1);
    ask(&["models", "offline"], "wrong", 0);
    ask(&["models", "mokc"], "right", 1);
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
    expect(&found, "sandbox", "warning", "none yet");
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
    set_mode("config.toml", 0o644);
    expect("home folder", "warning", "run `chmod 600 ");
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
    expect("store", "failed", "move it away with its -wal and -shm files");
    std::fs::remove_dir_all(home.state()).unwrap();
    std::fs::write(home.state(), "").unwrap();
    expect("home folder", "failed", "is not a folder: move it away");
}

#[test]
fn what_a_service_says_of_its_models_is_known_from_then_on() {
    let mock = Mock::answering(|asked: &Asked| match asked.line.as_str() {
        "GET /v1/models" => {
            let list = json!({"data": [{"id": "m", "context_length": 4000}, {"id": "n"}]});
            Reply::answer("HTTP/1.1 200 OK\ncontent-type: application/json", list.to_string())
        }
        _ => Reply::text("ok"),
    })
    .with_list();
    let home = Home::new();
    let url = mock.base_url();
    let arguments = ["setup", "--provider", "mine", "--base-url", &url, "--model", "m"];
    let (status, _, stderr) = run(home.command(&arguments), "");
    assert!(status.success(), "{stderr}");
    let mut client = Client::initialized(&home, json!({}));
    let (session, models) = new_session(&mut client, &home);
    assert_eq!(models, ["mine/m", "mine/n", "offline/offline"]);
    assert_eq!(gauge(&mut client, &session)["size"], 4000);
}

#[test]
fn what_a_service_holds_is_asked_in_the_background_where_nobody_has_asked_it() {
    let (said, hears) = mpsc::channel::<()>();
    let mock = Mock::answering(move |asked: &Asked| match asked.line.as_str() {
        "GET /v1/models" => {
            // The first session is there before the service has said anything.
            hears.recv().unwrap();
            let list = json!({"data": [{"id": "m", "context_length": 4000}, {"id": "n"}]});
            Reply::answer("HTTP/1.1 200 OK\ncontent-type: application/json", list.to_string())
        }
        _ => Reply::text("ok"),
    })
    .with_list();
    let home = Home::with_config(&format!(
        "model = \"mine/m\"\n[providers.mine]\napi = \"openai-chat\"\nbase_url = \"{}\"\n",
        mock.base_url()
    ));
    let mut client = Client::initialized(&home, json!({}));
    let (_, models) = new_session(&mut client, &home);
    assert_eq!(models, ["mine/m", "offline/offline"]);
    said.send(()).unwrap();
    wait_until("the list", || home.state().join("models.json").exists());
    let (session, models) = new_session(&mut client, &home);
    assert_eq!(models, ["mine/m", "mine/n", "offline/offline"]);
    assert_eq!(gauge(&mut client, &session)["size"], 4000);
    let lists = mock
        .requests()
        .into_iter()
        .filter(|asked| asked.line.starts_with("GET"));
    assert_eq!(lists.count(), 1);
}

/// A new session, and the models that can be chosen in it.
fn new_session(client: &mut Client, home: &Home) -> (String, Vec<String>) {
    let params = json!({"cwd": home.workspace(), "mcpServers": []});
    let answer = client.request("session/new", params).unwrap();
    let options = answer["configOptions"].as_array().unwrap();
    let models = options.iter().find(|option| option["id"] == "model").unwrap();
    let values = models["options"].as_array().unwrap().iter();
    let values = values.map(|option| option["value"].as_str().unwrap().to_owned());
    (answer["sessionId"].as_str().unwrap().to_owned(), values.collect())
}

/// What the gauge shows after a prompt.
fn gauge(client: &mut Client, session: &str) -> Value {
    assert_eq!(client.prompt(session, "hi"), "end_turn");
    let mut updates = client.updates(0).into_iter();
    updates
        .rfind(|update| update["sessionUpdate"] == "usage_update")
        .unwrap()
        .clone()
}

/// Sets up the model `mine/m` of this service.
fn set_up(home: &Home, mock: &Mock) {
    let url = mock.base_url();
    let arguments = ["setup", "--provider", "mine", "--base-url", &url, "--model", "m"];
    let (status, _, stderr) = run(home.command(&arguments), "");
    assert!(status.success(), "{stderr}");
}

/// What `agent run` prints, and whether it asked a model behind a service.
fn run_prompt(home: &Home, arguments: &[&str]) -> String {
    let (status, stdout, stderr) = run(home.command(&[&["run"], arguments].concat()), "");
    assert!(status.success(), "{stderr}");
    stdout + &stderr
}

#[test]
fn a_session_that_began_before_the_setup_gets_its_model() {
    let mock = Mock::answering(|_| Reply::text("a real answer"));
    let home = Home::new();
    let (mut client, open) = Client::with_session(&home);
    client.prompt(&open, "hello");
    assert!(client.said(0).contains("No language model is configured"));
    let unprompted = client.new_session(&home.workspace());
    run_prompt(&home, &["hello"]);
    set_up(&home, &mock);
    for session in [&open, &unprompted] {
        let from = client.log.len();
        assert_eq!(client.prompt(session, "hello"), "end_turn");
        assert!(client.said(from).ends_with("a real answer"), "{}", client.said(from));
    }
    assert!(
        client
            .updates(0)
            .iter()
            .any(|update| update["sessionUpdate"] == "config_option_update"
                && update["configOptions"].to_string().contains("mine/m"))
    );
    // The session of `agent run` is older than those of the editor.
    drop(client);
    let list: Vec<Value> = serde_json::from_str(&run(home.command(&["sessions", "list", "--json"]), "").1).unwrap();
    let ran = list.iter().find(|session| session["source"] == "run").unwrap();
    let id = ran["id"].as_str().unwrap();
    let said = run_prompt(&home, &["hello", "--session", id]);
    assert!(
        said.contains("a real answer") && said.contains("mine/m answers now"),
        "{said}"
    );
    let said = run_prompt(&home, &["hello", "--session", id]);
    assert!(
        said.contains("a real answer") && !said.contains("answers now"),
        "{said}"
    );
}

#[test]
fn a_session_whose_user_chose_the_offline_model_keeps_it_and_is_told_the_way_out() {
    let mock = Mock::answering(|_| Reply::text("a real answer"));
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "/model offline/offline");
    run_prompt(&home, &["hello", "--model", "offline/offline"]);
    set_up(&home, &mock);
    let said = run_prompt(&home, &["hello", "--continue"]);
    let way = "This session uses the built-in offline model";
    assert!(
        said.contains(way) && said.contains("`/model mine/m` changes that"),
        "{said}"
    );
    let from = client.log.len();
    client.prompt(&session, "hello");
    assert!(client.said(from).contains(way), "{}", client.said(from));
    let from = client.log.len();
    client.prompt(&session, "/model mine/m");
    client.prompt(&session, "hello");
    assert!(client.said(from).ends_with("a real answer"), "{}", client.said(from));
    assert!(run_prompt(&home, &["hello", "--model", "offline/offline"]).contains(way));
}

#[test]
fn a_slip_in_a_models_name_is_told_where_the_service_has_one_like_it() {
    let mock = Mock::answering(|asked: &Asked| match asked.line.as_str() {
        "GET /v1/models" => Reply::answer("HTTP/1.1 200 OK", r#"{"data": [{"id": "m"}, {"id": "alpha-2"}]}"#),
        _ => Reply::text("ok"),
    })
    .with_list();
    let home = Home::new();
    set_up(&home, &mock);
    let (mut client, session) = Client::with_session(&home);
    let mut told = |command: &str| {
        let from = client.log.len();
        client.prompt(&session, command);
        client.said(from)
    };
    let said = told("/model mine/alhpa-2");
    assert!(said.contains("did you mean `mine/alpha-2`?"), "{said}");
    assert!(told("/model").contains("`mine/m` (now)"));
    assert!(told("/model mine/something-else").contains("`mine/something-else` (now)"));
}
