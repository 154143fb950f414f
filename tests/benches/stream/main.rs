//! How fast a reply goes through: a script's deltas through core, store, translation and writer.
#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

mod agent;

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use agent_core::provider::{Delta, ModelInfo, Provider, ProviderError, Reply, Request};
use agent_core::script::{Script, ScriptReply, ScriptStep};
use agent_core::store::Store;
use serde_json::json;
use talaria_tests::client::Home;
use talaria_tests::measure::pipe::Pipe;
use talaria_tests::measure::{Table, Times, system, time};

use agent::{Agent, Turn};

const DELTAS: usize = 100_000;
const DELTA: &str = "word ";
const ROUNDS: usize = 12;
const SLOW_DELTAS: usize = 200;
const FIRSTS: usize = 50;

fn main() {
    let mut table = Table::new("Stream of 100,000 deltas of 5 bytes");
    speed(&mut table);
    first(&mut table);
    slow(&mut table);
    over_pipe(&mut table);
    println!("{table}");
}

fn speed(table: &mut Table) {
    let disk = tempfile::tempdir().expect("a temporary folder can be made");
    let store = Store::open(disk.path()).expect("a store can be made");
    let mut stored = Agent::start(fast(), store);
    let mut in_memory = Agent::start(fast(), Store::memory());
    let mut turns: Vec<Turn> = Vec::new();
    let mut spent = Spent::default();
    let [bare, fast, memory] = Times::by_turns(
        ROUNDS,
        [
            &mut one_by_one,
            &mut || {
                let before = Spent::now();
                let turn = stored.prompt();
                spent.add(&before);
                let took = turn.took;
                turns.push(turn);
                took
            },
            &mut || in_memory.prompt().took,
        ],
    );
    let rate = |times: &Times| DELTAS as f64 / times.best().as_secs_f64();
    let per_second = |times: &Times| format!("{:.0}/s (median {})", rate(times), time(times.median()));
    table.figure("each delta alone as JSON, no agent", per_second(&bare), "");
    table.goal(
        "through the agent, store on disk",
        per_second(&fast),
        format!("{:.2} x its time", fast.ratio(&bare)),
        ">= 250,000/s",
        rate(&fast) >= 250_000.0,
    );
    table.figure(
        "through the agent, store in memory",
        per_second(&memory),
        format!("{:.2} x of that on disk", memory.ratio(&fast)),
    );
    let share = spent.store.as_secs_f64() / spent.all.as_secs_f64();
    table.goal(
        "the store's thread, of the processor's time",
        format!("{:.1} %", share * 100.0),
        format!("{} a turn in all", time(spent.all / ROUNDS as u32)),
        "<= 1/3",
        share <= 1.0 / 3.0,
    );
    let longest = turns.iter().map(|turn| turn.longest).max().unwrap_or(0);
    let updates = turns.iter().map(|turn| turn.updates).max().unwrap_or(0);
    table.goal(
        "longest update",
        format!("{longest} bytes"),
        "",
        "<= 4096",
        longest <= 4096,
    );
    table.figure("updates for them, at most", updates, "");
}

/// Deltas as an agent without joining, storing or threads would write them.
fn one_by_one() -> Duration {
    let began = Instant::now();
    let mut bytes: Vec<u8> = Vec::with_capacity(64 * 1024);
    for _ in 0..DELTAS {
        let content = json!({"type": "text", "text": DELTA});
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": content, "messageId": "m"});
        let params = json!({"sessionId": "s", "update": update});
        let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
        bytes.clear();
        serde_json::to_writer(&mut bytes, &line).expect("a value is JSON");
        black_box(&bytes);
    }
    began.elapsed()
}

fn fast() -> Arc<dyn Provider> {
    let reply = ScriptReply::new([ScriptStep::Say {
        times: DELTAS,
        delta: Delta::Text(DELTA.into()),
    }]);
    Arc::new(Script::from_replies(vec![reply; ROUNDS]))
}

/// The processor's time so far, of the store's thread and of all.
#[derive(Default)]
struct Spent {
    store: Duration,
    all: Duration,
}

