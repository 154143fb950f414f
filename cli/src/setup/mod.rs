//! `agent setup`: chooses a provider and a model, and stores the key. Each question has a flag, so that it also runs
//! without a terminal; nothing is saved until all is answered and the model has answered too.

mod access;
mod answer;
mod interview;
mod offer;
mod piped;
mod questions;
mod save;
mod typed;

use std::io::Write;

use agent_core::config::ProviderConfig;
use agent_core::provider::ModelRef;
use agent_core::setup::Setup;
use secrecy::SecretString;

use crate::args::SetupArgs;
use crate::credentials::Environment;
use crate::exit::{Exit, Fail};
use crate::paths::{NoHome, Paths, write_private};
use crate::setup_port::UserSetup;
use crate::terminal;
use interview::Interview;
use questions::Questions;

/// What is to be saved.
struct Answers {
    provider: String,
    entry: ProviderConfig,
    key: KeyChoice,
    model: String,
}

/// What becomes of a service's key.
enum KeyChoice {
    /// It stays as it is, if there is one.
    Stays,
    /// This one is stored.
    New(NewKey),
    /// The one that is stored under this variable goes.
    Goes(String),
}

/// A key that is to be stored.
struct NewKey {
    variable: String,
    secret: SecretString,
}

/// Asks what the flags leave open, checks, saves.
pub(crate) fn setup(args: SetupArgs, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let paths = paths?;
    let user = UserSetup::new(Some(paths.clone()), Environment::real());
    let interview = Interview {
        args: &args,
        user: &user,
        config: &user.config()?,
        questions: &Questions::at_terminal(),
    };
    save_all(paths, &interview.answers()?)?;
    Ok(Exit::Done)
}

fn save_all(paths: &Paths, answers: &Answers) -> Result<(), Fail> {
    let model = ModelRef {
        provider: answers.provider.clone(),
        model: answers.model.clone(),
    };
    // Worked out first, so that a fault leaves both files as they were.
    let config = save::config_text(&paths.config_file(), &answers.entry, &model)?;
    let env_file = paths.env_file();
    match &answers.key {
        KeyChoice::Stays => {}
        KeyChoice::New(key) => {
            save::key(&env_file, &key.variable, &key.secret)?;
            tell(&format!("stored {} in {}", key.variable, env_file.display()))?;
        }
        KeyChoice::Goes(variable) => {
            save::no_key(&env_file, variable)?;
            tell(&format!("removed {variable} from {}", env_file.display()))?;
        }
    }
    write_private(&paths.config_file(), &config)?;
    tell(&format!("model {model} is set in {}", paths.config_file().display()))?;
    tell("try it: agent run \"hello\"")
}

/// Says something to the person; stdout is left to programs.
fn tell(line: &str) -> Result<(), Fail> {
    Ok(writeln!(terminal::stderr(), "{line}")?)
}

#[cfg(test)]
mod tests;
