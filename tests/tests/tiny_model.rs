//! A small real model behind llama.cpp: what no mock can promise. `tests/tiny_model/run.sh` fetches and serves it.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use agent_core::content::Content;
use agent_core::provider::{Delta, Finish, Message, ModelInfo, Origin, Provider, ProviderError, Request};
use providers::{LIST_PATIENCE, RemoteModel, Service, list_models};
use serde_json::Value;
use talaria_tests::client::{self, Home};
use tokio::runtime::Runtime;

/// What the model is asked for, which it has much to say of.
const QUESTION: &str = "Tell me a long story about a lighthouse.";

fn url() -> String {
    std::env::var("TINY_MODEL_URL").expect("the model's server, as tests/tiny_model/run.sh starts it")
}

fn service() -> Service {
    let mut service = Service::new("tiny", url());
    // A long prompt may take a slow machine minutes before its first word.
    service.stall = Duration::from_secs(600);
    service
}

fn model(runtime: &Runtime, max_output: u64) -> RemoteModel {
    let origin = Origin {
        api: "openai-chat".into(),
        base_url: url(),
        model: "smollm2".into(),
    };
    let model = ModelInfo {
        name: "tiny/smollm2".parse().unwrap(),
        origin,
        context_window: Some(8192),
        max_output: Some(max_output),
        images: false,
        tools: false,
        price: None,
    };
    RemoteModel::new(service(), model, runtime.handle().clone()).unwrap()
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

fn question() -> [Message; 1] {
    [Message::User(vec![Content::text(QUESTION)])]
}

fn request(messages: &[Message]) -> Request<'_> {
    Request {
        system: "You tell stories.",
        tools: &[],
        messages,
        thinking: None,
        counted: None,
    }
}

#[expect(clippy::print_stderr, reason = "what a real model does is worth seeing")]
fn tell(what: &str) {
    eprintln!("{what}");
}

#[test]
#[ignore = "needs a model server: tests/tiny_model/run.sh"]
fn a_reply_is_streamed_and_counted() {
    let runtime = runtime();
    let listed = list_models(LIST_PATIENCE, &service(), runtime.handle()).unwrap();
    assert!(listed.iter().any(|model| model.id == "smollm2"), "{listed:?}");
    let (mut pieces, mut first) = (Vec::new(), None);
    let began = Instant::now();
    let reply = model(&runtime, 32).complete(&request(&question()), &Cancel::new(), &mut |delta| {
        first.get_or_insert_with(|| began.elapsed());
        match delta {
            Delta::Text(piece) | Delta::Thought(piece) => pieces.push(piece),
        }
        ControlFlow::Continue(())
    });
    let (reply, whole) = (reply.unwrap(), began.elapsed());
    let share = first.unwrap().as_secs_f64() / whole.as_secs_f64();
    let text = pieces.concat();
    tell(&format!(
        "{} pieces, the first after {share:.2} of the time: {text:?}, {:?}",
        pieces.len(),
        reply.usage
    ));
    assert!(pieces.len() > 8 && share < 0.9, "not streamed");
    assert_eq!((reply.finish, reply.usage.output), (Finish::Length, Some(32)));
    assert!(reply.usage.input.unwrap() > 15);
}

#[test]
#[ignore = "needs a model server: tests/tiny_model/run.sh"]
fn a_cancel_closes_and_the_server_is_free_at_once() {
    let runtime = runtime();
    let long = model(&runtime, 4000);
    let cancel = Cancel::new();
    let (mut pieces, mut at) = (0, None);
    let began = Instant::now();
    let end = long.complete(&request(&question()), &cancel, &mut |_| {
        pieces += 1;
        if pieces == 3 {
            cancel.set();
            at = Some(Instant::now());
        }
        ControlFlow::Continue(())
    });
    assert_eq!(end, Err(ProviderError::Cancelled));
    let (ended, talked) = (at.unwrap().elapsed(), began.elapsed());
    // It serves one at a time, and 4,000 tokens take it minutes.
    let again = Instant::now();
    let next = model(&runtime, 1).complete(
        &request(&question()),
        &Cancel::new(),
        &mut |_| ControlFlow::Continue(()),
    );
    assert_eq!(next.unwrap().usage.output, Some(1));
    let ratio = again.elapsed().as_secs_f64() / talked.as_secs_f64();
    tell(&format!(
        "cancelled after 3 pieces, ended {ended:?} later; a first word next took {ratio:.2} x that time"
    ));
    assert!(ended < Duration::from_secs(1), "{ended:?}");
}

#[test]
#[ignore = "needs a model server: tests/tiny_model/run.sh"]
fn the_agent_answers() {
    let home = Home::with_config(&format!(
        "model = \"tiny/smollm2\"\n[providers.tiny]\napi = \"openai-chat\"\nbase_url = \"{}\"\nstall_s = 600\n\
         models = [{{ id = \"smollm2\", context_window = 8192, max_output = 24, tools = false }}]\n",
        url()
    ));
    let (status, out, err) = client::run(home.command(&["run", "--json", "Say hello."]), "");
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&Value> = events.iter().map(|line| &line["event"]).collect();
    let said: String = events
        .iter()
        .filter(|event| event["event"] == "agent_text")
        .filter_map(|event| event["text"].as_str())
        .collect();
    let step = events
        .iter()
        .find(|event| event["event"] == "step_finished")
        .unwrap_or_else(|| panic!("{out}{err}"));
    tell(&format!(
        "the agent ends with {status} and says {said:?}, {}",
        step["usage"]
    ));
    assert!(!said.trim().is_empty() && step["usage"]["output"].as_u64() > Some(0));
    assert_eq!(events.last().unwrap()["event"], "turn_finished");
}
