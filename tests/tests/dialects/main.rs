//! What holds in every dialect: whatever a session has been through, its next request is one that the service takes.

#![allow(clippy::unwrap_used, reason = "tests")]

mod growing;
mod named;
mod past;
mod random;
mod switching;
mod valid;
