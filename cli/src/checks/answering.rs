//! Whether models answer, which is known only by asking them.

use agent_core::config::Config;
use agent_core::provider::ModelRef;
use agent_core::setup::Setup;

use super::Finding;
use crate::local::{self, LocalServer};
use crate::probe::{self, probe};
use crate::service::{self, Backend};
use crate::setup_port::UserSetup;
use crate::survey::counted;

/// Whether the default model answers.
pub(crate) fn answers(setup: &UserSetup, config: &Config, model: &ModelRef) -> Finding {
    match asked(setup, config, model) {
        Ok(fine) => Finding::ok("model", fine),
        Err(fault) => Finding::failed("model", fault),
    }
}

/// Whether a fallback model answers. It is only needed when another one doesn't.
pub(crate) fn fallback_answers(setup: &UserSetup, config: &Config, model: &ModelRef) -> Finding {
    match asked(setup, config, model) {
        Ok(fine) => Finding::ok("fallback", fine),
        Err(fault) => Finding::warning("fallback", fault),
    }
}

/// The built-in models are not asked: nothing of them can be wrong but their name.
fn asked(setup: &UserSetup, config: &Config, model: &ModelRef) -> Result<String, String> {
    let backend = service::resolve(&model.provider, config).map_err(|error| error.to_string())?;
    let provider = setup.provider(config, model).map_err(|error| error.to_string())?;
    match backend {
        Backend::Offline => Ok(format!(
            "{model} is built in, and no language model: `agent setup` chooses one"
        )),
        Backend::Script(path) => Ok(format!("{model} plays {}", path.display())),
        Backend::Remote(_) => match probe(provider.as_ref(), probe::PATIENCE) {
            Ok(answered) => Ok(format!("{model}: {answered}")),
            Err(failure) => Err(format!("{model}: {}", failure.message)),
        },
    }
}

/// The model servers on this machine, whether they are configured or not.
pub(crate) fn local_servers(setup: &UserSetup) -> Finding {
    const CHECK: &str = "local servers";
    let places = local::usual_places();
    let found = match setup.http().handle() {
        Ok(handle) => local::find(&places, local::PATIENCE, &handle),
        Err(error) => return Finding::failed(CHECK, error),
    };
    let said = |server: &LocalServer| {
        let place = &server.place;
        format!("{} at {}, {}", place.name, place.base_url, counted(server.models.len()))
    };
    match found.as_slice() {
        [] => {
            let asked: Vec<&str> = places.iter().map(|place| place.base_url.as_str()).collect();
            Finding::ok(CHECK, format!("none answers at {}", asked.join(", ")))
        }
        found => Finding::ok(CHECK, found.iter().map(said).collect::<Vec<_>>().join("; ")),
    }
}
