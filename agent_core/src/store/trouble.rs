//! What keeps something from being written, in words for people: of rows that wait to be saved, and of a change that does
//! not wait.

/// Why something can't be written now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Another program writes.
    Busy {
        /// The database.
        place: String,
    },
    /// The disk is full.
    Full {
        /// The database.
        place: String,
    },
    /// The database could not be opened yet.
    NotOpen {
        /// Why, with what to do.
        why: String,
    },
    /// Something else; it is tried again.
    Fault {
        /// The database.
        place: String,
        /// Why.
        why: String,
    },
    /// Nobody knows yet.
    Slow,
    /// Nothing is written any more.
    GivenUp {
        /// What has happened, and what to do.
        why: String,
    },
}

impl Trouble {
    /// What is said of rows that wait: only a process that goes on can save them later.
    pub(super) fn of_rows(&self) -> String {
        let (what, until) = match self {
            Self::Busy { place } => (
                format!("another program is writing to {place}"),
                "as soon as that program is done",
            ),
            Self::Full { place } => (
                format!("the disk that holds {place} is full"),
                "as soon as there is room",
            ),
            Self::NotOpen { why } => (why.clone(), "as soon as that is done"),
            Self::Fault { place, why } => (format!("can't write to {place} ({why})"), "as soon as that works"),
            Self::Slow => ("writing takes unusually long".to_owned(), "as soon as it can be"),
            Self::GivenUp { why } => return format!("Not saved: {why}"),
        };
        format!("Not saved yet: {what}. It will be saved {until}, while this agent runs.")
    }

    /// What is said of a change that was taken back.
    pub(super) fn of_change(&self) -> String {
        match self {
            Self::Busy { place } => {
                format!(
                    "another program is writing to {place}, so nothing was changed: try again when that program is done"
                )
            }
            Self::Full { place } => {
                format!("the disk that holds {place} is full, so nothing was changed: make room there, then try again")
            }
            Self::NotOpen { why } => format!("nothing was changed: {why}, then try again"),
            Self::Fault { place, why } => {
                format!("can't write to {place} ({why}), so nothing was changed: try again when that is mended")
            }
            Self::Slow => "writing takes unusually long, so nothing was changed: try again later".to_owned(),
            Self::GivenUp { why } => format!("nothing was changed: {why}"),
        }
    }

    /// Whether no other try comes.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::GivenUp { .. })
    }

    /// Whether it is over by itself in a moment, as a rule.
    pub(super) fn is_short(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Slow)
    }
}
