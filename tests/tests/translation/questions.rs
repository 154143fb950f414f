//! What a question holds of the call it is about.

use std::sync::Arc;

use agent_core::change::FileChange;
use agent_core::event::{Event, PlannedCall};
use agent_core::plan::{CommandFacts, CommandPlan, Plan};
use agent_core::wall::Sandbox;

use crate::events::{place, question};
use crate::live;

#[test]
fn a_question_holds_the_whole_command_and_nothing_hides_in_it() {
    let text = format!("{}\u{1b}]; touch HIDDEN ;\u{7}#", "a".repeat(100_000));
    let mut approval = question();
    let shown = PlannedCall {
        plan: Plan::Command(CommandPlan {
            command: text,
            cwd: place("/w/\u{202e}sub"),
            background: true,
            sandbox: Sandbox::default(),
            facts: CommandFacts::default(),
        }),
        ..approval.shown.as_deref().unwrap().clone()
    };
    approval.shown = Some(Arc::new(shown));
    approval.reason = "odd \u{1b}[8m".into();
    let asked = live(Event::ApprovalRequested { approval });
    let content = &asked[0]["ask"]["toolCall"]["content"];
    let command = content[0]["content"]["text"].as_str().unwrap();
    assert!(
        command.contains(r"\u{1b}]; touch HIDDEN ;\u{7}#"),
        "{}",
        &command[99_900..]
    );
    assert!(command.ends_with("\nin /w/\\u{202e}sub, in the background\n\nNo sandbox"));
    assert_eq!(content[1]["content"]["text"], r"odd \u{1b}[8m");
}

#[test]
fn a_question_says_that_a_change_is_too_large_to_show() {
    let mut approval = question();
    let large = "x".repeat(600 * 1024);
    let shown = PlannedCall {
        plan: Plan::Change {
            changes: vec![FileChange {
                old: None,
                new: Some(large),
                ..FileChange::new(place("/w/a"), None, Some(""))
            }],
        },
        ..approval.shown.as_deref().unwrap().clone()
    };
    approval.shown = Some(Arc::new(shown));
    let asked = live(Event::ApprovalRequested { approval });
    let said = &asked[0]["ask"]["toolCall"]["content"][0]["content"]["text"];
    assert!(said.as_str().unwrap().contains("a change that you can't see"), "{said}");
}
