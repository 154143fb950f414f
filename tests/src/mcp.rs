//! A small MCP server for tests: what it answers to each message, in plain JSON and without any library for it. Its
//! program speaks over stdio; a [`Mock`](crate::mock::Mock) can speak it over HTTP.

use serde_json::{Value, json};

/// What the server knows between two messages.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// It offers tools with odd names.
    pub odd: bool,
    /// It offers one tool more.
    pub fresh: bool,
    /// Its tool `echo` describes itself in other words.
    pub altered: bool,
    /// It refuses to say once what it offers more.
    pub shy: bool,
    /// It never says what it offers more.
    pub mute: bool,
    /// It offers tools whose answers nobody reads.
    pub vast: bool,
    /// It offers a tool that writes a file.
    pub writes: bool,
    /// It lists its tools one a page, and never comes to an end.
    pub endless: bool,
}

/// What a message leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// This is said.
    Say(Value),
    /// This is said as it stands.
    SayRaw(String),
    /// This is said after a while.
    SayLater(Value),
    /// The server's process ends.
    Die,
}

/// The names of odd tools.
pub const ODD: [&str; 5] = [
    "a.b",
    "a/b",
    "a_b",
    "é",
    "a_very_long_name_of_a_tool_that_no_model_service_would_take_as_it_is",
];

/// How many letters an answer has that is too long.
const VAST: usize = 17 << 20;
/// How many values an answer has that holds too much.
const FULL: usize = 200_001;
/// How many lists an answer has in each other that is too deep.
const DEEP: usize = 500;

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

