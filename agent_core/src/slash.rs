//! Slash commands: the same in every surface, since the core answers them.

/// A slash command as a surface offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandInfo {
    /// Its name, without the slash.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// What its argument is, if it takes one.
    pub hint: Option<&'static str>,
}
