//! How a walk ends, and what has to be true then: nothing waits, nothing is kept, nothing runs, and nothing was done that
//! was not allowed.

use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use serde_json::json;
use talaria_tests::stage::LIMIT;

use crate::client::Client;
use crate::model;
use crate::requests::About;
use crate::steps::{End, Manner};

impl Client<'_> {
    /// Ends the walk.
    pub(crate) fn end(&mut self, end: End) -> Result<(), String> {
        match end {
            End::Leaves => {}
            End::Cancels => {
                self.cancel_all()?;
                self.rest()?;
            }
            End::Politely => {
                self.answer_all()?;
                self.rest()?;
            }
        }
        self.leave(false)?;
        self.check_effects()
    }

    fn cancel_all(&mut self) -> Result<(), String> {
        for of in 0..self.sessions.len() {
            if !self.waiting(of).is_empty() {
                self.cancel(of);
            }
        }
        self.all_answered()
    }

    fn answer_all(&mut self) -> Result<(), String> {
        self.settle()?;
        for of in 0..self.sessions.len() {
            while !self.waiting(of).is_empty() {
                self.await_session(of)?;
                for index in self.awaited(Some(of)) {
                    self.answer(index, Manner::Well);
                }
                if !self.sessions[of].holding.is_empty() {
                    self.cancel(of);
                    let first = self.waiting(of).first().copied();
                    self.wait("the end of what was cancelled", |client| {
                        client.waiting(of).first().copied() != first
                    })?;
                }
            }
        }
        self.all_answered()
    }

    fn all_answered(&mut self) -> Result<(), String> {
        self.wait("the answers to all requests", |client| {
            client.refusals == 0 && client.ours.iter().all(|ours| ours.answer.is_some())
        })
    }

    /// What is true when everything has its answer.
    fn rest(&mut self) -> Result<(), String> {
        self.round_trip()?;
        if let Some(index) = self.awaited(None).first() {
            return Err(format!("at rest this still waits: {}", self.theirs[*index].message));
        }
        if self.editor.open_terminals() > 0 {
            return Err("at rest a terminal was not given back".to_owned());
        }
        self.tally.count("walks at rest");
        self.is_quiet = true;
        // Whatever the agent has kept of its questions, it would take back now.
        for of in 0..self.sessions.len() {
            self.cancel(of);
        }
        self.use_ids_again()?;
        for of in 0..self.sessions.len() {
            self.open(About::Load(of), "session/load");
            self.settle()?;
        }
        for of in 0..self.sessions.len() {
            self.let_go(About::Close(of), "session/close");
        }
        self.settle()
    }

    fn round_trip(&mut self) -> Result<(), String> {
        self.request(About::List, "session/list", json!({}));
        self.settle()
    }

    /// An id that still waits would be refused.
    fn use_ids_again(&mut self) -> Result<(), String> {
        for index in 0..self.ours.len() {
            let ours = &mut self.ours[index];
            (ours.answer, ours.about, ours.is_cancelled) = (None, About::List, false);
            let id = ours.id.clone();
            self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "session/list", "params": {}}));
            if index % 100 == 99 {
                self.settle()?;
            }
        }
        self.settle()
    }

    /// Closes stdin, or kills the agent, and follows it to its end.
    pub(crate) fn leave(&mut self, kills: bool) -> Result<(), String> {
        let before = self.ours.iter().filter(|ours| ours.answer.is_none()).count();
        if before > 0 {
            self.tally.count(if kills {
                "kills with something open"
            } else {
                "ends with something open"
            });
        }
        if !kills {
            for session in &mut self.sessions {
                session.was_cancelled = true;
                session.was_let_go = true;
            }
            self.has_left = true;
            self.agent().end_input();
            self.hear_out()?;
            let unanswered = self
                .ours
                .iter()
                .find(|ours| ours.answer.is_none() && ours.about.is_prompt());
            if let Some(ours) = unanswered {
                return Err(format!("the agent has ended without an answer to {ours:?}"));
            }
        }
        if let Some(agent) = self.agent.take() {
            match kills {
                true => agent.kill(),
                false => agent.wait()?,
            }
        }
        self.let_all_go();
        self.check_gone()
    }

    fn hear_out(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + LIMIT;
        loop {
            match self.agent().receive(Duration::from_millis(50)) {
                Ok(message) => self.hear(&message)?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => {
                    return Err("the agent does not end".to_owned());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// No process of a command is left.
    fn check_gone(&mut self) -> Result<(), String> {
        // Those in the client's own terminals are the client's.
        self.editor = talaria_tests::editor::Editor::new();
        let deadline = Instant::now() + LIMIT;
        while let Some(process) = self.place.processes().first() {
            if Instant::now() > deadline {
                return Err(format!("{} still runs", process.display()));
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// What is on disk was allowed, and what was told is there.
    fn check_effects(&mut self) -> Result<(), String> {
        let files = self.place.files();
        for (number, (of, play)) in self.prompts.iter().enumerate() {
            let Some(play) = play else { continue };
            for effect in model::effects(*play, number) {
                let is_there = files.contains(&effect);
                let unasked = self.runs_unasked(*of, &effect);
                if is_there && !unasked && !self.calls.allowed.contains(&effect) {
                    return Err(format!("{effect} was made without an allow"));
                }
                if !is_there && self.calls.done.contains(&effect) {
                    return Err(format!("{effect} was told to be made, and is not"));
                }
                let what = if is_there { "things done" } else { "things not done" };
                self.tally.count(what);
            }
        }
        Ok(())
    }
}
