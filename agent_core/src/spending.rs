//! What a session has used of each model: of the models of its turns, fallbacks among them, by the rows of their steps.

use serde::Serialize;

use crate::event::{Event, SessionChange};
use crate::provider::{ModelRef, Usage};

/// The share of one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The provider and the model; none where that is not known: titles and summaries, and steps of an older version.
    pub model: Option<ModelRef>,
    /// What was used of it.
    pub usage: Usage,
}

/// The shares, in the order in which their models were first used; what is not known of comes last.
pub fn shares<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<Share> {
    let mut shares: Vec<Share> = Vec::new();
    for event in events {
        let Some((model, usage)) = used(event) else {
            continue;
        };
        match shares.iter_mut().find(|share| share.model.as_ref() == model) {
            Some(share) => share.usage = share.usage.plus(usage),
            None => shares.push(Share {
                model: model.cloned(),
                usage,
            }),
        }
    }
    shares.sort_by_key(|share| share.model.is_none());
    shares
}

fn used(event: &Event) -> Option<(Option<&ModelRef>, Usage)> {
    if let Event::StepFinished { model, usage, .. } = event {
        return Some((model.as_ref(), *usage));
    }
    if let Event::SessionChanged {
        change: SessionChange::Spent(usage),
    } = event
    {
        return Some((None, *usage));
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::event::ContextUse;
    use crate::provider::Finish;

    fn usage(input: u64) -> Usage {
        Usage {
            input: Some(input),
            ..Usage::default()
        }
    }

    fn step(model: &str, input: u64) -> Event {
        Event::StepFinished {
            step: 1,
            model: Some(model.parse().unwrap()),
            usage: usage(input),
            context: ContextUse::default(),
            finish: Finish::Stop,
            native: None,
        }
    }

    #[test]
    fn each_model_has_its_own_share_and_what_is_nobodys_comes_last() {
        let title = Event::SessionChanged {
            change: SessionChange::Spent(usage(1)),
        };
        let events = [title, step("a/m", 10), step("b/m", 20), step("a/m", 30)];
        let shares = shares(events.iter());
        let said: Vec<_> = shares
            .iter()
            .map(|share| (share.model.as_ref().map(ToString::to_string), share.usage.input))
            .collect();
        let of = |model: &str, input| (Some(model.to_owned()), Some(input));
        assert_eq!(said, [of("a/m", 40), of("b/m", 20), (None, Some(1))]);
    }
}
