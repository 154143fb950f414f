//! A model server on loopback that says exactly what a test wants, in the pieces that it wants, and remembers what it
//! was asked. It is no HTTP server: one request a connection, and no opinion about any of them.

mod reply;

use std::io::{self, BufRead, BufReader, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

pub use reply::{Reply, stream_of};

/// What the server was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Method and path, such as `POST /v1/chat/completions`.
    pub line: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body; null if it was no JSON.
    pub body: Value,
    /// The body as it came.
    pub raw: String,
}

impl Asked {
    /// The messages of the conversation.
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Whether it is for a session's title.
    fn is_for_title(&self) -> bool {
        // Wherever a dialect has its system prompt.
        self.raw.contains("\"You give conversations their titles.\"")
    }

    /// Whether it is for the list of models.
    fn is_for_list(&self) -> bool {
        self.line.starts_with("GET ")
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(header, _)| header == name);
        header.map(|(_, value)| value.as_str())
    }
}

/// A running server; ends when dropped.
pub struct Mock {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// What decides on each answer; none where nothing is left to say.
type Answerer = Box<dyn FnMut(&Asked) -> Option<Reply> + Send>;

#[derive(Default)]
struct State {
    answerer: Option<Answerer>,
    asked: Vec<Asked>,
    /// What it says when it is asked for a session's title; nothing that could be one if it is not told.
    title: Option<Reply>,
    /// What it was asked for them.
    titles: Vec<Asked>,
    /// Whether it answers what is asked of its models as it answers all else.
    keeps_list: bool,
    /// Clients that closed before the server had said all.
    closed: usize,
    /// All connections, so that the end of the server ends them.
    connections: Vec<TcpStream>,
    ended: bool,
}

impl Mock {
    /// Starts a server that gives these replies in order, one a request, and a plain failure to all further requests.
    pub fn serve(replies: Vec<Reply>) -> Self {
        let mut replies = replies.into_iter();
        Self::start(Box::new(move |_| replies.next()))
    }

    /// Starts a server that finds its reply in each request.
    pub fn answering(mut answer: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        Self::start(Box::new(move |asked| Some(answer(asked))))
    }

    fn start(answerer: Answerer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared::default());
        shared.lock().answerer = Some(answerer);
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepting.lock().ended {
                    return;
                }
                let shared = Arc::clone(&accepting);
                thread::spawn(move || shared.converse(stream));
            }
        });
        Self { address, shared }
    }

    /// The same with an answer to the question for a session's title. That question comes in the background, at its own
    /// time, and so is none of the [`requests`](Self::requests).
    #[must_use]
    pub fn with_title(self, reply: Reply) -> Self {
        self.shared.lock().title = Some(reply);
        self
    }

    /// The same with a list of models among what it answers. Without this it keeps none, and what is asked of it, which
    /// may be in the background, is none of the [`requests`](Self::requests).
    #[must_use]
    pub fn with_list(self) -> Self {
        self.shared.lock().keeps_list = true;
        self
    }

    /// Waits until a title has been asked for so often; false if it has not within `limit`.
    pub fn wait_titles(&self, count: usize, limit: Duration) -> bool {
        self.shared.wait(limit, |state| state.titles.len() >= count)
    }

    /// All questions for a title so far.
    pub fn titles(&self) -> Vec<Asked> {
        self.shared.lock().titles.clone()
    }

    /// What a provider's `base_url` is set to.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Asked> {
        self.shared.lock().asked.clone()
    }

    /// Waits until so many requests have come; false if they have not within `limit`.
    pub fn wait_requests(&self, count: usize, limit: Duration) -> bool {
        self.shared.wait(limit, |state| state.asked.len() >= count)
    }

    /// Waits until a client has closed before the server had said all; false if none has within `limit`.
    pub fn wait_closed(&self, limit: Duration) -> bool {
        self.shared.wait(limit, |state| state.closed > 0)
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.ended = true;
        for connection in &state.connections {
            let _ = connection.shutdown(Shutdown::Both);
        }
        drop(state);
        // Wakes the accepting thread, which then sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, limit: Duration, done: impl Fn(&State) -> bool) -> bool {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        while !done(&state) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Reads one request and answers it. An error is the client's leaving.
    fn converse(&self, stream: TcpStream) {
        let Ok(asked) = read_request(&stream) else { return };
        let reply = {
            let mut state = self.lock();
            state.connections.extend(stream.try_clone());
            let reply = if asked.is_for_title() {
                state.titles.push(asked);
                Some(state.title.clone().unwrap_or_else(Reply::no_title))
            } else if asked.is_for_list() && !state.keeps_list {
                Some(Reply::answer("HTTP/1.1 404 Not Found", "there is no list here"))
            } else {
                let reply = state.answerer.as_mut().and_then(|answer| answer(&asked));
                state.asked.push(asked);
                reply
            };
            reply.unwrap_or_else(|| Reply::answer("HTTP/1.1 500 Internal Server Error", "no reply is left"))
        };
        self.changed.notify_all();
        let written = reply.write_to(&stream);
        // Dropping would not close it: the server's own list has it too.
        let _ = stream.shutdown(Shutdown::Both);
        if written.is_err() {
            self.lock().closed += 1;
            self.changed.notify_all();
        }
    }
}

fn read_request(stream: &TcpStream) -> io::Result<Asked> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let headers = lines.iter().skip(1).filter_map(|line| line.split_once(": "));
    let headers: Vec<_> = headers
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.and_then(|(_, length)| length.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Asked {
        line: lines[0].trim_end_matches(" HTTP/1.1").to_owned(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        raw: String::from_utf8_lossy(&body).into_owned(),
    })
}
