//! Output for programs: every event as a line of JSON, or the final text alone.

use std::io::{self, Write};

use agent_core::event::{Envelope, Event};
use agent_core::id::MessageId;

use super::Printer;

/// One envelope a line, and nothing else.
pub(super) struct JsonLines<W>(W);

impl<W: Write> JsonLines<W> {
    pub(super) fn new(out: W) -> Self {
        Self(out)
    }
}

impl<W: Write> Printer for JsonLines<W> {
    fn show(&mut self, envelope: &Envelope) -> io::Result<()> {
        let mut line = serde_json::to_vec(envelope)?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.flush()
    }

    fn shows_plans(&self) -> bool {
        false
    }

    fn end_line(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The last message of the turn, once it has ended; a failure goes to the side.
pub(super) struct Quiet<W, S> {
    out: W,
    side: S,
    last: Option<(MessageId, String)>,
}

impl<W: Write, S: Write> Quiet<W, S> {
    pub(super) fn new(out: W, side: S) -> Self {
        Self { out, side, last: None }
    }

    fn add(&mut self, id: &MessageId, text: &str) {
        match &mut self.last {
            Some((last, so_far)) if last == id => so_far.push_str(text),
            Some(_) | None => self.last = Some((id.clone(), text.to_owned())),
        }
    }
}

impl<W: Write, S: Write> Printer for Quiet<W, S> {
    fn show(&mut self, envelope: &Envelope) -> io::Result<()> {
        if let Event::AgentText { id, text } = &envelope.event {
            self.add(id, text);
        }
        if let Event::TurnFailed { failure } = &envelope.event {
            writeln!(self.side, "error: {}", failure.message)?;
        }
        if !envelope.event.ends_turn() {
            return Ok(());
        }
        if let Some((_, text)) = self.last.take() {
            writeln!(self.out, "{}", text.trim_end())?;
        }
        self.out.flush()
    }

    fn shows_plans(&self) -> bool {
        false
    }

    fn end_line(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use agent_core::event::StopReason;
    use agent_core::id::TurnId;
    use agent_core::provider::Usage;

    use super::*;

    fn text(id: &str, text: &str) -> Event {
        Event::AgentText {
            id: id.into(),
            text: text.into(),
        }
    }

    fn turn() -> Vec<Envelope> {
        let end = Event::TurnFinished {
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        };
        [text("1", "let me\nsee"), text("2", "it "), text("2", "works\n"), end]
            .into_iter()
            .map(|event| Envelope {
                session: "s".into(),
                turn: Some(TurnId(1)),
                seq: 1,
                event,
            })
            .collect()
    }

    #[test]
    fn quiet_prints_the_last_message_alone() {
        let (mut out, mut side) = (Vec::new(), Vec::new());
        let mut quiet = Quiet::new(&mut out, &mut side);
        turn().iter().for_each(|envelope| quiet.show(envelope).unwrap());
        assert_eq!(out, b"it works\n");
        assert_eq!(side, b"");
    }

    #[test]
    fn each_line_of_json_is_an_envelope() {
        let mut out = Vec::new();
        let mut json = JsonLines::new(&mut out);
        turn().iter().for_each(|envelope| json.show(envelope).unwrap());
        let lines: Vec<Envelope> = String::from_utf8(out)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines, turn());
    }
}
