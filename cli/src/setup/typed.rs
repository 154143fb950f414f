//! Lines that a person types in answer to a question. An answer that makes no sense is asked for again, with the
//! reason; the end of the input ends the questions, as Esc does.

use std::io::{self, BufRead, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::exit::{Exit, Fail};

/// Whether the line is seen while it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Echo {
    /// It is.
    On,
    /// It is not: a key.
    Off,
}

/// What a person leaves with, before Enter.
const ESC: &str = "\u{1b}";

/// Asks until `check` takes the answer; its error is the reason that the person reads. Who leaves, by the end of the input
/// or by Esc, has answered nothing.
pub(super) fn ask<T>(
    lines: &mut dyn BufRead,
    side: &mut dyn Write,
    prompt: &str,
    echo: Echo,
    mut check: impl FnMut(&str) -> Result<T, String>,
) -> Result<T, Fail> {
    loop {
        write!(side, "{prompt}: ")?;
        side.flush()?;
        let Some(line) = line(lines, echo)?.filter(|line| line != ESC) else {
            writeln!(side)?;
            return Err(Fail::new(Exit::Interrupted, "nothing was saved"));
        };
        match check(&line) {
            Ok(answer) => return Ok(answer),
            Err(why) => writeln!(side, "{why}")?,
        }
    }
}

/// The next line; none at the end of the input.
fn line(lines: &mut dyn BufRead, echo: Echo) -> Result<Option<String>, Fail> {
    let unseen = match echo {
        Echo::On => None,
        Echo::Off => Unseen::begin(),
    };
    let mut line = String::new();
    let read = lines.read_line(&mut line);
    drop(unseen);
    match read {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(line.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Some("\u{fffd}".to_owned())),
        Err(error) => Err(Fail::new(
            Exit::Failed,
            format!("can't read the answer ({error}); nothing was saved"),
        )),
    }
}

/// The terminal without its echo; dropping it brings the echo back.
struct Unseen(Termios);

impl Unseen {
    /// None where stdin is no terminal, so that nothing is shown in any case.
    fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut unseen = before.clone();
        unseen.local_modes.remove(LocalModes::ECHO);
        // The end of the line is no secret, and what follows begins on its own.
        unseen.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &unseen).ok()?;
        Some(Self(before))
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // Nothing else can be done about a terminal that is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn asked(typed: &[u8]) -> (Result<u8, Fail>, String) {
        let mut side = Vec::new();
        let check = |answer: &str| answer.parse().map_err(|_| format!("`{answer}` is no number"));
        let answer = ask(&mut &typed[..], &mut side, "How many", Echo::On, check);
        (answer, String::from_utf8(side).unwrap())
    }

    #[test]
    fn an_answer_that_makes_no_sense_is_asked_for_again() {
        let (answer, side) = asked(b"twelf\n\xff\n 12 \n7\n");
        assert_eq!(answer.ok(), Some(12));
        assert_eq!(
            side,
            "How many: `twelf` is no number\nHow many: `\u{fffd}` is no number\nHow many: "
        );
    }

    #[test]
    fn the_end_of_the_input_and_esc_end_the_questions() {
        for typed in [&b""[..], b"x\n", b"\x1b\n7\n"] {
            let fail = asked(typed).0.err().unwrap();
            assert_eq!(fail.exit, Exit::Interrupted);
            assert!(fail.error.to_string().contains("nothing was saved"), "{}", fail.error);
        }
    }
}
