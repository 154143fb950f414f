//! The check asks before anything is saved.

use serde_json::{Value, json};
use talaria_tests::client::{Home, run};
use talaria_tests::mock::{Mock, Reply};

use crate::service;

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
        let mock = Mock::serve(vec![Reply::events(reply)]);
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
