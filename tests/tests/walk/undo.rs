//! Random walks of turns that change files, and of taking them back: after each step files and conversation are what a
//! model of them says, whoever has changed the files in between, and wherever the agent was killed.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use fastrand::Rng;
use serde_json::{Value, json};
use talaria_tests::stage::LIMIT;

use crate::agent::{Agent, Place};
use crate::generator::Ground;
use crate::model::done_in;
use crate::tally::Tally;

const NAMES: [&str; 6] = ["a", "b", "d/c", "d/e/f", "d/e/g", "h.txt"];

/// What files hold; none where there is no file.
type Files = BTreeMap<&'static str, Option<String>>;

/// A turn that stands, or that was taken back.
struct Turn {
    number: usize,
    /// What the files that it has changed held before.
    before: Files,
}

/// An undo that can be taken back.
struct Undone {
    turns: Vec<Turn>,
    /// What the files held that it has put back.
    held: Files,
}

/// A walk on its way.
struct Walk<'p> {
    place: &'p Place,
    /// None while another one is started.
    agent: Option<Agent>,
    session: String,
    random: Rng,
    files: Files,
    turns: Vec<Turn>,
    undone: Vec<Undone>,
    /// Someone else has changed files, so that only a `force` is sure to come through.
    is_foreign: bool,
    /// The number of the next request, prompt, and text.
    next: usize,
    tally: Tally,
    log: Vec<String>,
}

/// What came of a request.
struct Answer {
    result: Value,
    /// What was said by the agent.
    said: String,
    /// The numbers of the prompts that were shown.
    shown: Vec<usize>,
}

/// Walks the walk of this seed.
pub(crate) fn walk(seed: u64, ground: Ground) -> Result<Tally, String> {
    let place = Place::new(ground, false);
    let mut walk = Walk {
        place: &place,
        agent: None,
        session: String::new(),
        random: Rng::with_seed(seed),
        files: NAMES.iter().map(|name| (*name, None)).collect(),
        turns: Vec::new(),
        undone: Vec::new(),
        is_foreign: false,
        next: 0,
        tally: Tally::default(),
        log: Vec::new(),
    };
    let walked = walk.walk(ground);
    walked.map_err(|why| format!("WALK_SEED={seed} ({ground:?}): {why}\n{}", walk.log.join("\n")))?;
    Ok(walk.tally)
}

