//! One line on the terminal that says what is waited for, while nothing else comes: it is written over and goes again.

use std::collections::HashSet;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use agent_core::event::{Envelope, Event};
use agent_core::id::ToolCallId;
use agent_core::visible;

use super::Printer;

/// Nothing has come for this long before the line is shown.
const SILENCE: Duration = Duration::from_secs(2);
/// Goes to the begin of the line and clears it.
const CLEAR: &str = "\r\x1b[K";

/// A printer with such a line below what it prints.
pub(super) struct WithStatus<P, S> {
    printer: P,
    side: S,
    /// The columns of the terminal now.
    width: fn() -> usize,
    waits: Waits,
    is_drawn: bool,
}

/// What a turn waits for.
struct Waits {
    /// The calls that run, the oldest first: title, and since when.
    calls: Vec<(ToolCallId, String, Instant)>,
    /// The questions that are open: the person is waited for, and knows it.
    asked: HashSet<ToolCallId>,
    /// The model, since when; none while it speaks in a line that has no end yet.
    model: Option<Instant>,
    /// When something new came last.
    news: Instant,
    /// Bytes of output that the last sign of life told of.
    total: u64,
}

impl<P: Printer, S: Write> WithStatus<P, S> {
    pub(super) fn new(printer: P, side: S, width: fn() -> usize) -> Self {
        Self {
            printer,
            side,
            width,
            waits: Waits::from(Instant::now()),
            is_drawn: false,
        }
    }

    fn clear(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_drawn) {
            return Ok(());
        }
        write!(self.side, "{CLEAR}")?;
        self.side.flush()
    }
}

impl<P: Printer, S: Write> Printer for WithStatus<P, S> {
    fn show(&mut self, envelope: &Envelope) -> io::Result<()> {
        let is_news = self.waits.hear(&envelope.event, Instant::now());
        // A sign of life alone leaves the line where it is.
        if is_news {
            self.clear()?;
        }
        self.printer.show(envelope)
    }

    fn shows_plans(&self) -> bool {
        self.printer.shows_plans()
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.clear()?;
        self.printer.end_line()
    }

    fn tick(&mut self) -> io::Result<()> {
        let Some(status) = self.waits.status(Instant::now()) else {
            return self.clear();
        };
        if !self.is_drawn {
            self.printer.end_line()?;
        }
        self.is_drawn = true;
        write!(self.side, "{CLEAR}{}", cut(&status, (self.width)()))?;
        self.side.flush()
    }

    fn ticks(&self) -> bool {
        true
    }
}

impl Waits {
    fn from(now: Instant) -> Self {
        Self {
            calls: Vec::new(),
            asked: HashSet::new(),
            model: None,
            news: now,
            total: 0,
        }
    }

    /// Takes in what happened; says whether it is more than a sign of life.
    fn hear(&mut self, event: &Event, now: Instant) -> bool {
        if let Event::ToolProgress { progress, .. } = event {
            if std::mem::replace(&mut self.total, progress.total) == progress.total {
                return false;
            }
        } else if let Event::ToolStarted { call } = event {
            self.calls.push((call.id.clone(), visible::line(&call.title), now));
        } else if let Event::ToolFinished { id, .. } = event {
            self.calls.retain(|(call, ..)| call != id);
            self.asked.remove(id);
        } else if let Event::ApprovalRequested { approval } = event {
            self.asked.insert(approval.call.clone());
        } else if let Event::ApprovalDecided { call, .. } = event {
            self.asked.remove(call);
            if let Some((.., since)) = self.calls.iter_mut().find(|(id, ..)| id == call) {
                // The time that the person took is not the call's.
                *since = now;
            }
        }
        self.model = match (&self.model, event) {
            (_, Event::TurnFinished { .. } | Event::TurnFailed { .. }) => None,
            (_, Event::AgentText { text, .. }) => text.ends_with('\n').then_some(now),
            (_, Event::AgentThought { .. } | Event::ToolFinished { .. }) | (None, _) => Some(now),
            (Some(since), _) => Some(*since),
        };
        self.news = now;
        true
    }

    /// What is waited for, once that takes a while.
    fn status(&self, now: Instant) -> Option<String> {
        if now.duration_since(self.news) < SILENCE || !self.asked.is_empty() {
            return None;
        }
        let (what, since) = match self.calls.as_slice() {
            [] => ("waiting for the model".to_owned(), self.model?),
            [(_, title, since)] => (title.clone(), *since),
            [(_, title, since), others @ ..] => (format!("{title}, and {} more", others.len()), *since),
        };
        Some(format!("… {what} ({} s)", now.duration_since(since).as_secs()))
    }
}

