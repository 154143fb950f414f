//! The items of a reply out of their pieces. A piece belongs to an item by its index, else by its id.

use agent_core::provider::Call;
use serde_json::value::RawValue;

use super::event::{Item, Kind, PARAGRAPH, Piece};
use super::kept::{Entry, Kept};
use crate::call::{Arguments, BadCall, Ids, arguments_text, check_count, name};
use crate::native::Allowance;
use crate::trouble::Trouble;

/// The most items that one reply may have.
const MOST: usize = 1024;

/// The items of one reply so far, in the order in which they began.
#[derive(Default)]
pub(super) struct Items {
    open: Vec<Open>,
    /// What may still be kept.
    allowance: Allowance,
}

/// An item so far.
struct Open {
    kind: Kind,
    index: Option<u64>,
    id: Option<String>,
    /// What has been passed on of its text or thoughts.
    said: String,
    /// The paragraph of the last piece.
    paragraph: Option<u64>,
    phase: Option<String>,
    call_id: Option<String>,
    name: String,
    arguments: String,
    is_done: bool,
    /// Reasoning as it came, if it must go back.
    whole: Option<Box<RawValue>>,
}

/// The finished calls, and what must go back unchanged.
pub(super) struct Finished {
    pub calls: Vec<Call>,
    pub kept: Kept,
}

impl Items {
    /// Whether nothing was called.
    pub(super) fn has_calls(&self) -> bool {
        self.calls() > 0
    }

    fn calls(&self) -> usize {
        self.open.iter().filter(|item| item.kind == Kind::FunctionCall).count()
    }

    /// Refuses more than a reply can have.
    fn check(&self) -> Result<(), Trouble> {
        if self.open.len() > MOST {
            return Err(Trouble::Broke(format!("sent more than {MOST} items in one reply")));
        }
        check_count(self.calls())
    }

    /// Begins an item.
    pub(super) fn begin(&mut self, index: Option<u64>, item: Item) -> Result<(), Trouble> {
        let position = self.push(Open::new(item.kind, index, item.id.clone()));
        self.open[position].fill(item);
        self.check()
    }

    /// Adds a piece of a text, or all of it where no piece has come, and gives what is to be passed on.
    pub(super) fn say(&mut self, kind: Kind, piece: &Piece) -> Result<String, Trouble> {
        let position = self.place(kind, piece);
        self.check()?;
        let lead = self.lead(position);
        Ok(led(lead, self.open[position].say(piece)))
    }

    /// Adds a piece of a call's arguments, or all of them.
    pub(super) fn call(&mut self, piece: &Piece) -> Result<(), Trouble> {
        let position = self.place(Kind::FunctionCall, piece);
        let call = &mut self.open[position];
        match &piece.delta {
            Some(delta) => call.arguments.push_str(delta),
            None => call.set_arguments(arguments_text(piece.arguments.as_ref())),
        }
        self.check()
    }

    /// Ends an item, and gives what of its text has not been passed on yet.
    pub(super) fn end(&mut self, index: Option<u64>, item: Item, raw: Box<RawValue>) -> Result<String, Trouble> {
        let text = match item.kind {
            Kind::Message => item.text(),
            Kind::Reasoning => item.thought(),
            Kind::FunctionCall => String::new(),
        };
        let position = self.position_of(index, &item);
        let position = position.unwrap_or_else(|| self.push(Open::new(item.kind, index, item.id.clone())));
        let lead = self.lead(position);
        let whole = self.whole(&item, raw);
        let open = &mut self.open[position];
        open.is_done = true;
        open.whole = whole;
        open.fill(item);
        let rest = text.strip_prefix(&open.said).unwrap_or_default().to_owned();
        open.said.push_str(&rest);
        self.check()?;
        Ok(led(lead, rest))
    }

    /// Ends them. With `cut` the service stopped within the reply, so that the last item may have lost its end.
    pub(super) fn finish(self, cut: bool) -> Result<Finished, BadCall> {
        let last = self.open.len().saturating_sub(1);
        let mut finished = Finished {
            calls: Vec::new(),
            kept: Kept::default(),
        };
        let (mut ids, mut arguments) = (Ids::default(), Arguments::default());
        for (position, item) in self.open.into_iter().enumerate() {
            match item.kind {
                Kind::Message => finished.kept.add(Entry::Message {
                    id: item.id,
                    phase: item.phase,
                    bytes: item.said.len(),
                }),
                Kind::Reasoning => finished.kept.extend(item.whole.map(Entry::Reasoning)),
                Kind::FunctionCall => {
                    let call = item.call(&mut ids, &mut arguments, cut && position == last)?;
                    finished.kept.add(Entry::Call {
                        id: item.id,
                        call_id: call.id.clone(),
                    });
                    finished.calls.push(call);
                }
            }
        }
        // Without its reasoning no item may name itself.
        if self.allowance.is_spent() {
            finished.kept = Kept::default();
        }
        Ok(finished)
    }

