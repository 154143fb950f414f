//! The client that takes a walk: what it knows, and what each step makes it say.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use talaria_tests::editor::Editor;

use crate::agent::{Agent, Place};
use crate::calls::Calls;
use crate::lines::Odd;
use crate::model;
use crate::requests::{About, Ours, State, Theirs};
use crate::steps::{Abilities, At, Play, Step};
use crate::tally::Tally;
use crate::transcript::Transcript;

/// A client.
pub(crate) struct Client<'p> {
    pub(crate) place: &'p Place,
    abilities: Abilities,
    /// None once it has ended.
    pub(crate) agent: Option<Agent>,
    /// Its input is closed.
    pub(crate) has_left: bool,
    pub(crate) editor: Editor,
    pub(crate) ours: Vec<Ours>,
    pub(crate) theirs: Vec<Theirs>,
    /// Where those of the running agent begin.
    pub(crate) newest: usize,
    pub(crate) sessions: Vec<Session>,
    /// What each prompt is, by its number.
    pub(crate) prompts: Vec<(usize, Option<Play>)>,
    pub(crate) calls: Calls,
    /// The tool of the MCP server may run without a question, in all sessions.
    pub(crate) far_unasked: bool,
    /// Errors without an id that are to come.
    pub(crate) refusals: usize,
    /// All that was asked before is settled: nothing of it may be taken back.
    pub(crate) is_quiet: bool,
    /// The number of the step that is taken.
    pub(crate) now: usize,
    pub(crate) tally: Tally,
    /// What was said on both sides.
    pub(crate) log: Vec<String>,
}

/// A session as the client knows it.
#[derive(Default)]
pub(crate) struct Session {
    pub(crate) id: String,
    /// It was closed, deleted or left behind by its agent, so that a request may find nothing.
    pub(crate) was_let_go: bool,
    pub(crate) is_deleted: bool,
    pub(crate) was_cancelled: bool,
    /// Edits may run without a question.
    pub(crate) edits_unasked: bool,
    /// Commands may as well.
    pub(crate) all_unasked: bool,
    pub(crate) live: Transcript,
    /// What it began with was not seen: it is a fork.
    pub(crate) has_unseen_past: bool,
    /// Its agent went away in the middle of something.
    pub(crate) is_torn: bool,
    /// How many items of `live` are surely stored.
    pub(crate) settled: usize,
    /// What a load has shown so far.
    pub(crate) replay: Option<Replay>,
    /// Prompts that go on until they are cancelled, and have come so far.
    pub(crate) holding: BTreeSet<usize>,
}

/// What a load shows.
#[derive(Default)]
pub(crate) struct Replay {
    /// The index of its request.
    pub(crate) of: usize,
    pub(crate) shown: Transcript,
    /// What the user said.
    pub(crate) said: Vec<String>,
}

impl<'p> Client<'p> {
    /// A client of a new agent.
    pub(crate) fn new(place: &'p Place, abilities: Abilities) -> Self {
        Self {
            place,
            abilities,
            agent: Some(place.start()),
            has_left: false,
            editor: editor(),
            ours: Vec::new(),
            theirs: Vec::new(),
            newest: 0,
            sessions: Vec::new(),
            prompts: Vec::new(),
            calls: Calls::default(),
            far_unasked: false,
            refusals: 0,
            is_quiet: false,
            now: 0,
            tally: Tally::default(),
            log: Vec::new(),
        }
    }

    /// Says what it can do.
    pub(crate) fn greet(&mut self) -> Result<(), String> {
        let Abilities {
            reads,
            writes,
            terminals,
            forms,
            notices,
        } = self.abilities;
        let mut capabilities = json!({"fs": {"readTextFile": reads, "writeTextFile": writes}, "terminal": terminals});
        if forms {
            capabilities["elicitation"] = json!({"form": {}});
        }
        if notices {
            capabilities["session"] = json!({"notices": {}});
        }
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        self.request(About::Greeting, "initialize", params);
        self.settle()
    }

    /// What the client can do, by the method that the agent would call.
    pub(crate) fn serves(&self, method: &str) -> bool {
        match method {
            "session/request_permission" => true,
            "fs/read_text_file" => self.abilities.reads,
            "fs/write_text_file" => self.abilities.writes,
            "elicitation/create" => self.abilities.forms,
            _ => method.starts_with("terminal/") && self.abilities.terminals,
        }
    }

