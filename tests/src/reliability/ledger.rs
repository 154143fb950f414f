//! What a client knows of a session: what it said, what it heard, and which of it was answered; and whether a load
//! shows the same.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::mortal::{Died, Mortal};
use super::tally::Tally;

/// What a load says of a turn whose process has died.
const MARK: &str = "ended before this turn was finished";

/// A part of a turn as an editor shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Text of the agent, or a thought.
    Text(String),
    /// A call in its last state.
    Call(BTreeMap<String, Value>),
}

/// What a load shows: each prompt, with what followed it.
pub(super) type Loaded = Vec<(String, Vec<Item>)>;

/// How a turn must be found by a load.
#[derive(Clone, Debug)]
enum Found {
    /// It was answered, or is settled since an earlier load: as it was then, each time.
    As(Vec<Item>),
    /// It broke off and was not stored; so it stays.
    Nowhere,
    /// It broke off and nobody has looked yet.
    Unknown,
}

#[derive(Clone, Debug)]
struct Turn {
    prompt: String,
    found: Found,
}

/// A session's turns, in the order in which they were asked for.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The session's id.
    pub session: String,
    turns: Vec<Turn>,
}

impl Ledger {
    /// A new session of this agent.
    ///
    /// # Errors
    /// When the agent dies.
    pub fn begin(agent: &mut Mortal, cwd: &Path) -> Result<Self, Died> {
        let answer = agent.request("session/new", &json!({"cwd": cwd, "mcpServers": []}))?;
        let answer = answer.expect("a session is created");
        Ok(Self::of(answer["sessionId"].as_str().expect("a session has an id")))
    }

    /// A session without turns.
    pub fn of(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            turns: Vec::new(),
        }
    }

    /// Prompts and waits for the answer. An error of the agent comes back, and that turn never was.
    ///
    /// # Errors
    /// When the agent dies before it answers.
    pub fn prompt(&mut self, agent: &mut Mortal, text: &str) -> Result<Result<(), Value>, Died> {
        agent.take_heard();
        let place = self.turns.len();
        self.turns.push(Turn {
            prompt: text.to_owned(),
            found: Found::Unknown,
        });
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": self.session, "prompt": prompt});
        match agent.request("session/prompt", &params)? {
            Ok(answer) => {
                assert_eq!(answer["stopReason"], "end_turn", "{answer}");
                self.turns[place].found = Found::As(items(&agent.take_heard()));
                Ok(Ok(()))
            }
            Err(error) => {
                self.turns.truncate(place);
                Ok(Err(error))
            }
        }
    }

    /// Whether its last turn has to be looked for.
    pub fn is_open(&self) -> bool {
        self.turns
            .last()
            .is_some_and(|turn| matches!(turn.found, Found::Unknown))
    }

    /// How many turns were answered or found.
    pub fn done(&self) -> usize {
        let is_there = |turn: &&Turn| matches!(turn.found, Found::As(_));
        self.turns.iter().filter(is_there).count()
    }

    /// How many turns were asked for.
    pub fn asked(&self) -> usize {
        self.turns.len()
    }

    /// Loads the session and compares.
    ///
    /// # Errors
    /// When the agent dies.
    pub fn load(&mut self, agent: &mut Mortal, cwd: &Path, tally: &mut Tally) -> Result<(), Died> {
        let loaded = load(agent, &self.session, cwd)?;
        match loaded {
            Ok(loaded) => self.compare(loaded, tally),
            // Nothing of it was ever stored.
            Err(error) if error["code"] == -32002 && self.done() == 0 => self.compare(Vec::new(), tally),
            Err(error) => {
                tally.lost += self.done() as u64;
                tally.fault(format!("{} can't be loaded: {error}", self.session));
            }
        }
        Ok(())
    }

    fn compare(&mut self, loaded: Loaded, tally: &mut Tally) {
        let mut found: Vec<Option<Vec<Item>>> = vec![None; self.turns.len()];
        let mut last = None;
        for (prompt, items) in loaded {
            let Some(place) = self.turns.iter().position(|turn| turn.prompt == prompt) else {
                tally.fault(format!("{}: nobody has asked {}", self.session, brief(&prompt)));
                continue;
            };
            if found[place].is_some() {
                tally.doubled += 1;
                tally.fault(format!("{}: {} is there twice", self.session, brief(&prompt)));
            } else if last.is_some_and(|last| last > place) {
                tally.fault(format!("{}: {} is not in order", self.session, brief(&prompt)));
            }
            last = Some(place);
            found[place] = Some(items);
        }
        for (turn, found) in self.turns.iter_mut().zip(found) {
            if let Err(fault) = turn.settle(found, tally) {
                tally.fault(format!("{}: {fault}", self.session));
            }
        }
    }
}

