//! The services: this program once more, in a process of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use talaria_tests::mock::{Asked, Mock, Reply};

use crate::spoken::{self, DIALECTS};

const SERVE: &str = "TALARIA_BENCH_SERVE";
/// Long enough that each chunk comes alone, as from a model.
const PAUSE: Duration = Duration::from_micros(50);

/// How a reply comes.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// As fast as the socket takes it.
    AtOnce,
    /// Each chunk in a write of its own, with a pause after it.
    Apart,
    /// A short reply.
    Short,
}

impl Pace {
    /// Its name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "at once",
            Self::Apart => "chunk by chunk",
            Self::Short => "short",
        }
    }
}

/// The services' process.
pub(crate) struct Services {
    child: Child,
    addresses: [SocketAddr; 3],
}

/// Whether this process is to be theirs.
pub(crate) fn is_to_serve() -> bool {
    std::env::var_os(SERVE).is_some()
}

/// Serves until it is killed.
pub(crate) fn serve() -> ! {
    let mocks = [Pace::AtOnce, Pace::Apart, Pace::Short].map(|pace| {
        let replies = DIALECTS.map(|dialect| (spoken::path(dialect), reply(&spoken::events(dialect), pace)));
        Mock::answering(move |asked| answer(asked, &replies))
    });
    for mock in &mocks {
        println!("{}", mock.base_url());
    }
    loop {
        thread::park();
    }
}

fn answer(asked: &Asked, replies: &[(String, Reply)]) -> Reply {
    let reply = replies.iter().find(|(path, _)| asked.line.ends_with(path.as_str()));
    let Some((_, reply)) = reply else {
        return Reply::answer("HTTP/1.1 404 Not Found", asked.line.as_str());
    };
    reply.clone()
}

fn reply(events: &[String], pace: Pace) -> Reply {
    match pace {
        Pace::AtOnce => Reply::sse(events.concat()),
        Pace::Apart => Reply::sse(events.concat()).in_pieces(ends(events)).pausing(PAUSE),
        Pace::Short => Reply::sse(events[events.len() - spoken::ENDINGS..].concat()),
    }
}

fn ends(events: &[String]) -> Vec<usize> {
    let ends = events.iter().scan(0, |end, event| {
        *end += event.len();
        Some(*end)
    });
    ends.collect()
}

impl Services {
    pub(crate) fn start() -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let mut command = Command::new(program);
        command.env(SERVE, "1").stdout(Stdio::piped());
        let mut child = command.spawn().expect("this program starts once more");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let mut lines = BufReader::new(stdout).lines();
        let addresses = std::array::from_fn(|_| {
            let line = lines.next().and_then(Result::ok).expect("a line for each service");
            let address = line.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/v1"));
            address.and_then(|address| address.parse().ok()).expect("an address")
        });
        Self { child, addresses }
    }

    pub(crate) fn address(&self, pace: Pace) -> SocketAddr {
        self.addresses[pace as usize]
    }

    pub(crate) fn base_url(&self, pace: Pace) -> String {
        format!("http://{}/v1", self.address(pace))
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        // One that has ended does not mind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
