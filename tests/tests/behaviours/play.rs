//! Short words for what these tests say again and again.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::Asked;

/// A scripted reply of one text.
pub(crate) fn says(text: &str) -> Value {
    json!({"steps": [{"text": text}]})
}

/// A scripted reply of calls: tool and arguments.
pub(crate) fn calls(calls: &[(&str, Value)]) -> Value {
    let step = |(name, input): &(&str, Value)| json!({"call": {"name": name, "input": input}});
    json!({"steps": calls.iter().map(step).collect::<Vec<_>>()})
}

/// A home whose model plays these replies.
pub(crate) fn home(replies: &[Value]) -> Home {
    Home::with_script(&json!({"replies": replies}))
}

/// Sets the session's mode.
pub(crate) fn set_mode(client: &mut Client, session: &str, mode: &str) {
    let params = json!({"sessionId": session, "modeId": mode});
    client.request("session/set_mode", params).unwrap();
}

/// Sets one of the session's options; the whole list comes back.
pub(crate) fn set_option(client: &mut Client, session: &str, option: &str, value: &str) -> Result<Value, Value> {
    let params = json!({"sessionId": session, "configId": option, "value": value});
    let result = client.request("session/set_config_option", params)?;
    Ok(result["configOptions"].clone())
}

/// The calls announced in the messages of the log from its `from`th on, in order.
pub(crate) fn announced(client: &Client, from: usize) -> Vec<Value> {
    let updates = client.updates(from).into_iter();
    let calls = updates.filter(|update| update["sessionUpdate"] == "tool_call");
    calls.cloned().collect()
}

/// The last update of each call announced in the messages of the log from its `from`th on, in the calls' order.
pub(crate) fn ends(client: &Client, from: usize) -> Vec<Value> {
    let updates = client.updates(from);
    let end = |call: &Value| {
        let of_call = |update: &&&Value| update["toolCallId"] == call["toolCallId"];
        let end: Value = (*updates.iter().rfind(of_call).unwrap()).clone();
        assert!(
            ["completed", "failed"].contains(&end["status"].as_str().unwrap()),
            "{end}"
        );
        end
    };
    announced(client, from).iter().map(end).collect()
}

/// The permission requests in the messages of the log from its `from`th on.
pub(crate) fn questions(client: &Client, from: usize) -> Vec<Value> {
    let messages = client.log[from..].iter();
    let questions = messages.filter(|message| message["method"] == "session/request_permission");
    questions.map(|question| question["params"].clone()).collect()
}

/// All text of a call's content.
pub(crate) fn text_of(update: &Value) -> String {
    let items = update["content"].as_array().into_iter().flatten();
    items.filter_map(|item| item["content"]["text"].as_str()).collect()
}

/// The diffs of a call's content.
pub(crate) fn diffs(update: &Value) -> Vec<&Value> {
    let items = update["content"].as_array().into_iter().flatten();
    items.filter(|item| item["type"] == "diff").collect()
}

/// The conversation that a model was sent, without the system prompt: role and text of each message.
pub(crate) fn conversation(asked: &Asked) -> Vec<(String, String)> {
    let messages = asked.messages().iter().filter(|message| message["role"] != "system");
    let text = |content: &Value| content.as_str().map_or_else(|| content.to_string(), str::to_owned);
    let one = |message: &Value| (message["role"].as_str().unwrap().to_owned(), text(&message["content"]));
    messages.map(one).collect()
}

/// The roles of a conversation, with what the model said itself.
pub(crate) fn roles(asked: &Asked) -> Vec<String> {
    conversation(asked).into_iter().map(|(role, _)| role).collect()
}

/// What `session/list` shows of a session.
pub(crate) fn listed(client: &mut Client, session: &str) -> Option<Value> {
    let list = client.request("session/list", json!({})).unwrap();
    let sessions = list["sessions"].as_array().unwrap().iter();
    sessions.clone().find(|listed| listed["sessionId"] == session).cloned()
}

/// Two providers behind two servers, the first of them the configured one.
pub(crate) fn two_providers(first: &str, second: &str) -> String {
    format!(
        "model = \"one/a\"\n\
         [providers.one]\napi = \"openai-chat\"\nbase_url = \"{first}\"\nmodels = [{{ id = \"a\" }}, {{ id = \"both\" }}]\n\
         [providers.two]\napi = \"openai-chat\"\nbase_url = \"{second}\"\nmodels = [{{ id = \"b\" }}, {{ id = \"both\" }}]\n"
    )
}
