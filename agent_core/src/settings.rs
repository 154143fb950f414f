//! What a session is set to, and what it has become so far beside its events. Its owner is the session.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::approval::Mode;
use crate::config::Config;
use crate::event::{ContextUse, Event};
use crate::id::SessionId;
use crate::prompt::{Facts, Instructions};
use crate::provider::{ModelRef, Provider, ThoughtLevel, ToolSpec};
use crate::runtime::Folders;
use crate::workspace::{Scope, Workspace};

/// What a session is set to. Cheap to clone; a step of a turn works with one.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) folders: Folders,
    /// Real paths of its folders, its own first.
    pub(crate) roots: Arc<[PathBuf]>,
    pub(crate) workspace: Arc<dyn Workspace>,
    pub(crate) config: Arc<Config>,
    pub(crate) provider: Arc<dyn Provider>,
    /// The user has chosen the model; else it is what was configured when the session began.
    pub(crate) model_is_chosen: bool,
    pub(crate) models: Arc<[ModelRef]>,
    pub(crate) mode: Mode,
    pub(crate) thought: Option<ThoughtLevel>,
    pub(crate) edits_granted: bool,
    /// Hosts whose pages may be fetched.
    pub(crate) hosts_granted: Arc<BTreeSet<String>>,
}

/// What a session has become so far, beside its events.
#[derive(Clone, Default)]
pub(crate) struct Standing {
    pub(crate) title: Option<String>,
    /// The title is this, the first line of a prompt, and a better one may take its place.
    pub(crate) provisional_title: Option<String>,
    /// How often the model was asked for that better one.
    pub(crate) title_tries: u32,
    /// Its system prompt; none before its first turn.
    pub(crate) system: Option<Arc<str>>,
    /// The client's part of its system prompt.
    pub(crate) instructions: Option<Instructions>,
    /// What the client wants that part to be from the next turn on, where that is something else.
    pub(crate) new_instructions: Option<Instructions>,
    /// What the model was last told of the session's settings.
    pub(crate) told: Option<Facts>,
    /// What its system prompt says of them; none where nobody knows.
    pub(crate) begun: Option<Facts>,
    pub(crate) context: Option<ContextUse>,
    /// What it has cost, in billionths of a US dollar, as far as that is known.
    pub(crate) spent_nano_usd: Option<u64>,
    /// Notices that wait for the next turn to begin.
    pub(crate) notices: Vec<Event>,
    /// The client was shown its past, with an end for each turn that a crash left open.
    pub(crate) is_past_shown: bool,
    /// The model's service has refused its key.
    pub(crate) key_refused: bool,
}

impl Settings {
    /// Its tools as the model sees them.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        let tools = self.workspace.tools().into_iter();
        tools.map(|tool| tool.spec().clone()).collect()
    }

    /// Where the session works, as its workspace knows it.
    pub(crate) fn scope(&self, session: &SessionId) -> Scope {
        Scope {
            session: session.clone(),
            cwd: self.folders.cwd.clone(),
            extra_roots: self.folders.extra_roots.clone(),
            servers: self.folders.servers.clone(),
        }
    }
}

impl Standing {
    /// The provisional title, if the model is to be asked for a better one: twice at most, however that goes.
    pub(crate) fn try_title(&mut self) -> Option<String> {
        const MOST: u32 = 2;
        let provisional = self.provisional_title.clone().filter(|_| self.title_tries < MOST);
        self.title_tries += u32::from(provisional.is_some());
        provisional
    }

    /// Takes the client's instructions: for the system prompt that is to be made, or for another one where there is one.
    /// A client that says nothing leaves those that there are.
    pub(crate) fn instruct(&mut self, instructions: Option<Instructions>) {
        if self.system.is_none() {
            self.instructions = instructions.or(self.instructions.take());
        } else if instructions.is_some() {
            self.new_instructions = instructions.filter(|new| self.instructions.as_ref() != Some(new));
        }
    }

    /// The context is another model's from now on, and as large as that says.
    pub(crate) fn resize_context(&mut self) {
        if let Some(context) = &mut self.context {
            context.window = None;
        }
    }

    /// The notes that told the model of changes are out of its history; the next one tells all of it again.
    pub(crate) fn forget_notes(&mut self) {
        if self.begun.is_some() {
            self.told.clone_from(&self.begun);
        }
    }
}
