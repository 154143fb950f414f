//! `/context`: how full the model's context is, and what the session has cost.

use crate::budget;
use crate::engine::Engine;
use crate::history::History;
use crate::provider;
use crate::session::Session;
use crate::store::StoreError;

/// The numbers, in a line.
pub(super) fn answer(engine: &Engine, session: &Session) -> Result<String, StoreError> {
    let mut history = History::read(&engine.store, &session.id)?;
    let (user, model, tools) = history.counts();
    let (standing, settings) = (session.standing(), session.settings());
    let used = match standing.context {
        Some(context) if context.used > 0 => context.used,
        _ if history.messages().is_empty() => 0,
        _ => {
            let system = standing.system.unwrap_or_default();
            history.tokens(provider::fixed_size(&system, &settings.specs()))
        }
    };
    let window = settings.provider.model().context_window;
    let used = match window {
        Some(window) => format!("About {used} of {window} tokens."),
        None => format!("About {used} tokens; how many the model's context holds is unknown."),
    };
    let spent = session.standing().spent_nano_usd.map(budget::dollars);
    let cost = spent.map_or_else(String::new, |spent| format!(" The session has cost ${spent:.4}."));
    Ok(format!(
        "{used} Messages: {user} of yours, {model} of the model, {tools} results of tools.{cost}"
    ))
}
