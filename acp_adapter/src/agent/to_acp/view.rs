//! How a session is now, as the answers and updates that say so.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ConfigOptionUpdate, Cost, CurrentModeUpdate,
    ForkSessionResponse, ListSessionsResponse, LoadSessionResponse, NewSessionResponse, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigSelectOption, SessionInfo, SessionInfoUpdate, SessionMode,
    SessionModeState, SessionUpdate, SetSessionConfigOptionResponse, UnstructuredCommandInput, UsageUpdate,
};
use agent_core::approval::Mode;
use agent_core::event::ContextUse;
use agent_core::outward::{SessionPage, SessionSummary, SessionView};
use agent_core::provider::ThoughtLevel;
use agent_core::slash::CommandInfo;
use jiff::Timestamp;

use super::content;

/// The id of the option that chooses the mode.
pub(crate) const MODE: &str = "mode";
/// The id of the option that chooses the model.
pub(crate) const MODEL: &str = "model";
/// The id of the option that says how much the model should think.
pub(crate) const THOUGHT: &str = "thought_level";
/// Its value that leaves it to the service.
pub(crate) const THOUGHT_DEFAULT: &str = "default";

/// The answer to `session/new`.
pub fn created(view: &SessionView) -> NewSessionResponse {
    NewSessionResponse::new(view.id.as_str().to_owned())
        .modes(modes(view.mode))
        .config_options(options(view))
}

/// The answer to `session/fork`.
pub fn forked(view: &SessionView) -> ForkSessionResponse {
    ForkSessionResponse::new(view.id.as_str().to_owned())
        .modes(modes(view.mode))
        .config_options(options(view))
}

/// Its title, which nobody has seen yet; none where it has none.
pub fn title(view: &SessionView) -> Option<SessionUpdate> {
    let title = view.title.clone()?;
    Some(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title)))
}

/// The answer to `session/load`, and to `session/resume`, which has the same fields.
pub fn opened(view: &SessionView) -> LoadSessionResponse {
    LoadSessionResponse::new()
        .modes(modes(view.mode))
        .config_options(options(view))
}

/// The answer to `session/set_config_option`.
pub fn option_set(view: &SessionView) -> SetSessionConfigOptionResponse {
    SetSessionConfigOptionResponse::new(options(view))
}

/// The answer to `session/list`.
pub fn listed(page: &SessionPage) -> ListSessionsResponse {
    ListSessionsResponse::new(page.sessions.iter().map(summary).collect()).next_cursor(page.next.clone())
}

/// What follows the answer that opens a session, in this order.
pub fn announced(view: &SessionView) -> Vec<SessionUpdate> {
    let commands = view.commands.iter().map(command).collect();
    let commands = SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands));
    std::iter::once(commands).chain(view.context.and_then(usage)).collect()
}

/// The options, where they have changed without a request that answers with them.
pub fn options_changed(view: &SessionView) -> SessionUpdate {
    SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options(view)))
}

/// The mode, where it has changed.
pub fn mode_changed(mode: Mode) -> SessionUpdate {
    SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.id()))
}

/// How full the context is; nothing where its size is not known, since the protocol wants both.
pub fn usage(context: ContextUse) -> Option<SessionUpdate> {
    let window = context.window.filter(|window| *window > 0)?;
    let cost = context.cost_nano_usd.map(dollars);
    Some(SessionUpdate::UsageUpdate(
        UsageUpdate::new(context.used, window).cost(cost),
    ))
}

#[expect(clippy::cast_precision_loss, reason = "an amount for people")]
fn dollars(nano: u64) -> Cost {
    Cost::new(nano as f64 / 1e9, "USD")
}

fn modes(current: Mode) -> SessionModeState {
    let modes =
        Mode::ALL.map(|mode| SessionMode::new(mode.id(), mode.name()).description(mode.description().to_owned()));
    SessionModeState::new(current.id(), modes.to_vec())
}

fn options(view: &SessionView) -> Vec<SessionConfigOption> {
    let modes = Mode::ALL
        .map(|mode| SessionConfigSelectOption::new(mode.id(), mode.name()).description(mode.description().to_owned()));
    let models = view.models.iter().map(ToString::to_string);
    let models = models.map(|model| SessionConfigSelectOption::new(model.clone(), model));
    vec![
        SessionConfigOption::select(MODE, "Mode", view.mode.id(), modes.to_vec())
            .description("How much is asked".to_owned())
            .category(SessionConfigOptionCategory::Mode),
        SessionConfigOption::select(MODEL, "Model", view.model.to_string(), models.collect::<Vec<_>>())
            .description("Which model answers".to_owned())
            .category(SessionConfigOptionCategory::Model),
        SessionConfigOption::select(
            THOUGHT,
            "Thinking",
            view.thought.map_or(THOUGHT_DEFAULT, ThoughtLevel::id),
            thought_levels(),
        )
        .description("How much the model thinks before it answers".to_owned())
        .category(SessionConfigOptionCategory::ThoughtLevel),
    ]
}

fn thought_levels() -> Vec<SessionConfigSelectOption> {
    let levels = [
        (THOUGHT_DEFAULT, "Default"),
        (ThoughtLevel::Off.id(), "Off"),
        (ThoughtLevel::Low.id(), "Low"),
        (ThoughtLevel::Medium.id(), "Medium"),
        (ThoughtLevel::High.id(), "High"),
    ];
    levels
        .map(|(id, name)| SessionConfigSelectOption::new(id, name))
        .to_vec()
}

fn command(command: &CommandInfo) -> AvailableCommand {
    let input = command
        .hint
        .map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
    AvailableCommand::new(command.name, command.description).input(input)
}

fn summary(summary: &SessionSummary) -> SessionInfo {
    let updated = Timestamp::from_millisecond(summary.updated_ms).ok();
    SessionInfo::new(summary.id.as_str().to_owned(), content::path(&summary.cwd))
        .additional_directories(
            summary
                .extra_roots
                .iter()
                .map(|root| content::path(root))
                .collect::<Vec<_>>(),
        )
        .title(summary.title.clone())
        .updated_at(updated.map(|updated| updated.to_string()))
}
