//! The client that the library speaks HTTP with, except that an answer which can't be read is an error for its call, where
//! the library would pass over it.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::Client;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, RequestId};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::Sse;

use crate::mcp::unread::{self, LONGEST};

type Headers = HashMap<HeaderName, HeaderValue>;
type Failure = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Reads what a server answers.
#[derive(Clone)]
pub(in crate::mcp) struct Reader(pub(super) Client);

impl StreamableHttpClient for Reader {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        key: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, key, headers, limits)
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        key: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let asked = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            ClientJsonRpcMessage::Response(_)
            | ClientJsonRpcMessage::Notification(_)
            | ClientJsonRpcMessage::Error(_) => None,
        };
        let posted = self
            .0
            .post_message_with_response_limits(uri, message, session, key, headers, limits);
        match (posted.await, asked) {
            (Ok(StreamableHttpPostResponse::Sse(events, session)), asked) => {
                Ok(StreamableHttpPostResponse::Sse(readable(events, asked), session))
            }
            (Err(StreamableHttpError::ResponseBodyTooLarge { .. }), Some(asked)) => {
                let answer = unread::answer(asked, &too_long());
                Ok(StreamableHttpPostResponse::Json(answer, None))
            }
            (posted, _) => posted,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        key: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        self.0.delete_session(uri, session, key, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        key: Option<String>,
        headers: Headers,
    ) -> Result<Events, Failure> {
        self.get_stream_with_max_sse_event_size(uri, session, last, key, headers, LONGEST)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        key: Option<String>,
        headers: Headers,
        longest: usize,
    ) -> Result<Events, Failure> {
        let events = self
            .0
            .get_stream_with_max_sse_event_size(uri, session, last, key, headers, longest);
        Ok(readable(events.await?, None))
    }
}

fn too_long() -> String {
    unread::too_long(&format!("more than {LONGEST}"))
}

/// The events, with what stands in for answers that can't be read. What is too long answers what was `asked`: its own id is
/// in the part that was not read.
fn readable(events: Events, asked: Option<RequestId>) -> Events {
    let stand_in = move |event: Result<Sse, SseError>| match event {
        Ok(mut event) => {
            if let Some(data) = &event.data
                && let Some(instead) = unread::instead(data.as_bytes())
            {
                event.data = serde_json::to_string(&instead).ok();
            }
            Ok(event)
        }
        Err(error) => match &asked {
            Some(asked) if is_too_long(&error) => {
                let answer = unread::answer(asked.clone(), &too_long());
                Ok(Sse {
                    data: serde_json::to_string(&answer).ok(),
                    ..Sse::default()
                })
            }
            Some(_) | None => Err(error),
        },
    };
    events.map(stand_in).boxed()
}

/// The library says it in words alone.
fn is_too_long(error: &SseError) -> bool {
    matches!(error, SseError::Body(_)) && error.to_string().contains("exceeded the maximum size")
}
