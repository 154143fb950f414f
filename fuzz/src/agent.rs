//! An agent without a place in the world: the real adapter, core and store in this process, a model that does what its
//! prompt names, and two tools that only say that they were run.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use acp_adapter::agent::{Lines, ServeError, Settings, serve};
use agent_core::asker::Asker;
use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::content::{Content, plain_text};
use agent_core::event::{CallInput, ToolKind, ToolOutput};
use agent_core::plan::{Place, Plan};
use agent_core::provider::{
    Call, Delta, Finish, Message, ModelInfo, ModelRef, Origin, Provider, ProviderError, Reply, Request, ToolSpec, Usage,
};
use agent_core::runtime::{Parts, Preferences, REST_AFTER, Runtime};
use agent_core::setup::{Setup, SetupError};
use agent_core::store::Store;
use agent_core::tool::{Planned, Tool, ToolError};
use agent_core::workspace::{RuleBook, Scope, Surroundings, Workspace, Workspaces};
use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::{Value, json};

/// The tool whose each run needs an allow, in every mode.
const LOOK: &str = "look";
/// The tool that needs none.
const NOTE: &str = "note";

/// A running agent.
pub struct Agent {
    /// The lines that it writes; ends with it.
    pub lines: Receiver<Vec<u8>>,
    looked: Arc<AtomicUsize>,
    input: Option<Sender<Vec<u8>>>,
    server: JoinHandle<Result<(), ServeError>>,
}

impl Agent {
    /// Starts one that remembers nothing.
    pub fn start() -> Self {
        let looked = Arc::new(AtomicUsize::new(0));
        let setup = Arc::new(OneModel(Arc::new(Player(model()))));
        let (runtime, inlet) = Runtime::start(Parts {
            store: Store::memory(),
            setup: setup.clone(),
            workspaces: Arc::new(Nowhere(looked.clone())),
            source: "acp",
            preferences: Preferences::default(),
            forbidden: Vec::new(),
            rest_after: REST_AFTER,
        });
        let settings = Settings {
            name: "talaria".into(),
            version: "0".into(),
            provider: None,
            longest_silence: Duration::ZERO,
            setup_args: Vec::new(),
            command: Vec::new(),
            setup,
        };
        let (input, chunks) = unbounded();
        let (output, lines) = unbounded();
        let output = Cut {
            lines: output,
            rest: Vec::new(),
        };
        let server = thread::spawn(move || {
            let lines = Lines::read(Chunks {
                chunks,
                rest: Vec::new(),
            })?;
            serve(runtime, inlet, settings, lines, output, &Cancel::new())
        });
        Self {
            lines,
            looked,
            input: Some(input),
            server,
        }
    }

    /// Sends bytes.
    pub fn send(&self, bytes: Vec<u8>) {
        let input = self.input.as_ref().expect("the input is open");
        input.send(bytes).expect("the agent reads");
    }

    /// How often the tool has run that needs an allow.
    pub fn looked(&self) -> usize {
        self.looked.load(Ordering::SeqCst)
    }

    /// Ends its input.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// Waits for its end.
    pub fn join(self) {
        let ended = self.server.join().expect("serving does not panic");
        ended.expect("serving ends well");
    }
}