    /// Takes a step.
    pub(crate) fn step(&mut self, number: usize, step: &Step) -> Result<(), String> {
        self.now = number;
        self.hear_all()?;
        let cwd = json!(self.place.workspace());
        match step {
            Step::New => self.request(About::New, "session/new", json!({"cwd": cwd, "mcpServers": []})),
            Step::List => self.request(About::List, "session/list", json!({})),
            Step::Load(at) => self.on(*at, |client, of| client.open(About::Load(of), "session/load")),
            Step::Resume(at) => self.on(*at, |client, of| client.open(About::Resume(of), "session/resume")),
            Step::Fork(at) => self.on(*at, |client, of| client.open(About::Fork(of), "session/fork")),
            Step::Close(at) => self.on(*at, |client, of| client.let_go(About::Close(of), "session/close")),
            Step::Delete(at) => self.on(*at, |client, of| client.let_go(About::Delete(of), "session/delete")),
            Step::SetMode(at, mode) => self.on(*at, |client, of| {
                client.set(of, "session/set_mode", json!({"modeId": mode}), mode);
            }),
            Step::SetOption(at, mode) => self.on(*at, |client, of| {
                let params = json!({"configId": "mode", "value": mode});
                client.set(of, "session/set_config_option", params, mode);
            }),
            Step::Prompt(at, play) => self.on(*at, |client, of| client.prompt(of, *play)),
            Step::Command(at, text) => self.on(*at, |client, of| client.say(of, None, |_| (*text).to_owned())),
            Step::Steer(at) => self.on(*at, |client, of| client.say(of, None, model::steer)),
            Step::Cancel(at) => self.on(*at, Self::cancel),
            Step::CancelRequest(pick) => self.cancel_request(*pick),
            Step::Answer(pick, manner) => {
                let open = self.awaited(None);
                if !open.is_empty() {
                    self.answer(open[usize::from(*pick) % open.len()], *manner);
                }
            }
            Step::AnswerAgain(pick) => self.answer_again(*pick),
            Step::AnswerNothing => {
                self.tally.count("answers to nothing");
                self.send(&json!({"jsonrpc": "2.0", "id": 999_999, "result": {"outcome": {"outcome": "selected"}}}));
            }
            Step::Line(odd) => self.odd(odd),
            Step::Await(at) => return self.session_at(*at).map_or(Ok(()), |of| self.await_session(of)),
            Step::Settle => return self.settle(),
            Step::Restart => return self.restart(false),
            Step::Kill => return self.restart(true),
        }
        Ok(())
    }

    fn session_at(&self, at: At) -> Option<usize> {
        let count = self.sessions.len();
        (count > 0).then(|| count - 1 - usize::from(at) % count)
    }

