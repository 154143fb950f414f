//! What waits on either side, and how the client waits for it: for messages, with a limit.

use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use talaria_tests::stage::LIMIT;

use crate::client::Client;
use crate::requests::Theirs;

/// How often the client looks whether a command in one of its terminals has ended.
const LOOK: Duration = Duration::from_millis(5);

impl Client<'_> {
    /// The numbers of a session's prompts that wait for their answer, in order.
    pub(crate) fn waiting(&self, of: usize) -> Vec<usize> {
        let open = self.ours.iter().filter(|ours| ours.answer.is_none());
        let prompts = open.filter(|ours| ours.about.session() == Some(of));
        prompts.filter_map(|ours| ours.about.number()).collect()
    }

    /// The agent's requests that it waits for, of a session or of all.
    pub(crate) fn awaited(&self, of: Option<usize>) -> Vec<usize> {
        let is_meant = |theirs: &Theirs| theirs.is_awaited() && of.is_none_or(|of| theirs.session == of);
        let newest = self.newest..self.theirs.len();
        newest.filter(|index| is_meant(&self.theirs[*index])).collect()
    }

    /// Waits until a session's first prompt is answered or can't go on without the client.
    pub(crate) fn await_session(&mut self, of: usize) -> Result<(), String> {
        let Some(first) = self.waiting(of).first().copied() else {
            return Ok(());
        };
        self.wait(&format!("a move of prompt {first}"), |client| {
            let holds = !client.sessions[of].holding.is_empty();
            holds || !client.awaited(Some(of)).is_empty() || client.waiting(of).first() != Some(&first)
        })
    }

    /// Waits for the answers to everything but prompts.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        self.wait("the answers to all calls", |client| {
            client
                .ours
                .iter()
                .all(|ours| ours.answer.is_some() || ours.about.is_prompt())
        })
    }

    pub(crate) fn wait(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) -> Result<(), String> {
        let deadline = Instant::now() + LIMIT;
        loop {
            self.hear_all()?;
            if is_so(self) {
                return Ok(());
            }
            match self.agent().receive(LOOK) {
                Ok(message) => self.hear(&message)?,
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
                Err(error) => return Err(format!("waiting for {what}: {error}")),
            }
        }
    }

    /// Takes in all that has come.
    pub(crate) fn hear_all(&mut self) -> Result<(), String> {
        while let Ok(message) = self.agent().receive(Duration::ZERO) {
            self.hear(&message)?;
        }
        for answer in self.editor.ended() {
            self.send(&answer);
        }
        Ok(())
    }
}
