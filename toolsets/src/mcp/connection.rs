//! A server that is spoken with: greeted, asked for its tools, called. The border between blocking outside and async
//! inside: each method blocks, for a bounded time.

use std::sync::Arc;
use std::time::Duration;

use agent_core::cancel::Cancel;
use agent_core::tool::{Report, Run};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, JsonObject, PaginatedRequestParams,
    ServerResult, Tool,
};
use rmcp::service::{
    ClientInitializeError, PeerRequestOptions, RequestHandle, RoleClient, RunningService, ServiceError, serve_client,
};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::ear::Ear;
use super::http::{self, with_causes};
use super::stdio::{Child, Program};
use super::unread;
use crate::process::{Output, Processes};

/// A server that has not answered after so long can't be used: `npx` may have much to fetch before.
const START: Duration = Duration::from_secs(30);
/// A call with progress may take so many times the time of one without.
pub(super) const LONGEST: u32 = 20;
/// Progress is told at most this often.
const PACE: Duration = Duration::from_millis(100);
/// How long a cancel may take on its way to the server; nobody waits for it.
const CANCEL: Duration = Duration::from_secs(5);
/// How long an ended process is waited for, to tell how it ended.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// The most pages of a list of tools that are asked for.
pub(super) const PAGES: usize = 100;

/// A server that answers.
pub(super) struct Connection {
    handle: Handle,
    service: RunningService<RoleClient, Ear>,
    child: Option<Child>,
}

/// What is to be spoken with.
pub(super) enum Target<'a> {
    /// A process that is started.
    Program(Program<'a>, &'a Processes),
    /// An address, with headers for each request.
    Address(&'a str, &'a [(String, String)]),
}

/// The tools that a server lists.
pub(super) struct Told {
    pub(super) tools: Vec<Tool>,
    /// There are further pages of them.
    pub(super) goes_on: bool,
}

/// Why a server can't be used: what was tried, and what came of it.
pub(super) struct Failure {
    pub(super) phase: &'static str,
    pub(super) cause: String,
}

/// Why a call has no result.
pub(super) enum Broken {
    /// The turn is cancelled.
    Cancelled,
    /// There was no sign of life for too long.
    TimedOut,
    /// The server is gone.
    Gone,
    /// The server, or the way to it, says why.
    Refused(String),
}

/// Why something that was waited for did not come.
pub(super) enum Stop<E> {
    Cancelled,
    TimedOut,
    Failed(E),
}

impl Connection {
    /// Starts and greets a server, and asks for its tools. Ends with `ending`.
    pub(super) fn open(target: &Target<'_>, handle: Handle, ending: &Cancel) -> Result<(Self, Told), Failure> {
        let deadline = Instant::now() + START;
        let (connection, address) = match target {
            Target::Program(program, processes) => {
                let (child, lines) = program
                    .start(processes, &handle)
                    .map_err(|cause| Failure::new("starting it", cause))?;
                let greeted = wait(&handle, ending, deadline, serve_client(Ear::default(), lines));
                let service = match greeted {
                    Ok(service) => service,
                    Err(stop) => {
                        let cause = format!("{}; {}", not_greeted(stop), child.only_words(LAST_WORDS));
                        child.end();
                        return Err(Failure::new("greeting it", cause));
                    }
                };
                (Self::new(handle, service, Some(child)), None)
            }
            Target::Address(url, headers) => {
                let transport = {
                    let _inside = handle.enter();
                    http::transport(url, headers).map_err(|cause| Failure::new("reaching it", cause))?
                };
                let greeted = wait(&handle, ending, deadline, serve_client(Ear::default(), transport));
                let service = greeted.map_err(|stop| Failure::new("greeting it", hidden(not_greeted(stop), url)))?;
                (Self::new(handle, service, None), Some(*url))
            }
        };
        match connection.list(ending, deadline) {
            Ok(told) => Ok((connection, told)),
            Err(stop) => {
                let cause = match stop {
                    Stop::Cancelled => "it was cancelled".to_owned(),
                    Stop::TimedOut => "there was no answer in time".to_owned(),
                    Stop::Failed(cause) => cause,
                };
                let cause = match (&connection.child, address) {
                    (Some(child), _) => format!("{cause}; {}", child.only_words(LAST_WORDS)),
                    (None, Some(url)) => hidden(cause, url),
                    (None, None) => cause,
                };
                connection.end();
                Err(Failure::new("listing its tools", cause))
            }
        }
    }

