//! The questions of setup at the terminal. Without one, each is an error that names its flag.

use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, IsTerminal};

use agent_core::config::Config;
use agent_core::provider::ModelRef;
use agent_core::visible;
use dialoguer::console::{Term, truncate_str};
use dialoguer::{Confirm, FuzzySelect, Select};
use parking_lot::Mutex;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use secrecy::SecretString;

use super::answer::{self, checked_key};
use super::offer::Offer;
use super::tell;
use super::typed::{self, Echo};
use crate::exit::{Exit, Fail};
use crate::{signals, terminal};

/// Rows of a list that are shown at once.
const ROWS: usize = 15;

/// Asks, if there is somebody to ask.
pub(super) struct Questions {
    /// What the person types; none if nobody is there.
    typed: Option<RefCell<Box<dyn BufRead>>>,
}

impl Questions {
    /// Asks where stdin and stderr are a terminal.
    pub(super) fn at_terminal() -> Self {
        let at_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if !at_terminal {
            return Self { typed: None };
        }
        mend_on_signal();
        Self::typed(BufReader::new(std::io::stdin()))
    }

    /// Asks whoever types these lines.
    pub(super) fn typed(lines: impl BufRead + 'static) -> Self {
        Self {
            typed: Some(RefCell::new(Box::new(lines))),
        }
    }

    /// Nobody is there to ask.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { typed: None }
    }

    /// Whether somebody is there to ask.
    pub(super) fn can_ask(&self) -> bool {
        self.typed.is_some()
    }

    fn or_flag(&self, flag: &str) -> Result<&RefCell<Box<dyn BufRead>>, Fail> {
        let nobody = || Fail::usage(format!("there is no terminal to ask at: give {flag}"));
        self.typed.as_ref().ok_or_else(nobody)
    }

    /// Asks for a line until `check` takes it; without a terminal it is a flag that is missing.
    fn line<T>(
        &self,
        flag: &str,
        prompt: &str,
        echo: Echo,
        check: impl FnMut(&str) -> Result<T, String>,
    ) -> Result<T, Fail> {
        let mut lines = self.or_flag(flag)?.borrow_mut();
        typed::ask(&mut **lines, &mut terminal::stderr(), prompt, echo, check)
    }

    /// Which service, of those that are offered.
    pub(super) fn provider(&self, config: &Config, offers: impl FnOnce() -> Vec<Offer>) -> Result<String, Fail> {
        self.or_flag("--provider NAME")?;
        let offers = offers();
        let rows = offers.iter().map(|offer| offer.row.clone());
        let rows = rows.chain(["Another one that speaks OpenAI's API".to_owned()]);
        let chosen = choose("Model service", &rows.collect::<Vec<_>>())?;
        match offers.get(chosen) {
            Some(offer) => Ok(offer.name.clone()),
            None => self.name(config),
        }
    }

    /// A name of one's own for a service.
    pub(super) fn name(&self, config: &Config) -> Result<String, Fail> {
        let mut meant = None;
        self.line("--provider NAME", "A name for it", Echo::On, |name| {
            answer::checked_name(name)?;
            // Whoever says the same again means it.
            match answer::near_name(name, config) {
                Some(near) if meant.as_deref() != Some(name) => {
                    meant = Some(name.to_owned());
                    Err(format!(
                        "did you mean `{near}`? Type `{name}` again for a service of that name"
                    ))
                }
                Some(_) | None => Ok(name.to_owned()),
            }
        })
    }

    /// Where an own service is; Enter alone is the address it has now, if it has one.
    pub(super) fn base_url(
        &self,
        provider: &str,
        current: Option<&str>,
        check: &dyn Fn(&str) -> Result<(), Fail>,
    ) -> Result<String, Fail> {
        let prompt = match current {
            Some(current) => format!("URL of {provider}, or Enter to try {current} again"),
            None => format!("URL of {provider}, such as https://api.example.com/v1"),
        };
        self.line("--base-url URL", &prompt, Echo::On, |url| match (url, current) {
            ("", Some(current)) => Ok(current.to_owned()),
            (url, _) => checked_address(url, check),
        })
    }

    /// Whether a stored key stays. Without a terminal it does.
    pub(super) fn keep_key(&self, variable: &str) -> Result<bool, Fail> {
        if !self.can_ask() {
            return Ok(true);
        }
        confirm(&format!("Keep the stored {variable}?"), true)
    }

    /// Whether a key that was for one address may go to another. Without a terminal the flag must say so.
    pub(super) fn send_key(&self, variable: &str, before: &str, now: &str) -> Result<bool, Fail> {
        if !self.can_ask() {
            return Err(Fail::usage(format!(
                "{variable} is the key for {before}: give --key-env {variable} to send it to {now}, else --key-stdin"
            )));
        }
        confirm(&format!("{variable} is the key for {before}. Send it to {now}?"), false)
    }

    /// The key, unseen.
    pub(super) fn key(&self, provider: &str, variable: &str) -> Result<SecretString, Fail> {
        let flag = format!("--key-stdin or --key-env NAME, or set {variable}");
        let prompt = format!("Key for {provider} (not shown)");
        self.line(&flag, &prompt, Echo::Off, checked_key)
    }

    /// The key of a service that may do without, unseen.
    pub(super) fn key_if_any(&self, provider: &str) -> Result<Option<SecretString>, Fail> {
        let prompt = format!("Key for {provider} (not shown), or Enter for none");
        self.line("--key-stdin", &prompt, Echo::Off, |key| match key {
            "" => Ok(None),
            key => checked_key(key).map(Some),
        })
    }

    /// Which model, from those that the service offers.
    pub(super) fn model(&self, offered: &[String], current: Option<&str>) -> Result<String, Fail> {
        self.or_flag("--model MODEL")?;
        if offered.is_empty() {
            return self.model_by_name();
        }
        let (now, others): (Vec<&String>, Vec<&String>) =
            offered.iter().partition(|model| current == Some(model.as_str()));
        let models: Vec<&String> = now.into_iter().chain(others).collect();
        let other = "Another one".to_owned();
        let rows: Vec<String> = models.iter().copied().cloned().chain([other]).collect();
        let chosen = search("Model", &rows)?;
        match models.get(chosen) {
            Some(model) => Ok(model.to_string()),
            None => self.model_by_name(),
        }
    }

    /// Which model, by the service's name for it.
    pub(super) fn model_by_name(&self) -> Result<String, Fail> {
        self.line("--model MODEL", "Model", Echo::On, |model| match model {
            "" => Err("a model's name, as the service has it".to_owned()),
            model => Ok(model.to_owned()),
        })
    }

    /// What to do about a model that has not answered; it may be saved `unchecked`.
    pub(super) fn another(
        &self,
        unchecked: Option<&ModelRef>,
        check_address: &dyn Fn(&str) -> Result<(), Fail>,
    ) -> Result<Another, Fail> {
        let prompt = match unchecked {
            Some(model) => format!("Another model, another address, or Enter to save {model} unchecked"),
            None => "Another model, or another address".to_owned(),
        };
        self.line("--model MODEL", &prompt, Echo::On, |typed| match (typed, unchecked) {
            ("", Some(_)) => Ok(Another::Unchecked),
            ("", None) => Err("a model's name, as the service has it, or a URL".to_owned()),
            (url, _) if url.contains("://") => checked_address(url, check_address).map(Another::Address),
            (model, _) => Ok(Another::Model(model.to_owned())),
        })
    }
}

