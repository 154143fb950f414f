//! Raw answers of model services, each with something odd in it, and what comes out of them.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, io::Write, thread};

use agent_core::cancel::Cancel;
use agent_core::content::Content;
use agent_core::event::{CallInput, ErrorClass, Failure};
use agent_core::provider::{Call, Delta, Message, ModelInfo, Origin, Provider, ProviderError, Reply, Request, Usage};
use providers::{OpenAiChat, Service, ServiceError, list_models};
use serde_json::json;
use talaria_tests::mock::{Mock, Reply as Answer};
use tokio::runtime::{Handle, Runtime};

const KEY: &str = "sk-very-secret-0123456789";
/// Long enough for a busy machine; reached only by a fault.
const LIMIT: Duration = Duration::from_secs(20);

/// Each stream with what comes out: thought, text, calls (`new` for a made-up id), usage as prompt, cached, written,
/// output and reasoning, and the finish or the class of the error.
const STREAMS: &[(&str, &str)] = &[
    (
        "chat-01-parallel-fragments",
        r#"call a read {"p":1} · call b read {"p":2} · usage 10/7/-/5/- · ToolCalls"#,
    ),
    (
        "chat-02-parallel-index-zero",
        r#"call a read {"p":1} · call b read {"p":2} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-03-no-index",
        r#"call a read {"p":1} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-04-no-done",
        r#"text "hi" · call a read {"p":1} · usage -/-/-/-/- · ToolCalls"#,
    ),
    ("chat-05-cut-in-text", r#"text "hal" · error Network"#),
    (
        "chat-06-reasoning-two-fields",
        r#"thought "R1R2" · text "T" · usage 10/7/-/5/- · Stop"#,
    ),
    (
        "chat-07-reasoning-details-signed",
        r#"thought "RD" · text "T" · usage -/-/-/-/- · Stop"#,
    ),
    (
        "chat-08-finish-reason-empty-string",
        r#"text "x" · usage -/-/-/-/- · Stop"#,
    ),
    ("chat-09-error-mid-stream", r#"text "x" · error Overloaded"#),
    (
        "chat-10-args-cut-by-length",
        r#"call a read malformed {"p": · usage -/-/-/-/- · Length"#,
    ),
    ("chat-11-comment-crlf", r#"text "x" · usage -/-/-/-/- · Stop"#),
    (
        "chat-12-args-as-object",
        r#"call a read {"p":1} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-13-utf8-split",
        r#"text "見積 日本語 🌍 fin" · usage -/-/-/-/- · Stop"#,
    ),
    (
        "chat-14-call-without-id",
        r#"call new read {"p":1} · usage 10/7/-/5/- · ToolCalls"#,
    ),
    (
        "chat-15-two-calls-without-id",
        r#"call new read {"p":1} · call new read {"p":2} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-16-two-calls-same-id",
        r#"call a read {"p":1} · call new read {"p":2} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-17-id-and-name-in-every-piece",
        r#"call a read {"p":1} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-18-content-filter",
        r#"text "par" · usage -/-/-/-/- · ContentFilter"#,
    ),
    (
        "chat-19-length",
        r#"text "The first half of a sen" · usage 10/7/-/5/- · Length"#,
    ),
    ("chat-20-empty-reply", "usage 10/-/-/0/- · Stop"),
    ("chat-21-reasoning-only", r#"thought "R1R2" · usage 10/-/-/6/6 · Stop"#),
    ("chat-22-crlf-multi-line-data", r#"text "AB" · usage -/-/-/-/- · Stop"#),
    ("chat-23-usage-in-every-chunk", r#"text "AB" · usage 10/-/-/2/- · Stop"#),
    (
        "chat-24-text-like-sse-and-late-content",
        r#"text "say data: {\"x\":1}\n\ndata: [DONE]\n\nend" · usage 10/7/-/5/- · Stop"#,
    ),
];

#[test]
fn every_stream_comes_out_right_however_it_is_cut_into_pieces() {
    for (name, expect) in STREAMS {
        let body = file(&format!("{name}.sse"));
        let offsets = fs::read_to_string(path(&format!("{name}.chunks"))).unwrap_or_default();
        let offsets = offsets.lines().map(|line| line.parse().unwrap()).collect();
        check(name, Answer::sse(body.clone()).in_pieces(offsets), expect);
        check(name, Answer::sse(body.clone()), expect);
        check(name, Answer::sse(body).byte_by_byte(), expect);
    }
}

#[test]
fn every_stream_of_the_folder_is_in_the_table() {
    let mut found: Vec<String> = fs::read_dir(path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".sse").map(str::to_owned))
        .collect();
    found.sort();
    assert_eq!(found, STREAMS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

#[test]
fn a_stream_cut_anywhere_before_its_finish_is_never_a_clean_end() {
    for (name, whole) in STREAMS {
        let body = file(&format!("{name}.sse"));
        for end in cuts(&body) {
            let finished = has_finish(&body[..end]);
            let told = tell(&ask_once(Answer::sse(&body[..end])));
            if finished {
                assert_eq!(without_usage(&told), without_usage(whole), "{name} cut at {end}");
            } else {
                assert!(told.ends_with("error Network"), "{name} cut at {end}: {told}");
            }
        }
    }
}

#[test]
fn a_connection_lost_after_the_finish_reason_loses_nothing() {
    let head = "HTTP/1.1 200 OK\ncontent-type: text/event-stream\ncontent-length: 100000";
    let body = file("chat-19-length.sse");
    check(
        "lost",
        Answer::answer(head, body.clone()),
        r#"text "The first half of a sen" · usage 10/7/-/5/- · Length"#,
    );
    check("lost", Answer::answer(head, &body[..100]), "error Network");
}

#[test]
fn made_up_ids_are_never_made_twice() {
    let mut ids = Vec::new();
    for name in [
        "chat-14-call-without-id",
        "chat-15-two-calls-without-id",
        "chat-16-two-calls-same-id",
    ] {
        for _ in 0..3 {
            let reply = ask_once(Answer::sse(file(&format!("{name}.sse")))).end.unwrap();
            ids.extend(reply.calls.into_iter().map(|call| call.id).filter(|id| id != "a"));
        }
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), count), (12, 12));
}

#[test]
fn every_error_answer_has_its_class_status_and_wait() {
    let table = [
        (
            "error-01-html-502",
            ErrorClass::Server,
            Some(502),
            None,
            "answered 502 Bad Gateway;",
        ),
        (
            "error-02-rate-limit-429",
            ErrorClass::RateLimit,
            Some(429),
            Some(2000),
            "Rate limit reached",
        ),
        (
            "error-03-context-openai-400",
            ErrorClass::ContextOverflow,
            Some(400),
            None,
            "9312 tokens",
        ),
        (
            "error-04-context-anthropic-400",
            ErrorClass::ContextOverflow,
            Some(400),
            None,
            "205120 tokens > 200000",
        ),
        (
            "error-05-context-llamacpp-400",
            ErrorClass::ContextOverflow,
            Some(400),
            None,
            "(4096 tokens)",
        ),
        (
            "error-06-context-anthropic-input-plus-output-400",
            ErrorClass::ContextOverflow,
            Some(400),
            None,
            "190000 + 16000 > 200000",
        ),
        (
            "error-07-rate-limit-http-date-429",
            ErrorClass::RateLimit,
            Some(429),
            Some(3000),
            "your rate limit",
        ),
        (
            "error-08-json-error-with-status-200",
            ErrorClass::ModelNotFound,
            None,
            None,
            "model 'm' not found",
        ),
    ];
    for (name, class, status, wait, words) in table {
        let body = [".json", ".html"]
            .iter()
            .find_map(|end| fs::read(path(&format!("{name}{end}"))).ok());
        let head = String::from_utf8(file(&format!("{name}.head"))).unwrap();
        let failure = ask_once(Answer::answer(&head, body.unwrap())).failure();
        assert_eq!(
            (failure.class, failure.status, failure.retry_after_ms),
            (class, status, wait),
            "{name}"
        );
        assert!(failure.message.contains(words), "{name}: {}", failure.message);
        assert!(
            failure.message.starts_with("mock (127.0.0.1:"),
            "{name}: {}",
            failure.message
        );
        assert!(!failure.message.contains(['<', '\n']), "{name}: {}", failure.message);
        assert_eq!(failure.provider.as_deref(), Some("mock"));
    }
}

#[test]
fn an_error_in_a_stream_has_the_services_own_words() {
    let failure = ask_once(Answer::sse(file("chat-09-error-mid-stream.sse"))).failure();
    assert!(failure.message.contains("failed: overloaded;"), "{}", failure.message);
}

#[test]
fn answers_that_are_no_streams_are_understood_or_refused() {
    let json = "HTTP/1.1 200 OK\ncontent-type: application/json";
    let message = json!({"content": "hi", "tool_calls": [{"id": "a", "function": {"name": "read", "arguments": ""}}]});
    let whole = json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}});
    check(
        "whole",
        Answer::answer(json, whole.to_string()),
        r#"text "hi" · call a read {} · usage 1/-/-/-/- · ToolCalls"#,
    );
    check("no reply", Answer::answer(json, "{}"), "error Server");
    check(
        "page",
        Answer::answer("HTTP/1.1 200 OK\ncontent-type: text/html", "<html>"),
        "error Protocol",
    );
    check("no JSON", Answer::sse("data: {\n\n"), "error Protocol");
    check("empty", Answer::sse(""), "error Network");
    check(
        "unnamed",
        Answer::answer("HTTP/1.1 200 OK", "data: [DONE]\n\n"),
        "error Network",
    );
}

#[test]
fn a_refusal_is_shown_and_is_no_plain_stop() {
    let chunk = json!({"choices": [{"delta": {"refusal": "I can't"}, "finish_reason": "stop"}]});
    check(
        "refusal",
        Answer::sse(format!("data: {chunk}\n\n")),
        r#"text "I can't" · usage -/-/-/-/- · Refusal"#,
    );
}

#[test]
fn a_cancel_ends_a_blocked_read_and_closes_the_connection() {
    let texts = Answer::sse(file("chat-05-cut-in-text.sse")).stalling();
    for (answer, cancel_at_text) in [(texts, true), (Answer::silence(), false)] {
        let mock = Mock::serve(vec![answer]);
        let provider = provider(&mock);
        let (told, heard) = std::sync::mpsc::channel();
        let cancel = Cancel::new();
        let asking = {
            let cancel = cancel.clone();
            thread::spawn(move || {
                provider.complete(&prompt(), &cancel, &mut |_| {
                    told.send(()).unwrap();
                    ControlFlow::Continue(())
                })
            })
        };
        match cancel_at_text {
            true => heard.recv_timeout(LIMIT).unwrap(),
            false => assert!(mock.wait_requests(1, LIMIT)),
        }
        cancel.set();
        assert_eq!(asking.join().unwrap(), Err(ProviderError::Cancelled));
        assert!(mock.wait_closed(LIMIT));
    }
}

#[test]
fn a_cancel_that_came_first_and_a_sink_that_breaks_end_the_call() {
    let mock = Mock::serve(vec![Answer::sse(file("chat-05-cut-in-text.sse")).stalling()]);
    let provider = provider(&mock);
    let broken = provider.complete(&prompt(), &Cancel::new(), &mut |_| ControlFlow::Break(()));
    assert_eq!(broken, Err(ProviderError::Cancelled));
    assert!(mock.wait_closed(LIMIT));
    let cancel = Cancel::new();
    cancel.set();
    let cancelled = provider.complete(&prompt(), &cancel, &mut |_| ControlFlow::Continue(()));
    assert_eq!(cancelled, Err(ProviderError::Cancelled));
    assert_eq!(mock.requests().len(), 1);
}

#[test]
fn a_service_that_stalls_is_given_up() {
    for answer in [
        Answer::silence(),
        Answer::sse(file("chat-05-cut-in-text.sse")).stalling(),
    ] {
        let mock = Mock::serve(vec![answer]);
        let mut service = service(&mock);
        service.stall = Duration::from_millis(200);
        let failure = ask(&open(service)).failure();
        assert_eq!(failure.class, ErrorClass::Timeout);
        assert!(
            failure.message.contains("sent nothing for 0.2 s"),
            "{}",
            failure.message
        );
        assert!(mock.wait_closed(LIMIT));
    }
}

#[test]
fn nobody_there_is_a_network_failure() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let service = Service::new("mock", format!("http://127.0.0.1:{port}/v1"));
    let failure = ask(&open(service)).failure();
    assert_eq!(failure.class, ErrorClass::Network);
    assert!(
        failure.message.contains("could not be reached: Connection refused"),
        "{}",
        failure.message
    );
    assert!(
        failure.message.contains("check that the server runs"),
        "{}",
        failure.message
    );
}

#[test]
fn a_server_without_tls_behind_https_is_a_tls_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("https://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        listener
            .accept()
            .unwrap()
            .0
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    });
    let failure = ask(&open(Service::new("mock", base_url))).failure();
    assert_eq!(failure.class, ErrorClass::Tls, "{}", failure.message);
}