struct Chunks {
    chunks: Receiver<Vec<u8>>,
    rest: Vec<u8>,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.chunks.recv() {
                Ok(chunk) => self.rest = chunk,
                Err(_) => return Ok(0),
            }
        }
        let count = buffer.len().min(self.rest.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

struct Cut {
    lines: Sender<Vec<u8>>,
    rest: Vec<u8>,
}

impl Write for Cut {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend(piece);
            if self.rest.pop_if(|last| *last == b'\n').is_some() {
                let sent = self.lines.send(std::mem::take(&mut self.rest));
                sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn model() -> ModelInfo {
    ModelInfo {
        name: ModelRef {
            provider: "play".into(),
            model: "play".into(),
        },
        origin: Origin {
            api: "play".into(),
            base_url: String::new(),
            model: "play".into(),
        },
        context_window: None,
        max_output: None,
        images: false,
        tools: true,
        price: None,
    }
}

struct OneModel(Arc<Player>);

impl Setup for OneModel {
    fn config(&self) -> Result<Config, SetupError> {
        Ok(Config::default())
    }

    fn provider(&self, _: &Config, _: &ModelRef) -> Result<Arc<dyn Provider>, SetupError> {
        Ok(self.0.clone())
    }

    fn models(&self, _: &Config) -> Vec<ModelRef> {
        vec![self.0.0.name.clone()]
    }
}

/// A model that does what the last prompt names: `play:look`, `play:note`, `play:both`, `play:odd` (calls that are none),
/// `play:wait` (says nothing until a cancel). To all else it says a word.
struct Player(ModelInfo);

impl Provider for Player {
    fn model(&self) -> &ModelInfo {
        &self.0
    }

    fn complete(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        let prompt = match request.messages.last() {
            Some(Message::User(content)) => plain_text(content),
            _ => String::new(),
        };
        let (_, play) = prompt.rsplit_once("play:").unwrap_or_default();
        let play: String = play.chars().take_while(char::is_ascii_lowercase).collect();
        let calls = match play.as_str() {
            "wait" => {
                // It ends with the cancel alone.
                let _ = cancel.closed().recv();
                Vec::new()
            }
            "look" => vec![call("1", LOOK)],
            "note" => vec![call("1", NOTE)],
            "both" => vec![call("1", NOTE), call("2", LOOK), call("3", NOTE), call("4", LOOK)],
            "odd" => {
                let input = CallInput::Malformed("{".into());
                vec![
                    call("1", "none"),
                    Call {
                        input,
                        ..call("1", NOTE)
                    },
                ]
            }
            _ => Vec::new(),
        };
        if cancel.is_set() || sink(Delta::Text("A word.".into())).is_break() {
            return Err(ProviderError::Cancelled);
        }
        Ok(Reply {
            finish: if calls.is_empty() {
                Finish::Stop
            } else {
                Finish::ToolCalls
            },
            calls,
            usage: Usage::default(),
            native: None,
            remark: None,
        })
    }
}

fn call(id: &str, name: &str) -> Call {
    Call {
        id: id.into(),
        name: name.into(),
        input: CallInput::Json(json!({})),
    }
}

/// Workspaces with the two tools and nothing else.
struct Nowhere(Arc<AtomicUsize>);

impl Workspaces for Nowhere {
    fn open(&self, _: Scope, _: &Config, _: Asker) -> Arc<dyn Workspace> {
        Arc::new(Nowhere(self.0.clone()))
    }
}

impl Workspace for Nowhere {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |name: &str, runs: Arc<AtomicUsize>| -> Arc<dyn Tool> {
            let spec = ToolSpec {
                name: name.into(),
                description: String::new(),
                schema: json!({"type": "object"}),
            };
            Arc::new(Counted { spec, runs })
        };
        vec![tool(LOOK, self.0.clone()), tool(NOTE, Arc::default())]
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings::default()
    }

    fn rules(&self) -> RuleBook {
        RuleBook::default()
    }

    fn mention(&self, _: &str, _: &Cancel) -> Vec<Content> {
        vec![Content::text("It is not put in.")]
    }
}

/// A tool that counts its runs.
struct Counted {
    spec: ToolSpec,
    runs: Arc<AtomicUsize>,
}

impl Tool for Counted {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn title(&self, _: &Value) -> String {
        self.spec.name.clone()
    }

    fn only_reads(&self, _: &Value) -> bool {
        true
    }

    fn plan(&self, _: &Value, _: &Cancel) -> Result<Planned, ToolError> {
        // A private key is asked about wherever it lies.
        let key = Place {
            path: "/nowhere/.ssh/id_rsa".into(),
            real: "/nowhere/.ssh/id_rsa".into(),
        };
        let plan = match self.spec.name.as_str() {
            LOOK => Plan::Read { places: vec![key] },
            _ => Plan::Inward,
        };
        let runs = self.runs.clone();
        Ok(Planned {
            plan,
            locations: Vec::new(),
            action: Box::new(move |_| {
                runs.fetch_add(1, Ordering::SeqCst);
                Ok(ToolOutput::text("Seen."))
            }),
        })
    }
}
