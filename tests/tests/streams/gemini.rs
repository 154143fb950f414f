//! Gemini.

use agent_core::event::ErrorClass;
use agent_core::provider::Message;
use providers::{Dialect, LIST_PATIENCE, ListedModel, Service, list_models};
use serde_json::{Value, json};
use talaria_tests::mock::{Mock, Reply as Answer};
use talaria_tests::remote::handle;

use crate::ask::{KEY, ask, ask_once_in, ask_with, file, open, service};
use crate::replay::{check_continued, converse};
use crate::told::{check_complete, check_cuts, check_in, check_stream};

const DIALECT: Dialect = Dialect::Gemini;

/// Each stream with what comes out.
const STREAMS: &[(&str, &str)] = &[
    (
        "gemini-01-thought-two-calls",
        r#"thought "hm" · call new read {"p":1} · call new read {"p":2} · usage 10/7/-/7/2 · ToolCalls"#,
    ),
    ("gemini-02-safety", r#"text "par" · usage 10/-/-/1/- · ContentFilter"#),
];

#[test]
fn every_stream_comes_out_right_however_it_is_cut_into_pieces() {
    check_complete("gemini-", STREAMS);
    for (name, expect) in STREAMS {
        check_stream(DIALECT, name, expect);
    }
}

#[test]
fn a_stream_cut_anywhere_before_its_finish_is_never_a_clean_end() {
    check_cuts(DIALECT, STREAMS, |event| {
        event.pointer("/candidates/0/finishReason").is_some()
    });
}

/// A piece of a reply of these parts, that ends for this reason or goes on.
fn piece(parts: Value, finish: Option<&str>) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}]})
}

/// A reply in one piece.
fn check(parts: Value, finish: &str, expect: &str) {
    let mut pieces = vec![piece(parts, Some(finish))];
    check_in(DIALECT, finish, Answer::events(&pieces), expect);
    // Older models said it with each piece.
    pieces.insert(0, piece(json!([]), Some("STOP")));
    check_in(DIALECT, finish, Answer::events(&pieces), expect);
}

#[test]
fn every_reason_to_stop_has_its_meaning() {
    let text = json!([{"text": "par"}]);
    let told = |end: &str| format!(r#"text "par" · usage -/-/-/-/- · {end}"#);
    check(text.clone(), "STOP", &told("Stop"));
    check(text.clone(), "MAX_TOKENS", &told("Length"));
    for reason in [
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
    ] {
        check(text.clone(), reason, &told("ContentFilter"));
    }
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "LANGUAGE", "OTHER"] {
        check(text.clone(), reason, r#"text "par" · error Server"#);
        let failure = ask_once_in(DIALECT, Answer::events(&[piece(json!([]), Some(reason))])).failure();
        assert!(failure.message.contains(reason), "{}", failure.message);
    }
    let unsaid = piece(text, Some("FINISH_REASON_UNSPECIFIED"));
    check_in(
        DIALECT,
        "unsaid",
        Answer::events(&[unsaid]),
        r#"text "par" · error Network"#,
    );
}

#[test]
fn a_prompt_that_is_blocked_ends_like_a_filtered_reply() {
    let blocked =
        json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}});
    let expect = "usage 4/-/-/-/- · ContentFilter";
    check_in(
        DIALECT,
        "blocked",
        Answer::events(std::slice::from_ref(&blocked)),
        expect,
    );
    check_in(DIALECT, "blocked", whole(&blocked), expect);
    let rated = json!({"promptFeedback": {"safetyRatings": []}});
    let expect = r#"text "hi" · usage -/-/-/-/- · Stop"#;
    let reply = piece(json!([{"text": "hi"}]), Some("STOP"));
    check_in(DIALECT, "rated", Answer::events(&[rated, reply]), expect);
}

