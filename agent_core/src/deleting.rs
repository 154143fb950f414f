//! How a session goes for good: closed first, if it is open, and then taken out of the store.

use std::sync::Arc;

use crate::engine::Engine;
use crate::id::SessionId;
use crate::outward::{Answer, CallError, CallId};
use crate::store::StoreError;

/// Deletes a session and answers the call.
pub(crate) fn delete(engine: &Arc<Engine>, call: CallId, id: SessionId) {
    let Some(session) = engine.session(&id) else {
        // What can't be read can't be taken out either.
        if let Err(error @ StoreError::Unread { .. }) = engine.store.session(&id) {
            return engine.answer(call, Err(error.into()));
        }
        return engine.answer(call, remove(engine, &id));
    };
    // What another process works in stays, and stays open here too.
    match engine.store.held_by_other(&id) {
        Ok(Some(held)) => return engine.answer(call, Err(CallError::Held { pid: held.pid })),
        Ok(None) => {}
        Err(error) => return engine.answer(call, Err(error.into())),
    }
    let (last, deleted) = (engine.clone(), id.clone());
    let last = Box::new(move || last.answer(call, remove(&last, &deleted)));
    match session.close_with(last) {
        None => engine.let_go(&session),
        // What was asked for while it closes is done in that order.
        Some(_) => {
            let engine = engine.clone();
            session.after_closing(Box::new(move || delete_later(&engine, call, id)));
        }
    }
}

fn delete_later(engine: &Arc<Engine>, call: CallId, id: SessionId) {
    let (own, of) = (engine.clone(), id.clone());
    let work = move |engine: &Arc<Engine>, call| {
        delete(engine, call, id);
        None
    };
    engine.queue_on(of, Box::new(move || own.do_call(call, work)));
}

fn remove(engine: &Engine, id: &SessionId) -> Result<Answer, CallError> {
    engine.store.delete(id)?;
    Ok(Answer::Deleted)
}
