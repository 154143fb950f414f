//! What a client does for the agent's tools: an editor with buffers, terminals and forms, each of which can misbehave.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How an editor serves something.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Way {
    /// As it should.
    #[default]
    Well,
    /// Not at all.
    Silent,
    /// By an error.
    Error,
    /// By an answer that makes no sense.
    Senseless,
    /// It says that it did it, and did not.
    Pretends,
    /// It writes this instead.
    Instead(String),
}

/// An editor.
pub struct Editor {
    /// How it reads files.
    pub reads: Way,
    /// How it writes files.
    pub writes: Way,
    /// How it makes terminals.
    pub creates: Way,
    /// How it waits for their end.
    pub waits: Way,
    /// How it answers a form: this is the result, or there is none.
    pub form: Option<Value>,
    /// What it shows of files, where that is not what is on disk.
    pub buffers: HashMap<PathBuf, String>,
    terminals: HashMap<String, Terminal>,
    folder: TempDir,
    /// Waits for the end of a terminal's command: the request, and the terminal.
    waiting: Vec<(Value, String)>,
    made: u32,
}

struct Terminal {
    child: Child,
    printed: PathBuf,
}

/// What a client with this editor says that it can do.
pub fn capabilities() -> Value {
    json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true, "elicitation": {"form": {}}})
}

impl Editor {
    /// An editor that serves well and shows what is on disk.
    pub fn new() -> Self {
        Self {
            reads: Way::Well,
            writes: Way::Well,
            creates: Way::Well,
            waits: Way::Well,
            form: None,
            buffers: HashMap::new(),
            terminals: HashMap::new(),
            folder: tempfile::tempdir().expect("a temporary folder can be made"),
            waiting: Vec::new(),
            made: 0,
        }
    }

    /// The same, changed.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Shows this of a file and has not saved it.
    pub fn shows(&mut self, path: &Path, text: &str) {
        self.buffers.insert(path.to_owned(), text.to_owned());
    }

    /// Terminals that were made and not released.
    pub fn open_terminals(&self) -> usize {
        self.terminals.len()
    }

    /// Answers a request, if it is one that is served and answered now.
    pub fn serve(&mut self, message: &Value) -> Option<Value> {
        let (method, params) = (message["method"].as_str()?, &message["params"]);
        let result = match method {
            "fs/read_text_file" => self.read(params),
            "fs/write_text_file" => self.write(params),
            "terminal/create" => self.create(params),
            "terminal/output" => self.output(params),
            "terminal/wait_for_exit" => {
                if self.waits == Way::Well {
                    self.waiting.push((message["id"].clone(), terminal_of(params)));
                }
                return self.ended().pop();
            }
            "terminal/kill" => self.kill(params),
            "terminal/release" => self.release(params),
            "elicitation/create" => Some(Ok(self.form.clone()?)),
            _ => None,
        };
        result.map(|result| answer(&message["id"], result))
    }

    /// The answers that the ends of commands lead to.
    pub fn ended(&mut self) -> Vec<Value> {
        let mut answers = Vec::new();
        let terminals = &mut self.terminals;
        self.waiting.retain(|(id, terminal)| {
            let exit = terminals.get_mut(terminal).map(Terminal::exit);
            match exit {
                Some(None) => true,
                Some(Some(exit)) => {
                    answers.push(answer(id, Ok(exit)));
                    false
                }
                None => {
                    answers.push(answer(id, Err("there is no such terminal".into())));
                    false
                }
            }
        });
        answers
    }

    fn read(&self, params: &Value) -> Option<Result<Value, String>> {
        let path = path_of(params);
        odd(&self.reads).unwrap_or_else(|| {
            let shown = self.buffers.get(&path).cloned();
            let text = shown.map_or_else(|| std::fs::read_to_string(&path), Ok);
            Some(
                text.map(|text| json!({"content": text}))
                    .map_err(|error| error.to_string()),
            )
        })
    }

