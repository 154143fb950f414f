//! How a turn begins: its prompt is stored, with what the model and the user should know beside it.

use super::{Turn, TurnError};
use crate::budget::Spending;
use crate::calls::Repeats;
use crate::claim;
use crate::content::{Content, is_blank};
use crate::engine::Engine;
use crate::event::{Event, SessionChange, Severity, StopReason};
use crate::id::MessageId;
use crate::news::{self, News};
use crate::opening;
use crate::prompt::Facts;
use crate::provider::Usage;
use crate::session::{Prompt, Session};
use crate::settings::Settings;
use crate::slash;
use crate::title;

impl<'a> Turn<'a> {
    /// Stores the prompt. A stop comes back where there is nothing to do.
    pub(super) fn begin(
        engine: &'a Engine,
        session: &'a Session,
        prompt: Prompt,
    ) -> Result<(Self, Option<StopReason>), TurnError> {
        opening::follow_setup(engine, session);
        claim::claim(engine, session, prompt.turn)?;
        opening::renew_key(engine, session);
        let stop = stop_at_once(&prompt);
        let settings = session.settings();
        let mut turn = Self {
            engine,
            session,
            id: prompt.turn,
            cancel: prompt.cancel,
            tools: Vec::new(),
            specs: Vec::new(),
            workspace: settings.workspace.clone(),
            history: session.take_history().read_on(&engine.store, &session.id)?,
            fallback: None,
            usage: Usage::default(),
            spending: Spending::default(),
            repeats: Repeats::default(),
            question: None,
            told_unkept: false,
            told_unsafe: false,
            told_unseen: false,
            first_row: 0,
        };
        let (context, told) = if stop.is_none() {
            turn.context(&settings, &prompt.content)
        } else {
            (Vec::new(), None)
        };
        let cut_off = turn.history.breaks_off() && !session.standing().is_past_shown;
        let title = title::from_prompt(&prompt.content);
        let slip = slash::slip(&prompt.content).map(slipped);
        turn.first_row = turn.emit(Event::UserMessage {
            id: MessageId::new(),
            content: prompt.content,
            context,
            command: false,
        });
        if let Some(facts) = told {
            turn.emit(Event::SessionChanged {
                change: SessionChange::Told(facts),
            });
        }
        turn.tell_notices();
        if cut_off {
            turn.emit(last_was_cut_off());
        }
        if let Some(notice) = slip {
            turn.emit(notice);
        }
        turn.give_title(title);
        Ok((turn, stop))
    }

    /// What the runtime adds to the prompt for the model, and what the model knows of the session by that.
    fn context(&self, settings: &Settings, content: &[Content]) -> (Vec<Content>, Option<Facts>) {
        let mut context = self.mentioned(content);
        let news = news::news(self.session, settings);
        let facts = news.map(|News { note, facts }| {
            context.push(Content::text(note));
            facts
        });
        (context, facts)
    }

    fn tell_notices(&mut self) {
        for notice in self
            .session
            .change_standing(|standing| std::mem::take(&mut standing.notices))
        {
            self.emit(notice);
        }
    }

    fn give_title(&mut self, title: Option<String>) {
        let Some(title) = title.filter(|_| self.session.standing().title.is_none()) else {
            return;
        };
        let title = self.engine.store.give_title(&self.session.id, &title);
        let is_new = self.session.change_standing(|standing| {
            let is_new = standing.title.is_none();
            if is_new {
                standing.title = Some(title.clone());
                standing.provisional_title = Some(title.clone());
            }
            is_new
        });
        if is_new {
            self.emit(Event::SessionChanged {
                change: SessionChange::Title(title),
            });
        }
    }
}

/// The end of a turn in which the model is not asked.
fn stop_at_once(prompt: &Prompt) -> Option<StopReason> {
    if prompt.cancel.is_set() {
        Some(StopReason::Cancelled)
    } else if is_blank(&prompt.content) {
        Some(StopReason::EndTurn)
    } else {
        None
    }
}

/// What the user should know of a past that nobody has shown them.
fn last_was_cut_off() -> Event {
    Event::Notice {
        severity: Severity::Warning,
        title: "the last turn was cut off: the agent ended before it was finished".to_owned(),
        detail: Some("What it had begun may be partly done. The model is told so too.".to_owned()),
    }
}

/// What the user should know of a command that there is not: the model hears it as it is.
fn slipped((word, near): (&str, &str)) -> Event {
    Event::Notice {
        severity: Severity::Warning,
        title: format!("no such command: `/{word}`; `/{near}` is the nearest"),
        detail: Some("It goes to the model as it is.".into()),
    }
}