#[test]
fn a_redirect_is_not_followed_with_the_key() {
    let thief = Mock::serve(vec![Answer::text("mine now")]);
    for status in ["301 Moved Permanently", "307 Temporary Redirect"] {
        let head = format!(
            "HTTP/1.1 {status}\nlocation: {}/chat/completions?key=1",
            thief.base_url()
        );
        let failure = ask_once(Answer::answer(&head, "")).failure();
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
fn endless_lines_and_replies_are_bounded() {
    let line = ask_once(Answer::sse([b"data: ".to_vec(), vec![b'x'; 20 << 20]].concat())).failure();
    assert_eq!(line.class, ErrorClass::Protocol);
    assert!(line.message.contains("more than 8 MiB"), "{}", line.message);
    let reply = ask_once(Answer::sse(b": comment\n".repeat(7 << 20))).failure();
    assert!(reply.message.contains("more than 64 MiB"), "{}", reply.message);
    let error = ask_once(Answer::answer("HTTP/1.1 400 Bad Request", vec![b'x'; 20 << 20])).failure();
    assert!(error.message.len() < 600, "{}", error.message.len());
}

#[test]
fn the_key_goes_out_in_its_header_and_shows_up_nowhere() {
    let echo = json!({"error": {"message": format!("Incorrect API key provided: {KEY} of team {TEAM}.")}}).to_string();
    let events = format!("data: {echo}\n\n");
    let mock = Mock::serve(vec![
        Answer::answer(
            "HTTP/1.1 401 Unauthorized\ncontent-type: application/json",
            echo.clone(),
        ),
        Answer::sse(events),
        Answer::answer("HTTP/1.1 200 OK\ncontent-type: application/json", echo),
    ]);
    let service = service(&mock);
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
    assert_eq!(asked.line, "POST /v1/chat/completions");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(asked.header("x-team"), Some(TEAM));
}

const TEAM: &str = "team-token-1234";

#[test]
fn a_key_leaves_this_machine_encrypted_or_not_at_all() {
    let open = |base_url: &str| OpenAiChat::new(Service::new("mock", base_url), model(base_url), handle()).err();
    assert!(open("https://example.com/v1").is_none());
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
fn the_list_of_models_is_the_services_own() {
    let json = "HTTP/1.1 200 OK\ncontent-type: application/json";
    let list = json!({"object": "list", "data": [{"id": "z"}, {"id": "a/b", "object": "model"}]}).to_string();
    let mock = Mock::serve(vec![
        Answer::answer(json, list),
        Answer::answer(json, "[]"),
        Answer::answer("HTTP/1.1 401 Unauthorized", ""),
    ]);
    let list = || list_models(&service(&mock), &handle());
    assert_eq!(list(), Ok(vec!["z".to_owned(), "a/b".to_owned()]));
    assert_eq!(mock.requests()[0].line, "GET /v1/models");
    let class = |outcome| match outcome {
        Err(ProviderError::Failed(failure)) => failure.class,
        other => panic!("{other:?}"),
    };
    assert_eq!(class(list()), ErrorClass::Protocol);
    assert_eq!(class(list()), ErrorClass::Auth);
    assert_eq!(
        class(list_models(&Service::new("mock", "http://example.com"), &handle())),
        ErrorClass::Config
    );
}

#[test]
fn reasoning_and_calls_go_back_as_they_came() {
    let mock = Mock::serve(vec![
        Answer::sse(file("chat-07-reasoning-details-signed.sse")),
        Answer::sse(file("chat-16-two-calls-same-id.sse")),
        Answer::text("done"),
    ]);
    let provider = provider(&mock);
    let mut messages = vec![Message::User(vec![Content::text("go")])];
    for _ in 0..2 {
        let outcome = ask_with(&provider, &messages);
        let Reply { calls, native, .. } = outcome.end.unwrap();
        let results: Vec<Message> = calls.iter().map(result).collect();
        messages.push(Message::Assistant {
            text: outcome.text,
            thought: outcome.thought,
            calls,
            native,
        });
        messages.extend(results);
    }
    ask_with(&provider, &messages).end.unwrap();
    let [first, second, third] = &mock.requests()[..] else {
        panic!("one request a question")
    };
    let made_up = third.body["messages"][3]["tool_calls"][1]["id"].as_str().unwrap();
    let call = |id: &str, p: u64| {
        let function = json!({"name": "read", "arguments": format!("{{\"p\":{p}}}")});
        json!({"id": id, "type": "function", "function": function})
    };
    let expect = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "T", "reasoning_details": [
            {"type": "reasoning.text", "text": "RD", "signature": "SIG", "index": 0},
        ]},
        {"role": "assistant", "content": null, "tool_calls": [call("a", 1), call(made_up, 2)]},
        {"role": "tool", "tool_call_id": "a", "content": "result of a"},
        {"role": "tool", "tool_call_id": made_up, "content": format!("result of {made_up}")},
    ]);
    assert_eq!(third.body["messages"], expect);
    for (earlier, later) in [(first, second), (second, third)] {
        let prefix = earlier.raw.strip_suffix("]}").unwrap();
        assert!(
            later.raw.starts_with(prefix),
            "{} is no continuation of {prefix}",
            later.raw
        );
    }
}

