//! `agent acp --check`: what a session would need, each in a line. It serves nothing, and asks the model one word.

use agent_core::setup::Setup;

use crate::args::PreferArgs;
use crate::checks::{self, Sheet, State};
use crate::credentials::Environment;
use crate::exit::{Exit, Fail};
use crate::paths::{NoHome, Paths};
use crate::setup_port::UserSetup;

/// Checks all and says each; the exit code is 1 if anything is missing.
pub(crate) fn check(prefer: PreferArgs, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let setup = UserSetup::new(paths.ok().cloned(), Environment::real());
    let mut sheet = Sheet::new(false);
    sheet.add(checks::configuration(&setup, paths))?;
    let keys = paths.map(|paths| checks::keys_file(&setup, paths));
    sheet.add_all(keys.ok().filter(|keys| keys.state != State::Ok))?;
    if let Ok(config) = setup.config() {
        let model = prefer.model.unwrap_or_else(|| config.model.clone());
        let credentials = checks::credentials(&setup, &config, &model.provider, State::Failed);
        let may_ask = !credentials.is_failure();
        sheet.add(credentials)?;
        // Without them the model's line could only tell the same fault again.
        if may_ask {
            sheet.add(checks::answers(&setup, &config, &model))?;
        }
    }
    sheet.add(checks::opens(paths))?;
    sheet.end()
}
