//! OpenAI Chat Completions, and the many servers that speak it: one request, one streamed reply.

use std::ops::ControlFlow;
use std::time::Duration;

use agent_core::cancel::Cancel;
use agent_core::provider::{Delta, ModelInfo, Provider, ProviderError, Reply, Request};
use tokio::runtime::Handle;

use crate::client::{Body, Connection};
use crate::fold::{Fold, Sink};
use crate::mask::Mask;
use crate::request;
use crate::service::{Service, ServiceError};
use crate::sse::SseReader;
use crate::trouble::{Stop, Trouble};
use crate::waiting::wait;

/// How long the token counts are waited for after a finish reason: the reply is complete without them.
const COUNTS_PATIENCE: Duration = Duration::from_secs(5);

/// A model behind Chat Completions.
pub struct OpenAiChat {
    service: Service,
    model: ModelInfo,
    connection: Connection,
    handle: Handle,
}

impl OpenAiChat {
    /// Opens a model of a service; doesn't touch the network. `handle` is of the runtime that its connections live
    /// on, and must not be the one of the calling thread.
    ///
    /// # Errors
    /// When the service can't be used as it is set up.
    pub fn new(service: Service, model: ModelInfo, handle: Handle) -> Result<Self, ServiceError> {
        Ok(Self {
            connection: Connection::open(&service)?,
            service,
            model,
            handle,
        })
    }

    async fn ask(&self, json: String, sink: &mut Sink<'_>) -> Result<Reply, Stop> {
        let body = self.connection.post(&["chat", "completions"], json).await?;
        let mut fold = Fold::default();
        match body.media_type() {
            "application/json" => fold.add_whole(&body.text().await?, sink)?,
            "text/html" => return Err(Trouble::Broke("answered with a web page".into()).into()),
            // Not every server names its stream rightly.
            _ => read_stream(body, &mut fold, sink).await?,
        }
        Ok(fold.end(&self.model.origin)?)
    }
}

impl Provider for OpenAiChat {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn complete(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        let json = request::body(request, &self.model, self.connection.host());
        // A fast stream may never wait, so the switch is looked at with each piece too.
        let mut mask = Mask::new(self.service.secret_key());
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
async fn read_stream(mut body: Body, fold: &mut Fold, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut reader = SseReader::default();
    while let Some(bytes) = next(&mut body, fold).await? {
        for data in reader.push(&bytes)? {
            if data.trim() == "[DONE]" {
                return Ok(());
            }
            fold.add(&data, sink)?;
            // A fast service leaves no wait between its events, and a cancel is heard only in one.
            tokio::task::yield_now().await;
        }
    }
    // Some servers forget the last blank line. What makes no sense here was cut, and `Fold::end` knows what that means.
    if let Ok(Some(data)) = reader.end()
        && serde_json::from_str::<serde::de::IgnoredAny>(&data).is_ok()
    {
        fold.add(&data, sink)?;
    }
    Ok(())
}

async fn next(body: &mut Body, fold: &Fold) -> Result<Option<Vec<u8>>, Trouble> {
    if !fold.has_finished() {
        return body.next().await;
    }
    // However the connection ends now, the reply is complete.
    Ok(body.next_within(COUNTS_PATIENCE).await.unwrap_or(None))
}
