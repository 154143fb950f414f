//! A better title than the first line of a prompt: by the session's model, in the background, once a first exchange is
//! over. It never delays a turn, since the next prompt ends it, and never fails one. What the service fails at, or the
//! next prompt ends, is tried once more after that prompt; a title that is none is not asked for again.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use crate::budget;
use crate::cancel::Cancel;
use crate::content::Content;
use crate::engine::Engine;
use crate::event::{Event, SessionChange};
use crate::history::Exchange;
use crate::provider::{Delta, Message, Provider, Request, Usage};
use crate::session::Session;
use crate::settings::Standing;
use crate::title;

const SYSTEM: &str = "You give conversations their titles.";
const TASK: &str = "Give this conversation a title of at most six words, in the language of the user, without quotation \
marks and without a full stop. Answer with the title alone.";
/// How much of each side of the exchange is shown, in characters.
const SHOWN: usize = 1500;

/// Names a session in the background if it still bears the first line of its prompt. The model that has just answered
/// is asked, about what it has just answered.
pub(crate) fn begin(engine: &Arc<Engine>, session: &Arc<Session>, provider: Arc<dyn Provider>) {
    // The built-in ones answer instructions, and know nothing of titles.
    if !engine.preferences.names_sessions || provider.model().origin.base_url.is_empty() {
        return;
    }
    let Some(exchange) = session.exchange() else { return };
    let Some(provisional) = session.change_standing(Standing::try_title) else {
        return;
    };
    let cancel = session.begin_naming();
    let (engine, session) = (Arc::clone(engine), Arc::clone(session));
    engine.begin_work();
    let shared = Arc::clone(&engine);
    let name = move || {
        let named = catch_unwind(AssertUnwindSafe(|| ask(provider.as_ref(), &exchange, &cancel)));
        if let Ok(Some(Suggested { title, usage })) = named {
            session.spend(None, usage);
            match title {
                Some(title) => give(&engine, &session, &provisional, &title, &cancel),
                None => session.change_standing(|standing| standing.provisional_title = None),
            }
        }
        engine.end_work();
    };
    if let Err(error) = thread::Builder::new().name("naming".into()).spawn(name) {
        shared.end_work();
        tracing::warn!(%error, "a session keeps the first line of its prompt as its title");
    }
}

/// What the model says.
struct Suggested {
    /// None if it is none that can be used.
    title: Option<String>,
    usage: Usage,
}

/// Asks the model; none where it can't be had.
fn ask(provider: &dyn Provider, exchange: &Exchange, cancel: &Cancel) -> Option<Suggested> {
    let Exchange { asked, answered } = exchange;
    let (asked, answered) = (start(asked), start(answered));
    let text = format!("<user>\n{asked}\n</user>\n<agent>\n{answered}\n</agent>\n\n{TASK}");
    let request = Request {
        system: SYSTEM,
        tools: &[],
        messages: &[Message::User(vec![Content::text(text)])],
        thinking: None,
        counted: None,
    };
    let mut said = String::new();
    let reply = provider.complete(&request, cancel, &mut |delta| {
        if let Delta::Text(text) = delta {
            said.push_str(&text);
        }
        ControlFlow::Continue(())
    });
    match reply {
        Ok(reply) => Some(Suggested {
            title: in_reply(&said),
            usage: budget::priced(reply.usage, provider.model()),
        }),
        Err(error) => {
            tracing::info!(%error, "the model gave no title");
            None
        }
    }
}

/// The title in what the model says.
fn in_reply(said: &str) -> Option<String> {
    let line = said.lines().map(str::trim).find(|line| !line.is_empty())?;
    // Many models put it in quotation marks or make a heading of it all the same.
    let frame = ['#', '*', '`', '"', '“', '”', ' '];
    let title = line
        .trim_start_matches(frame)
        .trim_end_matches(|letter| letter == '.' || frame.contains(&letter));
    title::from_text(title).ok()
}

/// Gives the title, unless the user has given one meanwhile or a new turn has begun.
fn give(engine: &Engine, session: &Session, provisional: &str, title: &str, cancel: &Cancel) {
    let title = engine.store.give_title(&session.id, title);
    let given = session.change_standing(|standing| {
        let fits = !cancel.is_set() && standing.title.as_deref() == Some(provisional);
        if fits {
            standing.title = Some(title.clone());
            standing.provisional_title = None;
        }
        fits
    });
    if given {
        let change = SessionChange::Title(title);
        session.line.emit(None, Event::SessionChanged { change });
    }
}

fn start(text: &str) -> &str {
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}
