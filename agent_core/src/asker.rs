//! How a tool asks the surface for something and waits: for the answer, a cancel, its own limit, or the surface's end,
//! whichever comes first. What comes later is nothing, but for a terminal that is given too late, which goes back.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Sender, after, bounded, never, select};
use parking_lot::Mutex;

use crate::cancel::Cancel;
use crate::id::{AskId, SessionId, TerminalId};
use crate::outward::{Outlet, Outward};
use crate::surface::{Abilities, Ask, Form, FormAnswer, NewTerminal, Reply, Request, TerminalExit, TerminalOutput};

#[cfg(test)]
mod tests;

/// What a file may take to be read or written.
pub const FILE_LIMIT: Duration = Duration::from_secs(2);
/// What a terminal may take to open.
const OPEN_LIMIT: Duration = Duration::from_secs(10);

/// Why something that was asked for did not come.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The surface can't do such a thing; it was not asked.
    #[error("the editor has no way to do this")]
    Unable,
    /// The surface said no, in its own words.
    #[error("{0}")]
    Refused(String),
    /// What came is no answer to what was asked.
    #[error("the editor's answer makes no sense")]
    Senseless,
    /// Nothing came in time.
    #[error("the editor did not answer in time")]
    TimedOut,
    /// The turn was cancelled.
    #[error("the turn was cancelled")]
    Cancelled,
    /// The surface is gone.
    #[error("the editor is gone")]
    Gone,
}

/// Asks the surface on behalf of one session's tools. Clones share it.
#[derive(Clone)]
pub struct Asker {
    session: SessionId,
    desk: Arc<Desk>,
}

/// Where all sessions' tools ask one surface, and wait.
pub struct Desk {
    outlet: Outlet,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    abilities: Abilities,
    last: u64,
    /// Who waits for which answer. Whoever stops waiting takes the entry out.
    waiting: HashMap<AskId, Sender<Result<Reply, String>>>,
    closed: bool,
}

impl Desk {
    /// A desk at which nobody waits, before a surface that can do nothing.
    pub fn new(outlet: Outlet) -> Arc<Self> {
        Arc::new(Self {
            outlet,
            state: Mutex::default(),
        })
    }

    /// Notes what the surface can do.
    pub fn set_abilities(&self, abilities: Abilities) {
        self.state.lock().abilities = abilities;
    }

    /// Asks for a session's tools.
    pub fn asker(self: &Arc<Self>, session: SessionId) -> Asker {
        Asker {
            session,
            desk: self.clone(),
        }
    }

    /// Passes an answer to whoever waits for it. A terminal that nobody waits for any more goes back.
    pub fn reply(&self, session: &SessionId, ask: AskId, reply: Result<Reply, String>) {
        let waiting = self.state.lock().waiting.remove(&ask);
        let unheard = match waiting {
            None => Some(reply),
            Some(waiting) => waiting.send(reply).err().map(|error| error.into_inner()),
        };
        if let Some(Ok(Reply::Terminal(terminal))) = unheard {
            self.tell(session, Request::ReleaseTerminal(terminal));
        }
    }

    /// Nobody waits any more, and nobody will: the surface is leaving.
    pub fn close(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.closed = true;
            std::mem::take(&mut state.waiting)
        };
        drop(waiting);
    }

    /// Asks for something whose answer nobody waits for.
    fn tell(&self, session: &SessionId, request: Request) {
        let id = self.state.lock().next_id();
        self.send(id, session, request);
    }

    fn send(&self, id: AskId, session: &SessionId, request: Request) {
        let session = session.clone();
        self.outlet.send(Outward::Ask(Ask { id, session, request }));
    }

    fn wait(
        &self,
        session: &SessionId,
        request: Request,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> Result<Reply, AskError> {
        let (answer, answered) = bounded(1);
        let id = {
            let mut state = self.state.lock();
            if state.closed {
                return Err(AskError::Gone);
            }
            if cancel.is_set() {
                return Err(AskError::Cancelled);
            }
            let id = state.next_id();
            state.waiting.insert(id, answer);
            id
        };
        self.send(id, session, request);
        let time_up = limit.map_or_else(never, after);
        let error = select! {
            recv(answered) -> reply => return heard(reply.ok()),
            recv(cancel.closed()) -> _ => AskError::Cancelled,
            recv(time_up) -> _ => AskError::TimedOut,
        };
        if self.state.lock().waiting.remove(&id).is_none() {
            // The answer is on its way, and somebody may have to give back what it brings.
            return heard(answered.recv().ok());
        }
        self.outlet.send(Outward::TakeBack(id));
        Err(error)
    }
}