    fn on(&mut self, at: At, act: impl FnOnce(&mut Self, usize)) {
        if let Some(session) = self.session_at(at) {
            act(self, session);
        }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes());
    }

    fn send_line(&mut self, line: &[u8]) {
        if !self.has_left {
            self.log.push(format!("> {}", String::from_utf8_lossy(line)));
            self.agent().send(&[line, b"\n"].concat());
        }
    }

    pub(crate) fn agent(&mut self) -> &mut Agent {
        self.agent.as_mut().expect("the agent has not ended")
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn request(&mut self, about: About, method: &str, params: Value) {
        let id = self.owe(about);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// Notes a request; its id comes back.
    fn owe(&mut self, about: About) -> String {
        let id = format!("walk-{}", self.ours.len());
        self.ours.push(Ours {
            id: id.clone(),
            about,
            is_cancelled: false,
            answer: None,
        });
        id
    }

    pub(crate) fn open(&mut self, about: About, method: &str) {
        let session = about.session().map(|of| self.sessions[of].id.clone());
        let params = json!({"sessionId": session, "cwd": self.place.workspace(), "mcpServers": []});
        self.request(about, method, params);
    }

    pub(crate) fn let_go(&mut self, about: About, method: &str) {
        if let Some(of) = about.session() {
            if !self.waiting(of).is_empty() {
                self.tally.count(format!("{method} during a turn"));
            }
            let session = &mut self.sessions[of];
            session.was_let_go = true;
            session.was_cancelled = true;
            session.is_deleted |= about == About::Delete(of);
            let params = json!({"sessionId": session.id});
            self.request(about, method, params);
        }
    }

    fn set(&mut self, of: usize, method: &str, mut params: Value, mode: &str) {
        let session = &mut self.sessions[of];
        session.edits_unasked |= mode == "accept_edits" || mode == "dont_ask";
        session.all_unasked |= mode == "dont_ask";
        params["sessionId"] = json!(session.id);
        self.request(About::Set(of), method, params);
    }

    fn prompt(&mut self, of: usize, play: Play) {
        let number = self.prompts.len();
        if play == Play::Reads {
            let path = self.place.path(&model::seen(number));
            std::fs::write(path, "seen\n").expect("a file can be written");
        }
        self.say(of, Some(play), |number| model::prompt(play, number));
    }

    fn say(&mut self, of: usize, play: Option<Play>, text: impl FnOnce(usize) -> String) {
        let number = self.prompts.len();
        self.prompts.push((of, play));
        if !self.waiting(of).is_empty() {
            self.tally.count("prompts during a turn");
        }
        let prompt = json!([{"type": "text", "text": text(number)}]);
        let params = json!({"sessionId": self.sessions[of].id, "prompt": prompt});
        let about = About::Prompt {
            session: of,
            number,
            play,
        };
        self.request(about, "session/prompt", params);
    }

    pub(crate) fn cancel(&mut self, of: usize) {
        let waiting = self.waiting(of);
        let phase = if waiting.is_empty() {
            "without a turn"
        } else if self
            .awaited(Some(of))
            .iter()
            .any(|index| self.theirs[*index].is_question())
        {
            "while a question is open"
        } else if !self.awaited(Some(of)).is_empty() {
            "while the editor is asked"
        } else if waiting.iter().any(|number| self.sessions[of].holding.contains(number)) {
            "while something goes on"
        } else {
            "at some moment of a turn"
        };
        self.tally.count(format!("cancels {phase}"));
        if waiting.len() > 1 {
            self.tally.count("cancels of queues");
        }
        let session = &mut self.sessions[of];
        session.was_cancelled = true;
        let params = json!({"sessionId": session.id});
        self.notify("session/cancel", &params);
    }

    fn cancel_request(&mut self, pick: u8) {
        let open: Vec<usize> = (0..self.ours.len())
            .filter(|index| self.ours[*index].answer.is_none())
            .collect();
        if open.is_empty() {
            return;
        }
        let ours = &mut self.ours[open[usize::from(pick) % open.len()]];
        ours.is_cancelled = true;
        if let About::Prompt { session, .. } = ours.about {
            self.sessions[session].was_cancelled = true;
        }
        self.tally.count(if ours.about.is_prompt() {
            "cancelled prompts"
        } else {
            "cancelled calls"
        });
        let params = json!({"requestId": ours.id});
        self.notify("$/cancel_request", &params);
    }

    fn odd(&mut self, odd: &Odd) {
        self.tally.count("odd lines");
        let line = match odd {
            Odd::Silent(line) => line.clone(),
            Odd::Refused(line) => {
                self.refusals += 1;
                line.clone()
            }
            Odd::Answered(line) => {
                let id = self.owe(About::Odd);
                line.replace("\"ID\"", &json!(id).to_string()).into_bytes()
            }
        };
        self.send_line(&line);
    }

    /// Leaves the agent, or kills it, in the middle of everything, and starts a new one.
    fn restart(&mut self, kills: bool) -> Result<(), String> {
        self.leave(kills)?;
        self.agent = Some(self.place.start());
        self.has_left = false;
        self.editor = editor();
        self.newest = self.theirs.len();
        self.greet()
    }

    /// The agent has ended: what waits for an answer gets none.
    pub(crate) fn let_all_go(&mut self) {
        let torn: Vec<usize> = (0..self.sessions.len())
            .filter(|of| !self.waiting(*of).is_empty())
            .collect();
        torn.into_iter().for_each(|of| self.sessions[of].is_torn = true);
        for session in &mut self.sessions {
            session.was_let_go = true;
            session.replay = None;
            session.holding.clear();
        }
        for ours in self.ours.iter_mut().filter(|ours| ours.answer.is_none()) {
            ours.answer = Some(Value::Null);
        }
        for theirs in self.theirs.iter_mut().filter(|theirs| theirs.state == State::Open) {
            theirs.state = State::TakenBack;
        }
        self.calls.forget_open();
        self.refusals = 0;
    }
}

/// An editor that serves well, and a user who fills in its forms.
fn editor() -> Editor {
    Editor::new().with(|editor| editor.form = Some(json!({"action": "accept", "content": {"choice": "a"}})))
}
