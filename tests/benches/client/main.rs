//! What it costs to hear a model: the processor's time of our client beside that of a bare reader of the same stream,
//! and of a long conversation's request beside writing the same JSON once.
//!
//! The services are in a process of their own, so that all time of this one is the reader's.
#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

mod bare;
mod conversation;
mod services;
mod spoken;

use std::ops::ControlFlow;
use std::time::Duration;

use agent_core::cancel::Cancel;
use agent_core::provider::{ModelInfo, Origin, Provider, Reply, Request};
use providers::{Dialect, RemoteModel, Service};
use rustix::time::{ClockId, clock_gettime};
use talaria_tests::measure::{Table, Times, time};
use tokio::runtime::Runtime;

use services::{Pace, Services};
use spoken::{CHUNKS, DIALECTS};

const ROUNDS: usize = 12;
/// A paced stream takes seconds.
const PACED_ROUNDS: usize = 3;
const MESSAGES: usize = 2000;
const GOAL: f64 = 1.5;

fn main() {
    if services::is_to_serve() {
        services::serve();
    }
    let services = Services::start();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let mut table = Table::new("A reply of 20,000 chunks: the processor's time");
    for dialect in DIALECTS {
        read(&mut table, &services, &runtime, dialect, Pace::AtOnce, ROUNDS);
    }
    for dialect in DIALECTS {
        read(&mut table, &services, &runtime, dialect, Pace::Apart, PACED_ROUNDS);
    }
    println!("{table}");
    let mut table = Table::new("The request of a conversation of 2,000 messages: the processor's time");
    for dialect in DIALECTS {
        write(&mut table, &services, &runtime, dialect);
    }
    println!("{table}");
}

fn read(table: &mut Table, services: &Services, runtime: &Runtime, dialect: Dialect, pace: Pace, rounds: usize) {
    let model = open(services, runtime, dialect, pace);
    let address = services.address(pace);
    let path = spoken::path(dialect);
    let [bytes, bare, ours] = Times::by_turns(
        rounds,
        [
            &mut || spent(|| assert!(bare::bytes(address, &path, "{}") > spoken::LETTERS)),
            &mut || spent(|| assert_eq!(bare::text(address, &path, dialect).len(), spoken::LETTERS)),
            &mut || spent(|| assert_eq!(ask(&model, &question()).0.len(), spoken::LETTERS)),
        ],
    );
    let ratio = ours.ratio(&bare);
    table.goal(
        &format!("{}, {}", dialect.name(), pace.name()),
        format!("{ratio:.2} x the bare reader"),
        format!(
            "{:.2} µs a chunk; {:.1} x reading the bytes alone",
            ours.best().as_secs_f64() * 1e6 / CHUNKS as f64,
            ours.ratio(&bytes)
        ),
        "<= 1.5",
        ratio <= GOAL,
    );
}

fn write(table: &mut Table, services: &Services, runtime: &Runtime, dialect: Dialect) {
    let model = open(services, runtime, dialect, Pace::Short);
    let long = conversation::of(dialect, runtime, MESSAGES);
    let short = conversation::of(dialect, runtime, MESSAGES / 10);
    let body = conversation::body(dialect, runtime, &long);
    let length = body.to_string().len();
    let address = services.address(Pace::Short);
    let path = spoken::path(dialect);
    let request = |messages| Request { messages, ..question() };
    let [bare, ours, tenth] = Times::by_turns(
        ROUNDS,
        [
            &mut || spent(|| assert!(bare::bytes(address, &path, &body.to_string()) > 0)),
            &mut || spent(|| drop(ask(&model, &request(&long)))),
            &mut || spent(|| drop(ask(&model, &request(&short)))),
        ],
    );
    table.figure(
        dialect.name(),
        format!("{:.2} x the same JSON written and sent once", ours.ratio(&bare)),
        format!(
            "{:.1} MB in {}; {:.1} x a conversation of a tenth",
            length as f64 / 1e6,
            time(ours.best()),
            ours.ratio(&tenth)
        ),
    );
}

/// The processor's time that this process takes for something, in all its threads.
fn spent(thing: impl FnOnce()) -> Duration {
    let now = || {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
    };
    let before = now();
    thing();
    now() - before
}

fn open(services: &Services, runtime: &Runtime, dialect: Dialect, pace: Pace) -> RemoteModel {
    model(services.base_url(pace), dialect, runtime)
}

/// A model as a user has it: with a key, which the client looks for in all that comes.
fn model(base_url: String, dialect: Dialect, runtime: &Runtime) -> RemoteModel {
    let mut service = Service::new("bench", base_url);
    service.dialect = dialect;
    service.key = Some("sk-bench-0123456789abcdef".to_owned().into());
    // The same wherever the service listens, so that it gets its own thoughts back.
    let origin = Origin {
        api: dialect.name().into(),
        base_url: "http://bench/v1".into(),
        model: "m".into(),
    };
    let model = ModelInfo {
        name: "bench/m".parse().expect("a name"),
        origin,
        context_window: None,
        max_output: None,
        images: false,
        tools: true,
        price: None,
    };
    RemoteModel::new(service, model, runtime.handle().clone()).expect("the service is well set up")
}

fn question() -> Request<'static> {
    Request {
        system: "Be brief.",
        tools: &[],
        messages: &[],
        thinking: None,
        counted: None,
    }
}

/// What the model says.
fn ask(model: &RemoteModel, request: &Request<'_>) -> (String, String, Reply) {
    use agent_core::provider::Delta;
    let (mut text, mut thought) = (String::new(), String::new());
    let reply = model.complete(request, &Cancel::new(), &mut |delta| {
        match delta {
            Delta::Text(piece) => text.push_str(&piece),
            Delta::Thought(piece) => thought.push_str(&piece),
        }
        ControlFlow::Continue(())
    });
    (text, thought, reply.expect("the service answers"))
}