#[test]
fn a_call_keeps_the_id_that_the_service_gave() {
    let call = |id: Value, args: Value| json!({"functionCall": {"id": id, "name": "read", "args": args}});
    check(
        json!([
            call(json!("x"), json!({"p": 1})),
            call(json!("x"), json!({"p": 2})),
            call(json!(""), Value::Null),
            {"functionCall": {"name": "read"}},
            {"executableCode": {"code": "1"}},
        ]),
        "STOP",
        r#"call x read {"p":1} · call new read {"p":2} · call new read {} · call new read {} · usage -/-/-/-/- · ToolCalls"#,
    );
    check(json!([{"functionCall": {"args": {}}}]), "STOP", "error Protocol");
    let many = Value::Array(vec![call(Value::Null, json!({})); 129]);
    check(many, "STOP", "error Protocol");
}

fn whole(body: &Value) -> Answer {
    Answer::json(body.to_string())
}

#[test]
fn a_reply_that_is_no_stream_is_understood_or_refused() {
    let first = piece(json!([{"text": "h"}]), None);
    let last = piece(json!([{"text": "i"}]), Some("STOP"));
    let hi = r#"text "hi" · usage -/-/-/-/- · Stop"#;
    check_in(DIALECT, "list", whole(&json!([first, last])), hi);
    check_in(
        DIALECT,
        "lists in events",
        Answer::events(&[json!([first]), json!([last])]),
        hi,
    );
    check_in(DIALECT, "one", whole(&piece(json!([{"text": "hi"}]), Some("STOP"))), hi);
    check_in(DIALECT, "cut", whole(&json!([first])), r#"text "h" · error Network"#);
    check_in(DIALECT, "nothing", whole(&json!({})), "error Server");
    check_in(DIALECT, "no JSON", Answer::sse("data: {\n\n"), "error Protocol");
    check_in(DIALECT, "empty", Answer::sse(""), "error Network");
}

#[test]
fn an_error_has_its_class_wherever_it_stands() {
    let error =
        |code: u16, status: &str, message: &str| json!({"error": {"code": code, "message": message, "status": status}});
    let overloaded = error(503, "UNAVAILABLE", "The model is overloaded.");
    check_in(
        DIALECT,
        "in a stream",
        Answer::events(&[piece(json!([{"text": "par"}]), None), overloaded.clone()]),
        r#"text "par" · error Overloaded"#,
    );
    check_in(DIALECT, "in a list", whole(&json!([overloaded])), "error Overloaded");
    let details = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]);
    let mut quota = error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota");
    quota["error"]["details"] = details;
    let table = [
        (
            "400 Bad Request",
            error(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
            ),
            ErrorClass::Auth,
        ),
        (
            "400 Bad Request",
            error(
                400,
                "INVALID_ARGUMENT",
                "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            ),
            ErrorClass::ContextOverflow,
        ),
        ("429 Too Many Requests", json!([quota]), ErrorClass::RateLimit),
    ];
    for (status, body, class) in table {
        let head = format!("HTTP/1.1 {status}\ncontent-type: application/json");
        let failure = ask_once_in(DIALECT, Answer::answer(&head, body.to_string())).failure();
        assert_eq!(failure.class, class, "{}", failure.message);
        let wait = (class == ErrorClass::RateLimit).then_some(34_000);
        assert_eq!(failure.retry_after_ms, wait, "{}", failure.message);
    }
}

#[test]
fn signatures_and_ids_go_back_as_they_came() {
    let signed = [
        piece(json!([{"text": "o"}]), None),
        piece(json!([{"text": "k", "thoughtSignature": "a/+="}]), None),
        piece(
            json!([{"functionCall": {"id": "x", "name": "read", "args": {"p": 3}}, "thoughtSignature": "S2"}]),
            None,
        ),
        piece(json!([{"text": "", "thoughtSignature": "S3"}]), Some("STOP")),
    ];
    let mock = Mock::serve(vec![
        Answer::sse(file("gemini-01-thought-two-calls.sse")),
        Answer::events(&signed),
        Answer::events(&[piece(json!([{"text": "done"}]), Some("STOP"))]),
    ]);
    let provider = open(Service {
        dialect: DIALECT,
        ..service(&mock)
    });
    let messages = converse(|messages| ask_with(&provider, messages));
    ask_with(&provider, &messages).end.unwrap();
    let requests = mock.requests();
    let ids: Vec<&str> = messages.iter().filter_map(id_of_result).collect();
    let answer =
        |id: &str| json!({"functionResponse": {"name": "read", "response": {"output": format!("result of {id}")}}});
    let mut answer_x = answer("x");
    answer_x["functionResponse"]["id"] = "x".into();
    let expect = json!([
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [
            {"functionCall": {"name": "read", "args": {"p": 1}}, "thoughtSignature": "SIG"},
            {"functionCall": {"name": "read", "args": {"p": 2}}},
        ]},
        {"role": "user", "parts": [answer(ids[0]), answer(ids[1])]},
        {"role": "model", "parts": [
            {"text": "o"},
            {"text": "k", "thoughtSignature": "a/+="},
            {"functionCall": {"id": "x", "name": "read", "args": {"p": 3}}, "thoughtSignature": "S2"},
            {"text": "", "thoughtSignature": "S3"},
        ]},
        {"role": "user", "parts": [answer_x]},
    ]);
    assert_eq!(requests[2].body["contents"], expect);
    assert_eq!(ids[2], "x");
    assert_ne!(ids[0], ids[1]);
    let bodies: Vec<String> = requests.iter().map(|asked| asked.raw.clone()).collect();
    check_continued(&bodies, |body| body.strip_suffix("]}"));
}

