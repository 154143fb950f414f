//! Pictures of tool results, in dialects whose results hold none.

use agent_core::content::Content;
use agent_core::provider::Message;

/// Pictures that wait for the last result of a reply: nothing may stand between its results, so they follow in a
/// message of the user.
#[derive(Default)]
pub(crate) struct Pictures<'a>(Vec<(&'a str, &'a Content)>);

impl<'a> Pictures<'a> {
    /// Takes in those of one message.
    pub(crate) fn add(&mut self, message: &'a Message) {
        if let Message::ToolResult { name, images, .. } = message {
            self.0.extend(images.iter().map(|image| (name.as_str(), image)));
        }
    }

    /// Those that come before `next`, as the content of a message, if there are any.
    pub(crate) fn before(&mut self, next: Option<&Message>) -> Option<Vec<Content>> {
        if self.0.is_empty() || matches!(next, Some(Message::ToolResult { .. })) {
            return None;
        }
        let shown = self.0.drain(..).flat_map(|(tool, picture)| {
            let title = Content::text(format!("Picture from the tool {tool}:"));
            [title, picture.clone()]
        });
        Some(shown.collect())
    }
}
