//! What a client adds to the system prompt, or puts in the place of the role and the way of work in it.

use serde::{Deserialize, Serialize};

use super::Facts;

/// The most bytes that a client's instructions may have: they are sent with every request.
pub const LONGEST_INSTRUCTIONS: usize = 64 * 1024;

/// A client's words to the model, at the rank of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// How they go together with ours.
    pub manner: Manner,
    /// The words.
    pub text: String,
}

/// How a client's instructions go together with ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// They come last, after all of ours.
    Append,
    /// They come first, in the place of the role and the way of work. What tools, permissions, the surroundings and the
    /// rules need stays.
    Override,
}

/// A system prompt that was made anew, with what it says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prompted {
    /// The client's part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// All of it.
    pub system: String,
    /// What it tells of the session.
    pub facts: Facts,
}
