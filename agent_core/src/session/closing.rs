//! A session's way out of memory.

/// Something to be done once a session has gone.
pub(crate) type AfterGone = Box<dyn FnOnce() + Send>;

/// How far a session is on its way out.
#[derive(Default)]
pub(super) enum Closing {
    /// It takes prompts.
    #[default]
    No,
    /// It takes no more; what is to be done once it has gone.
    Waits(Vec<AfterGone>),
    /// It is idle and somebody lets it go.
    Leaves(Vec<AfterGone>),
    /// It is out of memory.
    Gone,
}

impl Closing {
    pub(super) fn has_begun(&self) -> bool {
        !matches!(self, Self::No)
    }

    /// Has something done once the session has gone. It comes back if that can't be waited for: the session is not
    /// closing, or has gone.
    pub(super) fn then(&mut self, after: AfterGone) -> Option<AfterGone> {
        match self {
            Self::Waits(waiting) | Self::Leaves(waiting) => {
                waiting.push(after);
                None
            }
            Self::No | Self::Gone => Some(after),
        }
    }

    /// Begins, if it has not yet.
    pub(super) fn begin(&mut self) {
        if let Self::No = self {
            *self = Self::Waits(Vec::new());
        }
    }

    /// Whether the caller is the one who lets the idle session go.
    pub(super) fn leaves(&mut self) -> bool {
        match self {
            Self::Waits(waiting) => {
                *self = Self::Leaves(std::mem::take(waiting));
                true
            }
            Self::Leaves(_) | Self::No | Self::Gone => false,
        }
    }

    /// The session is out of memory; what was to be done after that.
    pub(super) fn end(&mut self) -> Vec<AfterGone> {
        match std::mem::replace(self, Self::Gone) {
            Self::Waits(after) | Self::Leaves(after) => after,
            Self::No | Self::Gone => Vec::new(),
        }
    }
}
