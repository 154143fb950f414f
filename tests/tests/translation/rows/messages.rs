//! What the user and the model say.

use agent_core::content::{Blob, Content};
use agent_core::event::Event;
use serde_json::json;

use crate::rows::{Row, chunk, same, text};

pub(crate) fn rows() -> Vec<Row> {
    let pieces = vec![
        Content::text("hi"),
        Content::Image {
            mime_type: "image/png".into(),
            data: Blob::Inline(b"abc".as_slice().into()),
            uri: None,
        },
        Content::Resource {
            uri: "file:///w/a".into(),
            mime_type: Some("text/plain".into()),
            text: "t".into(),
        },
        Content::Link {
            uri: "file:///w/b".into(),
            name: "b".into(),
        },
    ];
    let resource = json!({ "uri": "file:///w/a", "mimeType": "text/plain", "text": "t" });
    let steered = Event::UserSteered {
        id: "u".into(),
        content: vec![Content::text("and faster")],
        context: vec![Content::text("for the model only")],
    };
    let replayed = [
        text("hi"),
        json!({ "type": "image", "mimeType": "image/png", "data": "YWJj" }),
        json!({ "type": "resource", "resource": resource }),
        json!({ "type": "resource_link", "uri": "file:///w/b", "name": "b" }),
    ];
    let said = |id: &str, text: &str| Event::AgentText {
        id: id.into(),
        text: text.into(),
    };
    let thought = Event::AgentThought {
        id: "m".into(),
        text: "hm".into(),
    };
    vec![
        Row {
            event: Event::UserMessage {
                id: "u".into(),
                content: pieces,
                context: vec![Content::text("for the model only")],
                command: false,
            },
            live: Vec::new(),
            replay: replayed
                .map(|content| chunk("user_message_chunk", "u", content))
                .to_vec(),
        },
        Row {
            event: steered,
            live: Vec::new(),
            replay: vec![chunk("user_message_chunk", "u", text("and faster"))],
        },
        same(
            said("m", "hello"),
            vec![chunk("agent_message_chunk", "m", text("hello"))],
        ),
        same(said("m", ""), vec![]),
        same(thought, vec![chunk("agent_thought_chunk", "m", text("hm"))]),
    ]
}
