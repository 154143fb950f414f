//! What the agent says, and whether it may: one answer a request, one end a call, nothing after a prompt's answer, nothing
//! that was not asked for or allowed.

use serde_json::Value;

use crate::calls::effect_of;
use crate::client::{Client, Replay, Session};
use crate::model::number_in;
use crate::requests::{About, Ours, State, Theirs};
use crate::steps::Play;
use crate::transcript::{Transcript, is_end};

impl Client<'_> {
    /// Takes in a message.
    pub(crate) fn hear(&mut self, message: &Value) -> Result<(), String> {
        self.log.push(format!("< {message}"));
        let has_id = message.get("id").is_some();
        match message["method"].as_str() {
            None => self.answered(message),
            Some("session/update") if !has_id => self.updated(&message["params"]),
            Some("$/cancel_request") if !has_id => self.taken_back(&message["params"]["requestId"]),
            Some(method) if has_id => self.asked(method, message),
            Some(_) => Err(format!("a notification that there is not: {message}")),
        }
    }

    fn answered(&mut self, message: &Value) -> Result<(), String> {
        if message["id"].is_null() {
            self.refusals = self.refusals.checked_sub(1).ok_or("an error that nobody is owed")?;
            return Ok(());
        }
        let Some(index) = self.ours.iter().position(|ours| message["id"] == *ours.id) else {
            return Err(format!("an answer to a request that there is not: {message}"));
        };
        let ours = &mut self.ours[index];
        if ours.answer.is_some() {
            return Err(format!("a second answer to {}", ours.id));
        }
        ours.answer = Some(message.clone());
        let about = ours.about;
        let code = message["error"]["code"].as_i64();
        let is_cancelled = ours.is_cancelled && !about.is_prompt() && code == Some(-32800);
        match code {
            None => self.succeeded(about, &message["result"]),
            Some(_) if is_cancelled => {
                // Whatever it was in the middle of, nothing follows.
                if let About::Load(of) = about {
                    self.sessions[of].replay.take_if(|replay| replay.of == index);
                }
                Ok(())
            }
            Some(code) => self.failed(about, code).map_err(|why| format!("{why}: {message}")),
        }
    }

    fn failed(&mut self, about: About, code: i64) -> Result<(), String> {
        let let_go = about.session().is_some_and(|of| self.sessions[of].was_let_go);
        if about == About::Odd || let_go && code == -32002 {
            return Ok(());
        }
        if let About::Prompt {
            number,
            play: Some(Play::Fail),
            ..
        } = about
        {
            self.tally.count("failed turns");
            return self.check_end(number);
        }
        Err(format!("an error without a reason to {about:?}"))
    }

    fn succeeded(&mut self, about: About, result: &Value) -> Result<(), String> {
        match about {
            About::Greeting | About::List | About::Resume(_) | About::Close(_) | About::Delete(_) | About::Set(_) => {
                Ok(())
            }
            About::New => self.begun(result, None),
            About::Fork(of) => {
                self.tally.count("forks");
                self.begun(result, Some(of))
            }
            About::Load(of) => self.loaded(of),
            About::Prompt { session, number, .. } => self.turn_ended(session, number, result),
            About::Odd => Err(format!("a request without sense has the result {result}")),
        }
    }

    fn begun(&mut self, result: &Value, parent: Option<usize>) -> Result<(), String> {
        let id = result["sessionId"]
            .as_str()
            .ok_or("a session without an id")?
            .to_owned();
        let parent = parent.map(|of| &self.sessions[of]);
        let session = Session {
            id,
            has_unseen_past: parent.is_some(),
            edits_unasked: parent.is_some_and(|parent| parent.edits_unasked),
            all_unasked: parent.is_some_and(|parent| parent.all_unasked),
            ..Session::default()
        };
        self.sessions.push(session);
        Ok(())
    }

    fn turn_ended(&mut self, of: usize, number: usize, result: &Value) -> Result<(), String> {
        match result["stopReason"].as_str() {
            Some("end_turn") => self.tally.count("turns to their end"),
            Some("cancelled") if self.sessions[of].was_cancelled => self.tally.count("cancelled turns"),
            _ => return Err(format!("prompt {number} ends without a reason: {result}")),
        }
        self.check_end(number)
    }

    /// A prompt has its answer: nothing of it may be open.
    fn check_end(&mut self, number: usize) -> Result<(), String> {
        let open = self.calls.open(number);
        if !open.is_empty() {
            return Err(format!(
                "prompt {number} is answered before its calls have ended: {open:?}"
            ));
        }
        // A client that has left could not answer any more, and needs not be told so.
        let has_left = self.has_left;
        let may_wait = |theirs: &Theirs| has_left && !theirs.is_question();
        let is_open = |theirs: &&Theirs| theirs.number == Some(number) && theirs.is_awaited() && !may_wait(theirs);
        if let Some(theirs) = self.theirs[self.newest..].iter().find(is_open) {
            return Err(format!(
                "prompt {number} is answered, and still asks {}",
                theirs.message
            ));
        }
        let of = self.prompts[number].0;
        let is_at_rest = self.waiting(of).is_empty();
        let session = &mut self.sessions[of];
        session.holding.remove(&number);
        if is_at_rest {
            session.settled = session.live.0.len();
        }
        Ok(())
    }

    /// A load has its answer: it showed what was seen live.
    fn loaded(&mut self, of: usize) -> Result<(), String> {
        let goes_on = !self.waiting(of).is_empty();
        let Replay {
            shown: replay, said, ..
        } = self.sessions[of].replay.take().unwrap_or_default();
        self.check_said(of, &said)?;
        self.tally.count(if goes_on {
            "loads during a turn"
        } else {
            "loads at rest"
        });
        if replay.0.len() > 1 {
            self.tally.count("loads of a longer past");
        }
        let session = &mut self.sessions[of];
        let settled = Transcript(session.live.0[..session.settled].to_vec());
        let is_right = match (session.has_unseen_past, session.is_torn) {
            (false, false) => session.live == replay,
            (false, true) => settled.is_beginning_of(&replay),
            (true, false) => session.live.is_end_of(&replay),
            (true, true) => true,
        };
        if !is_right {
            return Err(format!("a load shows {replay:#?} instead of {:#?}", session.live));
        }
        if session.is_torn || session.has_unseen_past {
            session.live = replay;
            // What a turn has shown so far may still change.
            if !goes_on {
                session.settled = session.live.0.len();
            }
            (session.is_torn, session.has_unseen_past) = (false, false);
        }
        Ok(())
    }

    /// What the user said is there: once, if it came to its end.
    fn check_said(&self, of: usize, said: &[String]) -> Result<(), String> {
        for ours in &self.ours {
            let About::Prompt {
                session,
                number,
                play: Some(play),
            } = ours.about
            else {
                continue;
            };
            let text = crate::model::prompt(play, number);
            let times = said.iter().filter(|said| **said == text).count();
            let ended = ours
                .answer
                .as_ref()
                .is_some_and(|answer| answer["result"]["stopReason"] == "end_turn");
            if times > 1 || session == of && ended && times != 1 {
                return Err(format!("a load shows {times} times what was said once: {text}"));
            }
        }
        Ok(())
    }

    fn updated(&mut self, params: &Value) -> Result<(), String> {
        let of = self.session_of(params)?;
        let update = &params["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        if self.sessions[of].replay.is_none() && kind == "user_message_chunk" {
            let loads = |ours: &Ours| ours.answer.is_none() && ours.about == About::Load(of);
            let Some(load) = self.ours.iter().position(loads) else {
                return Err(format!("a past is shown that nobody asked for: {update}"));
            };
            self.sessions[of].replay = Some(Replay {
                of: load,
                ..Replay::default()
            });
        }
        if let Some(replay) = &mut self.sessions[of].replay {
            if kind == "user_message_chunk" {
                let text = update["content"]["text"].as_str().unwrap_or_default();
                replay.said.push(text.to_owned());
            }
            replay.shown.take(update);
            return Ok(());
        }
        self.sessions[of].live.take(update);
        match kind {
            "agent_message_chunk" => self.spoke(of, update),
            "tool_call" => {
                let number = self.calls.announce(update)?;
                self.check_goes_on(of, number, update)
            }
            "tool_call_update" => self.call_went_on(of, update),
            _ => Ok(()),
        }
    }

    fn spoke(&mut self, of: usize, update: &Value) -> Result<(), String> {
        let text = update["content"]["text"].as_str().unwrap_or_default();
        let Some(number) = number_in(text) else { return Ok(()) };
        if text.starts_with("hold-") {
            self.sessions[of].holding.insert(number);
        }
        self.check_goes_on(of, number, update)
    }

    fn call_went_on(&mut self, of: usize, update: &Value) -> Result<(), String> {
        let id = update["toolCallId"].as_str().unwrap_or_default();
        let effect = self.calls.get(id).and_then(|call| call.effect.clone());
        let unasked = effect.is_some_and(|effect| self.runs_unasked(of, &effect));
        let number = self.calls.update(update, unasked)?.number;
        let sleeps = self.prompts[number].1 == Some(Play::Sleep);
        if sleeps
            && !is_end(update)
            && update["status"] == "in_progress"
            && update.to_string().contains(&format!("out-{number}\\n"))
        {
            self.sessions[of].holding.insert(number);
        }
        self.check_goes_on(of, number, update)
    }

    /// Something of a prompt comes: it is of this session, and waits for its answer.
    fn check_goes_on(&self, of: usize, number: usize, what: &Value) -> Result<(), String> {
        match self.prompts.get(number) {
            Some((session, _)) if *session == of && self.waiting(of).contains(&number) => Ok(()),
            _ => Err(format!(
                "something of prompt {number}, which does not go on in session {of}: {what}"
            )),
        }
    }

    /// Whether what makes this file needs no allow in its session.
    pub(crate) fn runs_unasked(&self, of: usize, effect: &str) -> bool {
        let session = &self.sessions[of];
        let kind = match effect.split_once('-') {
            Some(("ran", _)) => false,
            Some(("far", _)) => self.far_unasked,
            Some(_) | None => session.edits_unasked,
        };
        session.all_unasked || kind
    }

    fn asked(&mut self, method: &str, message: &Value) -> Result<(), String> {
        if !self.serves(method) {
            return Err(format!("the client can't do this, and did not say so: {message}"));
        }
        if self.theirs[self.newest..]
            .iter()
            .any(|theirs| theirs.message["id"] == message["id"])
        {
            return Err(format!("an id is used twice: {message}"));
        }
        let params = &message["params"];
        let of = self.session_of(params)?;
        let number = number_in(
            &params
                .to_string()
                .replace(&self.place.workspace().display().to_string(), ""),
        );
        self.theirs.push(Theirs {
            message: message.clone(),
            session: of,
            number,
            came: self.now,
            state: State::Open,
        });
        if let Some(number) = number {
            self.check_goes_on(of, number, message)?;
        }
        match method {
            "session/request_permission" => self.check_question(params),
            "fs/write_text_file" | "terminal/create" => self.check_allowed(of, params),
            "terminal/kill" | "terminal/release" => {
                self.tally.count(method);
                if let Some(answer) = self.editor.serve(message) {
                    self.send(&answer);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn check_question(&self, params: &Value) -> Result<(), String> {
        let call = params["toolCall"]["toolCallId"].as_str().unwrap_or_default();
        match self.calls.get(call) {
            Some(call) if !call.has_ended => Ok(()),
            _ => Err(format!("a question about a call that does not wait: {params}")),
        }
    }

    fn check_allowed(&self, of: usize, params: &Value) -> Result<(), String> {
        // A command for the client is a shell and its arguments.
        let script = params["args"].as_array().and_then(|args| args.last());
        let input = script.map_or_else(|| params.clone(), |script| serde_json::json!({ "command": script }));
        match effect_of(&input) {
            Some(effect) if self.runs_unasked(of, &effect) || self.calls.allowed.contains(&effect) => Ok(()),
            _ => Err(format!("the client is to do what was not allowed: {params}")),
        }
    }

    fn taken_back(&mut self, id: &Value) -> Result<(), String> {
        if self.is_quiet {
            return Err(format!("{id} is taken back, though nothing is open"));
        }
        let newest = self.newest;
        let theirs = self.theirs[newest..]
            .iter_mut()
            .find(|theirs| theirs.message["id"] == *id);
        match theirs {
            Some(theirs) => {
                theirs.state = match theirs.state {
                    State::Open => State::TakenBack,
                    State::Answered => State::AnsweredThenTakenBack,
                    State::TakenBack | State::AnsweredThenTakenBack => return Err(format!("{id} is taken back twice")),
                };
                // Nobody listens to its answer any more, so that it allows nothing, whenever it was sent.
                if theirs.is_question()
                    && let Some(effect) = effect_of(&theirs.message["params"]["toolCall"]["rawInput"])
                {
                    self.calls.allowed.remove(&effect);
                }
                self.tally.count("requests taken back");
                Ok(())
            }
            None => Err(format!("{id} is taken back, and was never asked")),
        }
    }

    fn session_of(&self, params: &Value) -> Result<usize, String> {
        let known = self
            .sessions
            .iter()
            .position(|session| params["sessionId"] == *session.id);
        known.ok_or_else(|| format!("a session that nobody knows: {params}"))
    }
}
