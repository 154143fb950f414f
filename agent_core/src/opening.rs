//! How a session comes into memory: created, opened from the store, moved.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::approval::Mode;
use crate::claim;
use crate::config::Config;
use crate::engine::Engine;
use crate::event::{Event, SessionChange, Severity};
use crate::id::SessionId;
use crate::line::Line;
use crate::options;
use crate::outward::CallError;
use crate::prompt::Instructions;
use crate::provider::{ModelRef, Provider};
use crate::runtime::Folders;
use crate::session::Session;
use crate::settings::{Settings, Standing};
use crate::setup::SetupError;
use crate::store::{SessionRecord, StoreError};
use crate::workspace::Scope;

/// Begins a session. Nothing is stored before its first prompt.
pub(crate) fn create(
    engine: &Engine,
    folders: Folders,
    instructions: Option<Instructions>,
) -> Result<Arc<Session>, CallError> {
    let roots = check(&folders)?;
    let config = engine.setup.config()?;
    let model = engine.preferences.model.as_ref().unwrap_or(&config.model);
    let provider = engine.setup.provider(&config, model)?;
    let id = SessionId::new();
    let line = Line::new(id.clone(), engine.store.clone(), engine.outlet.clone(), 0);
    let mode = engine.preferences.mode.unwrap_or(config.agent.mode);
    let settings = Settings {
        model_is_chosen: engine.preferences.model.is_some(),
        thought: config.agent.thought_level,
        ..settle(engine, &id, folders, roots, Arc::new(config), provider, mode)
    };
    let standing = Standing {
        instructions,
        notices: notices(engine),
        ..Standing::default()
    };
    Ok(engine.insert(Session::new(id, line, settings, standing, 0)))
}

/// Opens a stored session, or moves one that is open already.
pub(crate) fn open(engine: &Engine, id: &SessionId, folders: Option<Folders>) -> Result<Arc<Session>, CallError> {
    if let Some(session) = engine.session(id) {
        if !is_behind(engine, &session) {
            if let Some(folders) = folders {
                move_to(engine, &session, folders)?;
            }
            return Ok(session);
        }
        engine.forget(&session);
    }
    engine.store.recover(id)?;
    let record = engine.store.session(id)?;
    let record = record.ok_or_else(|| CallError::UnknownSession(id.clone()))?;
    engine.store.reopen(&record);
    let stored = Folders {
        cwd: record.cwd.clone(),
        extra_roots: record.extra_roots.clone(),
        servers: Vec::new(),
    };
    let folders = folders.unwrap_or(stored);
    let roots = check(&folders)?;
    let has_moved = folders.cwd != record.cwd;
    let session = engine.insert(restore(engine, &record, folders, roots)?);
    if has_moved {
        tell_moved(&session, &record.cwd);
    }
    if let Some(change) = followed(engine, &session) {
        session.tell(session.running(), change);
    }
    Ok(session)
}

/// Whether another process has gone on with an open session, so that what is in memory here is out of date.
fn is_behind(engine: &Engine, session: &Session) -> bool {
    // Read before the line is asked, since rows of this process are numbered before they are stored.
    let record = engine.store.session(&session.id).ok().flatten();
    session.running().is_none() && record.is_some_and(|record| record.last_seq > session.line.last_seq())
}

/// A session as it is stored.
pub(crate) fn restore(
    engine: &Engine,
    record: &SessionRecord,
    folders: Folders,
    roots: Vec<PathBuf>,
) -> Result<Session, CallError> {
    let config = engine.setup.config()?;
    let (provider, fallback) = provider_of(engine, &config, &record.model)?;
    let line = Line::new(
        record.id.clone(),
        engine.store.clone(),
        engine.outlet.clone(),
        record.last_seq,
    );
    let settings = Settings {
        model_is_chosen: has_chosen(engine, record)?,
        thought: record.thought,
        ..settle(
            engine,
            &record.id,
            folders,
            roots,
            Arc::new(config),
            provider,
            record.mode,
        )
    };
    let told = claim::told(record, &settings);
    let standing = Standing {
        title: record.title.clone(),
        provisional_title: None,
        title_tries: 0,
        system: Some(record.system.as_str().into()),
        instructions: record.instructions.clone(),
        new_instructions: None,
        told: Some(told),
        begun: record.begun.clone(),
        context: record.context,
        spent_nano_usd: record.usage.cost_nano_usd,
        is_past_shown: false,
        key_refused: false,
        notices: fallback.into_iter().chain(notices(engine)).collect(),
    };
    Ok(Session::new(
        record.id.clone(),
        line,
        settings,
        standing,
        record.last_turn,
    ))
}

