//! Notices, as such and as notes in the conversation.

use acp_adapter::agent::Client;
use acp_adapter::agent::to_acp::{self, Effect};
use agent_core::event::Severity;
use serde_json::json;

use crate::events::notice;
use crate::{envelope, shown};

#[test]
fn a_client_that_shows_notices_gets_all_of_them_as_such() {
    let client = Client {
        notices: true,
        ..Client::default()
    };
    for (severity, name) in [
        (Severity::Info, "info"),
        (Severity::Warning, "warning"),
        (Severity::Error, "error"),
    ] {
        let effects = to_acp::live(envelope(notice(severity)), &client);
        let notice = json!({ "sessionUpdate": "notice", "severity": name, "title": "trying again",
            "description": "in\n2 s" });
        assert_eq!(effects.into_iter().map(shown).collect::<Vec<_>>(), [notice]);
    }
}

#[test]
fn notes_of_two_notices_are_two_messages() {
    let id = || match to_acp::live(envelope(notice(Severity::Error)), &Client::default()).remove(0) {
        Effect::Note(update) => serde_json::to_value(update).unwrap()["messageId"].clone(),
        other @ (Effect::Update(_) | Effect::Ask { .. } | Effect::Decided(_) | Effect::EndTurn(_)) => {
            panic!("a note was expected: {other:?}")
        }
    };
    assert_ne!(id(), id());
}