fn result(call: &Call) -> Message {
    Message::ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: format!("result of {}", call.id),
        images: Vec::new(),
        failed: false,
    }
}

/// What came of one question.
struct Outcome {
    thought: String,
    text: String,
    end: Result<Reply, ProviderError>,
}

impl Outcome {
    fn failure(self) -> Failure {
        match self.end {
            Err(ProviderError::Failed(failure)) => *failure,
            end @ (Ok(_) | Err(ProviderError::Cancelled)) => panic!("{end:?}"),
        }
    }
}

fn check(name: &str, answer: Answer, expect: &str) {
    assert_eq!(tell(&ask_once(answer)), expect, "{name}");
}

fn ask_once(answer: Answer) -> Outcome {
    let mock = Mock::serve(vec![answer]);
    let outcome = ask(&provider(&mock));
    assert_eq!(mock.requests().len(), 1, "a provider tries once");
    outcome
}

fn ask(provider: &OpenAiChat) -> Outcome {
    ask_with(provider, prompt().messages)
}

fn ask_with(provider: &OpenAiChat, messages: &[Message]) -> Outcome {
    let (mut thought, mut text) = (String::new(), String::new());
    let request = Request { messages, ..prompt() };
    let end = provider.complete(&request, &Cancel::new(), &mut |delta| {
        match delta {
            Delta::Text(piece) => text.push_str(&piece),
            Delta::Thought(piece) => thought.push_str(&piece),
        }
        ControlFlow::Continue(())
    });
    Outcome { thought, text, end }
}

