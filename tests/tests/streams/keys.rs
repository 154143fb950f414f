//! A key goes to its service and nowhere else.

use agent_core::event::{CallInput, ErrorClass};
use agent_core::provider::ProviderError;
use providers::{Dialect, LIST_PATIENCE, ListedModel, RemoteModel, Service, ServiceError, list_models};
use serde_json::{Value, json};
use talaria_tests::mock::{Mock, Reply as Answer};
use talaria_tests::remote::handle;
use talaria_tests::spoken::{DIALECTS, Spoken};

use crate::ask::{KEY, TEAM, ask, ask_once, ask_once_in, model, open, service};

#[test]
fn the_key_goes_out_in_its_header_and_shows_up_nowhere() {
    for dialect in DIALECTS {
        check_key_of(dialect);
    }
}

/// Where a dialect sends its questions, and the header that has the key.
fn place(dialect: Dialect) -> (&'static str, &'static str, String) {
    match dialect {
        Dialect::OpenaiChat => ("POST /v1/chat/completions", "authorization", format!("Bearer {KEY}")),
        Dialect::OpenaiResponses => ("POST /v1/responses", "authorization", format!("Bearer {KEY}")),
        Dialect::Anthropic => ("POST /v1/messages", "x-api-key", KEY.to_owned()),
        Dialect::Gemini => (
            "POST /v1/models/m:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            KEY.to_owned(),
        ),
    }
}

fn check_key_of(dialect: Dialect) {
    let echo = json!({"error": {"message": format!("Incorrect API key provided: {KEY} of team {TEAM}.")}}).to_string();
    let events = format!("data: {echo}\n\n");
    let mock = Mock::serve(vec![
        Answer::answer(
            "HTTP/1.1 401 Unauthorized\ncontent-type: application/json",
            echo.clone(),
        ),
        Answer::sse(events),
        Answer::json(echo),
    ]);
    let service = Service {
        dialect,
        ..service(&mock)
    };
    let debug = format!("{service:?}");
    let provider = open(service);
    for status in [Some(401), None, None] {
        let failure = ask(&provider).failure();
        assert_eq!((failure.class, failure.status), (ErrorClass::Auth, status));
        assert!(
            failure.message.contains("provided: *** of team ***.;"),
            "{}",
            failure.message
        );
        assert!(
            failure
                .message
                .ends_with("check the key in MOCK_API_KEY or run `agent setup`"),
            "{}",
            failure.message
        );
    }
    assert!(
        !debug.contains(KEY) && !debug.contains(TEAM) && debug.contains("x-team"),
        "{debug}"
    );
    let asked = &mock.requests()[0];
    let (line, header, value) = place(dialect);
    assert_eq!(asked.line, line);
    assert_eq!(asked.header("x-team"), Some(TEAM));
    let with_key: Vec<_> = asked.headers.iter().filter(|(_, value)| value.contains(KEY)).collect();
    assert_eq!(with_key, [&(header.to_owned(), value)]);
    assert!(!asked.raw.contains(KEY) && !asked.line.contains(KEY));
}

#[test]
fn a_key_that_a_reply_echoes_is_masked_in_all_of_it() {
    let chunk = |delta: Value, finish: Value| {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        format!("data: {chunk}\n\n")
    };
    let (start, end) = KEY.split_at(9);
    let arguments = json!({"path": KEY}).to_string();
    let call = json!({"index": 0, "id": "c", "function": {"name": "read_file", "arguments": arguments}});
    let events = [
        chunk(json!({"reasoning_content": format!("thinks {start}")}), Value::Null),
        chunk(json!({"reasoning_content": end}), Value::Null),
        chunk(json!({"content": format!("says {KEY} and {start}")}), Value::Null),
        chunk(json!({"content": format!("{end}, {start}")}), Value::Null),
        chunk(json!({"reasoning_content": " and says"}), Value::Null),
        chunk(json!({"content": format!("{end}, and sk-")}), Value::Null),
        chunk(json!({"tool_calls": [call]}), json!("tool_calls")),
    ];
    let outcome = ask_once(Answer::sse(events.concat()));
    assert_eq!(outcome.thought, "thinks *** and says");
    assert_eq!(outcome.text, "says *** and ***, ***, and sk-");
    let reply = outcome.end.unwrap();
    assert_eq!(reply.calls[0].input, CallInput::Json(json!({"path": "***"})));
    assert!(!format!("{reply:?}").contains(KEY), "{reply:?}");
}

#[test]
fn a_key_that_stands_among_the_models_is_masked() {
    let list = json!({"data": [{"id": format!("m-{KEY}")}, {"id": "m"}]}).to_string();
    let mock = Mock::serve(vec![Answer::json(list)]).with_list();
    let listed = list_models(LIST_PATIENCE, &service(&mock), &handle()).unwrap();
    let ids: Vec<&str> = listed.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["m-***", "m"]);
}

