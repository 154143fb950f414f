//! What a server says without being asked: how far calls have come, and that its list of tools has changed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ClientHandler;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedSender;

/// Hears one server. What servers may ask of a client (roots, sampling, elicitation) is not offered.
#[derive(Default)]
pub(super) struct Ear {
    /// Where the progress of open calls goes. The lock is held while a call is sent, so that no progress of it is heard
    /// before its entry is there.
    pub(super) calls: Mutex<HashMap<ProgressToken, UnboundedSender<String>>>,
    list_changed: AtomicBool,
}

impl Ear {
    /// Whether the list of tools has changed since this was last asked.
    pub(super) fn take_list_changed(&self) -> bool {
        self.list_changed.swap(false, Ordering::SeqCst)
    }

    /// Notes that the list of tools is another one than what is known of it.
    pub(super) fn note_list_changed(&self) {
        self.list_changed.store(true, Ordering::SeqCst);
    }
}

impl ClientHandler for Ear {
    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let calls = self.calls.lock().await;
        if let Some(call) = calls.get(&progress.progress_token) {
            // A call that has ended hears nothing more.
            let _ = call.send(line(&progress));
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note_list_changed();
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("talaria", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }
}

/// A sign of progress as a line of output.
fn line(progress: &ProgressNotificationParam) -> String {
    let far = match progress.total {
        Some(total) => format!("{}/{total}", progress.progress),
        None => progress.progress.to_string(),
    };
    match &progress.message {
        Some(message) => format!("{far} {message}\n"),
        None => format!("{far}\n"),
    }
}