    fn new(handle: Handle, service: RunningService<RoleClient, Ear>, child: Option<Child>) -> Self {
        Self { handle, service, child }
    }

    /// Whether nothing more can come from it.
    pub(super) fn is_dead(&self) -> bool {
        self.service.is_transport_closed() || self.child.as_ref().is_some_and(Child::has_ended)
    }

    /// How it ended, for people.
    pub(super) fn last_words(&self) -> String {
        self.child.as_ref().map_or_else(
            || "the connection is closed".to_owned(),
            |child| child.last_words(LAST_WORDS),
        )
    }

    /// Closes it and ends the server's process.
    pub(super) fn end(&self) {
        self.service.cancellation_token().cancel();
        if let Some(child) = &self.child {
            child.end();
        }
    }

    /// Whether the server has said that its list of tools is another one now.
    pub(super) fn take_list_changed(&self) -> bool {
        self.service.service().take_list_changed()
    }

    /// Has the list asked for again: it could not be had.
    pub(super) fn note_list_changed(&self) {
        self.service.service().note_list_changed();
    }

    /// Asks for the server's tools; what failed is a sentence.
    pub(super) fn list(&self, cancel: &Cancel, deadline: Instant) -> Result<Told, Stop<String>> {
        let has_tools = self
            .service
            .peer_info()
            .is_none_or(|info| info.capabilities.tools.is_some());
        if !has_tools {
            return Ok(Told {
                tools: Vec::new(),
                goes_on: false,
            });
        }
        wait(&self.handle, cancel, deadline, async {
            self.all_tools().await.map_err(|error| {
                if let ServiceError::McpError(error) = &error {
                    return unread::said(error);
                }
                with_causes(&error)
            })
        })
    }