/// The session's model, or the configured one where nobody serves that any more.
fn provider_of(
    engine: &Engine,
    config: &Config,
    model: &ModelRef,
) -> Result<(Arc<dyn Provider>, Option<Event>), CallError> {
    match engine.setup.provider(config, model) {
        Ok(provider) => Ok((provider, None)),
        Err(SetupError::UnknownModel(why)) => {
            let provider = engine.setup.provider(config, &config.model)?;
            let notice = Event::Notice {
                severity: Severity::Warning,
                title: format!("{} answers now: {model} is not available", config.model),
                detail: Some(why),
            };
            Ok((provider, Some(notice)))
        }
        Err(error @ (SetupError::Config(_) | SetupError::NoCredentials { .. })) => Err(error.into()),
    }
}

/// Whether the user has chosen the session's model. Of interest only for the built-in one, which sessions also have for
/// want of another.
fn has_chosen(engine: &Engine, record: &SessionRecord) -> Result<bool, StoreError> {
    let offline = ModelRef::offline();
    if record.model != offline {
        return Ok(true);
    }
    let chosen = Event::SessionChanged {
        change: SessionChange::Model(offline),
    };
    let events = engine.store.events(&record.id, 0, usize::MAX)?;
    Ok(events.iter().any(|envelope| envelope.event == chosen))
}

/// Lets an open session with the built-in model see what the user has set up since, and shows it.
pub(crate) fn follow_setup(engine: &Engine, session: &Session) {
    if let Some(change) = followed(engine, session) {
        options::tell(session, session.running(), change);
        session.show_context();
    }
}

/// Lets a session with the built-in model see what the user has set up since. If it has that model only because there
/// was no other, it gets the configured one, which is the change that comes back.
fn followed(engine: &Engine, session: &Session) -> Option<SessionChange> {
    let offline = ModelRef::offline();
    let before = session.settings();
    if before.provider.model().name != offline {
        return None;
    }
    // What is wrong with the configuration is told where a session begins.
    let config = engine.setup.config().ok()?;
    let wanted = if before.model_is_chosen {
        &offline
    } else {
        &config.model
    };
    let provider = engine.setup.provider(&config, wanted).ok()?;
    let model = provider.model().name.clone();
    let models = engine.setup.models(&config).into();
    let mut has_changed = false;
    session.change_settings(|now| {
        // The user may have chosen another model meanwhile.
        if now.provider.model().name == offline {
            has_changed = model != offline;
            now.provider = provider;
            now.models = models;
            now.config = Arc::new(config);
        }
    });
    if !has_changed {
        return None;
    }
    session.change_standing(|standing| {
        standing.resize_context();
        standing.notices.push(Event::Notice {
            severity: Severity::Info,
            title: format!("{model} answers now: when this session began no model was configured"),
            detail: None,
        });
    });
    Some(SessionChange::Model(model))
}

/// Opens the session's model again if its service has refused the key: the user may have given another one since.
pub(crate) fn renew_key(engine: &Engine, session: &Session) {
    if !session.change_standing(|standing| std::mem::take(&mut standing.key_refused)) {
        return;
    }
    let settings = session.settings();
    let model = &settings.provider.model().name;
    match engine.setup.provider(&settings.config, model) {
        Ok(provider) => session.change_settings(|now| {
            // The user may have chosen another model meanwhile.
            if now.provider.model().name == *model {
                now.provider = provider;
            }
        }),
        // The turn asks with the old key, and its failure says what to do.
        Err(error) => tracing::warn!(session = %session.id, %error, "the model can't be opened again"),
    }
}

