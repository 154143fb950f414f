//! Services that mean harm, or are broken enough to do it.

mod ends;
mod keys;
mod odd;
mod sizes;

use agent_core::event::{ErrorClass, Failure};

fn fails_as(failure: &Failure, class: ErrorClass, words: &str) {
    assert_eq!(failure.class, class, "{}", failure.message);
    assert!(failure.message.contains(words), "{}", failure.message);
    assert!(failure.message.len() < 1000, "{} bytes", failure.message.len());
}
