//! A tool call as an editor shows it: announced, planned, under way, asked about, ended.

use agent_client_protocol_schema::v1::{
    ContentBlock, Diff, PermissionOption, PermissionOptionKind, RequestPermissionRequest, SessionUpdate, Terminal,
    ToolCall as WireCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind as WireKind,
};
use agent_core::approval::{Approval, ApprovalOption, OptionKind};
use agent_core::change::FileChange;
use agent_core::count::grouped;
use agent_core::event::{
    CallInput, Display, PlannedCall, Progress, ToolCall, ToolKind, ToolOutcome, ToolOutput, ToolStatus,
};
use agent_core::id::{SessionId, ToolCallId};
use agent_core::plan::{Location, Plan};
use agent_core::visible;
use serde_json::{Value, json};

use super::content::{self, LARGEST};
use super::{json, text};

/// Places of a call that are named to the editor, which follows them; more would make an update too large.
const PLACES: usize = 200;

/// The call is known: its arguments are complete.
pub(super) fn started(call: &ToolCall) -> SessionUpdate {
    let wire = WireCall::new(call.id.as_str().to_owned(), title(call))
        .name(call.name.clone())
        .kind(kind(call.kind))
        .status(ToolCallStatus::Pending)
        .raw_input(raw_input(&call.input));
    SessionUpdate::ToolCall(wire)
}

/// What the call will do. Its status changes only where it `runs` at once.
pub(super) fn planned(id: &ToolCallId, plan: &Plan, locations: &[Location], runs: bool) -> SessionUpdate {
    let mut fields = ToolCallUpdateFields::new();
    if runs {
        fields = fields.status(ToolCallStatus::InProgress);
    }
    let shown = plan_content(plan, Shown::Cut);
    if !shown.is_empty() {
        fields = fields.content(shown);
    }
    if !locations.is_empty() {
        fields = fields.locations(places(locations));
    }
    update(id, fields)
}

/// The call has been allowed and begins to run.
pub(super) fn running(id: &ToolCallId) -> SessionUpdate {
    update(id, ToolCallUpdateFields::new().status(ToolCallStatus::InProgress))
}

/// The end of the call's output so far.
pub(super) fn progress(id: &ToolCallId, progress: &Progress) -> SessionUpdate {
    if let Some(terminal) = &progress.terminal {
        let terminal = Terminal::new(terminal.as_str().to_owned());
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
        let note = progress.note.as_deref().map(|note| visible::line(note).into());
        let shown = std::iter::once(ToolCallContent::Terminal(terminal)).chain(note);
        return update(id, fields.content(shown.collect::<Vec<_>>()));
    }
    if progress.total == 0 {
        // What is on the screen stays there: what the call does.
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
        let elapsed = progress.elapsed_s.map(|seconds| format!("… {seconds} s so far"));
        return update(id, fields.content(elapsed.map(|text| vec![text.into()])));
    }
    let tail = text::fence("", &progress.tail);
    let shown = if progress.total > progress.tail.len() as u64 {
        format!("{tail}\n… the end of {} bytes so far", grouped(progress.total))
    } else {
        tail
    };
    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
    update(id, fields.content(vec![shown.into()]))
}

/// What came of the call.
pub(super) fn finished(id: &ToolCallId, outcome: &ToolOutcome) -> SessionUpdate {
    let status = match outcome.status {
        ToolStatus::Completed => ToolCallStatus::Completed,
        ToolStatus::Failed | ToolStatus::Denied | ToolStatus::Cancelled => ToolCallStatus::Failed,
    };
    let mut fields = ToolCallUpdateFields::new()
        .status(status)
        .raw_output(raw_output(&outcome.output));
    let shown = outcome_content(outcome);
    if !shown.is_empty() {
        // Without content, what was there stays on the screen: the diff, or the terminal.
        fields = fields.content(shown);
    }
    update(id, fields)
}

/// What came of a call long ago, when its terminal is gone.
pub(super) fn finished_before(id: &ToolCallId, mut outcome: ToolOutcome) -> SessionUpdate {
    if let Display::Terminal(text) = outcome.output.display {
        outcome.output.display = Display::Instead(text);
    }
    finished(id, &outcome)
}

