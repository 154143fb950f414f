//! The questions of setup at the terminal. Without one, each is an error that names its flag.

use std::io::{self, IsTerminal};

use dialoguer::console::Term;
use dialoguer::{Confirm, Input, Password, Select};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::exit::{Exit, Fail};
use crate::known::KNOWN;
use crate::signals;

/// Rows of a list that are shown at once.
const ROWS: usize = 15;

/// Asks, if there is somebody to ask.
pub(super) struct Questions {
    at_terminal: bool,
}

impl Questions {
    /// Asks where stdin and stderr are a terminal.
    pub(super) fn at_terminal() -> Self {
        let at_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if at_terminal {
            mend_on_signal();
        }
        Self { at_terminal }
    }

    /// Nobody is there to ask.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { at_terminal: false }
    }

    fn or_flag(&self, flag: &str) -> Result<(), Fail> {
        if self.at_terminal {
            return Ok(());
        }
        Err(Fail::usage(format!("there is no terminal to ask at: give {flag}")))
    }

    /// Which service.
    pub(super) fn provider(&self) -> Result<String, Fail> {
        self.or_flag("--provider NAME")?;
        let rows = KNOWN.iter().map(|known| match known.key_env {
            Some(_) => known.title.to_owned(),
            None => format!("{} (on this machine)", known.title),
        });
        let chosen = Select::new()
            .with_prompt("Model service")
            .items(rows.chain(["Another one that speaks OpenAI's API".to_owned()]))
            .default(0)
            .max_length(ROWS)
            .interact()
            .map_err(given_up)?;
        match KNOWN.get(chosen) {
            Some(known) => Ok(known.name.to_owned()),
            None => ask_text("A name for it"),
        }
    }

    /// Where an own service is.
    pub(super) fn base_url(&self, provider: &str) -> Result<String, Fail> {
        self.or_flag("--base-url URL")?;
        ask_text(&format!("URL of {provider}, such as https://api.example.com/v1"))
    }

    /// Whether a stored key stays. Without a terminal it does.
    pub(super) fn keep_key(&self, variable: &str) -> Result<bool, Fail> {
        if !self.at_terminal {
            return Ok(true);
        }
        Confirm::new()
            .with_prompt(format!("Keep the stored {variable}?"))
            .default(true)
            .interact()
            .map_err(given_up)
    }

    /// The key, unseen.
    pub(super) fn key(&self, provider: &str, variable: &str) -> Result<String, Fail> {
        self.or_flag(&format!("--key-stdin or --key-env NAME, or set {variable}"))?;
        Password::new()
            .with_prompt(format!("Key for {provider} (not shown)"))
            .interact()
            .map_err(given_up)
    }

    /// Which model, from those that the service offers.
    pub(super) fn model(&self, offered: &[String], current: Option<&str>) -> Result<String, Fail> {
        self.or_flag("--model MODEL")?;
        if offered.is_empty() {
            return ask_text("Model");
        }
        let default = offered.iter().position(|model| current == Some(model)).unwrap_or(0);
        let chosen = Select::new()
            .with_prompt("Model")
            .items(offered)
            .item("Another one")
            .default(default)
            .max_length(ROWS)
            .interact()
            .map_err(given_up)?;
        match offered.get(chosen) {
            Some(model) => Ok(model.clone()),
            None => ask_text("Model"),
        }
    }
}

/// Ends the process at a signal with the terminal as it was: a question hides the cursor, and that for a key the echo.
fn mend_on_signal() {
    let before = tcgetattr(std::io::stdin()).ok();
    let listening = signals::listen(move |_| {
        if let Some(before) = &before {
            // Nothing else can be done about a terminal that is gone.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
        let _ = Term::stderr().show_cursor();
        std::process::exit(Exit::Interrupted.code().into());
    });
    if let Err(error) = listening {
        tracing::warn!("can't listen to signals, so that Ctrl-C may leave the terminal without echo: {error}");
    }
}

fn ask_text(prompt: &str) -> Result<String, Fail> {
    let text: String = Input::new().with_prompt(prompt).interact_text().map_err(given_up)?;
    Ok(text.trim().to_owned())
}

/// Ctrl-C or a closed terminal in the middle of a question.
fn given_up(error: dialoguer::Error) -> Fail {
    let dialoguer::Error::IO(cause) = &error;
    if cause.kind() == io::ErrorKind::Interrupted {
        return Fail::new(Exit::Interrupted, "nothing was saved");
    }
    Fail::new(
        Exit::Failed,
        format!("can't ask at this terminal ({error}); nothing was saved"),
    )
}
