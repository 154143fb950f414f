//! Whether a planned call runs, is asked about, or is refused. Pure: mode, plan and grants in, verdict out.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::approval::{ApprovalOption, Grant, Mode, OptionKind};
use crate::boundary::Boundary;
use crate::change::FileChange;
use crate::plan::{CommandPlan, ExactCommand, ForeignTool, Place, Plan};
use crate::wall::Sandbox;

/// What a call is judged by.
pub(crate) struct Policy<'a> {
    /// The session's mode.
    pub(crate) mode: Mode,
    /// Its folders, and ours.
    pub(crate) boundary: Boundary<'a>,
    /// The user has allowed edits for the rest of this session.
    pub(crate) edits_granted: bool,
    /// The hosts whose pages the user has allowed for the rest of this session.
    pub(crate) hosts_granted: &'a BTreeSet<String>,
    /// Whether anything may be fetched.
    pub(crate) network: bool,
    /// Whether a standing grant covers this one.
    pub(crate) is_granted: &'a dyn Fn(&Grant) -> bool,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It runs.
    Allow,
    /// The user decides.
    Ask {
        /// Why it is asked, where the call itself does not say it.
        reason: String,
        /// The possible answers.
        options: Vec<ApprovalOption>,
    },
    /// It does not run; the sentence is for the model.
    Refuse(String),
}

