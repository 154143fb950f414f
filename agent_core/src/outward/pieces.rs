//! A message of the past in pieces, so that a load of a large one waits for room as that of many small ones does.

use crate::content::Content;
use crate::event::{Envelope, Event};

/// Bytes of a message in one piece. A part of it that is no plain text is whole, however large it is.
const PIECE: usize = 64 * 1024;

/// The event in pieces, in order, each an event of the same message; anything but a long message is one.
pub(crate) fn pieces(envelope: Envelope) -> Box<dyn Iterator<Item = Envelope>> {
    let Envelope {
        session,
        turn,
        seq,
        event,
    } = envelope;
    let around = move |event| Envelope {
        session: session.clone(),
        turn,
        seq,
        event,
    };
    match event {
        Event::AgentText { id, text } if text.len() > PIECE => {
            let piece = move |text| Event::AgentText { id: id.clone(), text };
            Box::new(texts(text).map(piece).map(around))
        }
        Event::AgentThought { id, text } if text.len() > PIECE => {
            let piece = move |text| Event::AgentThought { id: id.clone(), text };
            Box::new(texts(text).map(piece).map(around))
        }
        Event::UserMessage {
            id,
            content,
            context,
            command,
        } if is_long(&content) => {
            let piece = move |(content, context)| Event::UserMessage {
                id: id.clone(),
                content,
                context,
                command,
            };
            Box::new(said(content, context).map(piece).map(around))
        }
        Event::UserSteered { id, content, context } if is_long(&content) => {
            let piece = move |(content, context)| Event::UserSteered {
                id: id.clone(),
                content,
                context,
            };
            Box::new(said(content, context).map(piece).map(around))
        }
        event @ (Event::UserMessage { .. }
        | Event::UserSteered { .. }
        | Event::AgentText { .. }
        | Event::AgentThought { .. }
        | Event::ToolStarted { .. }
        | Event::ToolPlanned { .. }
        | Event::ToolProgress { .. }
        | Event::ToolFinished { .. }
        | Event::FilesKept { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalDecided { .. }
        | Event::PlanUpdated { .. }
        | Event::StepFinished { .. }
        | Event::Notice { .. }
        | Event::Compacted { .. }
        | Event::HistoryMoved { .. }
        | Event::SessionChanged { .. }
        | Event::TurnFinished { .. }
        | Event::TurnFailed { .. }) => Box::new(std::iter::once(around(event))),
    }
}

fn is_long(content: &[Content]) -> bool {
    content.iter().map(Content::size).sum::<usize>() > PIECE
}

/// A user's message in pieces. What is added for the model comes with the first one.
fn said(content: Vec<Content>, mut context: Vec<Content>) -> impl Iterator<Item = (Vec<Content>, Vec<Content>)> {
    let parts = content.into_iter().flat_map(parts);
    parts.map(move |part| (vec![part], std::mem::take(&mut context)))
}

fn parts(part: Content) -> Box<dyn Iterator<Item = Content>> {
    match part {
        Content::Text { text } if text.len() > PIECE => Box::new(texts(text).map(Content::text)),
        part @ (Content::Text { .. } | Content::Image { .. } | Content::Resource { .. } | Content::Link { .. }) => {
            Box::new(std::iter::once(part))
        }
    }
}

fn texts(text: String) -> impl Iterator<Item = String> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = &text[from..];
        let piece = &rest[..rest.floor_char_boundary(PIECE)];
        from += piece.len();
        (!piece.is_empty()).then(|| piece.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::plain_text;
    use crate::id::MessageId;

    fn cut(event: Event) -> Vec<Event> {
        let envelope = Envelope {
            session: "s".into(),
            turn: None,
            seq: 1,
            event,
        };
        pieces(envelope).map(|piece| piece.event).collect()
    }

    #[test]
    fn a_long_message_comes_in_pieces_that_make_it_again() {
        let text = "€".repeat(PIECE);
        let id = MessageId::new();
        let said = cut(Event::AgentText {
            id: id.clone(),
            text: text.clone(),
        });
        assert_eq!(said.len(), 4);
        let mut again = String::new();
        for piece in said {
            let Event::AgentText { id: of, text } = piece else {
                panic!("{piece:?}");
            };
            assert_eq!(of, id);
            again.push_str(&text);
        }
        assert_eq!(again, text);
    }

    #[test]
    fn a_long_prompt_comes_in_pieces_with_what_is_added_once() {
        let link = Content::Link {
            uri: "file:///a".into(),
            name: "a".into(),
        };
        let asked = cut(Event::UserMessage {
            id: MessageId::new(),
            content: vec![Content::text("x".repeat(PIECE + 1)), link.clone(), Content::text("y")],
            context: vec![Content::text("for the model")],
            command: false,
        });
        let shown = asked.iter().map(|event| {
            let Event::UserMessage { content, context, .. } = event else {
                panic!("{event:?}");
            };
            (plain_text(content).len(), context.len())
        });
        assert_eq!(shown.collect::<Vec<_>>(), [(PIECE, 1), (1, 0), (0, 0), (1, 0)]);
    }

    #[test]
    fn a_message_of_usual_length_is_one_piece() {
        let event = Event::AgentText {
            id: MessageId::new(),
            text: "x".repeat(PIECE),
        };
        assert_eq!(cut(event.clone()), [event]);
    }
}
