//! How a session becomes this process's to write: its lease, its begin, and what another process has done with it.

use crate::clock::unix_ms;
use crate::engine::Engine;
use crate::event::{Event, SessionChange, Severity};
use crate::id::TurnId;
use crate::prompt::{Facts, Instructions, Prompted, system_prompt};
use crate::provider::ModelRef;
use crate::session::Session;
use crate::settings::Settings;
use crate::store::{SessionRecord, StoreError};
use crate::turn::TurnError;
use crate::workspace::Scope;

/// Makes this process the session's writer for a turn, and its first prompt the begin of its history.
pub(crate) fn claim(engine: &Engine, session: &Session, turn: TurnId) -> Result<(), TurnError> {
    if let Err(held) = engine.store.claim(&session.id) {
        session.line.step_back();
        return Err(TurnError::Held(format!(
            "process {} is working in this session: go on there, or here in a fork of it (`session/fork` in an editor, \
             `agent sessions fork {}` in a terminal)",
            held.pid, session.id
        )));
    }
    session.wake();
    let is_new = session.standing().system.is_none();
    if is_new {
        begin(engine, session);
    } else if let Some(record) = stored(engine, session)?
        && record.last_seq > session.line.last_seq()
    {
        catch_up(session, &record);
    }
    session.line.take_over(turn);
    if is_new {
        keep_choice(session, turn);
    }
    let new = session.change_standing(|standing| standing.new_instructions.take());
    if let Some(instructions) = new {
        prompt_anew(session, turn, instructions);
    }
    Ok(())
}

/// What the store has of the session. One that is damaged has nothing that would be newer than what is known here.
fn stored(engine: &Engine, session: &Session) -> Result<Option<SessionRecord>, StoreError> {
    match engine.store.session(&session.id) {
        Err(StoreError::Damaged { .. }) => Ok(None),
        found => found,
    }
}

/// Goes on where another process has brought the session. It stays where it works here, and as it is set here.
fn catch_up(session: &Session, record: &SessionRecord) {
    let settings = session.settings();
    let told = told(record, &settings);
    let model = &settings.provider.model().name;
    let mode = (settings.mode != record.mode).then_some(SessionChange::Mode(settings.mode));
    let model = (*model != record.model).then(|| SessionChange::Model(model.clone()));
    let thought = settings.thought;
    let thought = (thought != record.thought).then_some(SessionChange::Thought(thought));
    let cwd = settings.folders.cwd;
    let cwd = (cwd != record.cwd).then_some(SessionChange::Cwd(cwd));
    let changes = mode.into_iter().chain(model).chain(thought).chain(cwd);
    session.line.go_on_from(record.last_seq, changes);
    let notice = Event::Notice {
        severity: Severity::Info,
        title: "another process has gone on with this session meanwhile".into(),
        detail: Some("The model knows of it. To see it here, load the session again.".into()),
    };
    session.change_standing(|standing| {
        standing.title.clone_from(&record.title);
        standing.system = Some(record.system.as_str().into());
        standing.instructions.clone_from(&record.instructions);
        standing.begun.clone_from(&record.begun);
        standing.context = record.context;
        standing.spent_nano_usd = record.usage.cost_nano_usd;
        standing.told = Some(told);
        standing.notices.push(notice);
    });
}

/// Stores that the user has chosen the built-in model: a session that is on it for want of another gets the configured
/// one as soon as there is one.
fn keep_choice(session: &Session, turn: TurnId) {
    let settings = session.settings();
    let model = ModelRef::offline();
    if settings.model_is_chosen && settings.provider.model().name == model {
        let change = SessionChange::Model(model);
        session.line.emit(Some(turn), Event::SessionChanged { change });
    }
}

/// What a stored session's model was last told of it. Where nobody knows, it is taken to know how things are.
pub(crate) fn told(record: &SessionRecord, settings: &Settings) -> Facts {
    let known = record.told.clone();
    known.unwrap_or_else(|| {
        let scope = Scope {
            session: record.id.clone(),
            cwd: record.cwd.clone(),
            extra_roots: record.extra_roots.clone(),
            servers: Vec::new(),
        };
        Facts::new(record.mode, record.model.clone(), &scope, &settings.workspace.rules())
    })
}

/// Fixes the system prompt and prepares the session's row.
fn begin(engine: &Engine, session: &Session) {
    let settings = session.settings();
    let instructions = session.standing().instructions;
    let scope = settings.scope(&session.id);
    let Prompted {
        instructions,
        system,
        facts,
    } = prompted(session, &settings, instructions);
    let model = settings.provider.model();
    engine.store.create(SessionRecord {
        source: engine.source.to_owned(),
        extra_roots: scope.extra_roots.clone(),
        model: model.name.clone(),
        origin: model.origin.clone(),
        mode: settings.mode,
        thought: settings.thought,
        system: system.clone(),
        instructions,
        begun: Some(facts.clone()),
        told: Some(facts.clone()),
        ..SessionRecord::new(session.id.clone(), scope.cwd.clone(), unix_ms())
    });
    session.change_standing(|standing| {
        standing.system = Some(system.into());
        standing.begun = Some(facts.clone());
        standing.told = Some(facts);
    });
}

/// Makes the system prompt of a session that has begun anew, with other instructions of its client.
fn prompt_anew(session: &Session, turn: TurnId, instructions: Instructions) {
    let prompted = prompted(session, &session.settings(), Some(instructions));
    session.change_standing(|standing| {
        standing.instructions.clone_from(&prompted.instructions);
        standing.system = Some(prompted.system.as_str().into());
        standing.begun = Some(prompted.facts.clone());
        standing.told = Some(prompted.facts.clone());
    });
    let change = SessionChange::Prompted(Box::new(prompted));
    session.line.emit(Some(turn), Event::SessionChanged { change });
}

/// The system prompt as it is made now.
fn prompted(session: &Session, settings: &Settings, instructions: Option<Instructions>) -> Prompted {
    let scope = settings.scope(&session.id);
    let surroundings = settings.workspace.surroundings();
    let rules = settings.workspace.rules();
    let model = settings.provider.model().name.clone();
    Prompted {
        system: system_prompt(
            settings.mode,
            &scope,
            &surroundings,
            &rules,
            &settings.specs(),
            instructions.as_ref(),
        ),
        facts: Facts::new(settings.mode, model, &scope, &rules),
        instructions,
    }
}
