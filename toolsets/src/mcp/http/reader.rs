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

use super::mask::Mask;
use super::post::{Post, is_too_long, too_long};
use crate::mcp::unread::{self, LONGEST, Unread};

pub(super) type Headers = HashMap<HeaderName, HeaderValue>;
pub(super) type Failure = StreamableHttpError<reqwest::Error>;
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

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
        _limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let mask = Mask::of(&headers);
        let post = Post {
            uri: &uri,
            message: &message,
            session: session.as_deref(),
            key,
            headers,
        };
        let asked = post.asked();
        let mut posted = post.send(&self.0).await?;
        if let StreamableHttpPostResponse::Sse(events, session) = posted {
            posted = StreamableHttpPostResponse::Sse(readable(events, asked, mask), session);
        }
        Ok(posted)
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
        let mask = Mask::of(&headers);
        let events = self
            .0
            .get_stream_with_max_sse_event_size(uri, session, last, key, headers, longest);
        Ok(readable(events.await?, None, mask))
    }
}

/// The events, with what stands in for answers that can't be read. What is too long answers what was `asked`: its own id is
/// in the part that was not read.
fn readable(events: Events, asked: Option<RequestId>, mask: Mask) -> Events {
    let stand_in = move |event: Result<Sse, SseError>| match event {
        Ok(mut event) => {
            event.data = event.data.map(|data| mask.text(data));
            if let Some(data) = &event.data
                && let Err(why) = unread::parsed(data.as_bytes())
            {
                match unread::stand_in(data.as_bytes(), &why) {
                    Some(instead) => event.data = serde_json::to_string(&instead).ok(),
                    // The library passes over an event without data; it would parse this one.
                    None if matches!(why, Unread::TooMany) => event.data = None,
                    None => {}
                }
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
