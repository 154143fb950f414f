//! The tool calls of a walk, and what they may do: nothing without an allow, one end each, nothing after their prompt.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::model::number_in;
use crate::transcript::is_end;

/// A call as the client knows it.
pub(crate) struct Call {
    /// Of the prompt that led to it.
    pub(crate) number: usize,
    /// The file that it writes or makes, if it is such a call.
    pub(crate) effect: Option<String>,
    pub(crate) has_ended: bool,
}

/// All calls, and what was allowed.
#[derive(Default)]
pub(crate) struct Calls {
    known: BTreeMap<String, Call>,
    /// The effects whose question was answered by an allow that could still be heard.
    pub(crate) allowed: BTreeSet<String>,
    /// The effects of calls that ended well.
    pub(crate) done: BTreeSet<String>,
}

impl Calls {
    pub(crate) fn get(&self, id: &str) -> Option<&Call> {
        self.known.get(id)
    }

    /// A call is announced.
    pub(crate) fn announce(&mut self, update: &Value) -> Result<usize, String> {
        let id = id_of(update);
        let input = update["rawInput"].to_string();
        let Some(number) = number_in(&input) else {
            return Err(format!("a call that no prompt led to: {update}"));
        };
        let call = Call {
            number,
            effect: effect_of(&update["rawInput"]),
            has_ended: false,
        };
        match self.known.insert(id, call) {
            Some(_) => Err(format!("a call is announced twice: {update}")),
            None => Ok(number),
        }
    }

    /// A call goes on or ends; `runs_unasked` says whether its session needs no allow.
    pub(crate) fn update(&mut self, update: &Value, runs_unasked: bool) -> Result<&Call, String> {
        let Some(call) = self.known.get_mut(&id_of(update)) else {
            return Err(format!("an update of a call that was not announced: {update}"));
        };
        if call.has_ended {
            return Err(format!("an update after a call's end: {update}"));
        }
        call.has_ended = is_end(update);
        if let Some(effect) = &call.effect {
            let runs = update["status"] == "in_progress" || update["status"] == "completed";
            if runs && !runs_unasked && !self.allowed.contains(effect) {
                return Err(format!("it runs without an allow: {update}"));
            }
            if update["status"] == "completed" {
                self.done.insert(effect.clone());
            }
        }
        Ok(call)
    }

    /// The calls of a prompt that have no end.
    pub(crate) fn open(&self, number: usize) -> Vec<&str> {
        let open = self
            .known
            .iter()
            .filter(|(_, call)| call.number == number && !call.has_ended);
        open.map(|(id, _)| id.as_str()).collect()
    }

    /// Its process is gone, and with it the calls that had no end.
    pub(crate) fn forget_open(&mut self) {
        self.known.values_mut().for_each(|call| call.has_ended = true);
    }
}

/// The file that a call with this input writes or makes.
pub(crate) fn effect_of(input: &Value) -> Option<String> {
    let text = match (input["path"].as_str(), input["command"].as_str()) {
        (Some(path), _) if input["content"].is_string() => path.rsplit('/').next()?,
        (_, Some(command)) => command.split([' ', ';']).find(|word| word.starts_with("ran-"))?,
        _ => return None,
    };
    Some(text.to_owned())
}

fn id_of(update: &Value) -> String {
    update["toolCallId"].as_str().unwrap_or_default().to_owned()
}
