//! What the suites share.

pub mod mock;
