//! Signals that ask the process to end. Listened to with tokio, since std offers nothing and the rest is unsafe; the
//! `async` in here is one loop on a thread of its own.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// What the outside asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// The process is to end: SIGTERM, or the terminal is gone.
    Terminate,
}

/// Calls `heard` on a thread of its own for each signal, from now on until the process ends.
pub(crate) fn listen(mut heard: impl FnMut(Signal) + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let inside = runtime.enter();
    // Registered before this returns, so that no signal after it meets the default action.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    drop(inside);
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async {
            loop {
                let signal = tokio::select! {
                    _ = interrupt.recv() => Signal::Interrupt,
                    _ = terminate.recv() => Signal::Terminate,
                    _ = hangup.recv() => Signal::Terminate,
                };
                heard(signal);
            }
        });
    })?;
    Ok(())
}
