//! A message that is sent to a server, and what comes back. The library can do this too, but parses an answer in JSON
//! however much it holds.

use std::future::ready;

use futures_util::StreamExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::SseStream;

use super::mask::Mask;
use super::reader::{Events, Failure, Headers};
use crate::mcp::unread::{self, LONGEST};

/// The most bytes of a refusal that are shown.
const REFUSAL: usize = 64 << 10;

/// What is sent, and where it belongs.
pub(super) struct Post<'a> {
    pub(super) uri: &'a str,
    pub(super) message: &'a ClientJsonRpcMessage,
    pub(super) session: Option<&'a str>,
    pub(super) key: Option<String>,
    pub(super) headers: Headers,
}

/// What a server answers with.
enum Kind {
    Json,
    Events,
    Other(Option<String>),
}

impl Post<'_> {
    /// The request that waits for its answer; none for what has none.
    pub(super) fn asked(&self) -> Option<RequestId> {
        match self.message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            ClientJsonRpcMessage::Response(_)
            | ClientJsonRpcMessage::Notification(_)
            | ClientJsonRpcMessage::Error(_) => None,
        }
    }

    /// Sends it.
    pub(super) async fn send(self, client: &Client) -> Result<StreamableHttpPostResponse, Failure> {
        let asked = self.asked();
        let has_session = self.session.is_some();
        let mask = Mask::of(&self.headers);
        let response = self.request(client)?.send().await?;
        let status = response.status();
        if let Some(challenge) = challenge(&response, &mask) {
            return Err(challenge);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let session = header(&response, HEADER_SESSION_ID);
        if !status.is_success() {
            return Ok(StreamableHttpPostResponse::Json(
                refusal(response, &mask).await?,
                session,
            ));
        }
        match (Kind::of(&response), asked) {
            (Kind::Events, _) => Ok(StreamableHttpPostResponse::Sse(events(response), session)),
            // Nobody waits for what it says.
            (Kind::Json | Kind::Other(_), None) => Ok(StreamableHttpPostResponse::Accepted),
            (Kind::Json, Some(asked)) => Ok(StreamableHttpPostResponse::Json(
                answer(response, asked, &mask).await?,
                session,
            )),
            (Kind::Other(kind), Some(_)) => Err(StreamableHttpError::UnexpectedContentType(
                kind.map(|kind| mask.text(kind)),
            )),
        }
    }

    fn request(self, client: &Client) -> Result<reqwest::RequestBuilder, Failure> {
        let mut request = client
            .post(self.uri)
            .header(ACCEPT, [EVENT_STREAM_MIME_TYPE, JSON_MIME_TYPE].join(", "));
        if let Some(key) = self.key {
            request = request.bearer_auth(key);
        }
        let own = [ACCEPT.as_str(), HEADER_SESSION_ID, HEADER_LAST_EVENT_ID];
        for (name, value) in self.headers {
            if own.iter().any(|own| name.as_str().eq_ignore_ascii_case(own)) {
                return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
            }
            request = request.header(name, value);
        }
        if let Some(session) = self.session {
            request = request.header(HEADER_SESSION_ID, session);
        }
        Ok(request.json(self.message))
    }
}

impl Kind {
    fn of(response: &Response) -> Self {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
        let is = |expect: &str| {
            let essence = kind.as_deref().and_then(|kind| kind.split(';').next());
            essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(expect))
        };
        if is(EVENT_STREAM_MIME_TYPE) {
            Self::Events
        } else if is(JSON_MIME_TYPE) {
            Self::Json
        } else {
            Self::Other(kind)
        }
    }
}

fn header(response: &Response, name: &str) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(value.to_str().ok()?.to_owned())
}

/// That the server wants a key, or another one.
fn challenge(response: &Response, mask: &Mask) -> Option<Failure> {
    let challenge = header(response, WWW_AUTHENTICATE.as_str()).map(|said| mask.text(said));
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge?))),
        StatusCode::FORBIDDEN => Some(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(
            challenge?, None,
        ))),
        _ => None,
    }
}

