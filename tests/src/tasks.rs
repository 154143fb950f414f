//! Ten small tasks for a model, and what came of each: told by files, calls and the answer, never by taste. Each runs
//! in a fresh workspace, by the built binary's `agent run --json`.

mod set;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crossbeam_channel::bounded;
use serde_json::Value;

use crate::process::signal;

pub use set::TASKS;

/// A task.
pub struct Task {
    /// Its name.
    pub name: &'static str,
    /// What the user asks for; `OTHER` stands for the second folder.
    prompt: &'static str,
    /// The mode of the session.
    mode: &'static str,
    /// The files of the workspace at its beginning.
    files: fn() -> Files,
    /// The files of the second folder; none if there is no such folder.
    other: fn() -> Files,
    /// Says what is wrong with what came of it.
    check: fn(&Work) -> Result<(), String>,
}

/// Texts by path.
pub type Files = BTreeMap<String, String>;

/// What came of a task.
pub struct Work {
    /// The workspace.
    folder: PathBuf,
    /// The second folder.
    other: PathBuf,
    /// Every event, in order.
    pub events: Vec<Value>,
}

/// The verdict.
pub struct Verdict {
    /// What is wrong; nothing if the task is done.
    pub result: Result<(), String>,
    /// What came of it.
    pub work: Work,
}

impl Task {
    /// Runs it in folders of its own below `folder`. `agent` makes the command for these arguments; one that has not
    /// ended within `limit` is interrupted.
    pub fn run(&self, folder: &Path, limit: Duration, agent: impl Fn(&[&str]) -> Command) -> Verdict {
        let mut work = Work {
            folder: folder.join("work"),
            other: folder.join("other"),
            events: Vec::new(),
        };
        lay_out(&work.folder, &(self.files)());
        let (cwd, other) = (work.folder.display().to_string(), work.other.display().to_string());
        let prompt = self.prompt.replace("OTHER", &other);
        let mut arguments = vec!["run", "--json", "--mode", self.mode, "--cwd", &cwd];
        let files = (self.other)();
        if !files.is_empty() {
            lay_out(&work.other, &files);
            arguments.extend(["--add-dir", &other]);
        }
        arguments.push(&prompt);
        let ended = follow(agent(&arguments), limit, &mut work.events);
        Verdict {
            result: ended.and_then(|()| work.check_end()).and_then(|()| (self.check)(&work)),
            work,
        }
    }
}

fn lay_out(folder: &Path, files: &Files) {
    std::fs::create_dir_all(folder).expect("a folder can be made");
    for (path, text) in files {
        let path = folder.join(path);
        let parent = path.parent().expect("a file is in a folder");
        std::fs::create_dir_all(parent).expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    }
}

/// Runs the command and takes its events.
fn follow(mut command: Command, limit: Duration, events: &mut Vec<Value>) -> Result<(), String> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| format!("the agent does not start: {error}"))?;
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let (output, ended) = bounded(1);
    std::thread::spawn(move || {
        let mut text = String::new();
        // What is no UTF-8 ends it as the end does; the lines so far are what there is.
        let _ = stdout.as_mut().map(|stdout| stdout.read_to_string(&mut text));
        let _ = output.send(text);
    });
    let told = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.as_mut().map(|stderr| stderr.read_to_string(&mut text));
        text
    });
    let in_time = ended.recv_timeout(limit);
    let text = in_time.clone().unwrap_or_else(|_| {
        signal(child.id(), "INT");
        ended.recv().unwrap_or_default()
    });
    let _whose_end_the_events_tell = child.wait();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.extend(lines.map(|mut line| line["event"].take()));
    if in_time.is_err() {
        return Err(format!("not done within {} s", limit.as_secs()));
    }
    if events.is_empty() {
        let told = told.join().unwrap_or_default();
        return Err(format!("nothing came: {}", told.trim()));
    }
    Ok(())
}

impl Work {
    /// The model calls.
    pub fn steps(&self) -> usize {
        self.of("step_finished").count()
    }

    /// Tokens of this kind, such as `input`, as far as the service counted them.
    pub fn tokens(&self, kind: &str) -> u64 {
        self.of("step_finished")
            .filter_map(|step| step["usage"][kind].as_u64())
            .sum()
    }

    /// The last message.
    pub fn answer(&self) -> String {
        let last = self.of("agent_text").last().map(|text| &text["id"]);
        let pieces = self.of("agent_text").filter(|text| Some(&text["id"]) == last);
        pieces.filter_map(|text| text["text"].as_str()).collect()
    }

    /// What the tools answered.
    pub fn results(&self) -> impl Iterator<Item = &str> {
        let outputs = self.of("tool_finished").map(|end| &end["outcome"]["output"]["text"]);
        outputs.filter_map(Value::as_str)
    }

    fn of(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["event"] == name)
    }

    /// The turn must have ended by the model's own word.
    fn check_end(&self) -> Result<(), String> {
        match self.events.last() {
            Some(end) if end["stop"] == "end_turn" => Ok(()),
            Some(end) if end["event"] == "turn_failed" => Err(format!("failed: {}", end["failure"]["message"])),
            Some(end) => Err(format!("ended by {}", end["stop"])),
            None => Err("nothing came".into()),
        }
    }

    /// All files of the workspace are these, byte by byte.
    fn check_files(&self, expect: &Files) -> Result<(), String> {
        check_folder(&self.folder, expect)
    }

    fn check_answer(&self, words: &[&str]) -> Result<(), String> {
        let answer = self.answer();
        match words.iter().find(|word| !answer.contains(**word)) {
            None => Ok(()),
            Some(word) => Err(format!("the answer lacks {word:?}: {answer:?}")),
        }
    }

    /// A shell command of the check's own says this.
    fn check_output(&self, command: &str, expect: &str) -> Result<(), String> {
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", command]).current_dir(&self.folder).output();
        let output = output.map_err(|error| format!("sh does not start: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && said == expect {
            return Ok(());
        }
        Err(format!("`{command}` ends with {} and says {said:?}", output.status))
    }
}

fn check_folder(folder: &Path, expect: &Files) -> Result<(), String> {
    for (path, text) in expect {
        match std::fs::read_to_string(folder.join(path)) {
            Ok(found) if found == *text => {}
            Ok(found) => return Err(format!("{path} is not as it should be: {}", difference(text, &found))),
            Err(error) => return Err(format!("{path}: {error}")),
        }
    }
    Ok(())
}

/// The first line that differs.
fn difference(expect: &str, found: &str) -> String {
    let (mut expected, mut lines) = (expect.lines(), found.lines());
    for number in 1.. {
        match (expected.next(), lines.next()) {
            (None, None) => break,
            (expect, found) if expect == found => {}
            (expect, found) => return format!("line {number} is {found:?} instead of {expect:?}"),
        }
    }
    "the line ends differ".into()
}
