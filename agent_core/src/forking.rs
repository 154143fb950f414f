//! How a session begins with the past of another one.

use std::sync::Arc;

use crate::engine::Engine;
use crate::id::SessionId;
use crate::opening;
use crate::outward::CallError;
use crate::prompt::Instructions;
use crate::runtime::Folders;
use crate::session::Session;
use crate::store::{ChangeError, Fork, ForkSet};

/// Forks a session, stored or open. It begins as that one is set now, with the same system prompt, so that what a
/// service has cached of the past is found again.
pub(crate) fn fork(
    engine: &Engine,
    from: &SessionId,
    folders: Folders,
    instructions: Option<Instructions>,
) -> Result<Arc<Session>, CallError> {
    let roots = opening::check(&folders)?;
    let open = engine.session(from);
    if let Some(session) = &open
        && session.line.last_seq() == 0
    {
        return fork_of_nothing(engine, session, folders, instructions);
    }
    let set = open.map(|session| {
        let settings = session.settings();
        ForkSet {
            mode: settings.mode,
            model: settings.provider.model().name.clone(),
            thought: settings.thought,
        }
    });
    let record = engine.store.fork(Fork {
        from: from.clone(),
        upto: None,
        id: SessionId::new(),
        source: engine.source.to_owned(),
        folders: Some((folders.cwd.clone(), folders.extra_roots.clone())),
        set,
    })?;
    let session = opening::restore(engine, &record, folders, roots)?;
    session.change_standing(|standing| standing.instruct(instructions));
    Ok(engine.insert(session))
}

/// A session that was never prompted, or whose first turn has stored nothing yet, has no past; what it is set to is all
/// there is.
fn fork_of_nothing(
    engine: &Engine,
    from: &Session,
    folders: Folders,
    instructions: Option<Instructions>,
) -> Result<Arc<Session>, CallError> {
    let instructions = instructions.or_else(|| from.standing().instructions);
    let session = opening::create(engine, folders, instructions)?;
    let settings = from.settings();
    session.change_settings(|own| {
        own.mode = settings.mode;
        own.provider = settings.provider;
        own.model_is_chosen = settings.model_is_chosen;
        own.thought = settings.thought;
    });
    Ok(session)
}

impl From<ChangeError> for CallError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Unknown(session) => Self::UnknownSession(session),
            ChangeError::Held(held) => Self::Held { pid: held.pid },
            ChangeError::NotNow(reason) => Self::Store(reason),
            ChangeError::Store(error) => error.into(),
        }
    }
}
