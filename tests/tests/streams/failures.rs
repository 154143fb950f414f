//! Services that refuse, stall, vanish or never end.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;
use std::{fs, thread};

use agent_core::event::ErrorClass;
use providers::{Dialect, RemoteModel, Service};
use serde_json::json;
use talaria_tests::mock::{Mock, Reply as Answer};
use talaria_tests::remote::handle;
use talaria_tests::spoken::DIALECTS;

use crate::ask::{LIMIT, ask, ask_once, ask_once_in, file, model, open, path, service};

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
fn a_service_that_stalls_is_given_up() {
    let begun = [
        (Dialect::OpenaiChat, "chat-05-cut-in-text.sse"),
        (Dialect::OpenaiResponses, "responses-03-cut-before-completed.sse"),
        (Dialect::Anthropic, "anthropic-05-cut-in-args.sse"),
    ];
    let begun = begun.map(|(dialect, name)| (dialect, Answer::sse(file(name)).stalling()));
    let piece = json!({"candidates": [{"content": {"parts": [{"text": "half"}]}}]});
    let gemini = (Dialect::Gemini, Answer::events(&[piece]).stalling());
    let silent = DIALECTS.map(|dialect| (dialect, Answer::silence()));
    for (dialect, answer) in begun.into_iter().chain([gemini]).chain(silent) {
        let mock = Mock::serve(vec![answer]);
        let mut service = service(&mock);
        service.dialect = dialect;
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
    for dialect in DIALECTS {
        let failure = ask(&open(at(format!("http://127.0.0.1:{port}/v1"), dialect))).failure();
        assert_eq!(failure.class, ErrorClass::Network);
        for words in ["could not be reached: Connection refused", "check that the server runs"] {
            assert!(failure.message.contains(words), "{}", failure.message);
        }
    }
}

#[test]
fn a_name_that_nobody_has_is_a_network_failure() {
    for dialect in DIALECTS {
        let service = at("https://talaria-test.invalid/v1".to_owned(), dialect);
        // A machine may have no certificates.
        let Ok(model) = RemoteModel::new(service, model("https://talaria-test.invalid/v1"), handle()) else {
            return;
        };
        let failure = ask(&model).failure();
        assert_eq!(failure.class, ErrorClass::Network, "{}", failure.message);
        let is_sentence = failure
            .message
            .starts_with("mock (talaria-test.invalid) could not be reached: ");
        assert!(
            is_sentence && failure.message.ends_with("; check the network and try again"),
            "{}",
            failure.message
        );
    }
}

fn at(base_url: String, dialect: Dialect) -> Service {
    Service {
        dialect,
        ..Service::new("mock", base_url)
    }
}

#[test]
fn a_server_without_tls_behind_https_is_a_tls_failure() {
    for dialect in DIALECTS {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("https://{}/v1", listener.local_addr().unwrap());
        thread::spawn(move || {
            listener
                .accept()
                .unwrap()
                .0
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        });
        let failure = ask(&open(at(base_url, dialect))).failure();
        assert_eq!(failure.class, ErrorClass::Tls, "{}", failure.message);
        assert!(
            failure.message.contains("nobody speaks TLS there") && failure.message.contains("http://"),
            "{}",
            failure.message
        );
    }
}

#[test]
fn endless_lines_and_replies_are_bounded() {
    for dialect in DIALECTS {
        let ask = |answer: Answer| ask_once_in(dialect, answer).failure();
        let line = ask(Answer::sse([b"data: ".to_vec(), vec![b'x'; 20 << 20]].concat()));
        assert_eq!(line.class, ErrorClass::Protocol);
        assert!(line.message.contains("more than 8 MiB"), "{}", line.message);
        let reply = ask(Answer::sse(b": comment\n".repeat(7 << 20)));
        assert!(reply.message.contains("more than 64 MiB"), "{}", reply.message);
        let error = ask(Answer::answer("HTTP/1.1 400 Bad Request", vec![b'x'; 20 << 20]));
        assert!(error.message.len() < 600, "{}", error.message.len());
    }
}

#[test]
fn a_reply_of_endless_calls_is_broken_off() {
    let event = |index: usize| {
        let call =
            format!(r#"{{"index":{index},"id":"c{index}","function":{{"name":"read_file","arguments":"{{}}"}}}}"#);
        format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n")
    };
    let body: String = (0..5_000).map(event).collect();
    let failure = ask_once(Answer::sse(body.into_bytes())).failure();
    assert_eq!(failure.class, ErrorClass::Protocol);
    assert!(failure.message.contains("more than 128 calls"), "{}", failure.message);
}

#[test]
fn what_came_whole_before_a_fault_is_said_however_it_came() {
    let mut body = br#"data: {"choices":[{"index":0,"delta":{"content":"so far"}}]}"#.to_vec();
    body.extend(b"\n\ndata: \xff\n\n");
    for answer in [Answer::sse(body.clone()), Answer::sse(body.clone()).byte_by_byte()] {
        let outcome = ask_once(answer);
        assert_eq!(outcome.text, "so far");
        let failure = outcome.failure();
        assert!(failure.message.contains("not UTF-8"), "{}", failure.message);
    }
}
