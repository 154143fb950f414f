//! How a session goes for good: closed first, if it is open, and then taken out of the store.

use std::sync::Arc;

use crate::engine::Engine;
use crate::id::SessionId;
use crate::outward::{Answer, CallError, CallId};

/// Deletes a session and answers the call.
pub(crate) fn delete(engine: &Arc<Engine>, call: CallId, id: SessionId) {
    let Some(session) = engine.session(&id) else {
        return engine.answer(call, remove(engine, &id));
    };
    // What another process works in stays, and stays open here too.
    if let Ok(Some(held)) = engine.store.held_by_other(&id) {
        return engine.answer(call, Err(CallError::Held { pid: held.pid }));
    }
    let last = engine.clone();
    session.close(Box::new(move || last.answer(call, remove(&last, &id))));
    engine.let_go(&session);
}

fn remove(engine: &Engine, id: &SessionId) -> Result<Answer, CallError> {
    engine.store.delete(id)?;
    Ok(Answer::Deleted)
}
