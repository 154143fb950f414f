//! Breakpoints: up to where the service keeps a prompt for the next request. It takes four at most; one stands behind
//! the tools, one behind the system prompt, and two move on with the conversation.

use serde::Serialize;

use super::turn::{Role, Turn};

/// Keep the prompt up to here.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Breakpoint {
    Ephemeral,
}

/// Marks the end of the conversation, and where the request before this one ended: the service looks back from a
/// breakpoint over a few blocks only, and a step with many calls has more.
pub(super) fn mark(turns: &mut [Turn<'_>]) {
    let Some((last, before)) = turns.split_last_mut() else {
        return;
    };
    mark_turn(last);
    if let Some(previous) = before.iter_mut().rfind(|turn| turn.role == Role::User) {
        mark_turn(previous);
    }
}

/// A thought can bear no breakpoint.
fn mark_turn(turn: &mut Turn<'_>) {
    if let Some(block) = turn.content.iter_mut().rfind(|block| !block.is_thought()) {
        block.cache_control = Some(Breakpoint::Ephemeral);
    }
}
