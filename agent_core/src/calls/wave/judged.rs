//! Whether a call may run: what policy says, and what a person does where it wants to be asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::guard::ended;
use super::super::open::{Deadline, OpenCall};
use super::super::question::{CLOSED, Question, UNANSWERED, decide, rejection};
use super::Wave;
use crate::approval::{Approval, ApprovalOption, DecidedBy, Decision, UserAnswer};
use crate::boundary::Boundary;
use crate::event::{Event, PlannedCall, ToolStatus};
use crate::id::{ApprovalId, ToolCallId};
use crate::plan::{Location, Plan};
use crate::policy::{Policy, Verdict};

impl Wave<'_, '_> {
    pub(super) fn planned(&mut self, id: &ToolCallId, plan: Plan, locations: Vec<Location>) {
        match self.open.get_mut(id) {
            // One whose time was up while it was planned ends by that.
            Some(open) if open.deadline.passed().is_none() => {
                open.deadline = Deadline::None;
                open.shows_its_plan = matches!(plan, Plan::Change { .. });
            }
            Some(_) | None => return,
        }
        let verdict = self.judge(&plan);
        self.turn.emit(Event::ToolPlanned {
            id: id.clone(),
            plan: plan.clone(),
            locations: locations.clone(),
            runs: verdict == Verdict::Allow,
        });
        match verdict {
            Verdict::Allow => self.go(id),
            Verdict::Refuse(why) => self.end(id, ended(ToolStatus::Denied, &why)),
            Verdict::Ask { reason, options } => self.ask(id, plan, locations, reason, options),
        }
    }

    fn judge(&self, plan: &Plan) -> Verdict {
        let settings = self.turn.settings();
        let store = self.turn.store();
        let root = settings.roots.first();
        let policy = Policy {
            mode: settings.mode,
            boundary: Boundary {
                roots: &settings.roots,
                forbidden: self.turn.forbidden(),
            },
            edits_granted: settings.edits_granted,
            hosts_granted: &settings.hosts_granted,
            network: settings.config.sandbox.network,
            is_granted: &|wanted| {
                let grants = root.map(|root| store.grants(root)).transpose();
                let grants = grants.unwrap_or_else(|error| {
                    tracing::warn!(%error, "can't read the standing grants; asking instead");
                    None
                });
                grants.unwrap_or_default().iter().any(|grant| grant.covers(wanted))
            },
        };
        policy.judge(plan)
    }

    fn go(&mut self, id: &ToolCallId) {
        // The cancel may have come while the call was shown; its turn in the loop ends the call.
        if self.turn.cancel().is_set() {
            return;
        }
        let Some(open) = self.open.get_mut(id) else { return };
        if let Some(go) = open.go.take() {
            open.begin();
            // An error means that the lane is gone; its end is seen as a message or as the end of all lanes.
            let _ = go.send(());
        }
    }

    fn ask(
        &mut self,
        id: &ToolCallId,
        plan: Plan,
        locations: Vec<Location>,
        reason: String,
        options: Vec<ApprovalOption>,
    ) {
        let Some(open) = self.open.get_mut(id) else { return };
        let approval = ApprovalId::new();
        let timeout = self.turn.settings().config.approvals.timeout_s;
        open.question = Some(Question {
            approval: approval.clone(),
            options: options.clone(),
            deadline: (timeout > 0).then(|| Instant::now() + Duration::from_secs(timeout)),
        });
        let shown = PlannedCall {
            call: open.call.clone(),
            plan,
            locations,
        };
        // Before the question goes out, so that no answer can come too early.
        self.turn.session().ask(approval.clone(), self.to_answers.clone());
        self.turn.emit(Event::ApprovalRequested {
            approval: Approval {
                id: approval,
                call: id.clone(),
                reason,
                options,
                shown: Some(Arc::new(shown)),
            },
        });
    }

    pub(super) fn answered(&mut self, approval: &ApprovalId, answer: &UserAnswer) {
        let of_this = |open: &OpenCall| open.question.as_ref().is_some_and(|asked| asked.approval == *approval);
        let Some((id, open)) = self.open.iter().find(|(_, open)| of_this(open)) else {
            return;
        };
        let options = open.question.as_ref().map_or(&[][..], |asked| &asked.options);
        let (id, decision, by, grant) = {
            let (decision, by, grant) = decide(options, answer);
            (id.clone(), decision, by, grant.cloned())
        };
        if let Some(grant) = grant {
            self.turn.grant(grant);
        }
        self.decided(&id, decision, by);
    }

    /// Ends a question, and with it the call unless it may run.
    pub(super) fn decided(&mut self, id: &ToolCallId, decision: Decision, by: DecidedBy) {
        let Some(question) = self.open.get_mut(id).and_then(|open| open.question.take()) else {
            return;
        };
        self.turn.session().settle(&question.approval);
        self.turn.emit(Event::ApprovalDecided {
            id: question.approval,
            call: id.clone(),
            decision,
            by,
        });
        match decision {
            Decision::Allowed | Decision::AllowedAlways => self.go(id),
            Decision::Rejected => self.end(id, ended(ToolStatus::Denied, rejection(by))),
            Decision::Unanswered => self.end(id, ended(ToolStatus::Denied, UNANSWERED)),
            Decision::Cancelled => {
                self.end(id, ended(ToolStatus::Cancelled, CLOSED));
                self.turn.cancel().set();
            }
        }
    }
}
