//! What somebody new does first: setting up a model, and asking whether all is well.

#![allow(clippy::unwrap_used, reason = "tests")]

mod check;
mod doctor;
mod models;
mod offline;
mod providers;
mod script;

use talaria_tests::client::{Home, run};
use talaria_tests::mock::{Asked, Mock, Reply};

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

/// Sets up the model `mine/m` of this service.
fn set_up(home: &Home, mock: &Mock) {
    let url = mock.base_url();
    let arguments = ["setup", "--provider", "mine", "--base-url", &url, "--model", "m"];
    let (status, _, stderr) = run(home.command(&arguments), "");
    assert!(status.success(), "{stderr}");
}