    /// Reasoning as it came, if it must go back and is not too much.
    fn whole(&mut self, item: &Item, raw: Box<RawValue>) -> Option<Box<RawValue>> {
        if item.kind != Kind::Reasoning || !item.has_substance() {
            return None;
        }
        if self.allowance.covers(raw.get().len()) {
            return Some(raw);
        }
        self.open.iter_mut().for_each(|open| open.whole = None);
        None
    }

    /// Where the item of a piece is; a new one if it has not begun.
    fn place(&mut self, kind: Kind, piece: &Piece) -> usize {
        let position = self.position(kind, piece.output_index, piece.item_id.as_deref());
        position.unwrap_or_else(|| self.push(Open::new(kind, piece.output_index, piece.item_id.clone())))
    }

    fn push(&mut self, open: Open) -> usize {
        self.open.push(open);
        self.open.len() - 1
    }

    /// What stands between the thoughts before and the first of an item.
    fn lead(&self, position: usize) -> &'static str {
        let thinks = |item: &Open| item.kind == Kind::Reasoning;
        let item = &self.open[position];
        let before = position.checked_sub(1).map(|before| &self.open[before]);
        match before {
            Some(before) if thinks(item) && item.said.is_empty() && thinks(before) && !before.said.is_empty() => {
                PARAGRAPH
            }
            Some(_) | None => "",
        }
    }

    /// Some gateways give each event of an item another id, so the index comes first.
    fn position(&self, kind: Kind, index: Option<u64>, id: Option<&str>) -> Option<usize> {
        let last = |fits: &dyn Fn(&Open) -> bool| self.open.iter().rposition(|item| item.kind == kind && fits(item));
        last(&|item| index.is_some() && item.index == index)
            .or_else(|| last(&|item| id.is_some() && item.id.as_deref() == id))
            .or_else(|| last(&|item| item.index.is_none() && item.id.is_none()))
            .or_else(|| last(&|_| index.is_none() && id.is_none()))
    }

    /// Where a whole item has begun; none if another one has ended there.
    fn position_of(&self, index: Option<u64>, item: &Item) -> Option<usize> {
        let found = self.position(item.kind, index, item.id.as_deref());
        let same = found.filter(|found| !self.open[*found].is_other(item));
        same.or_else(|| {
            let is_call = |open: &Open| item.call_id.is_some() && open.call_id == item.call_id;
            self.open.iter().position(is_call)
        })
    }
}

impl Open {
    fn new(kind: Kind, index: Option<u64>, id: Option<String>) -> Self {
        Self {
            kind,
            index,
            id,
            said: String::new(),
            paragraph: None,
            phase: None,
            call_id: None,
            name: String::new(),
            arguments: String::new(),
            is_done: false,
            whole: None,
        }
    }

    /// Takes over what an item says of itself.
    fn fill(&mut self, item: Item) {
        self.id = item.id.or(self.id.take());
        self.phase = item.phase.or(self.phase.take());
        self.call_id = item.call_id.or(self.call_id.take());
        self.name = item.name.unwrap_or_else(|| std::mem::take(&mut self.name));
        self.set_arguments(arguments_text(item.arguments.as_ref()));
    }

    fn say(&mut self, piece: &Piece) -> String {
        let whole = piece.text.as_ref().filter(|_| self.said.is_empty());
        let delta = piece.delta.as_ref().or(whole).cloned().unwrap_or_default();
        if delta.is_empty() {
            return delta;
        }
        let begins_paragraph = self.paragraph != piece.summary_index && !self.said.is_empty();
        self.paragraph = piece.summary_index;
        let said = led(if begins_paragraph { PARAGRAPH } else { "" }, delta);
        self.said.push_str(&said);
        said
    }

    fn set_arguments(&mut self, arguments: String) {
        if !arguments.is_empty() {
            self.arguments = arguments;
        }
    }

    /// Whether this one has ended and `item` is not it once more.
    fn is_other(&self, item: &Item) -> bool {
        let differs = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
        let is_named_otherwise = match self.kind {
            Kind::FunctionCall => differs(&self.call_id, &item.call_id),
            Kind::Message | Kind::Reasoning => false,
        };
        self.is_done && is_named_otherwise
    }

    fn call(&self, ids: &mut Ids, arguments: &mut Arguments, cut: bool) -> Result<Call, BadCall> {
        Ok(Call {
            name: name(&self.name)?,
            id: ids.next(self.call_id.clone()),
            input: arguments.next(&self.arguments, cut)?,
        })
    }
}

/// A text with what stands before it, if it says anything.
fn led(lead: &str, text: String) -> String {
    if text.is_empty() { text } else { format!("{lead}{text}") }
}
