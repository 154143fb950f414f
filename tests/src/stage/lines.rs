//! Lines of what happened.

/// Lines; adjacent pieces of one message are one line.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) text: String,
    /// The message that the last line is a piece of.
    open: Option<String>,
}

impl Lines {
    pub(super) fn add(&mut self, line: String) {
        let piece = line
            .split_once(": ")
            .filter(|(head, _)| head.starts_with("text m") || head.starts_with("thought m"));
        match piece {
            Some((head, text)) if self.open.as_deref() == Some(head) => {
                self.text.truncate(self.text.trim_end_matches('\n').len());
                self.text.push_str(text);
            }
            Some((head, _)) => {
                self.open = Some(head.to_owned());
                self.text.push_str(&line);
            }
            None => {
                self.open = None;
                self.text.push_str(&line);
            }
        }
        self.text.push('\n');
    }
}