/// An answer; none where nobody will give one any more.
fn heard(reply: Option<Result<Reply, String>>) -> Result<Reply, AskError> {
    reply.map_or(Err(AskError::Gone), |reply| reply.map_err(AskError::Refused))
}

impl State {
    fn next_id(&mut self) -> AskId {
        self.last += 1;
        AskId(self.last)
    }
}

impl Asker {
    /// What the surface can do.
    pub fn abilities(&self) -> Abilities {
        self.desk.state.lock().abilities
    }

    /// The text of a file as the surface shows it.
    ///
    /// # Errors
    /// When it does not come within [`FILE_LIMIT`].
    pub fn read_file(&self, path: PathBuf, cancel: &Cancel) -> Result<String, AskError> {
        self.able(self.abilities().reads_files)?;
        let Reply::Text(text) = self.wait(Request::ReadFile { path }, Some(FILE_LIMIT), cancel)? else {
            return Err(AskError::Senseless);
        };
        Ok(text)
    }

    /// Has the surface write a file.
    ///
    /// # Errors
    /// When it does not say within [`FILE_LIMIT`] that it did; it may do so later.
    pub fn write_file(&self, path: PathBuf, content: String, cancel: &Cancel) -> Result<(), AskError> {
        self.able(self.abilities().writes_files)?;
        let Reply::Done = self.wait(Request::WriteFile { path, content }, Some(FILE_LIMIT), cancel)? else {
            return Err(AskError::Senseless);
        };
        Ok(())
    }

    /// Runs a command in a terminal of the surface.
    ///
    /// # Errors
    /// When no terminal comes in time. One that comes later is given back.
    pub fn open_terminal(&self, terminal: NewTerminal, cancel: &Cancel) -> Result<Terminal, AskError> {
        self.able(self.abilities().has_terminals)?;
        let create = Request::CreateTerminal(terminal);
        let Reply::Terminal(id) = self.wait(create, Some(OPEN_LIMIT), cancel)? else {
            return Err(AskError::Senseless);
        };
        let asker = self.clone();
        Ok(Terminal(Arc::new(Lent { id, asker })))
    }

    /// Puts a form to the user, and waits for as long as that takes, or for `limit`.
    ///
    /// # Errors
    /// When there is no answer of the user's.
    pub fn show_form(&self, form: Form, limit: Option<Duration>, cancel: &Cancel) -> Result<FormAnswer, AskError> {
        self.able(self.abilities().shows_forms)?;
        let Reply::Form(answer) = self.wait(Request::Form(form), limit, cancel)? else {
            return Err(AskError::Senseless);
        };
        Ok(answer)
    }

    fn able(&self, able: bool) -> Result<(), AskError> {
        if able { Ok(()) } else { Err(AskError::Unable) }
    }

    fn wait(&self, request: Request, limit: Option<Duration>, cancel: &Cancel) -> Result<Reply, AskError> {
        self.desk.wait(&self.session, request, limit, cancel)
    }
}

/// A terminal that the surface lends. It goes back when its last handle drops, whatever happens.
#[derive(Clone)]
pub struct Terminal(Arc<Lent>);

struct Lent {
    id: TerminalId,
    asker: Asker,
}

impl Terminal {
    /// The surface's name for it.
    pub fn id(&self) -> &TerminalId {
        &self.0.id
    }

    /// Waits for the end of its command.
    ///
    /// # Errors
    /// When it does not end in time.
    pub fn wait(&self, limit: Duration, cancel: &Cancel) -> Result<TerminalExit, AskError> {
        let Reply::Exit(exit) = self.0.ask(Request::WaitForExit, Some(limit), cancel)? else {
            return Err(AskError::Senseless);
        };
        Ok(exit)
    }

    /// What it holds.
    ///
    /// # Errors
    /// When that does not come in time.
    pub fn output(&self, limit: Duration, cancel: &Cancel) -> Result<TerminalOutput, AskError> {
        let Reply::Output(output) = self.0.ask(Request::TerminalOutput, Some(limit), cancel)? else {
            return Err(AskError::Senseless);
        };
        Ok(output)
    }

    /// Ends its command.
    pub fn kill(&self) {
        let Lent { id, asker } = &*self.0;
        asker.desk.tell(&asker.session, Request::KillTerminal(id.clone()));
    }
}

impl Lent {
    fn ask(
        &self,
        request: fn(TerminalId) -> Request,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> Result<Reply, AskError> {
        self.asker.wait(request(self.id.clone()), limit, cancel)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let release = Request::ReleaseTerminal(self.id.clone());
        self.asker.desk.tell(&self.asker.session, release);
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Terminal({})", self.0.id)
    }
}

impl PartialEq for Terminal {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
