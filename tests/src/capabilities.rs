//! What a client can say that it can do, and what must not be sent to one that has not said so.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// All capabilities, each as a path into the parameters of `initialize`, and whether it is a flag or else an object.
pub const ALL: [(&str, bool); 14] = [
    (READS, true),
    (WRITES, true),
    (TERMINAL, true),
    (FORM, false),
    (URL, false),
    (NOTICES, false),
    (COMPACTION, false),
    (BOOLEAN, false),
    (PLAN, false),
    (SUBAGENTS, false),
    (AUTH_TERMINAL, true),
    (AUTH_META, true),
    (AUTH_REQUEST_META, true),
    (TERMINAL_OUTPUT, true),
];

/// It reads files as it shows them.
pub const READS: &str = "clientCapabilities/fs/readTextFile";
/// It writes files.
pub const WRITES: &str = "clientCapabilities/fs/writeTextFile";
/// It has terminals.
pub const TERMINAL: &str = "clientCapabilities/terminal";
/// It shows forms.
pub const FORM: &str = "clientCapabilities/elicitation/form";
/// It opens addresses.
pub const URL: &str = "clientCapabilities/elicitation/url";
/// It shows notices.
pub const NOTICES: &str = "clientCapabilities/session/notices";
/// It shows compactions.
pub const COMPACTION: &str = "clientCapabilities/session/compaction";
/// It shows options that are a yes or a no.
pub const BOOLEAN: &str = "clientCapabilities/session/configOptions/boolean";
/// It knows plans by their names.
pub const PLAN: &str = "clientCapabilities/plan";
/// It shows agents of agents.
pub const SUBAGENTS: &str = "clientCapabilities/subagents";
/// It runs a set-up in a terminal.
pub const AUTH_TERMINAL: &str = "clientCapabilities/auth/terminal";
/// The same, as clients said it before there was a place for it.
pub const AUTH_META: &str = "clientCapabilities/_meta/terminal-auth";
/// The same, beside the capabilities.
pub const AUTH_REQUEST_META: &str = "_meta/terminal-auth";
/// It shows what a command prints as a terminal does.
pub const TERMINAL_OUTPUT: &str = "clientCapabilities/_meta/terminal_output";

/// The parameters of `initialize` by which a client says these and nothing else.
pub fn greeting(declared: &BTreeSet<&str>) -> Value {
    let mut params = json!({ "protocolVersion": 1 });
    for (path, is_flag) in ALL {
        if declared.contains(path) {
            let place = path.split('/').fold(&mut params, |place, name| &mut place[name]);
            *place = if is_flag { json!(true) } else { json!({}) };
        }
    }
    params
}

/// What a client says by these parameters, in this version or the next.
pub fn declared(params: &Value) -> impl Iterator<Item = &'static str> {
    let is_given = |path: &str| {
        let value = params.pointer(&format!("/{path}"));
        value.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
    };
    let paths = ALL.map(|(path, _)| path).into_iter();
    paths.filter(move |path| is_given(path) || is_given(&path.replacen("clientCapabilities", "capabilities", 1)))
}

/// Of which one must have been said for this to be sent; none for what every client knows.
///
/// # Panics
/// On an update or a request that nobody has asked for.
pub fn gate(part: &str) -> &'static [&'static str] {
    match part {
        "fs/read_text_file" => &[READS],
        "fs/write_text_file" => &[WRITES],
        "terminal/create" | "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release" => {
            &[TERMINAL]
        }
        "elicitation/create: form" => &[FORM],
        "elicitation/create: url" => &[URL],
        "notice" => &[NOTICES],
        "compaction_update" | "compaction_summary_chunk" => &[COMPACTION],
        "plan_update" | "plan_removed" => &[PLAN],
        "terminal_info" | "terminal_output" | "terminal_exit" => &[TERMINAL_OUTPUT],
        "content: terminal" => &[TERMINAL, TERMINAL_OUTPUT],
        "sign-in: terminal" => &[AUTH_TERMINAL, AUTH_META, AUTH_REQUEST_META],
        "option: boolean" => &[BOOLEAN],
        "session/request_permission"
        | "session/update"
        | "$/cancel_request"
        | "user_message_chunk"
        | "agent_message_chunk"
        | "agent_thought_chunk"
        | "tool_call"
        | "tool_call_update"
        | "plan"
        | "available_commands_update"
        | "current_mode_update"
        | "config_option_update"
        | "session_info_update"
        | "usage_update" => &[],
        other => panic!("nobody has asked for `{other}`"),
    }
}

/// The parts of a message of the agent that a client may not know.
pub fn parts(message: &Value) -> Vec<String> {
    let (params, result) = (&message["params"], &message["result"]);
    let mut parts = match message["method"].as_str() {
        Some(method @ "elicitation/create") => {
            vec![format!("{method}: {}", params["mode"].as_str().unwrap_or_default())]
        }
        Some(method) => vec![method.to_owned()],
        None => Vec::new(),
    };
    parts.extend(parts_of_update(&params["update"]));
    parts.extend(parts_of_call(&params["toolCall"]));
    let typed = |list: &Value, kind: &str| list.as_array().into_iter().flatten().any(|item| item["type"] == kind);
    if typed(&result["authMethods"], "terminal") {
        parts.push("sign-in: terminal".into());
    }
    for list in [&result["configOptions"], &params["update"]["configOptions"]] {
        if typed(list, "boolean") {
            parts.push("option: boolean".into());
        }
    }
    parts
}

/// The parts of an update that a client may not know.
pub fn parts_of_update(update: &Value) -> Vec<String> {
    let kind = update["sessionUpdate"].as_str().map(str::to_owned);
    kind.into_iter().chain(parts_of_call(update)).collect()
}

fn parts_of_call(call: &Value) -> Vec<String> {
    let meta = call["_meta"].as_object().into_iter().flat_map(|meta| meta.keys());
    let mut parts: Vec<String> = meta.filter(|key| key.starts_with("terminal_")).cloned().collect();
    let mut content = call["content"].as_array().into_iter().flatten();
    if content.any(|item| item["type"] == "terminal") {
        parts.push("content: terminal".into());
    }
    parts
}
