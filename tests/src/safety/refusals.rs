//! Every way in which a question can fail, for every tool that asks: nothing runs, nothing is told, and the model hears
//! why in the words of that failure.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Finding, agent_of};
use crate::client::{Client, Home};
use crate::mock::{Asked, Mock, Reply};
use crate::process::signal;
use crate::start::{config_of, initialized, load, wait_until};

/// What is in a file that may hold secrets, and what in one outside.
const INSIDE: &str = "inside-secret-4711";
const OUTSIDE: &str = "outside-secret-4711";

/// The tools that ask, by the names of the prompts that have them called.
const TOOLS: [&str; 8] = [
    "write_file",
    "patch",
    "read_file",
    "search_files",
    "terminal",
    "process",
    "web_fetch",
    "mcp__t__echo",
];

/// What a client does about a question.
#[derive(Clone, Copy)]
enum Way {
    /// Sends these messages, made of the request's id.
    Says(fn(&Value) -> Vec<Value>),
    /// Sends these, after which the question has to wait for its time to be over; then the client allows it.
    SaysInVain(fn(&Value) -> Vec<Value>),
    /// Cancels the turn, then allows.
    Cancels,
    /// Closes the session, then allows.
    Closes,
    /// Ends like this, after a question.
    Ends(fn(&mut Client)),
}

/// What the model hears.
#[derive(Clone, Copy, PartialEq)]
enum Heard {
    /// That the user has refused.
    Refused,
    /// That the answer made no sense.
    Senseless,
    /// That nobody has answered.
    Nobody,
    /// Nothing: its turn is over.
    Nothing,
}

impl Heard {
    fn words(self) -> Option<&'static str> {
        match self {
            Self::Refused => Some("The user refused this call"),
            Self::Senseless => Some("made no sense"),
            Self::Nobody => Some("nobody answered the question"),
            Self::Nothing => None,
        }
    }
}

fn result(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn chosen(id: &Value, option: Value) -> Value {
    result(id, json!({"outcome": {"outcome": "selected", "optionId": option}}))
}

fn allowed(id: &Value) -> Value {
    chosen(id, json!("allow_once"))
}

fn error(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "the editor can't"}})
}

