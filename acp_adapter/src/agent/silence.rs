//! How long each session with a running prompt has been silent towards the client. Some clients take a long silence
//! for an end; an update that changes nothing tells them otherwise.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use agent_core::id::SessionId;

/// The silences.
pub(crate) struct Silence {
    /// The longest; zero for any.
    longest: Duration,
    /// When each session was heard of last. An entry for each that has a prompt.
    heard: HashMap<SessionId, Instant>,
}

impl Silence {
    /// No session has a prompt. With a `longest` of zero none is ever too long.
    pub(crate) fn new(longest: Duration) -> Self {
        Self {
            longest,
            heard: HashMap::new(),
        }
    }

    /// A prompt has come.
    pub(crate) fn begin(&mut self, session: &SessionId) {
        if !self.longest.is_zero() {
            self.heard.entry(session.clone()).or_insert_with(Instant::now);
        }
    }

    /// Something was sent of the session.
    pub(crate) fn heard(&mut self, session: &SessionId) {
        if let Some(heard) = self.heard.get_mut(session) {
            *heard = Instant::now();
        }
    }

    /// The session's last prompt has ended.
    pub(crate) fn end(&mut self, session: &SessionId) {
        self.heard.remove(session);
    }

    /// When the next silence has become too long.
    pub(crate) fn too_long_at(&self) -> Option<Instant> {
        let first = self.heard.values().min()?;
        Some(*first + self.longest)
    }

    /// The sessions that have been silent for too long.
    pub(crate) fn too_long(&self) -> Vec<SessionId> {
        let is_silent = |heard: &Instant| heard.elapsed() >= self.longest;
        let silent = self.heard.iter().filter(|(_, heard)| is_silent(heard));
        silent.map(|(session, _)| session.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(30);

    #[test]
    fn what_is_heard_of_a_session_begins_its_silence_anew() {
        let session = SessionId::from("s");
        let mut silence = Silence::new(LONGEST);
        assert_eq!(silence.too_long_at(), None, "no session has a prompt");
        silence.begin(&session);
        let first = silence.too_long_at();
        // A prompt that queues is no sign of life.
        silence.begin(&session);
        assert_eq!(silence.too_long_at(), first);
        silence.heard(&session);
        assert!(silence.too_long_at() > first);
        silence.end(&session);
        silence.heard(&session);
        assert_eq!(silence.too_long_at(), None);
    }

    #[test]
    fn a_longest_silence_of_zero_is_none_at_all() {
        let mut silence = Silence::new(Duration::ZERO);
        silence.begin(&SessionId::from("s"));
        assert_eq!(silence.too_long_at(), None);
        assert_eq!(silence.too_long(), Vec::new());
    }
}
