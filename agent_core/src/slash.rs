//! Slash commands: the same in every surface, since the core answers them.
//!
//! A command is a turn of its own, shown and stored like any other, that is no part of the model's history.

mod choice;
mod context;
mod finding;
mod permissions;
mod servers;
mod slip;
mod tools;

use crate::cancel::Cancel;
use crate::claim;
use crate::compact::{Compactor, Made, Reason};
use crate::content::{Content, plain_text};
use crate::engine::Engine;
use crate::event::{ContextUse, Event, HistoryMove, SessionChange, StopReason};
use crate::id::{MessageId, TurnId};
use crate::line::Voice;
use crate::opening;
use crate::options;
use crate::outward::CallError;
use crate::provider::{ProviderError, Usage};
use crate::session::{Prompt, Session};
use crate::title;
use crate::turn::TurnError;
use crate::undo::{self, Wish};

pub(crate) use slip::slip;

/// A slash command as a surface offers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandInfo {
    /// Its name, without the slash.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// What its argument is, if it takes one.
    pub hint: Option<&'static str>,
}

/// All commands, in the order they are offered.
pub const COMMANDS: [CommandInfo; 17] = [
    info("help", "List the commands", None),
    info("model", "Show the model, or switch to another", Some("provider/model")),
    info(
        "mode",
        "Show the mode, or switch to another",
        Some("plan, default, accept_edits or dont_ask"),
    ),
    info(
        "thought",
        "Show how much the model thinks, or change it",
        Some("off, low, medium, high or default"),
    ),
    info("tools", "List the tools of this session", None),
    info("mcp", "List the MCP servers of this session", None),
    info("context", "Show how full the model's context is", None),
    info(
        "compact",
        "Summarise the conversation so far to make room in the model's context",
        Some("what to dwell on"),
    ),
    info(
        "clear",
        "Forget the conversation so far; the files stay as they are",
        None,
    ),
    info(
        "undo",
        "Take the last turn back: its messages and what it changed in files",
        Some("keep or force: what becomes of files that someone else has changed since"),
    ),
    info("redo", "Take the last undo back", Some("keep or force")),
    info(
        "rewind",
        "List the last turns, or take so many of them back",
        Some("number"),
    ),
    info(
        "steer",
        "Say something to the running turn; the model hears it at its next step",
        Some("text"),
    ),
    info(
        "search",
        "Search your other sessions",
        Some("words, \"a phrase\", -word, prefix*, role:user, in:PATH, since:DATE"),
    ),
    info(
        "permissions",
        "Show what is asked, what holds in commands, and what was allowed for good",
        None,
    ),
    info("title", "Show the title, or set it", Some("text")),
    info("version", "Show the version", None),
];

const fn info(name: &'static str, description: &'static str, hint: Option<&'static str>) -> CommandInfo {
    CommandInfo {
        name,
        description,
        hint,
    }
}

/// A command with its argument, verbatim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    name: Name,
    argument: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Help,
    Model,
    Mode,
    Thought,
    Tools,
    Mcp,
    Context,
    Compact,
    Clear,
    TakeBack(Wish),
    Steer,
    Search,
    Permissions,
    Title,
    Version,
}

/// The command that a prompt is: text alone, with a known name. Any other `/text` goes to the model.
pub(crate) fn parse(content: &[Content]) -> Option<Command> {
    if !content.iter().all(|piece| matches!(piece, Content::Text { .. })) {
        return None;
    }
    let text = plain_text(content);
    let text = text.trim().strip_prefix('/')?;
    let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = match name {
        "help" => Name::Help,
        "model" => Name::Model,
        "mode" => Name::Mode,
        "thought" => Name::Thought,
        "tools" => Name::Tools,
        "mcp" => Name::Mcp,
        "context" => Name::Context,
        "compact" => Name::Compact,
        "clear" => Name::Clear,
        "undo" => Name::TakeBack(Wish::Undo),
        "redo" => Name::TakeBack(Wish::Redo),
        "rewind" => Name::TakeBack(Wish::Rewind),
        "steer" => Name::Steer,
        "search" => Name::Search,
        "permissions" => Name::Permissions,
        "title" => Name::Title,
        "version" => Name::Version,
        _ => return None,
    };
    Some(Command {
        name,
        argument: argument.trim().to_owned(),
    })
}