/// The question whether the call may run. Clients show only what is in it, so it holds the whole call again.
pub(super) fn question(session: &SessionId, approval: &Approval) -> RequestPermissionRequest {
    let mut fields = approval
        .shown
        .as_deref()
        .map_or_else(ToolCallUpdateFields::new, shown_call);
    if !approval.reason.is_empty() {
        fields
            .content
            .get_or_insert_default()
            .push(visible::line(&approval.reason).into());
    }
    let call = ToolCallUpdate::new(approval.call.as_str().to_owned(), fields);
    let options = approval.options.iter().map(option).collect();
    RequestPermissionRequest::new(session.as_str().to_owned(), call, options)
}

fn shown_call(planned: &PlannedCall) -> ToolCallUpdateFields {
    ToolCallUpdateFields::new()
        .title(title(&planned.call))
        .name(planned.call.name.clone())
        .kind(kind(planned.call.kind))
        .status(ToolCallStatus::Pending)
        .content(asked_content(planned))
        .locations(places(&planned.locations))
        .raw_input(raw_input(&planned.call.input))
}

fn option(option: &ApprovalOption) -> PermissionOption {
    let kind = match option.kind {
        OptionKind::AllowOnce => PermissionOptionKind::AllowOnce,
        OptionKind::AllowAlways => PermissionOptionKind::AllowAlways,
        OptionKind::RejectOnce => PermissionOptionKind::RejectOnce,
    };
    PermissionOption::new(option.kind.id(), visible::line(&option.name), kind)
}

fn update(id: &ToolCallId, fields: ToolCallUpdateFields) -> SessionUpdate {
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.as_str().to_owned(), fields))
}

/// Clients drop a call without a title.
fn title(call: &ToolCall) -> String {
    let title = if call.title.is_empty() { &call.name } else { &call.title };
    text::one_line(&visible::line(title))
}

fn kind(kind: ToolKind) -> WireKind {
    match kind {
        ToolKind::Read => WireKind::Read,
        ToolKind::Edit => WireKind::Edit,
        ToolKind::Search => WireKind::Search,
        ToolKind::Execute => WireKind::Execute,
        ToolKind::Fetch => WireKind::Fetch,
        ToolKind::Think => WireKind::Think,
        ToolKind::Other => WireKind::Other,
    }
}

fn raw_input(input: &CallInput) -> Value {
    match input {
        CallInput::Json(input) => content::bounded(input, LARGEST / 2),
        CallInput::Malformed(text) => Value::String(text::cut(text)),
    }
}

fn raw_output(output: &ToolOutput) -> Value {
    match &output.raw {
        Some(raw) => content::bounded(raw, LARGEST / 8),
        None => json!({ "output": text::cut(&output.text) }),
    }
}

fn places(locations: &[Location]) -> Vec<ToolCallLocation> {
    locations
        .iter()
        .take(PLACES)
        .map(|location| ToolCallLocation::new(content::path(&location.path)).line(location.line))
        .collect()
}

/// How much of a command's text is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// The beginning of a long one.
    Cut,
    /// All of it: nobody should allow what they can't see.
    Whole,
}

impl Shown {
    fn fence(self, language: &str, text: &str) -> String {
        let text = visible::text(text);
        match self {
            Self::Cut => text::fence(language, &text),
            Self::Whole => text::whole_fence(language, &text),
        }
    }
}

fn plan_content(plan: &Plan, shown: Shown) -> Vec<ToolCallContent> {
    match plan {
        Plan::Inward | Plan::Read { .. } | Plan::Foreign(_) => Vec::new(),
        Plan::Change { changes } => diffs(changes, shown),
        Plan::Command(plan) => {
            let place = visible::line(&plan.place_and_manner());
            let text = format!("{}\n{place}", shown.fence("sh", &plan.command));
            let sandbox = visible::line(&plan.sandbox.sentence());
            match shown {
                Shown::Cut => vec![text.into()],
                Shown::Whole => vec![format!("{text}\n\n{sandbox}").into()],
            }
        }
        Plan::Fetch { url, .. } => vec![shown.fence("", url).into()],
        Plan::Input {
            process, command, text, ..
        } => {
            let command = text::one_line(&visible::line(command));
            vec![format!("Input for {process} ({command}):\n{}", shown.fence("", text)).into()]
        }
    }
}