fn prompt() -> Request<'static> {
    static MESSAGES: OnceLock<Vec<Message>> = OnceLock::new();
    Request {
        system: "Be brief.",
        tools: &[],
        messages: MESSAGES.get_or_init(|| vec![Message::User(vec![Content::text("go")])]),
    }
}

fn provider(mock: &Mock) -> OpenAiChat {
    open(service(mock))
}

fn open(service: Service) -> OpenAiChat {
    let model = model(&service.base_url);
    OpenAiChat::new(service, model, handle()).unwrap()
}

fn service(mock: &Mock) -> Service {
    let mut service = Service::new("mock", mock.base_url());
    service.key = Some(KEY.to_owned().into());
    service.key_env = Some("MOCK_API_KEY".into());
    service.headers.insert("x-team".into(), TEAM.into());
    service.stall = LIMIT;
    service
}

fn model(base_url: &str) -> ModelInfo {
    ModelInfo {
        name: "mock/m".parse().unwrap(),
        origin: Origin {
            api: "openai-chat".into(),
            base_url: base_url.into(),
            model: "m".into(),
        },
        context_window: None,
        max_output: None,
        images: false,
        tools: true,
    }
}

/// One runtime for all tests, as the connections of one process live on one.
fn handle() -> Handle {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let build = || {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
    };
    RUNTIME.get_or_init(|| build().unwrap()).handle().clone()
}