impl Policy<'_> {
    /// Judges a plan.
    pub(crate) fn judge(&self, plan: &Plan) -> Verdict {
        match plan {
            Plan::Inward => Verdict::Allow,
            Plan::Read { places } => self.judge_read(places),
            Plan::Change { changes } => self.judge_change(changes),
            Plan::Command(command) => self.judge_command(command),
            Plan::Fetch { host, .. } => self.judge_fetch(host),
            Plan::Input { command, forbidden, .. } => self.judge_input(command, forbidden.as_deref()),
            Plan::Foreign(tool) => self.judge_foreign(tool),
        }
    }

    fn judge_read(&self, places: &[Place]) -> Verdict {
        if let Some(refusal) = self.refuse_forbidden(places.iter()) {
            return refusal;
        }
        match self.odd(places.iter(), false) {
            None => Verdict::Allow,
            Some(reason) => ask(reason, None),
        }
    }

    fn judge_change(&self, changes: &[FileChange]) -> Verdict {
        let places = || changes.iter().map(|change| &change.place);
        if let Some(refusal) = self.refuse_forbidden(places()) {
            return refusal;
        }
        if self.mode == Mode::Plan {
            return Verdict::Refuse(PLAN_MODE.into());
        }
        if let Some(reason) = self.odd(places(), true) {
            return ask(reason, None);
        }
        if self.edits_granted || matches!(self.mode, Mode::AcceptEdits | Mode::DontAsk) {
            return Verdict::Allow;
        }
        let always = ApprovalOption {
            kind: OptionKind::AllowAlways,
            name: "Allow all edits in this workspace for this session".into(),
            grant: Some(Grant::EditsThisSession),
        };
        ask(String::new(), Some(always))
    }

    fn judge_command(&self, plan: &CommandPlan) -> Verdict {
        if let Some(reason) = &plan.facts.forbidden {
            return Verdict::Refuse(format!("This command is never run: {reason}."));
        }
        if let Some(refusal) = self.refuse_forbidden([&plan.cwd].into_iter()) {
            return refusal;
        }
        let inside = self.boundary.is_inside(&plan.cwd);
        if plan.facts.read_only && inside && plan.sandbox != Sandbox::Left {
            return Verdict::Allow;
        }
        if self.mode == Mode::Plan {
            return Verdict::Refuse(PLAN_MODE.into());
        }
        if !inside {
            let folder = plan.cwd.real.display();
            return ask(format!("it starts in {folder}, which is outside the workspace"), None);
        }
        if self.mode == Mode::DontAsk || (self.mode == Mode::AcceptEdits && plan.sandbox.is_closed()) {
            return Verdict::Allow;
        }
        // What may run behind a wall is another thing without it.
        if plan.sandbox == Sandbox::Left {
            return ask(
                "it runs outside the sandbox: nothing holds in what it writes or reaches".to_owned(),
                None,
            );
        }
        // A grant is for the session's own folder; elsewhere the same words may mean other things.
        let home = self
            .boundary
            .roots
            .first()
            .is_some_and(|root| plan.cwd.real.starts_with(root));
        let exact = plan.facts.exact.as_ref().filter(|_| home);
        let always = exact.and_then(|exact| self.always(exact));
        if always.as_ref().is_some_and(|always| self.grants(always)) {
            return Verdict::Allow;
        }
        ask(plan.facts.doubt.clone().unwrap_or_default(), always)
    }

    /// Whether what an option would store is stored already.
    fn grants(&self, option: &ApprovalOption) -> bool {
        option.grant.as_ref().is_some_and(self.is_granted)
    }

    /// What a server says of its tools decides nothing here: not even that one only reads.
    fn judge_foreign(&self, tool: &ForeignTool) -> Verdict {
        let always = ApprovalOption {
            kind: OptionKind::AllowAlways,
            name: format!(
                "Always allow the tool {} of the MCP server {} as it is now, until revoked",
                shown(&tool.tool),
                shown(&tool.server)
            ),
            grant: Some(Grant::Tool { tool: tool.clone() }),
        };
        if self.mode == Mode::DontAsk || self.grants(&always) {
            Verdict::Allow
        } else {
            ask(String::new(), Some(always))
        }
    }

    fn judge_fetch(&self, host: &str) -> Verdict {
        if !self.network {
            return Verdict::Refuse(
                "Nothing is fetched, since the user's configuration has `network = false` under [sandbox]. Go on without \
                 it, or ask the user for what you need."
                    .to_owned(),
            );
        }
        if self.mode == Mode::DontAsk || self.hosts_granted.contains(host) {
            return Verdict::Allow;
        }
        let always = ApprovalOption {
            kind: OptionKind::AllowAlways,
            name: format!("Allow all pages of {host} for this session"),
            grant: Some(Grant::HostThisSession { host: host.to_owned() }),
        };
        ask(String::new(), Some(always))
    }

    fn judge_input(&self, command: &str, forbidden: Option<&str>) -> Verdict {
        if let Some(reason) = forbidden {
            return Verdict::Refuse(format!("This is never written to a command: {reason}."));
        }
        match self.mode {
            Mode::Plan => Verdict::Refuse(PLAN_MODE.into()),
            Mode::DontAsk => Verdict::Allow,
            Mode::Default | Mode::AcceptEdits => ask(format!("it writes to the running command `{command}`"), None),
        }
    }

    /// The reason why these places need a question in every mode, if there is one.
    fn odd<'p>(&self, mut places: impl Iterator<Item = &'p Place>, write: bool) -> Option<String> {
        places.find_map(|place| {
            let path = place.real.display();
            if !self.boundary.is_inside(place) {
                Some(format!("{path} is outside the workspace"))
            } else if self.boundary.is_secret(place) {
                Some(format!("{path} may hold secrets"))
            } else if write && self.boundary.is_protected(place) {
                Some(format!("{path} is protected: it steers tools that run on their own"))
            } else {
                None
            }
        })
    }

    fn refuse_forbidden<'p>(&self, mut places: impl Iterator<Item = &'p Place>) -> Option<Verdict> {
        let place = places.find(|place| self.boundary.is_forbidden(place))?;
        Some(Verdict::Refuse(format!(
            "{} belongs to the agent's own configuration and history, which no tool may touch.",
            place.path.display()
        )))
    }

    fn always(&self, exact: &ExactCommand) -> Option<ApprovalOption> {
        let root = self.boundary.roots.first()?;
        let words = std::iter::once(exact.program.display().to_string()).chain(exact.args.iter().cloned());
        let words: Vec<String> = words.map(|word| shown(&word)).collect();
        Some(ApprovalOption {
            kind: OptionKind::AllowAlways,
            name: format!(
                "Always allow exactly `{}` in {}, until revoked",
                words.join(" "),
                root.display()
            ),
            grant: Some(Grant::Command {
                command: exact.clone(),
                root: PathBuf::from(root),
            }),
        })
    }
}

const PLAN_MODE: &str = "The session is in plan mode, in which nothing is changed. Say what you would do instead; \
     the user can switch the mode.";

/// A question with an option to run it once, perhaps one to run it always, and one to refuse.
fn ask(reason: String, always: Option<ApprovalOption>) -> Verdict {
    let once = ApprovalOption {
        kind: OptionKind::AllowOnce,
        name: "Allow once".into(),
        grant: None,
    };
    let reject = ApprovalOption {
        kind: OptionKind::RejectOnce,
        name: "Reject".into(),
        grant: None,
    };
    Verdict::Ask {
        reason,
        options: std::iter::once(once).chain(always).chain([reject]).collect(),
    }
}

/// A word of a command so that its ends can be seen.
fn shown(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("{word:?}")
    }
}

#[cfg(test)]
mod tests;