/// What a person does about a model that has not answered.
pub(super) enum Another {
    /// Asks another one.
    Model(String),
    /// Asks at another address.
    Address(String),
    /// Saves it all the same.
    Unchecked,
}

fn checked_address(url: &str, check: &dyn Fn(&str) -> Result<(), Fail>) -> Result<String, String> {
    match check(url) {
        Ok(()) => Ok(url.to_owned()),
        Err(fail) => Err(fail.error.to_string()),
    }
}

/// The row of a menu that the person takes.
fn choose(what: &str, rows: &[String]) -> Result<usize, Fail> {
    let rows = shown(rows);
    tell("(arrow keys and Enter choose, Esc leaves)")?;
    let chosen = Select::new()
        .with_prompt(what)
        .items(&rows)
        .default(0)
        .max_length(ROWS)
        .report(false)
        .interact_opt();
    let row = taken(chosen)?;
    tell(&format!("{what}: {}", rows[row]))?;
    Ok(row)
}

/// The row of a long menu that the person takes, perhaps after typing a part of it.
fn search(what: &str, rows: &[String]) -> Result<usize, Fail> {
    let shown = shown(rows);
    tell("(typing searches, arrow keys and Enter choose, Esc leaves)")?;
    let chosen = FuzzySelect::new()
        .with_prompt(what)
        .items(&shown)
        .default(0)
        .max_length(ROWS)
        .report(false)
        .interact_opt();
    let row = taken(chosen)?;
    tell(&format!("{what}: {}", visible::line(&rows[row])))?;
    Ok(row)
}

/// The rows as they are shown: what a service calls its models must not move the cursor, and a menu whose lines break is
/// drawn anew below itself with each key.
fn shown(rows: &[String]) -> Vec<String> {
    /// What stands before a row, and one column that stays free.
    const BESIDE: usize = 3;
    let (_, columns) = Term::stderr().size();
    let width = usize::from(columns).saturating_sub(BESIDE);
    let shown = |row: &String| truncate_str(&visible::line(row), width, "…").into_owned();
    rows.iter().map(shown).collect()
}

fn confirm(question: &str, default: bool) -> Result<bool, Fail> {
    let answer = Confirm::new()
        .with_prompt(question)
        .default(default)
        .report(false)
        .interact_opt();
    let answer = taken(answer)?;
    tell(&format!("{question} {}", if answer { "yes" } else { "no" }))?;
    Ok(answer)
}

/// What was chosen; whoever chose nothing has left.
fn taken<T>(chosen: dialoguer::Result<Option<T>>) -> Result<T, Fail> {
    match chosen {
        Ok(Some(chosen)) => Ok(chosen),
        Ok(None) => leave(),
        Err(dialoguer::Error::IO(error)) if error.kind() == io::ErrorKind::Interrupted => leave(),
        Err(error) => {
            let _ = Term::stderr().show_cursor();
            let message = format!("can't ask at this terminal ({error}); nothing was saved");
            Err(Fail::new(Exit::Failed, message))
        }
    }
}

/// Ends the process at a signal with the terminal as it was: a question for a key hides what is typed.
fn mend_on_signal() {
    let before = tcgetattr(std::io::stdin()).ok();
    let listening = signals::listen(move |_| {
        if let Some(before) = &before {
            // Nothing else can be done about a terminal that is gone.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
        leave();
    });
    if let Err(error) = listening {
        tracing::warn!("can't listen to signals, so that Ctrl-C may leave the terminal without echo: {error}");
    }
}

/// Ends the process because the person wants no more. A menu hears Ctrl-C too, beside the thread of the signals: the
/// first of them speaks and ends both.
fn leave() -> ! {
    static SPEAKS: Mutex<()> = Mutex::new(());
    let _speaks = SPEAKS.lock();
    // A menu hides it.
    let _ = Term::stderr().show_cursor();
    let _ = tell("\nnothing was saved");
    std::process::exit(Exit::Interrupted.code().into());
}