impl Turn {
    fn settle(&mut self, found: Option<Vec<Item>>, tally: &mut Tally) -> Result<(), String> {
        let prompt = brief(&self.prompt);
        match (&self.found, found) {
            (Found::As(expect), Some(found)) if *expect == found => Ok(()),
            (Found::As(expect), Some(found)) => {
                tally.lost += 1;
                Err(format!("{prompt} is not as it was: {}", difference(expect, &found)))
            }
            (Found::As(_), None) => {
                tally.lost += 1;
                Err(format!("{prompt} is lost"))
            }
            (Found::Nowhere, None) => Ok(()),
            (Found::Nowhere, Some(_)) => Err(format!("{prompt} has come back")),
            (Found::Unknown, None) => {
                tally.absent += 1;
                self.found = Found::Nowhere;
                Ok(())
            }
            (Found::Unknown, Some(found)) => {
                let is_marked = found
                    .iter()
                    .any(|item| matches!(item, Item::Text(text) if text.contains(MARK)));
                match is_marked {
                    true => tally.marked += 1,
                    false if is_whole(&self.prompt, &found) => tally.whole += 1,
                    false => {
                        return Err(format!(
                            "{prompt} is half there and not marked: {}",
                            brief(&format!("{found:?}"))
                        ));
                    }
                }
                self.found = Found::As(found);
                Ok(())
            }
        }
    }
}

/// The beginning of a prompt, by which it is known.
pub(super) fn brief(text: &str) -> &str {
    &text[..text.floor_char_boundary(80)]
}

/// The first item that is not the same.
fn difference(expect: &[Item], found: &[Item]) -> String {
    let same = expect
        .iter()
        .zip(found)
        .take_while(|(expect, found)| expect == found)
        .count();
    let show = |items: &[Item]| match items.get(same) {
        Some(Item::Text(text)) => format!("{} bytes of {}", text.len(), brief(text)),
        Some(Item::Call(fields)) => format!("{fields:?}").chars().take(600).collect(),
        None => "nothing".to_owned(),
    };
    format!("item {same} was {}, now {}", show(expect), show(found))
}

/// Whether all that the offline model makes of a prompt is there.
fn is_whole(prompt: &str, items: &[Item]) -> bool {
    let says = |wanted: &str| matches!(items.last(), Some(Item::Text(text)) if text.contains(wanted));
    match prompt.strip_prefix("say ") {
        Some(text) => says(text),
        None => {
            let has_ended = |item: &Item| match item {
                Item::Call(fields) => fields.get("status").is_some_and(|status| status == "completed"),
                Item::Text(_) => true,
            };
            items.len() >= 2 && items.iter().all(has_ended) && says("")
        }
    }
}

/// Loads a session: its prompts with what followed each.
///
/// # Errors
/// When the agent dies.
pub fn load(agent: &mut Mortal, session: &str, cwd: &Path) -> Result<Result<Loaded, Value>, Died> {
    agent.take_heard();
    let params = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    if let Err(error) = agent.request("session/load", &params)? {
        return Ok(Err(error));
    }
    let mut turns: Vec<(String, Vec<Value>)> = Vec::new();
    let mut message = Value::Null;
    for update in agent.take_heard() {
        if update["sessionUpdate"] == "user_message_chunk" {
            let text = update["content"]["text"].as_str().unwrap_or_default();
            match turns.last_mut() {
                // A long message comes in several pieces.
                Some((prompt, _)) if message == update["messageId"] => prompt.push_str(text),
                Some(_) | None => turns.push((text.to_owned(), Vec::new())),
            }
            message = update["messageId"].clone();
        } else if let Some((_, updates)) = turns.last_mut() {
            updates.push(update);
        }
    }
    let turns = turns.into_iter().map(|(prompt, updates)| (prompt, items(&updates)));
    Ok(Ok(turns.collect()))
}

/// What a client shows after these updates.
fn items(updates: &[Value]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for update in updates {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk" | "agent_thought_chunk") => {
                let text = update["content"]["text"].as_str().unwrap_or_default();
                match items.last_mut() {
                    Some(Item::Text(before)) => before.push_str(text),
                    Some(Item::Call(_)) | None => items.push(Item::Text(text.to_owned())),
                }
            }
            Some("tool_call" | "tool_call_update") => {
                let known = items.iter_mut().find_map(|item| match item {
                    Item::Call(fields) if fields.get("toolCallId") == Some(&update["toolCallId"]) => Some(fields),
                    Item::Call(_) | Item::Text(_) => None,
                });
                match known {
                    Some(fields) => merge(fields, update),
                    None => {
                        let mut fields = BTreeMap::new();
                        merge(&mut fields, update);
                        items.push(Item::Call(fields));
                    }
                }
            }
            _ => {}
        }
    }
    items
}

fn merge(fields: &mut BTreeMap<String, Value>, update: &Value) {
    for (name, value) in update.as_object().into_iter().flatten() {
        if ["toolCallId", "title", "kind", "status", "content"].contains(&name.as_str()) {
            fields.insert(name.clone(), value.clone());
        }
    }
}
