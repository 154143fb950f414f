//! Prompts that join a turn while it runs.

use super::Turn;
use crate::content::{Content, is_blank};
use crate::event::{Event, StopReason};
use crate::id::MessageId;
use crate::provider::Usage;
use crate::session::Prompt;

impl Turn<'_> {
    /// Takes in what has come while the model spoke its last word; whether there is any.
    pub(super) fn is_steered_on(&mut self) -> bool {
        loop {
            let steers = self.session.last_steers();
            if steers.is_empty() {
                return false;
            }
            if self.take_in(steers) {
                return true;
            }
        }
    }

    /// Takes prompts into this turn; whether there is something in them for the model. Each has its own end with that:
    /// what comes of it is this turn's.
    pub(super) fn take_in(&mut self, steers: Vec<Prompt>) -> bool {
        let mut says = false;
        for steer in steers {
            let stop = if steer.cancel.is_set() {
                StopReason::Cancelled
            } else if is_blank(&steer.content) {
                StopReason::EndTurn
            } else {
                says = true;
                let context = self.mentioned(&steer.content);
                self.emit(Event::UserSteered {
                    id: MessageId::new(),
                    content: steer.content,
                    context,
                });
                StopReason::EndTurn
            };
            let usage = Usage::default();
            self.session
                .line
                .emit(Some(steer.turn), Event::TurnFinished { stop, usage });
        }
        says
    }

    /// The texts of the files that a message links to.
    pub(super) fn mentioned(&self, content: &[Content]) -> Vec<Content> {
        let mentions = content.iter().filter_map(|piece| match piece {
            Content::Link { uri, .. } => Some(self.workspace.mention(uri, &self.cancel)),
            Content::Text { .. } | Content::Image { .. } | Content::Resource { .. } => None,
        });
        mentions.flatten().collect()
    }
}
