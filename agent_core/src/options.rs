//! Setting a session's options, from a surface or by a slash command.

use crate::approval::Mode;
use crate::engine::Engine;
use crate::event::SessionChange;
use crate::id::TurnId;
use crate::outward::CallError;
use crate::provider::{ModelRef, ThoughtLevel};
use crate::session::Session;
use crate::settings::Standing;
use crate::setup::SetupError;

/// Sets the mode by its id. What runs already goes on by the mode it was judged in.
pub(crate) fn set_mode(session: &Session, turn: Option<TurnId>, id: &str) -> Result<(), CallError> {
    let mode: Mode = id
        .parse()
        .map_err(|error: crate::approval::NotAMode| CallError::BadOption {
            field: "mode",
            message: error.to_string(),
        })?;
    session.change_settings(|settings| settings.mode = mode);
    tell(session, turn, SessionChange::Mode(mode));
    Ok(())
}

/// Sets the model by its full name, or by the service's name where only one provider has it. The next step asks it.
pub(crate) fn set_model(engine: &Engine, session: &Session, turn: Option<TurnId>, name: &str) -> Result<(), CallError> {
    let settings = session.settings();
    let model = find(&settings.models, name)?;
    // One that was opened before is no slip.
    let is_known = settings.provider.model().name == model || engine.preferences.model.as_ref() == Some(&model);
    if let Some(doubt) = engine.setup.doubt(&settings.config, &model).filter(|_| !is_known) {
        return Err(bad(doubt));
    }
    let provider = engine
        .setup
        .provider(&settings.config, &model)
        .map_err(|error| match error {
            SetupError::UnknownModel(message) => bad(message),
            SetupError::NoCredentials { .. } | SetupError::Config(_) => error.into(),
        })?;
    session.change_settings(|settings| {
        settings.provider = provider;
        settings.model_is_chosen = true;
    });
    session.change_standing(Standing::resize_context);
    tell(session, turn, SessionChange::Model(model));
    session.show_context();
    Ok(())
}

/// Sets how much the model should think, from its next step on.
pub(crate) fn set_thought(session: &Session, turn: Option<TurnId>, id: Option<&str>) -> Result<(), CallError> {
    let level = id.map(str::parse::<ThoughtLevel>).transpose();
    let level = level.map_err(|error| CallError::BadOption {
        field: "thought_level",
        message: error.to_string(),
    })?;
    session.change_settings(|settings| settings.thought = level);
    tell(session, turn, SessionChange::Thought(level));
    Ok(())
}

/// Stores the change and shows it.
pub(crate) fn tell(session: &Session, turn: Option<TurnId>, change: SessionChange) {
    session.tell(turn, change.clone());
    session.line.show(change, session.view());
}

fn find(models: &[ModelRef], name: &str) -> Result<ModelRef, CallError> {
    if let Some(model) = models.iter().find(|model| model.to_string() == name) {
        return Ok(model.clone());
    }
    let same: Vec<&ModelRef> = models.iter().filter(|model| model.model == name).collect();
    match (same.as_slice(), name.parse::<ModelRef>()) {
        ([model], _) => Ok((*model).clone()),
        ([], Ok(model)) => Ok(model),
        ([], Err(error)) => Err(bad(error.to_string())),
        (several, _) => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(bad(format!(
                "`{name}` is served by several providers: {}",
                names.join(", ")
            )))
        }
    }
}

fn bad(message: String) -> CallError {
    CallError::BadOption {
        field: "model",
        message,
    }
}
