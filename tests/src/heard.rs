//! A scripted model that remembers what it was asked, and can be waited for.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use agent_core::cancel::Cancel;
use agent_core::provider::{Delta, ModelInfo, Provider, ProviderError, Reply, Request};
use agent_core::script::{Script, ScriptReply};

use crate::stage::LIMIT;

/// A scripted model that remembers what it was asked.
pub struct Heard {
    script: Script,
    requests: Mutex<Vec<String>>,
    more: Condvar,
}

impl Heard {
    /// A model that plays these replies.
    pub fn new(replies: Vec<ScriptReply>) -> Arc<Self> {
        Arc::new(Self {
            script: Script::from_replies(replies),
            requests: Mutex::default(),
            more: Condvar::new(),
        })
    }

    /// The messages of each request so far, in words.
    pub fn requests(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// Waits until it was asked so often.
    pub fn wait_requests(&self, count: usize) {
        let waited = self
            .more
            .wait_timeout_while(self.lock(), LIMIT, |requests| requests.len() < count);
        let (_requests, limit) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!limit.timed_out(), "the model is not asked within the limit");
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for Heard {
    fn model(&self) -> &ModelInfo {
        self.script.model()
    }

    fn complete(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        self.lock().push(format!("{:#?}", request.messages));
        self.more.notify_all();
        self.script.complete(request, cancel, sink)
    }
}
