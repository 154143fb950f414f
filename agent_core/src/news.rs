//! What a session's model has not been told yet.

use crate::prompt::{Facts, changed};
use crate::session::Session;
use crate::settings::Settings;

/// What the model is told with its next message.
pub(crate) struct News {
    /// What has changed, in words for it.
    pub(crate) note: String,
    /// All that it knows then.
    pub(crate) facts: Facts,
}

/// What has changed since the model was last told.
pub(crate) fn news(session: &Session, settings: &Settings) -> Option<News> {
    let scope = settings.scope(&session.id);
    let model = settings.provider.model().name.clone();
    let rules = settings.workspace.rules();
    let facts = Facts::new(settings.mode, model, &scope, &rules);
    let before = session.change_standing(|standing| standing.told.replace(facts.clone()))?;
    let note = changed(&before, &facts, &scope, &rules)?;
    Some(News { note, facts })
}
