//! What a turn costs, and what it may cost.

use serde_json::{Value, json};
use talaria_tests::mock::Reply;
use talaria_tests::start::times_told;

use crate::Stage;

/// A reply of 1,000 tokens for 1,000, a tenth of them from a cache; with what the service says it cost.
fn reply(delta: &Value, cost: Option<f64>) -> Reply {
    let finish = if delta["content"].is_null() {
        "tool_calls"
    } else {
        "stop"
    };
    let chunk = json!({"choices": [{"delta": delta, "finish_reason": finish}]});
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 1000, "cost": cost,
        "prompt_tokens_details": {"cached_tokens": 100}});
    let counts = json!({"choices": [], "usage": usage});
    Reply::events(&[chunk, counts])
}

fn says(cost: Option<f64>) -> Reply {
    reply(&json!({"content": "done"}), cost)
}

fn looks(cost: Option<f64>) -> Reply {
    let function = json!({"name": "todo", "arguments": "{}"});
    reply(&json!({"tool_calls": [{"id": "a", "function": function}]}), cost)
}

/// The costs that were shown, in order.
fn shown(stage: &Stage) -> Vec<f64> {
    let updates = stage.client.updates(0).into_iter();
    updates.filter_map(|update| update["cost"]["amount"].as_f64()).collect()
}

const PRICED: &str =
    "models = [{ id = \"m\", context_window = 100000, price = { input = 1.0, output = 4.0, cached_read = 0.1 } }]\n";
const WINDOW: &str = "models = [{ id = \"m\", context_window = 100000 }]\n";

#[test]
fn the_cost_is_the_services_word_or_by_the_price_and_adds_up() {
    // 900 at $1, 100 at $0.1 and 1,000 at $4 a million.
    let mut stage = Stage::with_config(vec![looks(None), says(None), says(Some(0.25))], PRICED);
    assert_eq!(stage.prompt("go"), "end_turn");
    assert_eq!(stage.prompt("go"), "end_turn");
    assert_eq!(shown(&stage), [0.00491, 0.00982, 0.25982]);
    let mut stage = stage.reload();
    let gauge = stage
        .client
        .wait_for(|message| message["params"]["update"]["sessionUpdate"] == "usage_update");
    assert_eq!(
        gauge["params"]["update"]["cost"],
        json!({"amount": 0.25982, "currency": "USD"})
    );
}

#[test]
fn an_unknown_cost_is_not_made_up() {
    let mut stage = Stage::with_config(vec![says(None)], WINDOW);
    assert_eq!(stage.prompt("go"), "end_turn");
    assert_eq!(shown(&stage), [0.0; 0]);
    stage.prompt("/context");
    assert!(!stage.client.said(0).contains('$'), "{}", stage.client.said(0));
}

#[test]
fn who_has_no_gauge_asks_what_the_session_has_cost() {
    let mut stage = Stage::with_config(vec![says(None)], PRICED);
    stage.prompt("go");
    stage.prompt("/context");
    let said = stage.client.said(0);
    assert!(said.contains("The session has cost $0.0049."), "{said}");
}

#[test]
fn a_turn_that_would_cost_more_than_it_may_stops_and_says_so() {
    let budget = format!("{WINDOW}[budget]\nmax_cost_usd = 0.5\n");
    let replies = vec![looks(Some(0.2)), looks(Some(0.2)), says(Some(0.2))];
    let mut stage = Stage::with_config(replies, &budget);
    assert_eq!(stage.prompt("go"), "max_turn_requests");
    assert_eq!(times_told(&stage.client, 0, "stopped at the budget of $0.5 a turn"), 1);
    assert_eq!(stage.mock.requests().len(), 2);
    assert_eq!(stage.prompt("go on"), "end_turn", "each turn has its own budget");
}

#[test]
fn a_budget_that_can_not_be_kept_is_told() {
    let budget = format!("{WINDOW}[budget]\nmax_cost_usd = 0.5\n");
    let mut stage = Stage::with_config(vec![looks(None), looks(None), says(None), says(None)], &budget);
    assert_eq!(stage.prompt("go"), "end_turn");
    assert_eq!(times_told(&stage.client, 0, "the budget is not kept"), 1);
    // A turn of one step would never come to a second one that could tell it.
    let from = stage.client.log.len();
    assert_eq!(stage.prompt("go"), "end_turn");
    assert_eq!(times_told(&stage.client, from, "the budget is not kept"), 1);
}

/// A turn after which the context is full, and what follows it.
fn fills_up(more: &str) -> Stage {
    let counted = |text: &str, used: u64| {
        let chunk = json!({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]});
        let usage = json!({"prompt_tokens": used, "completion_tokens": 100});
        Reply::sse(format!(
            "data: {chunk}\n\ndata: {}\n\n",
            json!({"choices": [], "usage": usage})
        ))
    };
    let replies = vec![
        counted("done", 9_000),
        counted("SUMMARY", 9_000),
        counted("done", 3_000),
    ];
    let models = "models = [{ id = \"m\", context_window = 10000, max_output = 1000, \
                  price = { input = 100.0, output = 1000.0 } }]\n";
    let mut stage = Stage::with_config(replies, &format!("{models}{more}"));
    assert_eq!(stage.prompt(&"words ".repeat(4_500)), "end_turn");
    stage
}

#[test]
fn a_summary_has_its_price_too() {
    let mut stage = fills_up("");
    assert_eq!(stage.prompt("go on"), "end_turn");
    assert_eq!(shown(&stage), [1.0, 2.0, 2.4]);
    let mut stage = stage.reload();
    let gauge = stage
        .client
        .wait_for(|message| message["params"]["update"]["sessionUpdate"] == "usage_update");
    assert_eq!(gauge["params"]["update"]["cost"]["amount"], 2.4);
}

#[test]
fn a_summary_counts_into_the_budget() {
    let mut stage = fills_up("[budget]\nmax_cost_usd = 0.5\n");
    assert_eq!(stage.prompt("go on"), "max_turn_requests");
    assert_eq!(times_told(&stage.client, 0, "stopped at the budget of $0.5 a turn"), 1);
    assert_eq!(shown(&stage), [1.0, 2.0]);
}
