//! What is said of a panic: a line of the log, never of stdout. Whether the process lives on is decided where the
//! panic is caught.

use std::io::Write;
use std::panic::PanicHookInfo;

/// Makes every panic from now on a line of the log.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|info| {
        let message = describe(info);
        if tracing::dispatcher::has_been_set() {
            tracing::error!("{message}");
        } else {
            // The log has not begun; nobody is left to tell if stderr is closed too.
            let _ = writeln!(std::io::stderr(), "agent: {message}");
        }
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let what = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current().name().unwrap_or("without a name").to_owned();
    format!("a fault of ours in thread {thread} at {place}: {what}")
}