/// What a question shows. A foreign call is what is passed to it: clients show a raw input folded away, if at all.
fn asked_content(planned: &PlannedCall) -> Vec<ToolCallContent> {
    match &planned.plan {
        Plan::Foreign(tool) => {
            let (name, server) = (visible::line(&tool.tool), visible::line(&tool.server));
            let input = Shown::Whole.fence("json", &planned.call.input.readable());
            vec![format!("Calls {name} of the MCP server {server} with:\n{input}").into()]
        }
        Plan::Inward
        | Plan::Read { .. }
        | Plan::Change { .. }
        | Plan::Command(_)
        | Plan::Fetch { .. }
        | Plan::Input { .. } => plan_content(&planned.plan, Shown::Whole),
    }
}

/// The diffs, then what there is to say about them. A diff is whole or not there: half of one would be a lie.
fn diffs(changes: &[FileChange], asked: Shown) -> Vec<ToolCallContent> {
    let mut room = LARGEST;
    let mut shown = Vec::new();
    let mut remarks = Vec::new();
    for change in changes {
        let path = content::path(&change.place.path);
        let size = change.old.as_ref().map_or(0, String::len) + change.new.as_ref().map_or(0, String::len);
        if size > room {
            let unseen = match asked {
                Shown::Cut => "too large to show",
                Shown::Whole => "too large to show: allowing it allows a change that you can't see here",
            };
            remarks.push(format!("{}: {size} bytes, {unseen}", path.display()));
            continue;
        }
        room -= size;
        if change.excerpt {
            remarks.push(format!(
                "{}: a large file, only its changed parts are shown",
                path.display()
            ));
        }
        if let Some(unshown) = change.unshown() {
            remarks.push(format!("{}: {unshown}", path.display()));
            if change.new.is_none() {
                // The diff of an empty file is what it would look like.
                continue;
            }
        } else if change.new.is_none() {
            remarks.push(format!("{}: the file is deleted", path.display()));
        }
        let new = change.new.clone().unwrap_or_default();
        shown.push(Diff::new(path, new).old_text(change.old.clone()).into());
    }
    shown.extend(remarks.iter().map(|remark| visible::line(remark).into()));
    shown
}

fn outcome_content(outcome: &ToolOutcome) -> Vec<ToolCallContent> {
    let output = &outcome.output;
    if let Display::Terminal(_) = output.display {
        return Vec::new();
    }
    match outcome.status {
        ToolStatus::Completed if output.display == Display::AsPlanned => Vec::new(),
        ToolStatus::Completed | ToolStatus::Failed => displayed(output),
        ToolStatus::Denied => or_sentence(displayed(output), "Not run: it was not allowed."),
        ToolStatus::Cancelled => or_sentence(displayed(output), "Stopped: the turn was cancelled."),
    }
}

fn or_sentence(shown: Vec<ToolCallContent>, sentence: &str) -> Vec<ToolCallContent> {
    if shown.is_empty() {
        vec![sentence.to_owned().into()]
    } else {
        shown
    }
}

fn displayed(output: &ToolOutput) -> Vec<ToolCallContent> {
    let (text, show): (&str, fn(&str) -> String) = match &output.display {
        Display::Prose | Display::AsPlanned => (&output.text, text::cut),
        Display::Verbatim => (&output.text, verbatim),
        Display::Json => (&output.text, set_out),
        Display::Instead(text) | Display::Terminal(text) => (text, verbatim),
        Display::Ran(ran) => (&ran.shown, verbatim),
    };
    let mut shown = Vec::new();
    if !text.trim().is_empty() {
        shown.push(show(text).into());
    }
    let mut room = LARGEST;
    for image in &output.images {
        let block: ContentBlock = content::block(image);
        if content::size(&block) <= room {
            room -= content::size(&block);
            shown.push(block.into());
        }
    }
    shown
}

fn verbatim(text: &str) -> String {
    text::fence("", text)
}

fn set_out(json: &str) -> String {
    json::set_out(json).map_or_else(|| verbatim(json), |lines| text::fence("json", &lines))
}
