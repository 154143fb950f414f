//! What `/mode`, `/thought` and `/model` have to choose from, as Markdown.

use crate::approval::Mode;
use crate::provider::{ModelRef, ThoughtLevel};
use crate::session::Session;

/// How a person names the level that the service chooses itself.
const AS_THE_SERVICE_HAS_IT: &str = "default";

/// The modes, with the one that is set.
pub(super) fn modes(session: &Session) -> String {
    let now = session.settings().mode;
    let line = |mode: Mode| {
        let mark = if mode == now { " (now)" } else { "" };
        format!("- `{}`{mark}: {}\n", mode.id(), mode.description())
    };
    Mode::ALL.into_iter().map(line).collect()
}

/// The level that an argument names, as options are set.
pub(super) fn thought_level(argument: &str) -> Option<&str> {
    (argument != AS_THE_SERVICE_HAS_IT).then_some(argument)
}

/// The levels of thought.
pub(super) fn thought(session: &Session) -> String {
    let now = session.settings().thought;
    let line = |level: Option<ThoughtLevel>| {
        let mark = if level == now { " (now)" } else { "" };
        match level {
            Some(level) => format!("- `{}`{mark}\n", level.id()),
            None => format!("- `{AS_THE_SERVICE_HAS_IT}`{mark}: as the service has it\n"),
        }
    };
    let levels = ThoughtLevel::ALL.into_iter().map(Some);
    std::iter::once(None).chain(levels).map(line).collect()
}

/// The models.
pub(super) fn models(session: &Session) -> String {
    let view = session.view();
    let line = |model: &ModelRef| {
        let mark = if *model == view.model { " (now)" } else { "" };
        format!("- `{model}`{mark}\n")
    };
    view.models.iter().map(line).collect()
}