    fn write(&mut self, params: &Value) -> Option<Result<Value, String>> {
        let path = path_of(params);
        let text = params["content"].as_str().expect("a text is written").to_owned();
        if let Some(result) = odd(&self.writes) {
            return result;
        }
        let text = if let Way::Instead(other) = &self.writes {
            other.clone()
        } else {
            text
        };
        self.buffers.remove(&path);
        Some(
            std::fs::write(&path, text)
                .map(|()| json!({}))
                .map_err(|error| error.to_string()),
        )
    }

    fn create(&mut self, params: &Value) -> Option<Result<Value, String>> {
        odd(&self.creates).unwrap_or_else(|| Some(Ok(self.open_terminal(params))))
    }

    /// Makes a terminal as it was asked for.
    pub fn open_terminal(&mut self, params: &Value) -> Value {
        self.made += 1;
        let id = format!("terminal-{}", self.made);
        let printed = self.folder.path().join(&id);
        let output = File::create(&printed).expect("a file can be made");
        let texts = |value: &Value| -> Vec<String> {
            let items = value.as_array().into_iter().flatten();
            items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let mut command = Command::new(params["command"].as_str().expect("there is a command"));
        command.args(texts(&params["args"]));
        for variable in params["env"].as_array().into_iter().flatten() {
            let text = |field: &str| variable[field].as_str().expect("a variable has a name and a value");
            command.env(text("name"), text("value"));
        }
        command
            .current_dir(params["cwd"].as_str().expect("there is a folder"))
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a file can be shared"))
            .stderr(output)
            .process_group(0);
        let child = command.spawn().expect("the command starts");
        self.terminals.insert(id.clone(), Terminal { child, printed });
        json!({"terminalId": id})
    }

    fn output(&mut self, params: &Value) -> Option<Result<Value, String>> {
        let Some(terminal) = self.terminals.get_mut(&terminal_of(params)) else {
            return Some(Err("there is no such terminal".into()));
        };
        let text = std::fs::read_to_string(&terminal.printed).expect("the output is there");
        Some(Ok(
            json!({"output": text, "truncated": false, "exitStatus": terminal.exit()}),
        ))
    }

    fn kill(&mut self, params: &Value) -> Option<Result<Value, String>> {
        let terminal = self.terminals.get_mut(&terminal_of(params));
        terminal.into_iter().for_each(Terminal::kill);
        Some(Ok(json!({})))
    }

    fn release(&mut self, params: &Value) -> Option<Result<Value, String>> {
        let terminal = self.terminals.remove(&terminal_of(params));
        assert!(terminal.is_some(), "a terminal is released once");
        Some(Ok(Value::Null))
    }
}

impl Default for Editor {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Terminal {
    fn exit(&mut self) -> Option<Value> {
        let status = self.child.try_wait().expect("a child can be waited for")?;
        let signal = status.signal().map(|signal| format!("SIG{signal}"));
        Some(json!({"exitCode": status.code(), "signal": signal}))
    }

    fn kill(&mut self) {
        if self.exit().is_none() {
            let group = format!("-{}", self.child.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ = self.child.wait();
        }
    }
}

/// How a way other than the good one answers; none for the good one.
fn odd(way: &Way) -> Option<Option<Result<Value, String>>> {
    match way {
        Way::Well | Way::Instead(_) => None,
        Way::Silent => Some(None),
        Way::Error => Some(Some(Err("the editor can't".into()))),
        Way::Senseless => Some(Some(Ok(json!({"content": {"odd": 1}, "terminalId": []})))),
        Way::Pretends => Some(Some(Ok(json!({})))),
    }
}

fn answer(id: &Value, result: Result<Value, String>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(message) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": message}}),
    }
}

fn path_of(params: &Value) -> PathBuf {
    params["path"].as_str().expect("a file is named").into()
}

fn terminal_of(params: &Value) -> String {
    params["terminalId"].as_str().expect("a terminal is named").to_owned()
}