impl Spent {
    fn now() -> Self {
        let times = system::thread_times();
        let of_store = times.iter().filter(|(name, _)| name == "store");
        Self {
            store: of_store.map(|(_, time)| *time).sum(),
            all: times.iter().map(|(_, time)| *time).sum(),
        }
    }

    /// Adds what was spent since.
    fn add(&mut self, before: &Self) {
        let now = Self::now();
        self.store += now.store.saturating_sub(before.store);
        self.all += now.all.saturating_sub(before.all);
    }
}

/// From the model's first delta to the write of it.
fn first(table: &mut Table) {
    let mut steps = vec![ScriptStep::text(DELTA)];
    steps.push(ScriptStep::Delay(Duration::from_millis(20)));
    let script = Script::from_replies(vec![ScriptReply::new(steps); FIRSTS]);
    let stamped = Arc::new(Stamped {
        script,
        at: Mutex::new(Instant::now()),
    });
    let disk = tempfile::tempdir().expect("a temporary folder can be made");
    let store = Store::open(disk.path()).expect("a store can be made");
    let mut agent = Agent::start(stamped.clone(), store);
    let delay = |_| {
        let written = agent.prompt().first;
        written - *stamped.at.lock().expect("nobody panics with it")
    };
    let times = Times::of((0..FIRSTS).map(delay).collect());
    let reached = times.median() <= Duration::from_millis(5);
    table.goal("first delta to its write", &times, "", "<= 5 ms", reached);
}

/// A script that notes when its reply began to come.
struct Stamped {
    script: Script,
    at: Mutex<Instant>,
}

impl Provider for Stamped {
    fn model(&self) -> &ModelInfo {
        self.script.model()
    }

    fn complete(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        self.script.complete(request, cancel, &mut |delta| {
            *self.at.lock().expect("nobody panics with it") = Instant::now();
            sink(delta)
        })
    }
}

fn slow(table: &mut Table) {
    let delta = [ScriptStep::text(DELTA), ScriptStep::Delay(Duration::from_millis(5))];
    let reply = ScriptReply::new(vec![delta; SLOW_DELTAS].concat());
    let disk = tempfile::tempdir().expect("a temporary folder can be made");
    let store = Store::open(disk.path()).expect("a store can be made");
    let mut agent = Agent::start(Arc::new(Script::from_replies(vec![reply])), store);
    let turn = agent.prompt();
    table.goal(
        "updates of a stream of 200 deltas/s",
        turn.updates,
        format!("{SLOW_DELTAS} deltas"),
        "as many",
        turn.updates == SLOW_DELTAS,
    );
}

fn over_pipe(table: &mut Table) {
    let say = |times: usize| json!({"steps": [{"repeat": times, "text": DELTA}]});
    let mut replies = vec![say(DELTAS / 10)];
    replies.extend(vec![say(DELTAS); ROUNDS]);
    let home = Home::with_script(&json!({"replies": replies}));
    let (mut pipe, session) = Pipe::with_session(home.command(&["acp"]), &home.workspace());
    pipe.prompt(&session, "go");
    let peak = |pipe: &Pipe| system::peak_kib(pipe.pid());
    let before = peak(&pipe);
    let first = pipe.prompt(&session, "go").0;
    let after = peak(&pipe);
    let rest = (1..ROUNDS).map(|_| pipe.prompt(&session, "go").0);
    let times = Times::of(std::iter::once(first).chain(rest).collect());
    let rate = DELTAS as f64 / times.best().as_secs_f64();
    let rate_text = format!("{rate:.0}/s (median {})", time(times.median()));
    table.goal(
        "the binary, over its pipe",
        rate_text,
        "",
        ">= 250,000/s",
        rate >= 250_000.0,
    );
    if let (Some(before), Some(after)) = (before, after) {
        let grown = (after - before) as f64 / 1024.0;
        let text = (DELTAS * DELTA.len()) as f64 / 1e6;
        table.goal(
            "peak memory, 100,000 deltas over 10,000",
            format!("+{grown:.1} MB"),
            format!("{text:.1} MB of text"),
            "flat: < 8 x the text",
            grown < 8.0 * text,
        );
    }
}