fn id_of_result(message: &Message) -> Option<&str> {
    match message {
        Message::ToolResult { id, .. } => Some(id),
        Message::User(_) | Message::Assistant { .. } => None,
    }
}

#[test]
fn the_key_goes_out_in_its_header_and_never_in_an_address() {
    let words =
        json!({"error": {"code": 400, "message": format!("API key not valid: {KEY}"), "status": "INVALID_ARGUMENT"}});
    let mock = Mock::serve(vec![
        Answer::answer(
            "HTTP/1.1 400 Bad Request\ncontent-type: application/json",
            words.to_string(),
        ),
        whole(&json!({"models": []})),
    ])
    .with_list();
    let service = Service {
        dialect: DIALECT,
        ..service(&mock)
    };
    let failure = ask(&open(service.clone())).failure();
    assert_eq!(failure.class, ErrorClass::Auth);
    assert!(failure.message.contains("not valid: ***;"), "{}", failure.message);
    assert_eq!(list_models(LIST_PATIENCE, &service, &handle()), Ok(vec![]));
    let lines = [
        "POST /v1/models/m:streamGenerateContent?alt=sse",
        "GET /v1/models?pageSize=1000",
    ];
    for (asked, line) in mock.requests().iter().zip(lines) {
        assert_eq!(asked.line, line);
        assert_eq!(asked.header("x-goog-api-key"), Some(KEY));
        assert_eq!(asked.header("authorization"), None);
    }
}

#[test]
fn the_list_has_the_models_that_answer() {
    let list = json!({"models": [
        {"name": "models/gemini-2.5-pro", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["countTokens", "generateContent"]},
        {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
        {"name": "gemma", "supportedGenerationMethods": ["generateContent"]},
    ]});
    let mock = Mock::serve(vec![whole(&list), whole(&json!({"data": []}))]).with_list();
    let service = Service {
        dialect: DIALECT,
        ..service(&mock)
    };
    let listed = |id: &str, context_window, max_output| ListedModel {
        images: None,
        id: id.into(),
        context_window,
        max_output,
    };
    let expect = vec![
        listed("gemini-2.5-pro", Some(1_048_576), Some(65_536)),
        listed("gemma", None, None),
    ];
    assert_eq!(list_models(LIST_PATIENCE, &service, &handle()), Ok(expect));
    assert!(list_models(LIST_PATIENCE, &service, &handle()).is_err());
}

#[test]
fn a_models_name_stands_in_the_address_as_one_word() {
    let mock = Mock::serve(vec![]);
    for (name, word) in [
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("../../x?y#z", "..%2F..%2Fx%3Fy%23z"),
    ] {
        let service = Service {
            dialect: DIALECT,
            ..service(&mock)
        };
        let mut model = crate::ask::model(&service.base_url);
        model.origin.model = name.into();
        ask(&providers::RemoteModel::new(service, model, handle()).unwrap());
        let line = format!("POST /v1/models/{word}:streamGenerateContent?alt=sse");
        assert_eq!(mock.requests().last().unwrap().line, line);
    }
}