/// The answer in a body of JSON, or what stands in for it.
async fn answer(response: Response, asked: RequestId, mask: &Mask) -> Result<ServerJsonRpcMessage, Failure> {
    let (body, is_whole) = beginning(response, LONGEST).await?;
    if !is_whole {
        return Ok(unread::answer(asked, &too_long()));
    }
    let body = mask.bytes(body);
    Ok(unread::parsed(&body).unwrap_or_else(|why| unread::answer(asked, &why.to_string())))
}

/// The error with which a server refuses a message; a failure where it says none.
async fn refusal(response: Response, mask: &Mask) -> Result<ServerJsonRpcMessage, Failure> {
    let status = response.status();
    let waits = header(&response, RETRY_AFTER.as_str());
    let is_auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let may_say = matches!(Kind::of(&response), Kind::Json) && !is_auth && status != StatusCode::TOO_MANY_REQUESTS;
    let (body, is_whole) = beginning(response, if may_say { LONGEST } else { REFUSAL }).await?;
    let body = mask.bytes(body);
    if may_say
        && is_whole
        && let Ok(said @ ServerJsonRpcMessage::Error(_)) = unread::parsed(&body)
    {
        return Ok(said);
    }
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        return Err(HttpStatusError::new(status.as_u16(), waits).into());
    }
    let shown = String::from_utf8_lossy(&body[..body.len().min(REFUSAL)]);
    Err(StreamableHttpError::UnexpectedServerResponse(
        format!("HTTP {status}: {shown}").into(),
    ))
}

/// The first bytes of a body, and whether they are all.
async fn beginning(mut response: Response, most: usize) -> Result<(Vec<u8>, bool), Failure> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if body.len() + piece.len() > most {
            body.extend_from_slice(&piece[..most - body.len()]);
            return Ok((body, false));
        }
        body.extend_from_slice(&piece);
    }
    Ok((body, true))
}

/// Why events end early.
#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error("{}", too_long())]
    TooLong,
    #[error(transparent)]
    Http(reqwest::Error),
}

pub(super) fn too_long() -> String {
    unread::too_long(&format!("more than {LONGEST}"))
}

/// Whether these events end with one that is too long.
pub(super) fn is_too_long(error: &SseError) -> bool {
    matches!(error, SseError::Body(cause) if matches!(cause.downcast_ref(), Some(Cut::TooLong)))
}

/// The events of a body, as far as none is too long.
fn events(response: Response) -> Events {
    let pieces = response.bytes_stream().scan(Some(Size::default()), |size, piece| {
        let piece = size.as_mut().map(|size| match piece {
            Ok(piece) if size.is_within(&piece) => Ok(piece),
            Ok(_) => Err(Cut::TooLong),
            Err(error) => Err(Cut::Http(error)),
        });
        if matches!(piece, Some(Err(_))) {
            *size = None;
        }
        ready(piece)
    });
    SseStream::from_bytes_stream(pieces).boxed()
}

/// How long the event is that is being read.
#[derive(Default)]
struct Size {
    event: usize,
    line: usize,
    /// The last byte was a CR, so that a LF belongs to it.
    after_cr: bool,
}

impl Size {
    /// Whether no event is too long with the next piece.
    fn is_within(&mut self, piece: &[u8]) -> bool {
        piece.iter().all(|byte| {
            let is_second = self.after_cr && *byte == b'\n';
            self.after_cr = *byte == b'\r';
            match byte {
                b'\n' if is_second => {}
                b'\n' | b'\r' if self.line == 0 => self.event = 0,
                b'\n' | b'\r' => self.line = 0,
                _ => self.line += 1,
            }
            self.event += 1;
            self.event <= LONGEST
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_ends_at_an_empty_line() {
        let check = |events: &str, expect: usize| {
            let mut size = Size::default();
            assert!(events.as_bytes().chunks(1).all(|piece| size.is_within(piece)));
            assert_eq!(size.event, expect, "{events:?}");
        };
        check("data: a\n\nab", 3);
        check("data: a\r\n\r\nab", 4);
        check("data: a\r\rab", 3);
        check("data: a\r\ndata: b\r\nab", 20);
        let mut size = Size::default();
        let line = b"data: x\r\n".repeat(LONGEST / 9);
        assert!(size.is_within(&line) && !size.is_within(&line));
    }
}
