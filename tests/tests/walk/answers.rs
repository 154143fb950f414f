//! What the client answers to the agent's requests, and what an answer allows.

use serde_json::{Value, json};

use crate::calls::effect_of;
use crate::client::Client;
use crate::model::number_in;
use crate::requests::State;
use crate::steps::{Manner, Play};

/// Steps after which an answer is a late one.
const LATE: usize = 3;

impl Client<'_> {
    /// Answers a request that is open.
    pub(crate) fn answer(&mut self, index: usize, manner: Manner) {
        let theirs = &mut self.theirs[index];
        theirs.state = State::Answered;
        if self.now >= theirs.came + LATE {
            self.tally.count("late answers");
        }
        let (is_question, request) = (theirs.is_question(), theirs.message.clone());
        if is_question {
            self.decide(index, &request, manner);
        } else {
            self.serve(index, &request, manner);
        }
    }

    fn decide(&mut self, index: usize, request: &Value, manner: Manner) {
        let chosen = |option: &str| Ok(json!({"outcome": {"outcome": "selected", "optionId": option}}));
        let offers = |option: &str| {
            let mut options = request["params"]["options"].as_array().into_iter().flatten();
            options.any(|offered| offered["optionId"] == option)
        };
        let (answers, what) = match manner {
            Manner::Well => (vec![chosen("allow_once")], "allowed"),
            Manner::AllowAlways if offers("allow_always") => (vec![chosen("allow_always")], "allowed always"),
            Manner::AllowAlways => (
                vec![chosen("allow_always")],
                "answered with an option that was not offered",
            ),
            Manner::Reject => (vec![chosen("reject_once")], "rejected"),
            Manner::Cancelled => (vec![Ok(json!({"outcome": {"outcome": "cancelled"}}))], "closed"),
            Manner::UnknownOption => (vec![chosen("allow_all")], "answered with an option that there is not"),
            Manner::Senseless => (
                vec![Ok(json!({"outcome": "selected", "optionId": "allow_once"}))],
                "answered without sense",
            ),
            Manner::Error => (vec![Err("no")], "answered with an error"),
            Manner::AllowThenReject => (
                vec![chosen("allow_once"), chosen("reject_once")],
                "allowed, then rejected",
            ),
            Manner::RejectThenAllow => (
                vec![chosen("reject_once"), chosen("allow_once")],
                "rejected, then allowed",
            ),
        };
        let input = &request["params"]["toolCall"]["rawInput"];
        let kind = match (input["command"].as_str(), input["path"].as_str()) {
            (Some(_), _) => "commands",
            (None, Some(path)) if path.starts_with("far-") => "calls of a server",
            (None, _) => "edits",
        };
        self.tally.count(format!("{kind} {what}"));
        let session = &mut self.sessions[self.theirs[index].session];
        session.was_cancelled |= manner == Manner::Cancelled;
        if what.starts_with("allowed") {
            session.edits_unasked |= what == "allowed always" && kind == "edits";
            self.far_unasked |= what == "allowed always" && kind == "calls of a server";
            self.calls.allowed.extend(effect_of(input));
        }
        for answer in answers {
            self.respond(request, answer);
        }
    }

    fn serve(&mut self, index: usize, request: &Value, manner: Manner) {
        let method = request["method"].as_str().unwrap_or_default().to_owned();
        let is_form = method == "elicitation/create";
        match manner {
            Manner::Well | Manner::AllowAlways | Manner::AllowThenReject => {
                self.tally.count(format!("{method} served"));
                if method == "terminal/create" {
                    self.hold_if_it_sleeps(index, request);
                }
                if let Some(answer) = self.editor.serve(request) {
                    self.send(&answer);
                    if manner == Manner::AllowThenReject {
                        self.respond(request, Err("no"));
                    }
                }
            }
            Manner::Reject if is_form => self.respond(request, Ok(json!({"action": "decline"}))),
            Manner::Cancelled if is_form => self.respond(request, Ok(json!({"action": "cancel"}))),
            Manner::UnknownOption | Manner::Senseless => {
                self.tally.count(format!("{method} answered without sense"));
                self.respond(request, Ok(json!({"content": {"odd": 1}, "terminalId": []})));
            }
            Manner::Reject | Manner::Cancelled | Manner::Error | Manner::RejectThenAllow => {
                self.tally.count(format!("{method} refused"));
                self.respond(request, Err("the editor can't"));
                if manner == Manner::RejectThenAllow {
                    self.respond(request, Ok(json!({})));
                }
            }
        }
    }

    /// What runs in a terminal of the client's shows there that it goes on.
    fn hold_if_it_sleeps(&mut self, index: usize, request: &Value) {
        let Some(number) = number_in(&request["params"].to_string()) else {
            return;
        };
        if self.prompts[number].1 == Some(Play::Sleep) {
            self.sessions[self.theirs[index].session].holding.insert(number);
        }
    }

    /// Answers a request that has been answered or taken back. It allows nothing, but a terminal is to come back.
    pub(crate) fn answer_again(&mut self, pick: u8) {
        let over: Vec<usize> = (self.newest..self.theirs.len())
            .filter(|index| self.theirs[*index].state != State::Open)
            .collect();
        if over.is_empty() {
            return;
        }
        let index = over[usize::from(pick) % over.len()];
        let theirs = &mut self.theirs[index];
        let (request, state) = (theirs.message.clone(), theirs.state);
        if state == State::TakenBack {
            theirs.state = State::AnsweredThenTakenBack;
        }
        if theirs.is_question() {
            self.tally.count(match state {
                State::TakenBack | State::AnsweredThenTakenBack => "allows after a question was taken back",
                State::Open | State::Answered => "allows after an answer",
            });
            let allow = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
            self.respond(&request, Ok(allow));
        } else if state == State::TakenBack && request["method"] == "terminal/create" {
            self.tally.count("terminals that came too late");
            let terminal = self.editor.open_terminal(&request["params"]);
            self.respond(&request, Ok(terminal));
        } else {
            self.respond(&request, Ok(json!({"content": "again", "action": "accept"})));
        }
    }

    pub(crate) fn respond(&mut self, request: &Value, answer: Result<Value, &str>) {
        let mut message = json!({"jsonrpc": "2.0", "id": request["id"]});
        match answer {
            Ok(result) => message["result"] = result,
            Err(text) => message["error"] = json!({"code": -32603, "message": text}),
        }
        self.send(&message);
    }
}
