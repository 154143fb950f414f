//! A call of a server's tool, and the way to a server that may be starting or gone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use agent_core::event::ToolOutput;
use agent_core::tool::{Run, ToolError};
use crossbeam_channel::{Receiver, after, select};
use rmcp::model::JsonObject;

use super::{Phase, Server};
use crate::mcp::connection::{Broken, Connection, LONGEST};
use crate::mcp::result;

/// Seconds a call may take without a sign of life, unless the configuration says otherwise.
const CALL: u64 = 60;

const UNKNOWN: &str = "Whether it took effect is unknown.";

/// How a call can go on.
enum Next {
    Use(Arc<Connection>),
    Wait(Receiver<()>),
    Pause(Duration),
    Never(String),
}

impl Server {
    /// Calls one of its tools by its own name.
    pub(in crate::mcp) fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: JsonObject,
        run: &Run<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let limit = Duration::from_secs(self.definition.timeout_s.unwrap_or(CALL));
        let connection = self.connection(run.cancel, limit)?;
        let broken = match connection.call(tool, arguments, limit, run) {
            Ok(result) => return result::output(result),
            Err(broken) => broken,
        };
        let name = &self.name;
        Err(ToolError::new(match broken {
            Broken::Cancelled => format!("cancelled. {UNKNOWN}"),
            Broken::TimedOut => format!(
                "`{tool}` of the MCP server `{name}` gave no sign of life for {} s, and was cancelled. {UNKNOWN}",
                limit.as_secs()
            ),
            Broken::Gone => {
                let how = connection.last_words();
                self.look();
                format!("the MCP server `{name}` has ended during the call. {UNKNOWN} {how}")
            }
            Broken::Refused(why) => format!("`{tool}` of the MCP server `{name}` failed: {why}"),
        }))
    }

    /// Longer than any of its calls goes on: the start of the server, then signs of life up to the last that counts.
    pub(in crate::mcp) fn limit(&self) -> Duration {
        let limit = Duration::from_secs(self.definition.timeout_s.unwrap_or(CALL));
        limit.saturating_mul(LONGEST + 3)
    }

    /// The way to it; one that is gone is started again, one that is being started is waited for.
    fn connection(self: &Arc<Self>, cancel: &Cancel, limit: Duration) -> Result<Arc<Connection>, ToolError> {
        let deadline = after(limit);
        let cancelled = || ToolError::new("Not called: the turn was cancelled before.");
        let late = || {
            ToolError::new(format!(
                "Not called: the MCP server `{}` is still being started.",
                self.name
            ))
        };
        loop {
            match self.next() {
                Next::Use(connection) => return Ok(connection),
                Next::Never(why) => {
                    return Err(ToolError::new(format!(
                        "Not called: the MCP server `{}` can't be used: {why}",
                        self.name
                    )));
                }
                Next::Wait(over) => select! {
                    recv(over) -> _ => {}
                    recv(cancel.closed()) -> _ => return Err(cancelled()),
                    recv(deadline) -> _ => return Err(late()),
                },
                Next::Pause(pause) => select! {
                    recv(after(pause)) -> _ => {}
                    recv(cancel.closed()) -> _ => return Err(cancelled()),
                    recv(deadline) -> _ => return Err(late()),
                },
            }
        }
    }

    fn next(self: &Arc<Self>) -> Next {
        self.look();
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Gone(_)) {
            let pause = state.rests_until.saturating_duration_since(Instant::now());
            if !pause.is_zero() {
                return Next::Pause(pause);
            }
            self.restart(&mut state);
        }
        match &state.phase {
            Phase::Ready(connection) => Next::Use(Arc::clone(connection)),
            Phase::Starting { over, .. } => Next::Wait(over.clone()),
            Phase::Gone(why) | Phase::Failed(why) => Next::Never(why.clone()),
        }
    }
}