/// Whether a prompt is a command that the core answers itself.
pub fn is_command(content: &[Content]) -> bool {
    parse(content).is_some()
}

/// Whether a prompt is a command that need not wait for the running turn.
pub(crate) fn acts_at_once(content: &[Content]) -> bool {
    parse(content).is_some_and(|command| match command.name {
        Name::Help
        | Name::Model
        | Name::Mode
        | Name::Thought
        | Name::Tools
        | Name::Mcp
        | Name::Context
        | Name::Steer
        | Name::Search
        | Name::Permissions
        | Name::Version => true,
        Name::Compact | Name::Clear | Name::TakeBack(_) | Name::Title => false,
    })
}

/// What a prompt says to the running turn, where it is a `/steer` with something to say. Without a running turn it is a
/// prompt like any other.
pub(crate) fn steering(content: &[Content]) -> Option<Vec<Content>> {
    let command = parse(content).filter(|command| command.name == Name::Steer)?;
    (!command.argument.is_empty()).then(|| vec![Content::text(command.argument)])
}

/// What is answered: of what was done, or why it was not.
type Told = Result<String, String>;

/// Runs a command as its own turn, up to its end event.
pub(crate) fn run(
    engine: &Engine,
    session: &Session,
    command: &Command,
    prompt: Prompt,
) -> Result<(StopReason, Usage), TurnError> {
    opening::follow_setup(engine, session);
    claim::claim(engine, session, prompt.turn)?;
    let is_cancelled = prompt.cancel.is_set();
    if command.name == Name::Clear && command.argument.is_empty() && !is_cancelled {
        // First, so that the command and its answer are what is left.
        clear(engine, session, prompt.turn)?;
    }
    // The same, for the same reason.
    let taken_back = match wish(command).filter(|_| !is_cancelled) {
        Some(wish) => {
            let argument = command.argument.as_str();
            Some(undo::answer(
                engine,
                session,
                wish,
                argument,
                prompt.turn,
                &prompt.cancel,
            ))
        }
        None => None,
    };
    session.line.emit(
        Some(prompt.turn),
        Event::UserMessage {
            id: MessageId::new(),
            content: prompt.content,
            context: Vec::new(),
            command: true,
        },
    );
    if is_cancelled {
        return Ok((StopReason::Cancelled, Usage::default()));
    }
    let (text, stop, usage) = if let Some(told) = taken_back {
        let undo::Answer { text, stop } = told?;
        (text, stop, Usage::default())
    } else if command.name == Name::Compact {
        match compact(engine, session, command, &prompt.cancel, prompt.turn) {
            Err(TurnError::Provider(ProviderError::Cancelled)) => return Ok((StopReason::Cancelled, Usage::default())),
            done => {
                let (told, usage) = done?;
                let (text, stop) = stopped(told);
                (text, stop, usage)
            }
        }
    } else {
        match answer(engine, session, command, prompt.turn, &prompt.cancel)? {
            Some(told) => {
                let (text, stop) = stopped(told);
                (text, stop, Usage::default())
            }
            None => return Ok((StopReason::Cancelled, Usage::default())),
        }
    };
    let mut speech = session.line.speak(Some(prompt.turn), MessageId::new(), Voice::Text);
    speech.say(text, &prompt.cancel);
    speech.end();
    Ok((stop, usage))
}

fn stopped(told: Told) -> (String, StopReason) {
    match told {
        Ok(text) => (text, StopReason::EndTurn),
        Err(text) => (text, StopReason::NotDone),
    }
}

fn wish(command: &Command) -> Option<Wish> {
    if let Name::TakeBack(wish) = command.name {
        return Some(wish);
    }
    None
}

fn compact(
    engine: &Engine,
    session: &Session,
    command: &Command,
    cancel: &Cancel,
    turn: TurnId,
) -> Result<(Told, Usage), TurnError> {
    let mut history = session.take_history().read_on(&engine.store, &session.id)?;
    let mut usage = Usage::default();
    let settings = session.settings();
    let compactor = Compactor {
        session,
        turn,
        cancel,
        tools: &settings.specs(),
        provider: settings.provider,
        history: &mut history,
        usage: &mut usage,
    };
    let made = compactor.make_room(Reason::Asked, &command.argument);
    session.keep_history(history);
    let told = match made? {
        Made::Room { before, after } => Ok(format!(
            "The conversation so far is summarised: about {before} tokens became {after}."
        )),
        Made::Nothing => Ok("There is nothing yet that a summary would make shorter.".to_owned()),
        Made::NoSummary => {
            Err("The model gave no summary, so nothing was changed. Try again, or begin anew with /clear.".to_owned())
        }
    };
    Ok((told, usage))
}