/// The ways to fail.
fn ways() -> Vec<(&'static str, Way, Heard)> {
    use Heard::{Nobody, Nothing, Refused, Senseless};
    use Way::{Cancels, Closes, Ends, Says, SaysInVain};
    vec![
        (
            "it is refused",
            Says(|id| vec![chosen(id, json!("reject_once"))]),
            Refused,
        ),
        (
            "it is refused, then allowed",
            Says(|id| vec![chosen(id, json!("reject_once")), allowed(id)]),
            Refused,
        ),
        ("an error", Says(|id| vec![error(id)]), Senseless),
        (
            "an error, then an allow",
            Says(|id| vec![error(id), allowed(id)]),
            Senseless,
        ),
        (
            "an error beside an allow",
            Says(|id| {
                let mut answer = allowed(id);
                answer["error"] = error(id)["error"].clone();
                vec![answer]
            }),
            Senseless,
        ),
        (
            "an option that nobody offered",
            Says(|id| vec![chosen(id, json!("allow_all"))]),
            Senseless,
        ),
        (
            "an option in other letters",
            Says(|id| vec![chosen(id, json!("Allow_Once"))]),
            Senseless,
        ),
        (
            "an option with a blank",
            Says(|id| vec![chosen(id, json!("allow_once "))]),
            Senseless,
        ),
        ("no option's text", Says(|id| vec![chosen(id, json!(""))]), Senseless),
        (
            "a number for an option",
            Says(|id| vec![chosen(id, json!(1))]),
            Senseless,
        ),
        (
            "options in a list",
            Says(|id| vec![chosen(id, json!(["allow_once"]))]),
            Senseless,
        ),
        (
            "an option's name",
            Says(|id| vec![chosen(id, json!("Allow once"))]),
            Senseless,
        ),
        ("null", Says(|id| vec![result(id, Value::Null)]), Senseless),
        ("an empty object", Says(|id| vec![result(id, json!({}))]), Senseless),
        ("an empty list", Says(|id| vec![result(id, json!([]))]), Senseless),
        ("a text", Says(|id| vec![result(id, json!("allow_once"))]), Senseless),
        ("true", Says(|id| vec![result(id, json!(true))]), Senseless),
        (
            "the option without its outcome",
            Says(|id| vec![result(id, json!({"optionId": "allow_once"}))]),
            Senseless,
        ),
        (
            "a text for the outcome",
            Says(|id| vec![result(id, json!({"outcome": "allow_once"}))]),
            Senseless,
        ),
        (
            "an outcome of another kind",
            Says(|id| {
                vec![result(
                    id,
                    json!({"outcome": {"outcome": "allowed", "optionId": "allow_once"}}),
                )]
            }),
            Senseless,
        ),
        (
            "a choice of nothing",
            Says(|id| vec![result(id, json!({"outcome": {"outcome": "selected"}}))]),
            Senseless,
        ),
        (
            "it is closed",
            Says(|id| vec![result(id, json!({"outcome": {"outcome": "cancelled"}})), allowed(id)]),
            Nothing,
        ),
        ("nothing in time", SaysInVain(|_| Vec::new()), Nobody),
        (
            "an allow of another question",
            SaysInVain(|_| vec![allowed(&json!(99_999))]),
            Nobody,
        ),
        (
            "an allow of its number in a text",
            SaysInVain(|id| vec![allowed(&json!(id.to_string()))]),
            Nobody,
        ),
        (
            "an allow of no question",
            SaysInVain(|_| vec![allowed(&Value::Null)]),
            Nobody,
        ),
        (
            "an allow that is cut off",
            // A line that is no JSON answers nothing.
            SaysInVain(|id| {
                vec![json!(format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"outcome\""
                ))]
            }),
            Nobody,
        ),
        (
            "an allow as a request",
            SaysInVain(|id| vec![json!({"jsonrpc": "2.0", "id": id, "method": "allow_once", "params": {}})]),
            Nobody,
        ),
        ("the turn is cancelled", Cancels, Nothing),
        ("the session is closed", Closes, Nothing),
        ("the client ends its output", Ends(Client::end_input), Nothing),
        (
            "the agent is told to end",
            Ends(|client| signal(client.pid(), "TERM")),
            Nothing,
        ),
        (
            "the agent is killed",
            Ends(|client| signal(client.pid(), "KILL")),
            Nothing,
        ),
    ]
}

/// Tries each way for each tool. `server` is a program that speaks MCP and writes what it gets into the file after
/// `--note`.
pub fn refusals(server: &Path, arguments: &[&str]) -> Finding {
    let mut finding = Finding::new(
        "questions that fail: calls that nevertheless run",
        "0, each told in its own words",
    );
    let ways = ways();
    let mut cells = 0;
    for (name, way, heard) in &ways {
        let mut scene = Scene::begin(server, arguments, matches!(way, Way::SaysInVain(_)));
        scene.fail(*way);
        for tool in TOOLS {
            cells += 1;
            finding.expect(!scene.has_run(tool), || format!("{name}: {tool} ran"));
            if let Some(fault) = scene.misheard(tool, *heard) {
                finding.fault(format!("{name}: {tool}: {fault}"));
            }
        }
    }
    let ran = finding.faults.len();
    finding.found = format!("{ran} of {cells}: {} ways to fail, {} tools", ways.len(), TOOLS.len());
    finding
}

/// What each tool has done while its question is open, and once it is allowed, so that a look would see it.
pub fn effects_before_an_answer(server: &Path, arguments: &[&str], rounds: usize) -> Finding {
    let mut finding = Finding::new("effects of a call before it is allowed", "0");
    let mut looks = 0;
    for _ in 0..rounds {
        let mut scene = Scene::begin(server, arguments, false);
        // Whatever could be done behind the question has the time for it.
        crate::process::wait_idle(scene.client.pid());
        for tool in TOOLS {
            looks += 1;
            finding.expect(!scene.has_run(tool), || format!("{tool} ran"));
        }
        scene.fail(Way::Says(|id| vec![allowed(id)]));
        for tool in TOOLS {
            wait_until(&format!("what {tool} does"), || scene.has_run(tool));
        }
    }
    finding.found = format!("{} in {looks} looks, and all of them after it", finding.faults.len());
    finding
}