/// An outcome in one line, as in the tables above.
fn tell(outcome: &Outcome) -> String {
    let mut parts = Vec::new();
    for (what, text) in [("thought", &outcome.thought), ("text", &outcome.text)] {
        if !text.is_empty() {
            parts.push(format!("{what} {text:?}"));
        }
    }
    match &outcome.end {
        Ok(reply) => {
            parts.extend(reply.calls.iter().map(tell_call));
            parts.push(tell_usage(reply.usage));
            parts.push(format!("{:?}", reply.finish));
        }
        Err(ProviderError::Failed(failure)) => parts.push(format!("error {:?}", failure.class)),
        Err(ProviderError::Cancelled) => parts.push("cancelled".into()),
    }
    parts.join(" · ")
}

fn tell_call(call: &Call) -> String {
    let id = if call.id.starts_with("call_") { "new" } else { &call.id };
    match &call.input {
        CallInput::Json(value) => format!("call {id} {} {value}", call.name),
        CallInput::Malformed(text) => format!("call {id} {} malformed {text}", call.name),
    }
}

fn tell_usage(usage: Usage) -> String {
    let Usage {
        input,
        cached_read,
        cached_write,
        output,
        reasoning,
    } = usage;
    let counts = [input, cached_read, cached_write, output, reasoning];
    let counts = counts.map(|count| count.map_or("-".into(), |count| count.to_string()));
    format!("usage {}", counts.join("/"))
}

fn without_usage(told: &str) -> String {
    let parts: Vec<&str> = told.split(" · ").filter(|part| !part.starts_with("usage")).collect();
    parts.join(" · ")
}

/// Every end of an event but the last, and the middle of every event.
fn cuts(body: &[u8]) -> Vec<usize> {
    let ends = |end: &usize| {
        ["\n\n", "\r\n\r\n", "\n\r\n"]
            .iter()
            .any(|mark| body[..*end].ends_with(mark.as_bytes()))
    };
    let ends: Vec<usize> = (1..body.len()).filter(ends).collect();
    let middles = ends
        .iter()
        .zip([&0].into_iter().chain(&ends))
        .map(|(end, start)| start.midpoint(*end));
    middles.chain(ends.iter().copied()).collect()
}

/// Whether a stream so far has a whole event with a finish reason.
fn has_finish(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    text.lines().any(|line| {
        let reason = line.split_once("\"finish_reason\":\"").map(|(_, rest)| rest);
        line.ends_with('}') && reason.is_some_and(|reason| !reason.starts_with('"'))
    })
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("data/streams")
        .join(name)
}

fn file(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap()
}