impl Walk<'_> {
    fn walk(&mut self, ground: Ground) -> Result<(), String> {
        self.start()?;
        let cwd = self.place.workspace();
        let new = self.request("session/new", json!({"cwd": cwd, "mcpServers": []}))?;
        self.session = new.result["sessionId"].as_str().unwrap_or_default().to_owned();
        self.allow_all()?;
        // A session without a turn is not there any more after a kill.
        self.edit(false)?;
        for _ in 0..self.random.usize(3..24) {
            let kills = ground == Ground::Binary && self.random.u8(0..5) == 0;
            match self.random.u8(0..20) {
                0..8 => self.edit(kills)?,
                8..12 => self.undo(1, kills)?,
                12..14 => {
                    let count = self.random.usize(1..4);
                    self.undo(count, kills)?;
                }
                14..17 => self.redo(kills)?,
                17 => self.meddle(),
                18 => drop(self.load()?),
                _ => self.restart(false)?,
            }
            self.check()?;
        }
        self.agent().end_input();
        self.agent.take().map_or(Ok(()), Agent::wait)
    }

    /// A turn that changes files by a few calls.
    fn edit(&mut self, kills: bool) -> Result<(), String> {
        let number = self.number();
        let mut turn = Turn {
            number,
            before: Files::new(),
        };
        let mut files = self.files.clone();
        let calls: Vec<Value> = (0..self.random.usize(1..4))
            .map(|_| self.call(&mut files, &mut turn.before))
            .collect();
        let text = format!("do {number}. {}", json!(calls));
        if kills {
            self.kill_in(&text, &files)?;
            if !self.load()?.contains(&number) {
                // It was not even heard.
                return Ok(());
            }
            self.undone.clear();
            // Whatever came of it, its beginning comes back.
            self.files = self.on_disk();
            self.turns.push(turn);
            self.tally.count("turns killed");
            return self.undo(1, false);
        }
        let answer = self.prompt(&text)?;
        self.undone.clear();
        self.turns.push(turn);
        self.files = files;
        let stand: Vec<usize> = self.turns.iter().map(|turn| turn.number).collect();
        let seen = format!("seen {stand:?}");
        if !answer.said.contains(&seen) {
            return Err(format!(
                "the model is told of something else than {seen}: {}",
                answer.said
            ));
        }
        self.tally.count("turns");
        Ok(())
    }

    /// A call that changes some of the files, each once.
    fn call(&mut self, files: &mut Files, before: &mut Files) -> Value {
        let mut names = NAMES.to_vec();
        self.random.shuffle(&mut names);
        names.truncate(self.random.usize(1..=names.len()));
        let mut patch = String::new();
        while let Some(name) = names.pop() {
            let text = format!("text {}", self.number());
            before.entry(name).or_insert_with(|| files[name].clone());
            let now = match files[name].clone() {
                None => {
                    patch += &format!("*** Add File: {name}\n+{text}\n");
                    Some(text)
                }
                Some(_) if self.random.u8(0..4) == 0 => {
                    patch += &format!("*** Delete File: {name}\n");
                    None
                }
                Some(old) if self.random.u8(0..4) == 0 && names.last().is_some_and(|to| files[to].is_none()) => {
                    let to = names.pop().expect("it was there");
                    before.entry(to).or_insert(None);
                    patch += &format!("*** Update File: {name}\n*** Move to: {to}\n");
                    files.insert(to, Some(old));
                    None
                }
                Some(old) => {
                    patch += &format!("*** Update File: {name}\n@@\n-{old}\n+{text}\n");
                    Some(text)
                }
            };
            files.insert(name, now);
        }
        json!(["patch", {"patch": format!("*** Begin Patch\n{patch}*** End Patch")}])
    }

    fn undo(&mut self, count: usize, kills: bool) -> Result<(), String> {
        let command = match count {
            1 => format!("/undo{}", self.manner()),
            count => format!("/rewind {count}{}", self.manner()),
        };
        let Some(stay) = self.turns.len().checked_sub(count) else {
            return self.expect(&command, "turn");
        };
        let mut target = Files::new();
        for turn in &self.turns[stay..] {
            for (name, before) in &turn.before {
                target.entry(name).or_insert_with(|| before.clone());
            }
        }
        let held = self.put(&target);
        let last = self.turns[stay].number;
        let is_over = kills && {
            self.kill_in(&command, &self.files.clone())?;
            !self.load()?.contains(&last)
        };
        if !is_over {
            self.expect(&command, "Taken back")?;
        }
        let turns = self.turns.split_off(stay);
        self.undone.push(Undone { turns, held });
        self.tally.count(if kills { "undos killed" } else { "undos" });
        Ok(())
    }

    fn redo(&mut self, kills: bool) -> Result<(), String> {
        let command = format!("/redo{}", self.manner());
        let Some(mut undone) = self.undone.pop() else {
            return self.expect(&command, "nothing to redo");
        };
        // What it overwrites is what the next undo brings back.
        for (name, before) in self.put(&undone.held) {
            let first = undone.turns.iter_mut().find_map(|turn| turn.before.get_mut(name));
            first.into_iter().for_each(|first| first.clone_from(&before));
        }
        let last = undone.turns[0].number;
        let is_over = kills && {
            self.kill_in(&command, &self.files.clone())?;
            self.load()?.contains(&last)
        };
        if !is_over {
            self.expect(&command, "There again")?;
        }
        self.turns.extend(undone.turns);
        self.tally.count(if kills { "redos killed" } else { "redos" });
        Ok(())
    }

    /// Someone else changes a file.
    fn meddle(&mut self) {
        let name = NAMES[self.random.usize(..NAMES.len())];
        let path = self.place.path(name);
        let text = (self.random.u8(0..3) > 0).then(|| format!("theirs {}", self.number()));
        self.log.push(format!("{name} becomes {text:?}"));
        match &text {
            Some(text) => {
                fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("folders can be made");
                fs::write(path, format!("{text}\n")).expect("a file can be written");
            }
            None => drop(fs::remove_file(path)),
        }
        self.files.insert(name, text);
        self.is_foreign = true;
        self.tally.count("changes by others");
    }

    /// In the model: files come to hold this. What those held that hold something else comes back.
    fn put(&mut self, target: &Files) -> Files {
        let changes = target.iter().filter(|(name, text)| self.files[*name] != **text);
        let held = changes.map(|(name, _)| (*name, self.files[name].clone())).collect();
        self.files.extend(target.clone());
        held
    }

    fn manner(&self) -> &'static str {
        if self.is_foreign { " force" } else { "" }
    }

    fn on_disk(&self) -> Files {
        let read = |name| fs::read_to_string(self.place.path(name)).ok();
        let text = |name| read(name).map(|text| text.trim_end().to_owned());
        NAMES.iter().map(|name| (*name, text(name))).collect()
    }

    fn check(&self) -> Result<(), String> {
        let found = self.on_disk();
        match found == self.files {
            true => Ok(()),
            false => Err(format!("the files are {found:?}\ninstead of      {:?}", self.files)),
        }
    }

    /// Loads the session: the numbers of the prompts that it shows.
    fn load(&mut self) -> Result<Vec<usize>, String> {
        let params = json!({"sessionId": self.session, "cwd": self.place.workspace(), "mcpServers": []});
        let shown = self.request("session/load", params)?.shown;
        self.allow_all()?;
        self.tally.count("loads");
        Ok(shown)
    }

    fn restart(&mut self, kills: bool) -> Result<(), String> {
        if let Some(mut agent) = self.agent.take() {
            if kills {
                agent.kill();
            } else {
                agent.end_input();
                agent.wait()?;
            }
        }
        self.start()?;
        if kills {
            return Ok(());
        }
        let shown = self.load()?;
        let stand: Vec<usize> = self.turns.iter().map(|turn| turn.number).collect();
        match shown == stand {
            true => Ok(()),
            false => Err(format!("a load shows the prompts {shown:?} instead of {stand:?}")),
        }
    }

    /// Kills the agent while it does this, when so many of the files hold what they are to hold, and starts another one.
    fn kill_in(&mut self, text: &str, target: &Files) -> Result<(), String> {
        let at = self.random.usize(0..=NAMES.len());
        self.log.push(format!("killed at {at}: {text}"));
        let prompt = json!([{"type": "text", "text": text}]);
        let id = self.send("session/prompt", json!({"sessionId": self.session, "prompt": prompt}));
        let deadline = Instant::now() + LIMIT;
        let there = |walk: &Self| {
            let found = walk.on_disk();
            NAMES.iter().filter(|name| found[*name] == target[*name]).count()
        };
        while there(self) < at && Instant::now() < deadline {
            let message = self.agent().receive(std::time::Duration::ZERO).unwrap_or_default();
            if message["id"] == json!(id) {
                break;
            }
        }
        self.restart(true)
    }

    fn start(&mut self) -> Result<(), String> {
        self.agent = Some(self.place.start());
        let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
        self.request("initialize", params).map(drop)
    }

    fn allow_all(&mut self) -> Result<(), String> {
        let params = json!({"sessionId": self.session, "modeId": "dont_ask"});
        self.request("session/set_mode", params).map(drop)
    }

    /// Gives a command, whose answer holds this.
    fn expect(&mut self, command: &str, expect: &str) -> Result<(), String> {
        let said = self.prompt(command)?.said;
        match said.contains(expect) {
            true => Ok(()),
            false => Err(format!("{command} says this instead of {expect:?}: {said}")),
        }
    }

    fn prompt(&mut self, text: &str) -> Result<Answer, String> {
        let prompt = json!([{"type": "text", "text": text}]);
        let answer = self.request("session/prompt", json!({"sessionId": self.session, "prompt": prompt}))?;
        match answer.result["stopReason"] == "end_turn" {
            true => Ok(answer),
            false => Err(format!("{text} ends with {}", answer.result)),
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Answer, String> {
        self.log.push(format!("{method} {params}"));
        let id = self.send(method, params);
        let (mut said, mut shown) = (String::new(), Vec::new());
        loop {
            let message = self.agent().receive(LIMIT).map_err(|error| error.to_string())?;
            if message["id"] == json!(id) {
                let result = message["result"].clone();
                self.log.push(format!("  {said}"));
                return match message["error"].is_null() {
                    true => Ok(Answer { result, said, shown }),
                    false => Err(message.to_string()),
                };
            }
            let update = &message["params"]["update"];
            let text = update["content"]["text"].as_str().unwrap_or_default();
            match update["sessionUpdate"].as_str() {
                Some("agent_message_chunk") => said += text,
                Some("user_message_chunk") => shown.extend(done_in(text)),
                _ => {}
            }
        }
    }

    fn send(&mut self, method: &str, params: Value) -> usize {
        let id = self.number();
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.agent().send(format!("{message}\n").as_bytes());
        id
    }

    fn agent(&mut self) -> &mut Agent {
        self.agent.as_mut().expect("an agent runs")
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }
}
