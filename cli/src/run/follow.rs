//! Follows a turn to its end: shows its events, puts its questions, passes signals on, and says how it went.

use std::io::{self, Write};
use std::time::Duration;

use agent_core::event::{Envelope, ErrorClass, Event, StopReason, ToolStatus};
use agent_core::id::{SessionId, TurnId};
use agent_core::outward::Outward;
use crossbeam_channel::{Receiver, never, select, tick};

use super::Printer;
use super::ask::Asker;
use crate::exit::{Exit, Fail};
use crate::signals::Signal;
use crate::wiring::Wired;

const SECOND: Duration = Duration::from_secs(1);

/// Returns when the turn has ended, or when the user doesn't want to wait for that.
pub(super) fn follow(
    wired: &Wired,
    session: &SessionId,
    turn: TurnId,
    printer: &mut dyn Printer,
    signals: &Receiver<Signal>,
) -> Result<Exit, Fail> {
    let mut course = Course::new(turn);
    let mut asker = Asker::at_terminal(anstream::stderr(), printer.shows_plans());
    let mut interrupted = false;
    let seconds = if printer.ticks() { tick(SECOND) } else { never() };
    loop {
        select! {
            recv(wired.inlet) -> parcel => {
                let mut parcel = parcel.map_err(|_| Fail::new(Exit::Failed, "the runtime has ended"))?;
                let Some(envelope) = parcel.take().and_then(|outward| of_session(outward, session)) else { continue };
                match printer.show(&envelope) {
                    // A terminal that was closed takes nothing more.
                    Err(_) if interrupted => return Ok(Exit::Interrupted),
                    shown => shown?,
                }
                let heard = match asker.hear(&envelope.event) {
                    Err(_) if interrupted => None,
                    heard => heard?,
                };
                if let Some((approval, answer)) = heard {
                    wired.runtime.decide(session, &approval, answer);
                }
                if let Some(exit) = course.take(&envelope) {
                    return Ok(exit);
                }
            }
            recv(asker.lines()) -> line => {
                let answers = match line {
                    Ok(line) => asker.answer(&line)?.into_iter().collect(),
                    Err(_) => asker.give_up(),
                };
                for (approval, answer) in answers {
                    wired.runtime.decide(session, &approval, answer);
                }
            }
            recv(seconds) -> _ => match printer.tick() {
                Err(_) if interrupted => return Ok(Exit::Interrupted),
                shown => shown?,
            },
            recv(signals) -> signal => {
                let Ok(signal) = signal else { return Ok(Exit::Interrupted) };
                if interrupted {
                    return Ok(Exit::Interrupted);
                }
                interrupted = true;
                wired.runtime.cancel(session);
                // The terminal may be what is gone; the events may go elsewhere.
                let _ = printer.end_line().and_then(|()| announce(signal));
            }
        }
    }
}

fn announce(signal: Signal) -> io::Result<()> {
    let said = match signal {
        Signal::Interrupt => "cancelling; Ctrl-C again ends at once",
        Signal::Terminate => "cancelling, as this process is to end",
    };
    writeln!(anstream::stderr(), "{said}")
}

fn of_session(outward: Outward, session: &SessionId) -> Option<Envelope> {
    match outward {
        Outward::Live(envelope) if envelope.session == *session => Some(envelope),
        // Nobody asks a terminal that has said of nothing that it can do it.
        Outward::Live(_)
        | Outward::Replay { .. }
        | Outward::OptionChanged { .. }
        | Outward::ContextChanged { .. }
        | Outward::Ask(_)
        | Outward::TakeBack(_)
        | Outward::Answer { .. } => None,
    }
}

/// What of a turn decides its exit code.
struct Course {
    turn: TurnId,
    last_call: Option<ToolStatus>,
}

impl Course {
    fn new(turn: TurnId) -> Self {
        Self { turn, last_call: None }
    }