/// An agent with a session for each tool, in each of which its question is open.
struct Scene {
    home: Home,
    _outside: tempfile::TempDir,
    mock: Mock,
    pages: Mock,
    client: Client,
    sessions: Vec<Open>,
}

/// A session whose question is open.
struct Open {
    session: String,
    prompt: i64,
    question: Value,
}

impl Scene {
    fn begin(server: &Path, arguments: &[&str], in_time: bool) -> Self {
        let pages = Mock::answering(|_| Reply::answer("HTTP/1.1 200 OK\ncontent-type: text/plain", "a page"));
        let pages = pages.with_list();
        let outside = tempfile::tempdir().expect("a temporary folder can be made");
        fs::write(outside.path().join("file"), format!("{OUTSIDE}\n")).expect("a file can be written");
        let (page, folder) = (pages.base_url(), outside.path().to_owned());
        let mock = Mock::answering(move |asked| answer(asked, &page, &folder));
        let more = format!(
            "[approvals]\ntimeout_s = {}\n[web]\nprivate_hosts = [\"127.0.0.1\"]\n",
            u8::from(in_time)
        );
        let home = Home::with_config(&config_of(&mock, &more));
        fs::write(home.workspace().join("patched.txt"), "before\n").expect("a file can be written");
        fs::write(home.workspace().join(".env"), format!("KEY={INSIDE}\n")).expect("a file can be written");
        let client = initialized(agent_of(&home));
        let mut scene = Self {
            home,
            _outside: outside,
            mock,
            pages,
            client,
            sessions: Vec::new(),
        };
        scene.ask(server, arguments);
        scene
    }

    /// Begins the sessions, and has each tool called.
    fn ask(&mut self, server: &Path, arguments: &[&str]) {
        let note = self.note().display().to_string();
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--note", &note]).collect();
        let server = json!([{"name": "t", "command": server, "args": arguments, "env": []}]);
        let begun = TOOLS.map(|tool| {
            let servers = if tool.starts_with("mcp__") {
                server.clone()
            } else {
                json!([])
            };
            let params = json!({"cwd": self.home.workspace(), "mcpServers": servers});
            let result = self.client.request("session/new", params).expect("a session begins");
            result["sessionId"].as_str().expect("a session has an id").to_owned()
        });
        let (process, _) = begun
            .iter()
            .zip(TOOLS)
            .find(|(_, tool)| *tool == "process")
            .expect("it is a tool");
        assert_eq!(self.client.prompt(process, "use prelude"), "end_turn");
        self.client.permission = None;
        let prompts: Vec<(String, i64)> = begun
            .into_iter()
            .zip(TOOLS)
            .map(|(session, tool)| {
                let prompt = self.client.begin_prompt(&session, &format!("use {tool}"));
                (session, prompt)
            })
            .collect();
        for (session, prompt) in prompts {
            let question = self.question(&session);
            self.sessions.push(Open {
                session,
                prompt,
                question,
            });
        }
    }

    /// The question of a session that is not about the prelude; waits for it.
    fn question(&mut self, session: &str) -> Value {
        let is_meant = |message: &Value| {
            message["method"] == "session/request_permission"
                && message["params"]["sessionId"] == session
                && !message.to_string().contains("cat > input.txt\"")
        };
        let come = self.client.log.iter().find(|message| is_meant(message)).cloned();
        come.unwrap_or_else(|| self.client.wait_for(is_meant))
    }

    /// Has all questions fail in one way, and waits for what comes of it.
    fn fail(&mut self, way: Way) {
        match way {
            Way::Says(answers) => {
                self.say(answers);
                self.finish();
            }
            Way::SaysInVain(answers) => {
                self.say(answers);
                self.finish();
                // It is too late now.
                self.say(|id| vec![allowed(id)]);
                self.settle();
            }
            Way::Cancels => {
                for open in &self.sessions {
                    self.client.notify("session/cancel", json!({"sessionId": open.session}));
                }
                self.say(|id| vec![allowed(id)]);
                self.finish();
            }
            Way::Closes => {
                for open in &self.sessions {
                    self.client.begin("session/close", json!({"sessionId": open.session}));
                }
                self.say(|id| vec![allowed(id)]);
                self.finish();
                self.settle();
            }
            Way::Ends(end) => {
                end(&mut self.client);
                self.client.wait();
                self.load_again();
            }
        }
    }

