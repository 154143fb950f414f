//! A model behind a service: one request, one streamed reply, in whatever dialect the service speaks.

use std::ops::ControlFlow;
use std::time::Duration;

use agent_core::cancel::Cancel;
use agent_core::provider::{Delta, ModelInfo, Provider, ProviderError, Reply, Request};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::client::{Body, Connection};
use crate::cost::plausible;
use crate::dialect::{Codec, Draft, Sink};
use crate::json::checked;
use crate::kind::Kind;
use crate::mask::Masks;
use crate::service::{Service, ServiceError};
use crate::sse::SseReader;
use crate::trouble::{Stop, Trouble};
use crate::waiting::wait;

/// How long the token counts are waited for after a finish reason, whatever else comes: the reply is complete without
/// them.
const COUNTS_PATIENCE: Duration = Duration::from_secs(5);

/// A model behind a service.
pub struct RemoteModel {
    service: Service,
    codec: &'static dyn Codec,
    model: ModelInfo,
    connection: Connection,
    handle: Handle,
}

impl RemoteModel {
    /// Opens a model of a service; doesn't touch the network. `handle` is of the runtime that its connections live
    /// on, and must not be the one of the calling thread.
    ///
    /// # Errors
    /// When the service can't be used as it is set up.
    pub fn new(service: Service, model: ModelInfo, handle: Handle) -> Result<Self, ServiceError> {
        Ok(Self {
            connection: Connection::open(&service)?,
            codec: service.dialect.codec(),
            service,
            model,
            handle,
        })
    }

    async fn ask(&self, json: String, sink: &mut Sink<'_>) -> Result<Reply, Stop> {
        let address = self.codec.address(&self.model.origin.model);
        let mut body = self.connection.post(&address, json).await?;
        let mut draft = self.codec.draft();
        match body.kind().await? {
            Kind::Events => read_stream(body, draft.as_mut(), sink).await?,
            Kind::Json => draft.add_whole(&checked(&body.text().await?)?, sink)?,
            Kind::Page => return Err(Trouble::Broke("answered with a web page".into()).into()),
            Kind::Other => return Err(no_reply(body.first_words().await).into()),
        }
        let reply = draft.end(&self.model.origin)?;
        Ok(Reply {
            usage: plausible(reply.usage),
            ..reply
        })
    }
}

impl Provider for RemoteModel {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn complete(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        let json = self.codec.body(request, &self.model, self.connection.host());
        // A fast stream may never wait, so the switch is looked at with each piece too.
        let mut mask = Masks::new(self.service.secrets());
        let mut masked = |delta| {
            if cancel.is_set() {
                ControlFlow::Break(())
            } else {
                mask.push(delta, sink)
            }
        };
        let answer = wait(&self.handle, cancel, self.ask(json, &mut masked));
        // Also before a failure: what came is part of what was said.
        let said = mask.end(sink);
        match answer {
            Err(stop) => Err(stop.into_error(&self.service)),
            Ok(_) if said.is_break() => Err(ProviderError::Cancelled),
            Ok(reply) => Ok(mask.reply(reply)),
        }
    }
}

/// Reads events until the service says that it is done, or closes.
async fn read_stream(mut body: Body, draft: &mut dyn Draft, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut reader = SseReader::default();
    let mut counts_until = None;
    while let Some(bytes) = next(&mut body, counts_until).await? {
        let mut events = Vec::new();
        let pushed = reader.push(&bytes, &mut events);
        for data in events {
            if draft.add(&checked(&data)?, sink)?.is_break() {
                return Ok(());
            }
            // A fast service leaves no wait between its events, and a cancel is heard only in one.
            tokio::task::yield_now().await;
        }
        pushed?;
        if counts_until.is_none() && draft.has_reason() {
            counts_until = Some(Instant::now() + COUNTS_PATIENCE.min(body.stall()));
        }
    }
    // Some servers forget the last blank line. What makes no sense here was cut, and `Draft::end` knows what that means.
    if let Ok(Some(data)) = reader.end()
        && serde_json::from_str::<serde::de::IgnoredAny>(&data).is_ok()
    {
        let _it_was_the_last = draft.add(&checked(&data)?, sink)?;
    }
    Ok(())
}

async fn next(body: &mut Body, counts_until: Option<Instant>) -> Result<Option<Vec<u8>>, Trouble> {
    match counts_until {
        None => body.next().await,
        // However the connection ends now, all has been said. Comments are life before the reason, and none after it.
        Some(then) => Ok(body.next_until(then).await.unwrap_or(None)),
    }
}

/// The answer of something else than a model's service.
fn no_reply(words: Option<String>) -> Trouble {
    Trouble::Broke(match words {
        Some(words) => format!("answered with what is no reply: {words}"),
        None => "answered with what is no text".into(),
    })
}
