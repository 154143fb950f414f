//! The Agent Client Protocol (ACP) over stdio, as a thin translation of [`agent_core`].
//!
//! [`agent`] serves an editor. Nothing here keeps a history, a policy, a title or a slash command: what a terminal
//! would want too belongs to the core.

pub mod agent;
