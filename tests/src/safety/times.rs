//! How soon a cancel is answered, and how soon an agent whose input ends is gone.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Finding, agent_of};
use crate::client::Home;
use crate::measure::pipe::Pipe;
use crate::measure::time;

/// Cancels so many turns each of a model that is silent, of one that says very much, and of a command that prints without
/// end.
pub fn cancels(rounds: usize) -> [Finding; 3] {
    let silent = json!([{"text": "begun"}, {"wait_cancel": true}]);
    let flood = json!([{"repeat": 100_000_000, "text": "word "}]);
    let prints = json!([{"call": {"name": "terminal", "input": {"command": "yes"}}}]);
    [
        cancel_each(rounds, "a silent model", silent, "half within 100 ms", |at| {
            at(50) < Duration::from_millis(100)
        }),
        cancel_each(rounds, "a flood of text", flood, "99 % within 500 ms", is_quick),
        cancel_each(rounds, "a flood of output", prints, "99 % within 500 ms", is_quick),
    ]
}

fn is_quick(at: &dyn Fn(usize) -> Duration) -> bool {
    at(99) <= Duration::from_millis(500)
}

fn cancel_each(
    rounds: usize,
    during: &str,
    steps: Value,
    goal: &'static str,
    is_reached: impl Fn(&dyn Fn(usize) -> Duration) -> bool,
) -> Finding {
    let mut finding = Finding::new(format!("cancel to `cancelled` during {during}"), goal);
    let home = Home::with_script(&json!({"replies": [{"steps": steps}], "after": "repeat"}));
    home.add_config("[agent]\nmode = \"dont_ask\"\n");
    let (mut pipe, session) = Pipe::with_session(agent_of(&home), &home.workspace());
    let mut took: Vec<Duration> = (0..rounds)
        .map(|_| {
            let prompt = begin(&mut pipe, &session);
            let began = Instant::now();
            pipe.notify("session/cancel", &json!({"sessionId": session}));
            let answer = pipe.answer(prompt);
            let took = began.elapsed();
            finding.expect(answer.contains("cancelled"), || answer.clone());
            took
        })
        .collect();
    took.sort();
    let at = |percent: usize| took[(took.len() * percent / 100).min(took.len() - 1)];
    finding.is_late = !is_reached(&at);
    finding.found = format!(
        "half within {}, 99 % within {}, longest {}, of {rounds}",
        time(at(50)),
        time(at(99)),
        time(at(100))
    );
    pipe.close();
    finding
}

/// Sends a prompt, and waits until its model or its command says something.
fn begin(pipe: &mut Pipe, session: &str) -> i64 {
    let prompt = json!([{"type": "text", "text": "go"}]);
    let id = pipe.send("session/prompt", &json!({"sessionId": session, "prompt": prompt}));
    loop {
        let line = pipe.line();
        let is_output = line.contains("tool_call_update") && line.contains("y\\ny\\n");
        if line.contains("agent_message_chunk") || is_output {
            return id;
        }
    }
}

/// Ends the input of so many agents, each in the middle of a turn.
pub fn ends(rounds: usize) -> Finding {
    let mut finding = Finding::new("exit after the end of stdin", "within 3 s");
    let turns = [
        json!([{"text": "begun"}, {"wait_cancel": true}]),
        json!([{"repeat": 100_000_000, "text": "word "}]),
        json!([{"call": {"name": "terminal", "input": {"command": "trap '' TERM; yes"}}}]),
    ];
    let mut took: Vec<Duration> = (0..rounds)
        .map(|round| {
            let home = Home::with_script(&json!({"replies": [{"steps": turns[round % turns.len()]}]}));
            home.add_config("[agent]\nmode = \"dont_ask\"\n");
            let (mut pipe, session) = Pipe::with_session(agent_of(&home), &home.workspace());
            begin(&mut pipe, &session);
            // Nobody reads on, as when an editor dies.
            pipe.close()
        })
        .collect();
    took.sort();
    let longest = took.last().copied().unwrap_or_default();
    finding.is_late = longest > Duration::from_secs(3);
    finding.found = format!(
        "half within {}, longest {}, of {rounds}",
        time(took[took.len() / 2]),
        time(longest)
    );
    finding
}