    /// The exit code, once the turn has ended.
    fn take(&mut self, envelope: &Envelope) -> Option<Exit> {
        if envelope.turn != Some(self.turn) {
            return None;
        }
        if let Event::ToolFinished { outcome, .. } = &envelope.event {
            self.last_call = Some(outcome.status);
        }
        if let Event::TurnFinished { stop, .. } = &envelope.event {
            return Some(self.stopped(*stop));
        }
        if let Event::TurnFailed { failure } = &envelope.event {
            let timed_out = failure.class == ErrorClass::Timeout;
            return Some(if timed_out { Exit::TimedOut } else { Exit::Failed });
        }
        None
    }

    fn stopped(&self, stop: StopReason) -> Exit {
        match stop {
            // The model tried nothing more after a refusal.
            StopReason::EndTurn if self.last_call == Some(ToolStatus::Denied) => Exit::Refused,
            StopReason::EndTurn => Exit::Done,
            StopReason::MaxTokens
            | StopReason::MaxSteps
            | StopReason::Budget
            | StopReason::Refusal
            | StopReason::NotDone => Exit::Failed,
            StopReason::Cancelled => Exit::Interrupted,
        }
    }
}

#[cfg(test)]
mod tests {
    use agent_core::event::{Failure, ToolOutcome, ToolOutput};
    use agent_core::id::ToolCallId;
    use agent_core::provider::Usage;

    use super::*;

    fn call(status: ToolStatus) -> Event {
        Event::ToolFinished {
            id: ToolCallId::from("c"),
            outcome: ToolOutcome {
                status,
                output: ToolOutput::default(),
            },
        }
    }

    fn finished(stop: StopReason) -> Event {
        Event::TurnFinished {
            stop,
            usage: Usage::default(),
        }
    }

    fn failed(class: ErrorClass) -> Event {
        Event::TurnFailed {
            failure: Failure::new(class, ""),
        }
    }

    fn check(events: Vec<Event>, expect: Option<Exit>) {
        let mut course = Course::new(TurnId(2));
        let shown = format!("{events:?}");
        let exit = events.into_iter().find_map(|event| {
            course.take(&Envelope {
                session: "s".into(),
                turn: Some(TurnId(2)),
                seq: 1,
                event,
            })
        });
        assert_eq!(exit, expect, "{shown}");
    }

    #[test]
    fn the_exit_code_says_how_the_turn_went() {
        use StopReason::{Cancelled, EndTurn, MaxSteps, MaxTokens, NotDone, Refusal};
        use ToolStatus::{Completed, Denied, Failed};
        check(vec![finished(EndTurn)], Some(Exit::Done));
        check(vec![call(Failed), finished(EndTurn)], Some(Exit::Done));
        check(vec![call(Denied), finished(EndTurn)], Some(Exit::Refused));
        check(vec![call(Denied), call(Completed), finished(EndTurn)], Some(Exit::Done));
        check(
            vec![call(Completed), call(Denied), finished(EndTurn)],
            Some(Exit::Refused),
        );
        check(vec![call(Denied), finished(Cancelled)], Some(Exit::Interrupted));
        check(vec![finished(MaxTokens)], Some(Exit::Failed));
        check(vec![finished(MaxSteps)], Some(Exit::Failed));
        check(vec![finished(Refusal)], Some(Exit::Failed));
        check(vec![finished(NotDone)], Some(Exit::Failed));
        check(vec![failed(ErrorClass::Timeout)], Some(Exit::TimedOut));
        check(vec![failed(ErrorClass::Auth)], Some(Exit::Failed));
        check(vec![call(Completed)], None);
    }

    #[test]
    fn another_turns_end_is_not_ours() {
        let mut course = Course::new(TurnId(2));
        let other = Envelope {
            session: "s".into(),
            turn: Some(TurnId(1)),
            seq: 1,
            event: finished(StopReason::EndTurn),
        };
        assert_eq!(course.take(&other), None);
    }
}