/// Moves a session to other folders, if they are other ones.
fn move_to(engine: &Engine, session: &Session, folders: Folders) -> Result<(), CallError> {
    let roots = check(&folders)?;
    let settings = session.settings();
    if settings.folders == folders {
        return Ok(());
    }
    let before = settings.folders.cwd;
    let has_moved = before != folders.cwd;
    let new = settle(
        engine,
        &session.id,
        folders,
        roots,
        settings.config,
        settings.provider,
        settings.mode,
    );
    session.change_settings(|settings| {
        settings.folders = new.folders;
        settings.roots = new.roots;
        settings.workspace = new.workspace;
        // It was given for the folders as they were.
        settings.edits_granted = false;
    });
    if has_moved {
        tell_moved(session, &before);
    }
    Ok(())
}

fn tell_moved(session: &Session, before: &Path) {
    let cwd = session.settings().folders.cwd;
    let notice = Event::Notice {
        severity: Severity::Info,
        title: format!(
            "this session now works in {}; before it was {}",
            cwd.display(),
            before.display()
        ),
        detail: None,
    };
    session.tell(session.running(), SessionChange::Cwd(cwd));
    session.change_standing(|standing| standing.notices.push(notice));
}

fn settle(
    engine: &Engine,
    id: &SessionId,
    folders: Folders,
    roots: Vec<PathBuf>,
    config: Arc<Config>,
    provider: Arc<dyn Provider>,
    mode: Mode,
) -> Settings {
    let scope = Scope {
        session: id.clone(),
        cwd: folders.cwd.clone(),
        extra_roots: folders.extra_roots.clone(),
        servers: folders.servers.clone(),
    };
    Settings {
        workspace: engine.workspaces.open(scope, &config, engine.desk.asker(id.clone())),
        models: engine.setup.models(&config).into(),
        folders,
        roots: roots.into(),
        config,
        provider,
        mode,
        model_is_chosen: false,
        thought: None,
        edits_granted: false,
        hosts_granted: Arc::default(),
    }
}

/// The real paths of folders, its own first; or what is wrong with one.
pub(crate) fn check(folders: &Folders) -> Result<Vec<PathBuf>, CallError> {
    let cwd = real_folder("cwd", &folders.cwd)?;
    let extra = folders
        .extra_roots
        .iter()
        .map(|folder| real_folder("additionalDirectories", folder));
    std::iter::once(Ok(cwd)).chain(extra).collect()
}

fn real_folder(field: &'static str, folder: &Path) -> Result<PathBuf, CallError> {
    let bad = |why: String| CallError::BadFolder {
        field,
        message: format!("{field}: {} {why}", folder.display()),
    };
    if !folder.is_absolute() {
        return Err(bad("is relative; give the whole path".into()));
    }
    let real = folder
        .canonicalize()
        .map_err(|error| bad(format!("can't be opened: {error}")))?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(bad("is not a folder".into()))
    }
}

/// What the user is told once, with the first turn after a session has come into memory.
fn notices(engine: &Engine) -> Vec<Event> {
    engine.store.warning().map(unsaved).into_iter().collect()
}

fn unsaved(reason: String) -> Event {
    Event::Notice {
        severity: Severity::Warning,
        title: reason,
        detail: None,
    }
}

impl From<SetupError> for CallError {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::NoCredentials { provider, message } => Self::NoCredentials { provider, message },
            SetupError::Config(message) | SetupError::UnknownModel(message) => Self::Config(message),
        }
    }
}

impl From<StoreError> for CallError {
    fn from(error: StoreError) -> Self {
        Self::Store(format!("the history can't be read: {}", with_causes(&error)))
    }
}

/// An error in one sentence with what led to it.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