#[test]
fn a_key_that_a_reply_echoes_is_masked_in_every_dialect() {
    for dialect in DIALECTS {
        let call = ("c".to_owned(), "read_file".to_owned(), json!({"path": KEY}));
        let spoken = Spoken {
            calls: vec![call],
            ..Spoken::text(&format!("says {KEY}")).thinking(&format!("thinks {KEY}"))
        };
        let outcome = ask_once_in(dialect, spoken.reply(dialect));
        assert_eq!(
            (outcome.thought.as_str(), outcome.text.as_str()),
            ("thinks ***", "says ***")
        );
        let reply = outcome.end.unwrap();
        assert_eq!(reply.calls[0].input, CallInput::Json(json!({"path": "***"})));
        assert!(!format!("{reply:?}").contains(KEY), "{reply:?}");
    }
}

#[test]
fn a_redirect_is_not_followed_with_the_key() {
    let thief = Mock::serve(vec![Answer::text("mine now")]);
    let statuses = [
        "301 Moved Permanently",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ];
    for (dialect, status) in DIALECTS
        .into_iter()
        .flat_map(|dialect| statuses.map(|status| (dialect, status)))
    {
        let head = format!(
            "HTTP/1.1 {status}\nlocation: {}/chat/completions?key=1",
            thief.base_url()
        );
        let failure = ask_once_in(dialect, Answer::answer(&head, "")).failure();
        assert_eq!(failure.class, ErrorClass::Config);
        assert!(
            failure
                .message
                .contains(&format!("redirects to {}/chat", thief.base_url())),
            "{}",
            failure.message
        );
    }
    assert!(thief.requests().is_empty());
}

#[test]
fn a_key_leaves_this_machine_encrypted_or_not_at_all() {
    let open = |base_url: &str| RemoteModel::new(Service::new("mock", base_url), model(base_url), handle()).err();
    let safe = open("https://example.com/v1");
    assert!(
        matches!(safe, None | Some(ServiceError::NoClient { .. })),
        "a machine may have no certificates"
    );
    assert!(open("http://localhost:11434/v1").is_none());
    assert!(open("http://[::1]:8080/v1").is_none());
    assert!(matches!(
        open("http://example.com/v1"),
        Some(ServiceError::NotSafe { .. })
    ));
    assert!(matches!(
        open("http://localhost.example.com/v1"),
        Some(ServiceError::NotSafe { .. })
    ));
    assert!(matches!(open("file:///etc/passwd"), Some(ServiceError::NotSafe { .. })));
    assert!(matches!(
        open("example.com/v1"),
        Some(ServiceError::NotAnAddress { .. })
    ));
    assert!(matches!(
        open("https://me:pw@example.com"),
        Some(ServiceError::KeyInAddress { .. })
    ));
}

#[test]
fn what_services_say_of_their_models_is_read_in_their_words() {
    let windows = [
        json!({"context_length": 9}),
        json!({"context_window": 9}),
        json!({"max_model_len": 9}),
        json!({"max_context_length": 9}),
        json!({"max_input_tokens": 9}),
        json!({"meta": {"n_ctx": 9, "n_ctx_train": 99}}),
    ];
    let pictures = [
        (
            json!({"architecture": {"input_modalities": ["text", "image"]}}),
            Some(true),
        ),
        (json!({"architecture": {"input_modalities": ["text"]}}), Some(false)),
        (json!({"capabilities": {"vision": true}}), Some(true)),
        (
            json!({"capabilities": ["completion"], "architecture": null, "meta": null}),
            None,
        ),
    ];
    let said = windows.iter().chain(pictures.iter().map(|(said, _)| said));
    let data: Vec<_> = said
        .map(|said| {
            let mut model = said.clone();
            model["id"] = json!("m");
            model
        })
        .collect();
    let list = json!({ "data": data }).to_string();
    let mock = Mock::serve(vec![Answer::answer("HTTP/1.1 200 OK", list)]).with_list();
    let listed = list_models(LIST_PATIENCE, &service(&mock), &handle()).unwrap();
    let (sized, seeing) = listed.split_at(windows.len());
    assert!(sized.iter().all(|model| model.context_window == Some(9)), "{sized:?}");
    for (model, (said, images)) in seeing.iter().zip(pictures) {
        assert_eq!(model.images, images, "{said}");
    }
}

#[test]
fn the_list_of_models_is_the_services_own() {
    let json = "HTTP/1.1 200 OK\ncontent-type: application/json";
    let list =
        json!({"object": "list", "data": [{"id": "z"}, {"id": "a/b", "object": "model", "context_length": 9000}]})
            .to_string();
    let mock = Mock::serve(vec![
        Answer::answer(json, list),
        Answer::answer(json, "[]"),
        Answer::answer("HTTP/1.1 401 Unauthorized", ""),
    ])
    .with_list();
    let list = || list_models(LIST_PATIENCE, &service(&mock), &handle());
    let listed = |id: &str, context_window| ListedModel {
        images: None,
        id: id.to_owned(),
        context_window,
        max_output: None,
    };
    assert_eq!(list(), Ok(vec![listed("z", None), listed("a/b", Some(9000))]));
    assert_eq!(mock.requests()[0].line, "GET /v1/models");
    let class = |outcome| match outcome {
        Err(ProviderError::Failed(failure)) => failure.class,
        other => panic!("{other:?}"),
    };
    assert_eq!(class(list()), ErrorClass::Protocol);
    assert_eq!(class(list()), ErrorClass::Auth);
    assert_eq!(
        class(list_models(
            LIST_PATIENCE,
            &Service::new("mock", "http://example.com"),
            &handle()
        )),
        ErrorClass::Config
    );
}
