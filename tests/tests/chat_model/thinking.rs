//! How much the model is told to think.

use serde_json::{Value, json};
use talaria_tests::mock::Reply;

use crate::Stage;

fn set(stage: &mut Stage, level: &str) -> Result<Value, Value> {
    let params = json!({"sessionId": stage.session, "configId": "thought_level", "value": level});
    stage.client.request("session/set_config_option", params)
}

#[test]
fn the_level_is_the_configured_one_until_it_is_set_and_is_kept() {
    let replies = (0..4).map(|_| Reply::text("ok")).collect();
    let mut stage = Stage::with_config(replies, "[agent]\nthought_level = \"low\"\n");
    assert_eq!(stage.prompt("one"), "end_turn");
    assert_eq!(stage.last_request().body["reasoning_effort"], "low");
    let answer = set(&mut stage, "high").unwrap();
    let options = answer["configOptions"].as_array().unwrap();
    let option = options.iter().find(|option| option["id"] == "thought_level").unwrap();
    assert_eq!(
        (&option["currentValue"], &option["category"]),
        (&json!("high"), &json!("thought_level"))
    );
    assert_eq!(stage.prompt("two"), "end_turn");
    assert_eq!(stage.last_request().body["reasoning_effort"], "high");
    let mut stage = stage.reload();
    assert_eq!(stage.prompt("three"), "end_turn");
    assert_eq!(stage.last_request().body["reasoning_effort"], "high");
    set(&mut stage, "default").unwrap();
    assert_eq!(stage.prompt("four"), "end_turn");
    assert_eq!(stage.last_request().body["reasoning_effort"], Value::Null);
    assert_eq!(set(&mut stage, "huge").unwrap_err()["code"], -32602);
}
