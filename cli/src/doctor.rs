//! `agent doctor`: looks at the whole installation, and says of each fault how to mend it. It changes nothing but what
//! opening the store does.

use std::collections::BTreeSet;
use std::thread;

use agent_core::config::Config;
use agent_core::provider::ModelRef;
use agent_core::setup::Setup;

use crate::args::DoctorArgs;
use crate::checks::{self, Finding, Folders, Sheet, State};
use crate::credentials::Environment;
use crate::exit::{Exit, Fail};
use crate::paths::{NoHome, Paths};
use crate::service::{self, Backend};
use crate::setup_port::UserSetup;

/// Makes all checks; the exit code is 1 if one has failed.
pub(crate) fn doctor(args: &DoctorArgs, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let environment = Environment::real();
    let setup = UserSetup::new(paths.ok().cloned(), environment.clone());
    let mut sheet = Sheet::new(args.json);
    sheet.add(checks::platform())?;
    sheet.add(checks::version())?;
    sheet.add_all(checks::tools())?;
    sheet.add_all(files(paths))?;
    sheet.add(checks::configuration(&setup, paths))?;
    if let Ok(paths) = paths {
        sheet.add(checks::keys_file(&setup, paths))?;
    }
    let config = setup.config().ok();
    let known = config.clone().unwrap_or_default();
    sheet.add(checks::sandbox(&known))?;
    sheet.add(checks::certificates(&known, is_far(&known), &environment))?;
    sheet.add(checks::proxies(&environment))?;
    if let Some(config) = &config {
        models(&mut sheet, &setup, config, args.offline)?;
    }
    if !args.offline {
        sheet.add(checks::local_servers(&setup))?;
        sheet.add_all(checks::mcp_servers(
            &setup,
            &known,
            &paths.map(Paths::forbidden).unwrap_or_default(),
        ))?;
    }
    sheet.end()
}

/// The folders and what is in them. Their modes are looked at first, since the store tightens them.
fn files(paths: Result<&Paths, NoHome>) -> Vec<Finding> {
    let Ok(known) = paths else {
        return checks::store_and_sessions(paths);
    };
    let folders = Folders::before(known);
    let stored = checks::store_and_sessions(paths);
    let folders = folders.findings();
    folders.into_iter().chain(stored).chain([checks::log(known)]).collect()
}

/// Whether the default model is beyond this machine.
fn is_far(config: &Config) -> bool {
    match service::resolve(&config.model.provider, config) {
        Ok(Backend::Remote(remote)) => !remote.is_here,
        Ok(Backend::Offline | Backend::Script(_)) | Err(_) => false,
    }
}

/// The keys of the default model and of those behind it, and whether these answer. All are asked side by side.
fn models(sheet: &mut Sheet, setup: &UserSetup, config: &Config, offline: bool) -> Result<(), Fail> {
    let mut keyless = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for model in std::iter::once(&config.model).chain(&config.fallback_models) {
        if seen.insert(&model.provider) {
            let missing = if seen.len() == 1 { State::Failed } else { State::Warning };
            let finding = checks::credentials(setup, config, &model.provider, missing);
            if finding.state != State::Ok {
                keyless.insert(&model.provider);
            }
            sheet.add(finding)?;
        }
    }
    // Without a key the model's line could only tell the same fault again.
    let is_skipped = |model: &ModelRef| offline && needs_network(config, model);
    let may_ask = |model: &&ModelRef| !keyless.contains(&model.provider) && !is_skipped(model);
    let default = Some(&config.model).filter(may_ask);
    let fallbacks = config.fallback_models.iter().filter(may_ask);
    let found: Vec<Finding> = thread::scope(|scope| {
        let default = default.map(|model| scope.spawn(move || checks::answers(setup, config, model)));
        let fallbacks = fallbacks.map(|model| scope.spawn(move || checks::fallback_answers(setup, config, model)));
        let asked: Vec<_> = default.into_iter().chain(fallbacks).collect();
        let found = asked
            .into_iter()
            .map(|thread| thread.join().expect("a check doesn't panic"));
        found.collect()
    });
    Ok(sheet.add_all(found)?)
}

fn needs_network(config: &Config, model: &ModelRef) -> bool {
    matches!(service::resolve(&model.provider, config), Ok(Backend::Remote(_)))
}