impl Server {
    /// What is said and done about a message.
    pub fn answer(&mut self, message: &Value) -> Vec<Deed> {
        let params = &message["params"];
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "test", "version": "1"},
            }),
            "tools/list" if self.fresh && self.shy => {
                self.shy = false;
                let error = json!({"code": -32603, "message": "not now"});
                return vec![Deed::Say(
                    json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
                )];
            }
            "tools/list" if self.fresh && self.mute => return Vec::new(),
            "tools/list" if self.endless => {
                let page = params["cursor"].as_str().unwrap_or("0").parse().unwrap_or(0_u32);
                let tool = tool(&format!("tool_{page}"), "Is one of many", &json!({}));
                json!({ "tools": [tool], "nextCursor": (page + 1).to_string() })
            }
            "tools/list" => json!({ "tools": self.tools() }),
            "tools/call" => return self.call(&message["id"], params),
            "ping" => json!({}),
            _ => return Vec::new(),
        };
        vec![reply(&message["id"], result)]
    }

    fn tools(&self) -> Vec<Value> {
        let about = if self.altered {
            "Does as it likes"
        } else {
            "Says it again"
        };
        let mut tools = vec![
            tool("echo", about, &json!({"text": {"type": "string"}})),
            tool("media", "Gives all sorts of content", &json!({})),
            tool("fail", "Fails", &json!({})),
            tool("refuse", "Refuses", &json!({})),
            tool("hang", "Never answers", &json!({})),
            tool("steps", "Takes its time, and tells how far it is", &json!({})),
            tool("die", "Ends the server", &json!({})),
            tool("big", "Says very much", &json!({})),
            tool("change", "Makes one tool more", &json!({})),
            tool("alter", "Changes what a tool says of itself", &json!({})),
            tool(
                "where",
                "Tells where the server runs",
                &json!({"names": {"type": "array"}}),
            ),
        ];
        let mut read = tool("read", "Only reads", &json!({}));
        read["annotations"] = json!({"readOnlyHint": true});
        tools.push(read);
        if self.fresh {
            tools.push(tool("fresh", "Was not there before", &json!({})));
        }
        if self.vast {
            tools.push(tool("vast", "Says more than anybody reads", &json!({})));
            tools.push(tool("full", "Holds more than anybody reads", &json!({})));
            tools.push(tool("deep", "Nests what it says too deep", &json!({})));
        }
        if self.writes {
            let properties = json!({"path": {"type": "string"}, "content": {"type": "string"}});
            tools.push(tool("write", "Writes a file", &properties));
        }
        if self.odd {
            tools.extend(ODD.iter().map(|name| tool(name, "Has an odd name", &json!({}))));
        }
        tools
    }

    fn call(&mut self, id: &Value, params: &Value) -> Vec<Deed> {
        let arguments = &params["arguments"];
        match params["name"].as_str().unwrap_or_default() {
            "echo" => vec![reply(id, text(arguments["text"].as_str().unwrap_or("nothing")))],
            "media" => vec![reply(id, media())],
            "fail" => vec![reply(
                id,
                json!({"content": content("it did not work"), "isError": true}),
            )],
            "refuse" => {
                let error = json!({"code": -32602, "message": "not like this"});
                vec![Deed::Say(json!({"jsonrpc": "2.0", "id": id, "error": error}))]
            }
            "hang" => Vec::new(),
            "steps" => {
                let token = &params["_meta"]["progressToken"];
                let steps = (1..=5).map(|step| Deed::SayLater(progress(token, step)));
                steps.chain([reply(id, text("all steps done"))]).collect()
            }
            "die" => vec![Deed::Die],
            "big" => vec![reply(id, text(&format!("begin{}end", "x".repeat(1 << 20))))],
            "vast" => {
                let text = "x".repeat(VAST);
                vec![Deed::SayRaw(format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
                ))]
            }
            "full" => {
                let full = |head: &str| {
                    let values = "0,".repeat(FULL);
                    Deed::SayRaw(format!(
                        r#"{{"jsonrpc":"2.0",{head}:{{"data":[{values}0],"content":[]}}}}"#
                    ))
                };
                // Nobody waits for the first.
                vec![
                    full(r#""method":"notifications/message","params""#),
                    full(&format!(r#""id":{id},"result""#)),
                ]
            }
            "deep" => {
                let (open, close) = ("[".repeat(DEEP), "]".repeat(DEEP));
                vec![Deed::SayRaw(format!(
                    r#"{{"result":{{"content":[],"structuredContent":{{"a":{open}{close}}}}},"jsonrpc":"2.0","id":{id}}}"#
                ))]
            }
            "write" => {
                let part = |name: &str| arguments[name].as_str().unwrap_or_default();
                let written = std::fs::write(part("path"), part("content"));
                vec![reply(id, text(&format!("{}: {written:?}", part("path"))))]
            }
            "change" => {
                self.fresh = true;
                vec![list_changed(), reply(id, text("changed"))]
            }
            "alter" => {
                self.altered = true;
                vec![list_changed(), reply(id, text("altered"))]
            }
            "where" => vec![reply(id, text(&surroundings(arguments).to_string()))],
            name => vec![reply(id, text(&format!("this was {name}")))],
        }
    }
}

fn tool(name: &str, description: &str, properties: &Value) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}})
}

fn reply(id: &Value, result: Value) -> Deed {
    Deed::Say(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn text(text: &str) -> Value {
    json!({ "content": content(text) })
}

fn content(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn media() -> Value {
    json!({
        "content": [
            {"type": "text", "text": "one picture"},
            {"type": "image", "mimeType": "image/png", "data": PNG},
            {"type": "resource", "resource": {"uri": "test:///a", "mimeType": "text/plain", "text": "what is in it"}},
            {"type": "resource_link", "uri": "test:///b", "name": "elsewhere"},
        ],
        "structuredContent": {"answer": 42},
    })
}

fn progress(token: &Value, step: u32) -> Value {
    let params = json!({"progressToken": token, "progress": step, "total": 5, "message": format!("step {step}")});
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
}

fn list_changed() -> Deed {
    Deed::Say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
}

fn surroundings(arguments: &Value) -> Value {
    let names = arguments["names"].as_array().into_iter().flatten();
    let names = names.filter_map(Value::as_str);
    let variables = names.map(|name| (name.to_owned(), std::env::var(name).map_or(Value::Null, Value::String)));
    json!({
        "cwd": std::env::current_dir().unwrap_or_default(),
        "env": variables.collect::<serde_json::Map<_, _>>(),
    })
}