    fn say(&mut self, answers: fn(&Value) -> Vec<Value>) {
        for open in &self.sessions {
            for message in answers(&open.question["id"]) {
                match message.as_str() {
                    Some(line) => self.client.send_raw(format!("{line}\n").as_bytes()),
                    None => self.client.send(&message),
                }
            }
        }
    }

    /// Waits for the ends of the turns.
    fn finish(&mut self) {
        for index in 0..self.sessions.len() {
            let prompt = self.sessions[index].prompt;
            // A session that is closed has its prompt answered too.
            let _stop_reason_or_error = self.client.response(prompt);
        }
    }

    /// Waits until all that was sent has been heard.
    fn settle(&mut self) {
        self.client
            .request("session/list", json!({}))
            .expect("sessions are listed");
        crate::process::wait_idle(self.client.pid());
    }

    /// Goes on with a new agent, which knows the sessions.
    fn load_again(&mut self) {
        self.client = initialized(agent_of(&self.home));
        for open in &self.sessions {
            load(&mut self.client, &open.session, &self.home.workspace()).expect("the session is there");
        }
        self.settle();
    }

    fn note(&self) -> PathBuf {
        self.home.workspace().join("note.txt")
    }

    /// Whether a tool has had its effect.
    fn has_run(&self, tool: &str) -> bool {
        let read = |name: &str| fs::read_to_string(self.home.workspace().join(name)).unwrap_or_default();
        match tool {
            "write_file" => self.home.workspace().join("written.txt").exists(),
            "patch" => read("patched.txt") != "before\n",
            "read_file" => self.has_told(INSIDE),
            "search_files" => self.has_told(OUTSIDE),
            "terminal" => self.home.workspace().join("ran.txt").exists(),
            "process" => !read("input.txt").is_empty(),
            "web_fetch" => !self.pages.requests().is_empty(),
            _ => fs::read_to_string(self.note())
                .unwrap_or_default()
                .contains("tools/call"),
        }
    }

    /// Whether this came to the client or to the model.
    fn has_told(&self, secret: &str) -> bool {
        let heard = self
            .client
            .log
            .iter()
            .any(|message| message.to_string().contains(secret));
        heard || self.mock.requests().iter().any(|asked| asked.raw.contains(secret))
    }

    /// What is wrong with what the model has heard of its call.
    fn misheard(&self, tool: &str, heard: Heard) -> Option<String> {
        let requests = self.mock.requests();
        let results = requests.iter().filter_map(|asked| {
            let last = asked.messages().last()?;
            let is_of_it = last["role"] == "tool" && last["tool_call_id"] == tool;
            is_of_it.then(|| last["content"].to_string())
        });
        let results: Vec<String> = results.collect();
        match (heard.words(), &results[..]) {
            (None, []) => None,
            (Some(words), [told]) if told.contains(words) => None,
            (_, told) => Some(format!("the model heard {told:?}")),
        }
    }
}

/// What the model says: the call that the prompt names, and then nothing more.
fn answer(asked: &Asked, page: &str, outside: &Path) -> Reply {
    let last = asked.messages().last().cloned().unwrap_or_default();
    if last["role"] == "tool" {
        return Reply::text("done");
    }
    let said = last["content"].to_string();
    let call = |id: &str, tool: &str, input: Value| Reply::calls(&[(id, tool, input)]);
    if said.contains("use prelude") {
        let input = json!({"command": "cat > input.txt", "background": true});
        return call("prelude", "terminal", input);
    }
    let tool = TOOLS.into_iter().find(|tool| said.contains(&format!("use {tool}")));
    let tool = tool.expect("a prompt names its tool");
    let input = match tool {
        "write_file" => json!({"path": "written.txt", "content": "x\n"}),
        "patch" => json!({"path": "patched.txt", "old_string": "before", "new_string": "after"}),
        "read_file" => json!({"path": ".env"}),
        "search_files" => json!({"pattern": "outside-secret", "path": outside}),
        "terminal" => json!({"command": "touch ran.txt"}),
        "process" => json!({"action": "write", "id": "p1", "text": "typed\n"}),
        "web_fetch" => json!({"url": format!("{page}/page")}),
        _ => json!({"text": "hi"}),
    };
    call(tool, tool, input)
}
