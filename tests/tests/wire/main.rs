//! The wire of the built binary: framing, bad input, start-up and sign-in, slow and hostile peers, the end.
//!
//! What a turn does is not here: `flows` has it.

#![allow(clippy::unwrap_used, reason = "tests")]

mod ending;
mod entry;
mod exchange;
mod framing;
mod handshake;
mod listing;
mod params;
mod registry;
mod sessions;
mod signing_out;
mod slow;
mod transcripts;
