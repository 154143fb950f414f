//! The wall clock, for showing times and for numbers that other processes don't have. Nothing is ordered by it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, in Unix ms.
pub(crate) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
