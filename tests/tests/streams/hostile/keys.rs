//! A key that a service says back, in whatever form.

use providers::{RemoteModel, Service, ServiceError};
use serde_json::json;
use talaria_tests::mock::{Mock, Reply as Answer};
use talaria_tests::remote::handle;

use crate::ask::{ask, model, open, service};

#[test]
fn a_key_is_masked_in_an_error_in_whatever_form() {
    let forms = [
        ODD.to_owned(),
        "AbCd+EfGh/IjKl==\\\"q\\\\0123456".to_owned(),
        "AbCd+EfGh\\/IjKl==\\\\\\\"q\\\\\\\\0123456".to_owned(),
        "AbCd+EfGh/IjKl\\u003d\\u003D\\u0022q\\u005c0123456".to_owned(),
        "AbCd%2BEfGh%2FIjKl%3D%3D%22q%5C0123456".to_owned(),
        "abcd%2befgh%2fijkl%3d%3d%22q%5c0123456".to_owned(),
        ODD.to_lowercase(),
    ];
    for form in forms {
        let body = json!({"error": {"message": format!("your key {form} is none")}}).to_string();
        let mock = Mock::serve(vec![Answer::answer("HTTP/1.1 401 Unauthorized", body)]);
        let failure = ask(&open(with_key(&mock, ODD))).failure();
        assert!(
            failure.message.contains("your key *** is none"),
            "{form}: {}",
            failure.message
        );
    }
    let key = "AbCd+EfGh/IjKl==0123456";
    for (place, expect) in [
        (
            "https://e.example/AbCd+EfGh%2FIjKl%3D%3D0123456",
            "https://e.example/***",
        ),
        (
            "https://e.example/abcd%2befgh/ijkl==0123456/x",
            "https://e.example/***/x",
        ),
    ] {
        let redirect = format!("HTTP/1.1 302 Found\nlocation: {place}");
        let mock = Mock::serve(vec![Answer::answer(&redirect, "")]);
        let failure = ask(&open(with_key(&mock, key))).failure();
        let told = format!("redirects to {expect}, which");
        assert!(failure.message.contains(&told), "{place}: {}", failure.message);
    }
    let mock = Mock::serve(vec![Answer::answer(
        "HTTP/1.1 302 Found\nlocation: https://sk-very-secret-0123456789.example/",
        "",
    )]);
    let failure = ask(&open(with_key(&mock, "SK-Very-Secret-0123456789"))).failure();
    assert!(failure.message.contains("https://***.example/"), "{}", failure.message);
}

#[test]
fn a_key_is_masked_in_a_reply_as_json_writes_it_too() {
    for form in [
        ODD.to_owned(),
        "AbCd+EfGh/IjKl==\\\"q\\\\0123456".to_owned(),
        "AbCd+EfGh\\/IjKl==\\\"q\\\\0123456".to_owned(),
    ] {
        let mock = Mock::serve(vec![Answer::text(&format!("it is {form}, yes"))]);
        let outcome = ask(&open(with_key(&mock, ODD)));
        assert_eq!(outcome.text, "it is ***, yes", "{form}");
    }
}

#[test]
fn quotes_around_a_key_are_no_part_of_it() {
    for key in [
        "\"sk-quoted-0123456789\"",
        "'sk-quoted-0123456789'",
        " \"sk-quoted-0123456789\"\n",
    ] {
        let echo = json!({"error": {"message": "Incorrect API key: sk-quoted-0123456789."}}).to_string();
        let mock = Mock::serve(vec![Answer::answer("HTTP/1.1 401 Unauthorized", echo)]);
        let failure = ask(&open(with_key(&mock, key))).failure();
        assert!(failure.message.contains("API key: ***."), "{}", failure.message);
        assert_eq!(
            mock.requests()[0].header("authorization"),
            Some("Bearer sk-quoted-0123456789")
        );
    }
}

#[test]
fn an_address_with_a_key_in_its_query_is_refused() {
    let open = |base_url: &str| RemoteModel::new(Service::new("mock", base_url), model(base_url), handle()).err();
    for query in [
        "key=sk-1",
        "api_key=x",
        "a=1&access_token=x",
        "KEY=x",
        "sig=x",
        "sk-0123456789",
    ] {
        let error = open(&format!("http://127.0.0.1/v1?{query}"));
        assert!(
            matches!(error, Some(ServiceError::KeyInAddress { .. })),
            "{query}: {error:?}"
        );
    }
    assert!(open("http://127.0.0.1/v1?api-version=preview").is_none());
}

/// A key of every letter that is written in another way somewhere.
const ODD: &str = "AbCd+EfGh/IjKl==\"q\\0123456";

fn with_key(mock: &Mock, key: &str) -> Service {
    Service {
        key: Some(key.to_owned().into()),
        ..service(mock)
    }
}
