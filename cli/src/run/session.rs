//! Begins or continues the session that a prompt goes to.

use std::path::Path;

use agent_core::id::SessionId;
use agent_core::outward::{Answer, CallError, CallId, Outward, SessionView};
use agent_core::runtime::{Folders, SetOption};
use agent_core::store::Archived;
use agent_core::visible;
use crossbeam_channel::{Receiver, select};

use crate::args::RunArgs;
use crate::exit::{Exit, Fail};
use crate::sessions;
use crate::signals::Signal;
use crate::wiring::{ListError, Wired};

/// Calls into the runtime whose answers are waited for.
pub(super) struct Calls<'a> {
    /// The runtime and what leaves it.
    pub(super) wired: &'a Wired,
    /// Ends the wait.
    pub(super) signals: &'a Receiver<Signal>,
}

impl Calls<'_> {
    /// The session that the arguments name, open and set as they say; none if a signal came first.
    pub(super) fn begin(&self, args: &RunArgs, folders: Folders) -> Result<Option<SessionId>, Fail> {
        let runtime = &self.wired.runtime;
        let stored = match &args.session {
            Some(prefix) => Some(sessions::find(&self.wired.store, prefix)?),
            None if args.r#continue => match self.newest(&folders)? {
                None => return Ok(None),
                newest => newest,
            },
            None => None,
        };
        let Some(session) = stored else {
            return Ok(self.opened(runtime.create(folders, None))?.map(|view| view.id));
        };
        // It stays where it was unless the command line moves it.
        let moved = (args.cwd.is_some() || !args.add_dir.is_empty()).then_some(folders);
        if self
            .opened(runtime.open(session.clone(), moved, None, false))?
            .is_none()
        {
            return Ok(None);
        }
        let model = args
            .prefer
            .model
            .as_ref()
            .map(|model| SetOption::Model(model.to_string()));
        let mode = args.prefer.mode.map(|mode| SetOption::Mode(mode.id().to_owned()));
        for option in model.into_iter().chain(mode) {
            if self.opened(runtime.set_option(session.clone(), option))?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(session))
    }

    /// The session of this folder that was active last; none if a signal came first.
    fn newest(&self, folders: &Folders) -> Result<Option<SessionId>, Fail> {
        let call = self.wired.runtime.list(Some(folders.cwd.clone()), None);
        match self.answer(call)? {
            None => Ok(None),
            Some(Answer::Listed(page)) => match page.sessions.into_iter().next() {
                Some(newest) => Ok(Some(newest.id)),
                None => Err(Fail::new(Exit::NoSession, self.nothing_in(&folders.cwd)?)),
            },
            Some(other) => Err(unexpected(&other)),
        }
    }

    /// What is said of a folder in whose list nothing is.
    fn nothing_in(&self, cwd: &Path) -> Result<String, ListError> {
        let page = self.wired.store.list_with(Some(cwd), None, 2, Archived::Shown)?;
        let folder = visible::line(&cwd.to_string_lossy());
        let Some(newest) = page.sessions.first() else {
            return Ok(format!("{folder} has no session yet: leave out --continue"));
        };
        let (id, title) = (&newest.id, visible::line(&sessions::title(newest)));
        let which = match page.sessions.len() {
            1 => format!("the only session of {folder} is archived: {title} ({id})"),
            _ => format!("all sessions of {folder} are archived; the newest is {title} ({id})"),
        };
        Ok(format!(
            "{which}. Go on with it by `agent run --session {id} \"…\"`, or take it back into the list by `agent sessions \
             unarchive {id}`"
        ))
    }

    fn opened(&self, call: CallId) -> Result<Option<SessionView>, Fail> {
        match self.answer(call)? {
            None => Ok(None),
            Some(Answer::Created(view) | Answer::Opened(view) | Answer::OptionSet(view)) => Ok(Some(view)),
            Some(other @ (Answer::Listed(_) | Answer::Closed | Answer::Deleted)) => Err(unexpected(&other)),
        }
    }

    /// Waits for an answer; none if a signal came first.
    fn answer(&self, call: CallId) -> Result<Option<Answer>, Fail> {
        loop {
            let mut parcel = select! {
                recv(self.wired.inlet) -> parcel => parcel.map_err(|_| Fail::new(Exit::Failed, "the runtime has ended"))?,
                recv(self.signals) -> _ => return Ok(None),
            };
            match parcel.take() {
                Some(Outward::Answer { call: answered, result }) if answered == call => {
                    return result.map(Some).map_err(refused);
                }
                Some(
                    Outward::Answer { .. }
                    | Outward::OptionChanged { .. }
                    | Outward::ContextChanged { .. }
                    | Outward::Ask(_)
                    | Outward::TakeBack(_)
                    | Outward::Live(_)
                    | Outward::Replay { .. },
                )
                | None => {}
            }
        }
    }
}

fn unexpected(answer: &Answer) -> Fail {
    Fail::new(Exit::Failed, format!("a fault of ours: unexpected answer {answer:?}"))
}

/// The runtime refused a call.
pub(super) fn refused(error: CallError) -> Fail {
    let exit = match &error {
        CallError::UnknownSession(_) => Exit::NoSession,
        CallError::BadFolder { .. } | CallError::BadOption { .. } => Exit::Usage,
        CallError::Held { .. }
        | CallError::QueueFull
        | CallError::BadCursor
        | CallError::NoCredentials { .. }
        | CallError::Config(_)
        | CallError::Store(_)
        | CallError::Internal(_) => Exit::Failed,
    };
    Fail::new(exit, error)
}