/// None if the command was cancelled.
fn answer(
    engine: &Engine,
    session: &Session,
    command: &Command,
    turn: TurnId,
    cancel: &Cancel,
) -> Result<Option<Told>, TurnError> {
    let argument = command.argument.as_str();
    let told = match command.name {
        Name::Help => Ok(help()),
        Name::Version => Ok(format!("Talaria {}", env!("CARGO_PKG_VERSION"))),
        Name::Tools => Ok(tools::answer(session)),
        Name::Mcp => Ok(servers::answer(session)),
        Name::Context => Ok(context::answer(engine, session)?),
        // Their answers are given above.
        Name::Compact | Name::TakeBack(_) => Ok(String::new()),
        Name::Clear if argument.is_empty() => {
            Ok("The conversation so far is forgotten. Files stay as they are.".into())
        }
        Name::Clear => Err("`/clear` takes no argument, and nothing was forgotten. Say `/clear` alone.".into()),
        // With an argument it is no command but a message.
        Name::Steer => {
            Err("`/steer` wants what to say: `/steer TEXT` reaches the running turn at its next step.".into())
        }
        Name::Search => return Ok(finding::answer(&engine.store, &session.id, argument, cancel)),
        Name::Permissions => Ok(permissions::answer(engine, session)?),
        Name::Title => set_title(engine, session, turn, argument),
        Name::Mode if argument.is_empty() => Ok(choice::modes(session)),
        Name::Mode => chosen(options::set_mode(session, Some(turn), argument), || {
            choice::modes(session)
        }),
        Name::Thought if argument.is_empty() => Ok(choice::thought(session)),
        Name::Thought => {
            let level = choice::thought_level(argument);
            chosen(options::set_thought(session, Some(turn), level), || {
                choice::thought(session)
            })
        }
        Name::Model if argument.is_empty() => Ok(choice::models(session)),
        Name::Model => chosen(options::set_model(engine, session, Some(turn), argument), || {
            choice::models(session)
        }),
    };
    Ok(Some(told))
}

/// What there is to choose from now, or why nothing else was chosen.
fn chosen(set: Result<(), CallError>, choice: impl FnOnce() -> String) -> Told {
    set.map(|()| choice()).map_err(|error| error.to_string())
}

fn help() -> String {
    let line = |info: &CommandInfo| match info.hint {
        Some(hint) => format!("- `/{} [{hint}]`: {}\n", info.name, info.description),
        None => format!("- `/{}`: {}\n", info.name, info.description),
    };
    COMMANDS.iter().map(line).collect()
}

fn clear(engine: &Engine, session: &Session, turn: TurnId) -> Result<(), TurnError> {
    let past = session.take_history().read_on(&engine.store, &session.id)?;
    let context = ContextUse {
        cost_nano_usd: session.spent(None),
        ..ContextUse::default()
    };
    session.change_standing(|standing| {
        standing.context = Some(context);
        standing.forget_notes();
    });
    let moved = Event::HistoryMoved {
        keep_upto: 0,
        why: HistoryMove::Clear,
    };
    session.line.emit(Some(turn), moved);
    if !past.plan().is_empty() {
        let entries = Vec::new();
        session.line.emit(Some(turn), Event::PlanUpdated { entries });
    }
    session.show_context();
    Ok(())
}

fn set_title(engine: &Engine, session: &Session, turn: TurnId, argument: &str) -> Told {
    if argument.is_empty() {
        let title = session.standing().title;
        return Ok(title.map_or_else(|| "No title yet.".into(), |title| format!("Title: {title}")));
    }
    let title = title::from_text(argument).map_err(|error| format!("The title stays as it was: {error}."))?;
    let claimed = engine.store.claim_title(&session.id, title);
    let title = claimed.map_err(|error| format!("The title stays as it was: {error}."))?;
    session.change_standing(|standing| standing.title = Some(title.clone()));
    let answer = format!("Title: {title}");
    let change = SessionChange::Title(title);
    session.line.emit(Some(turn), Event::SessionChanged { change });
    Ok(answer)
}

#[cfg(test)]
mod tests;
