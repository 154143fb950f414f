//! The open question about a call, and what its answers mean.

use std::time::Instant;

use crate::approval::{ApprovalOption, DecidedBy, Decision, Grant, OptionKind, UserAnswer};
use crate::id::ApprovalId;

pub(super) const CLOSED: &str = "Not run: the question whether it may run was closed, and the turn with it.";
pub(super) const UNANSWERED: &str =
    "Not run: nobody answered the question whether it may run. That is no refusal by the user.";

/// A question that waits for its answer.
pub(super) struct Question {
    pub(super) approval: ApprovalId,
    pub(super) options: Vec<ApprovalOption>,
    pub(super) deadline: Option<Instant>,
}

/// What the model is told of a rejected call.
pub(super) fn rejection(by: DecidedBy) -> &'static str {
    match by {
        DecidedBy::User => {
            "The user refused this call. Don't try to reach the same in another way; ask or go on without."
        }
        DecidedBy::Timeout | DecidedBy::Cancel | DecidedBy::Default => {
            "Not run: the answer to the question whether it may run made no sense, which counts as a refusal."
        }
    }
}

/// What an answer means. Whatever is not an option that was offered is a rejection.
pub(super) fn decide<'o>(
    options: &'o [ApprovalOption],
    answer: &UserAnswer,
) -> (Decision, DecidedBy, Option<&'o Grant>) {
    match answer {
        UserAnswer::Cancelled => (Decision::Cancelled, DecidedBy::User, None),
        UserAnswer::Invalid => (Decision::Rejected, DecidedBy::Default, None),
        UserAnswer::Nobody => (Decision::Unanswered, DecidedBy::Default, None),
        UserAnswer::Chose(kind) => match options.iter().find(|option| option.kind == *kind) {
            None => (Decision::Rejected, DecidedBy::Default, None),
            Some(option) => match option.kind {
                OptionKind::AllowOnce => (Decision::Allowed, DecidedBy::User, None),
                OptionKind::AllowAlways => (Decision::AllowedAlways, DecidedBy::User, option.grant.as_ref()),
                OptionKind::RejectOnce => (Decision::Rejected, DecidedBy::User, None),
            },
        },
    }
}
