//! The border between blocking outside and async inside: one call that waits for work, or for a cancel.

use std::sync::Arc;

use agent_core::cancel::Cancel;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::trouble::Stop;

/// Blocks until `work` is done or `cancel` is set. A cancel drops the work, which closes its connection.
pub(crate) fn wait<T>(
    handle: &Handle,
    cancel: &Cancel,
    work: impl Future<Output = Result<T, Stop>>,
) -> Result<T, Stop> {
    let cancelled = Arc::new(Notify::new());
    let wake_up = Arc::clone(&cancelled);
    let _guard = cancel.on_cancel(move || wake_up.notify_one());
    handle.block_on(async {
        tokio::select! {
            biased;
            () = cancelled.notified() => Err(Stop::Cancelled),
            done = work => done,
        }
    })
}