    async fn all_tools(&self) -> Result<Told, ServiceError> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let mut page = PaginatedRequestParams::default();
            page.cursor = cursor;
            let listed = self.service.list_tools(Some(page)).await?;
            tools.extend(listed.tools);
            cursor = listed.next_cursor;
            if cursor.is_none() {
                return Ok(Told { tools, goes_on: false });
            }
        }
        Ok(Told { tools, goes_on: true })
    }

    /// Calls a tool. `limit` is the longest time without a sign of life.
    pub(super) fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        limit: Duration,
        run: &Run<'_>,
    ) -> Result<CallToolResult, Broken> {
        let cancelled = Arc::new(Notify::new());
        let wake_up = Arc::clone(&cancelled);
        let _guard = run.cancel.on_cancel(move || wake_up.notify_one());
        self.handle.block_on(async {
            let sent = tokio::select! {
                biased;
                () = cancelled.notified() => return Err(Broken::Cancelled),
                sent = timeout(limit, self.send(tool, arguments)) => sent.map_err(|_| Broken::TimedOut)?,
            };
            let (mut request, mut news) = sent.map_err(|error| self.broken(error))?;
            let result = self.follow(&mut request, &mut news, &cancelled, limit, run).await;
            self.service
                .service()
                .calls
                .lock()
                .await
                .remove(&request.progress_token);
            let reason = match &result {
                Err(Broken::Cancelled) => "the user has cancelled it",
                Err(Broken::TimedOut) => "it took too long",
                Err(Broken::Gone | Broken::Refused(_)) | Ok(_) => return result,
            };
            // A server that is busy or gone must not hold up the turn.
            tokio::spawn(timeout(CANCEL, request.cancel(Some(reason.to_owned()))));
            result
        })
    }

    async fn send(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<(RequestHandle<RoleClient>, UnboundedReceiver<String>), ServiceError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        // Its sender goes with the call's entry, its size is bounded by what the server says within the call's time.
        let (progress, news) = mpsc::unbounded_channel();
        let mut calls = self.service.service().calls.lock().await;
        let request = self
            .service
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await?;
        calls.insert(request.progress_token.clone(), progress);
        Ok((request, news))
    }

    async fn follow(
        &self,
        request: &mut RequestHandle<RoleClient>,
        news: &mut UnboundedReceiver<String>,
        cancelled: &Notify,
        limit: Duration,
        run: &Run<'_>,
    ) -> Result<CallToolResult, Broken> {
        let said = Output::new();
        let (mut untold, mut pause) = (false, Instant::now());
        let mut silence = Box::pin(sleep(limit));
        let mut longest = Box::pin(sleep(limit * LONGEST));
        loop {
            tokio::select! {
                biased;
                () = cancelled.notified() => return Err(Broken::Cancelled),
                response = &mut request.rx => {
                    let response = response.map_err(|_| Broken::Gone)?;
                    return response.map_err(|error| self.broken(error)).and_then(result);
                }
                () = &mut silence => return Err(Broken::TimedOut),
                () = &mut longest => return Err(Broken::TimedOut),
                Some(line) = news.recv() => {
                    said.push(line.as_bytes());
                    untold = true;
                    silence.as_mut().reset(Instant::now() + limit);
                }
                () = sleep_until(pause), if untold => {
                    (run.report)(Report::Progress(said.progress()));
                    (untold, pause) = (false, Instant::now() + PACE);
                }
            }
        }
    }

    fn broken(&self, error: ServiceError) -> Broken {
        if let ServiceError::McpError(error) = error {
            return Broken::Refused(unread::said(&error));
        }
        if matches!(error, ServiceError::TransportClosed)
            || matches!(error, ServiceError::TransportSend(_) if self.child.is_some())
        {
            Broken::Gone
        } else if let ServiceError::TransportSend(error) = error {
            Broken::Refused(http::cause(error.error.as_ref()))
        } else {
            Broken::Refused(with_causes(&error))
        }
    }
}

fn result(result: ServerResult) -> Result<CallToolResult, Broken> {
    if let ServerResult::CallToolResult(result) = result {
        Ok(result)
    } else if matches!(result, ServerResult::EmptyResult(_)) {
        // A result without any content.
        Ok(CallToolResult::default())
    } else {
        Err(Broken::Refused("its answer is not the result of a call".to_owned()))
    }
}

impl Failure {
    pub(super) fn new(phase: &'static str, cause: String) -> Self {
        Self { phase, cause }
    }
}

/// Blocks until `work` is done, `cancel` is set, or the time is up.
fn wait<T, E>(
    handle: &Handle,
    cancel: &Cancel,
    deadline: Instant,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Stop<E>> {
    let cancelled = Arc::new(Notify::new());
    let wake_up = Arc::clone(&cancelled);
    let _guard = cancel.on_cancel(move || wake_up.notify_one());
    handle.block_on(async {
        tokio::select! {
            biased;
            () = cancelled.notified() => Err(Stop::Cancelled),
            done = work => done.map_err(Stop::Failed),
            () = sleep_until(deadline) => Err(Stop::TimedOut),
        }
    })
}

fn not_greeted(stop: Stop<ClientInitializeError>) -> String {
    match stop {
        Stop::Cancelled => "the session is over".to_owned(),
        Stop::TimedOut => format!("there was no answer within {} s", START.as_secs()),
        Stop::Failed(ClientInitializeError::ConnectionClosed(_)) => {
            "it closed the connection without an answer".to_owned()
        }
        Stop::Failed(ClientInitializeError::JsonRpcError(error)) => unread::said(&error),
        Stop::Failed(ClientInitializeError::TransportError { error, .. }) => http::cause(error.error.as_ref()),
        Stop::Failed(error) => with_causes(&error),
    }
}

/// The text without what an address may hold of keys.
fn hidden(text: String, url: &str) -> String {
    text.replace(url, &http::shown(url))
}
