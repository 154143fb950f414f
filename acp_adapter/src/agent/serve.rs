//! The one task: lines in, parcels in, batches out. Reading never waits for writing.

use std::io::{self, Write};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use agent_core::cancel::Cancel;
use agent_core::outward::Parcel;
use agent_core::runtime::Runtime;
use agent_core::store::EndReason;
use crossbeam_channel::Receiver;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::connection::{Connection, SignedIn};
use super::settings::Settings;
use super::threads::{Bridge, Lines, Writer};

// The end takes less than 3 s in all, whatever hangs.
/// What requests that wait for the core's quick answers get at the end of the input.
const SETTLE: Duration = Duration::from_millis(300);
/// What the core's shutdown gets; it promises 2 s.
const SHUT_DOWN: Duration = Duration::from_millis(2200);
/// What the last lines get to be written.
const FLUSH: Duration = Duration::from_millis(300);

/// Why serving ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The threads or the event loop could not be started.
    #[error("can't start serving")]
    Start(#[source] io::Error),
    /// The client can't be written to, for another reason than that it has gone.
    #[error("can't write to the client")]
    Write(#[source] io::Error),
    /// The client goes on asking and does not read.
    #[error("the client has left more than 64 MiB of answers unread")]
    Unread,
}

/// Serves one client until its lines end, its output breaks, or `stop` is set; then ends the runtime. Blocks.
///
/// # Errors
/// When serving can't begin, or ends for another reason than the client's leaving.
pub fn serve(
    runtime: Runtime,
    inlet: Receiver<Parcel>,
    settings: Settings,
    lines: Lines,
    output: impl Write + Send + 'static,
    stop: &Cancel,
) -> Result<(), ServeError> {
    let event_loop = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(ServeError::Start)?;
    let stopped = Arc::new(Notify::new());
    let wake_up = stopped.clone();
    let _wake_up = stop.on_cancel(move || wake_up.notify_one());
    let (signed_in, sign_ins) = mpsc::unbounded_channel();
    let (bridge, parcels) = Bridge::new(inlet);
    let mut pump = Pump {
        connection: Connection::new(runtime.clone(), settings, signed_in),
        sign_ins,
        bridge: Some(bridge),
        parcels,
        writer: Writer::start(output).map_err(ServeError::Start)?,
        writing: None,
        broken: None,
    };
    event_loop.block_on(async {
        let end = pump.run(lines, &stopped).await;
        let reason = match stop.is_set() {
            true => EndReason::Shutdown,
            false => EndReason::Disconnected,
        };
        pump.wind_down(runtime, reason).await;
        // The output may have broken after the input had ended.
        end.and_then(|()| pump.broken.take().map_or(Ok(()), why_broken))
    })
}

/// The connection with its channels.
struct Pump {
    connection: Connection,
    /// What the connection has looked up about signing in.
    sign_ins: mpsc::UnboundedReceiver<SignedIn>,
    /// Until it is started: with the first greeting, since the core says nothing before it is asked.
    bridge: Option<Bridge>,
    parcels: mpsc::Receiver<Vec<Parcel>>,
    writer: Writer,
    /// What the batch in the writer's hands came from; some while it writes.
    writing: Option<Vec<Parcel>>,
    /// Why nothing can be written any more.
    broken: Option<io::Error>,
}

impl Pump {
    /// Serves until something ends it.
    async fn run(&mut self, mut lines: Lines, stopped: &Notify) -> Result<(), ServeError> {
        loop {
            if let Some(error) = self.broken.take() {
                self.broken = Some(io::ErrorKind::BrokenPipe.into());
                return why_broken(error);
            }
            if self.connection.outbox.is_overfull() {
                return Err(ServeError::Unread);
            }
            self.hand_over();
            if self.connection.is_greeted()
                && let Some(bridge) = self.bridge.take()
            {
                // Only now, so that the greeting's answer is not held up.
                bridge.start().map_err(ServeError::Start)?;
            }
            let too_silent_at = self.too_silent_at();
            tokio::select! {
                line = lines.next() => match line {
                    Some(line) => self.connection.line(line),
                    None => return Ok(()),
                },
                () = self.turn_over() => {}
                () = until(too_silent_at) => self.connection.break_silence(),
                () = stopped.notified() => return Ok(()),
            }
        }
    }

    /// Waits for the writer or the core, and takes what came.
    async fn turn_over(&mut self) {
        tokio::select! {
            result = self.writer.result(), if self.writing.is_some() => {
                self.writing = None;
                self.broken = result.err();
            }
            Some(signed_in) = self.sign_ins.recv() => self.connection.signed_in(signed_in),
            Some(parcels) = self.parcels.recv(), if self.connection.outbox.is_short() => {
                for parcel in parcels {
                    self.connection.parcel(parcel);
                }
            }
            // The core is gone, or there is no room and nothing is written: only the caller can go on.
            else => std::future::pending().await,
        }
    }

    /// When a running turn will have been silent for too long. What waits to be written is no silence of ours.
    fn too_silent_at(&self) -> Option<Instant> {
        let at = self.connection.silence.too_long_at()?;
        self.connection.outbox.is_empty().then(|| at.into())
    }

    /// Gives the writer what waits, if it is idle.
    fn hand_over(&mut self) {
        if self.writing.is_none()
            && self.broken.is_none()
            && let Some(batch) = self.connection.outbox.next_batch()
        {
            self.writer.give(batch.bytes);
            self.writing = Some(batch.parcels);
        }
    }

    /// Ends the turns and the core, and writes what is left as long as the time allows.
    async fn wind_down(&mut self, runtime: Runtime, reason: EndReason) {
        self.connection.cancel_all();
        self.go_on(SETTLE, |pump| pump.broken.is_some() || !pump.connection.awaits_calls())
            .await;
        let (shut, is_shut) = oneshot::channel::<()>();
        let spawned = std::thread::Builder::new().name("acp-shutdown".into()).spawn(move || {
            runtime.shutdown_because(reason);
            drop(shut);
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "the runtime can't be shut down");
        }
        tokio::select! {
            _ = is_shut => {}
            () = self.go_on(SHUT_DOWN, |_| false) => tracing::warn!("the runtime did not shut down in time"),
        }
        self.go_on(FLUSH, Self::is_done).await;
    }

    fn is_done(&self) -> bool {
        let written = self.writing.is_none() && self.connection.outbox.is_empty();
        self.broken.is_some() || self.connection.is_at_rest() && written
    }

    /// Goes on without new lines until `done` or the time is up.
    async fn go_on(&mut self, limit: Duration, done: impl Fn(&Self) -> bool) {
        let mut time_up = pin!(sleep_until(Instant::now() + limit));
        loop {
            self.hand_over();
            if done(self) {
                return;
            }
            tokio::select! {
                () = self.turn_over() => {}
                () = &mut time_up => return,
            }
        }
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// A client that has gone is the usual end.
fn why_broken(error: io::Error) -> Result<(), ServeError> {
    let has_gone = matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
    if has_gone {
        Ok(())
    } else {
        Err(ServeError::Write(error))
    }
}