/// The status in one line of the terminal; the time at its end stays.
fn cut(status: &str, width: usize) -> String {
    // Many characters that are no ASCII take two columns.
    let columns = |text: &str| text.chars().map(|c| 1 + usize::from(!c.is_ascii())).sum::<usize>();
    if columns(status) < width {
        return status.to_owned();
    }
    let (what, time) = status.rsplit_once(" (").unwrap_or((status, ""));
    let time = format!("… ({time}");
    let mut room = width.saturating_sub(columns(&time) + 1);
    let fits = |c: &char| {
        let columns = 1 + usize::from(!c.is_ascii());
        let fits = columns <= room;
        room = room.saturating_sub(columns);
        fits
    };
    let what: String = what.chars().take_while(fits).collect();
    what + &time
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use agent_core::approval::{Approval, DecidedBy, Decision};
    use agent_core::event::{CallInput, Progress, StopReason, ToolCall, ToolKind, ToolOutcome, ToolOutput, ToolStatus};
    use agent_core::provider::Usage;

    use super::*;

    fn prompted() -> Event {
        Event::UserMessage {
            id: "m".into(),
            content: Vec::new(),
            context: Vec::new(),
            command: false,
        }
    }

    fn started(id: &str, title: &str) -> Event {
        Event::ToolStarted {
            call: ToolCall {
                id: id.into(),
                given_id: id.to_owned(),
                name: "terminal".to_owned(),
                title: title.to_owned(),
                kind: ToolKind::Execute,
                input: CallInput::Malformed(String::new()),
                prints_in: None,
            },
        }
    }

    fn finished(id: &str) -> Event {
        Event::ToolFinished {
            id: id.into(),
            outcome: ToolOutcome {
                status: ToolStatus::Completed,
                output: ToolOutput::default(),
            },
        }
    }

    fn printed(total: u64) -> Event {
        Event::ToolProgress {
            id: "c".into(),
            progress: Progress {
                total,
                ..Progress::default()
            },
        }
    }

    fn text(text: &str) -> Event {
        Event::AgentText {
            id: "m".into(),
            text: text.to_owned(),
        }
    }

    fn asked() -> Event {
        Event::ApprovalRequested {
            approval: Approval {
                id: "a".into(),
                call: "c".into(),
                reason: String::new(),
                options: Vec::new(),
                shown: None,
            },
        }
    }

    fn decided() -> Event {
        Event::ApprovalDecided {
            id: "a".into(),
            call: "c".into(),
            decision: Decision::Allowed,
            by: DecidedBy::User,
        }
    }

    fn ended() -> Event {
        Event::TurnFinished {
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        }
    }

    /// What is shown at a second, where these events came at theirs.
    #[track_caller]
    fn check(events: &[(u64, Event)], at: u64, expect: Option<&str>) {
        let begin = Instant::now();
        let second = |second| begin + Duration::from_secs(second);
        let mut waits = Waits::from(begin);
        for (at, event) in events {
            waits.hear(event, second(*at));
        }
        assert_eq!(waits.status(second(at)).as_deref(), expect);
    }

    #[test]
    fn what_takes_a_while_is_told_with_its_time() {
        let model = [(0, prompted())];
        check(&model, 1, None);
        check(&model, 12, Some("… waiting for the model (12 s)"));
        let call = [(0, prompted()), (3, started("c", "$ sleep 60"))];
        check(&call, 15, Some("… $ sleep 60 (12 s)"));
        let two = [&call[..], &[(4, started("d", "$ ls"))]].concat();
        check(&two, 15, Some("… $ sleep 60, and 1 more (12 s)"));
        let done = [&call[..], &[(20, finished("c"))]].concat();
        check(&done, 25, Some("… waiting for the model (5 s)"));
        check(&[&done[..], &[(26, ended())]].concat(), 90, None);
    }

    #[test]
    fn who_prints_speaks_or_asks_is_left_alone() {
        let call = [(0, started("c", "$ make"))];
        check(&[&call[..], &[(9, printed(5))]].concat(), 10, None);
        // A sign of life is no news.
        let silent = [&call[..], &[(5, printed(5)), (9, printed(5))]].concat();
        check(&silent, 10, Some("… $ make (10 s)"));
        check(&[(0, prompted()), (1, text("half a line"))], 60, None);
        check(
            &[(0, prompted()), (1, text("a line\n"))],
            5,
            Some("… waiting for the model (4 s)"),
        );
        let asked = [&call[..], &[(1, asked())]].concat();
        check(&asked, 60, None);
        check(&[&asked[..], &[(60, decided())]].concat(), 65, Some("… $ make (5 s)"));
    }

    #[test]
    fn a_long_one_keeps_its_time() {
        assert_eq!(cut("… $ make (5 s)", 80), "… $ make (5 s)");
        assert_eq!(cut("… $ make a very long thing (5 s)", 20), "… $ make a… (5 s)");
        assert_eq!(cut("… $ ééééééééé (5 s)", 20), "… $ ééé… (5 s)");
    }
}
