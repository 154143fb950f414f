//! Whether a failed request is tried again, and when. Only what can pass by itself is.

use std::time::Duration;

use crate::event::{ErrorClass, Failure};

/// How often a request is made at most.
pub(crate) const TRIES: u32 = 4;

/// The longest wait that a service may ask for; a longer one is told instead.
const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);
/// Without a word of the service, the first wait is at most this, and each further one at most twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// No wait of our own choice is longer.
const LONGEST_OWN_WAIT: Duration = Duration::from_secs(8);

/// How long to wait before the next try, after so many have failed; none where there is none. `share` of 0 to 1 is
/// where in the span of a wait of our own choice it falls: by chance, so that many clients don't come back at once.
pub(crate) fn wait_before_next(failure: &Failure, tries: u32, share: f64) -> Option<Duration> {
    if tries >= TRIES || help(failure.class) != Help::Time {
        return None;
    }
    let doubled = FIRST_WAIT * 2_u32.saturating_pow(tries.saturating_sub(1));
    let own = doubled.min(LONGEST_OWN_WAIT).mul_f64(share);
    // A service that says "at once" and fails again would use up all tries in a moment.
    let asked = failure.retry_after_ms.map_or(own, Duration::from_millis);
    (asked <= LONGEST_WAIT).then_some(asked.max(own))
}

/// Who can help after a failure.
#[derive(Clone, Copy, PartialEq)]
enum Help {
    /// Time: the same request may succeed a little later. After that, another model.
    Time,
    /// Another model: this one can't be had.
    AnotherModel,
    /// The user: something is wrong with the request or the key.
    User,
}

fn help(class: ErrorClass) -> Help {
    match class {
        ErrorClass::RateLimit
        | ErrorClass::Overloaded
        | ErrorClass::Server
        | ErrorClass::Timeout
        | ErrorClass::Network => Help::Time,
        ErrorClass::Billing | ErrorClass::ModelNotFound | ErrorClass::Tls | ErrorClass::Protocol => Help::AnotherModel,
        ErrorClass::Auth
        | ErrorClass::ContextOverflow
        | ErrorClass::PayloadTooLarge
        | ErrorClass::ImageRejected
        | ErrorClass::ContentPolicy
        | ErrorClass::BadRequest
        | ErrorClass::Config
        | ErrorClass::Held
        | ErrorClass::Internal => Help::User,
    }
}

/// Whether another model may do better.
pub(crate) fn another_model_may_answer(class: ErrorClass) -> bool {
    help(class) != Help::User
}

/// What a failure says once it is final: how often it was tried, or for how long the service wants to be left alone.
pub(crate) fn final_words(mut failure: Failure, tries: u32) -> Failure {
    let asked = failure.retry_after_ms.map(Duration::from_millis);
    if let Some(asked) = asked.filter(|asked| *asked > LONGEST_WAIT) {
        failure
            .message
            .push_str(&format!("; it takes no request for {}", words(asked)));
    }
    if tries > 1 {
        failure.message.push_str(&format!("; given up after {tries} tries"));
    }
    failure
}

/// A time as people say it, rounded up.
pub(crate) fn words(time: Duration) -> String {
    match time.as_millis() {
        ..1000 => "less than a second".to_owned(),
        1000..120_000 => format!("{} s", time.as_millis().div_ceil(1000)),
        millis @ ..7_200_000 => format!("{} min", millis.div_ceil(60_000)),
        millis @ ..172_800_000 => format!("{} hours", millis.div_ceil(3_600_000)),
        millis @ ..31_536_000_000 => format!("{} days", millis.div_ceil(86_400_000)),
        _ => "more than a year".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(class: ErrorClass, retry_after_ms: Option<u64>) -> Failure {
        Failure {
            retry_after_ms,
            ..Failure::new(class, "it failed")
        }
    }

    #[test]
    fn waits_grow_by_chance_and_end() {
        let wait = |tries, share| wait_before_next(&failure(ErrorClass::Server, None), tries, share);
        let millis = Duration::from_millis;
        assert_eq!(wait(1, 1.0), Some(millis(500)));
        assert_eq!(wait(2, 1.0), Some(millis(1000)));
        assert_eq!(wait(3, 0.5), Some(millis(1000)));
        assert_eq!(wait(1, 0.0), Some(Duration::ZERO));
        assert_eq!(wait(TRIES, 1.0), None);
    }

    #[test]
    fn a_service_that_says_when_is_believed_within_reason() {
        let wait = |ms| wait_before_next(&failure(ErrorClass::RateLimit, Some(ms)), 1, 0.5);
        assert_eq!(wait(7000), Some(Duration::from_secs(7)));
        assert_eq!(wait(300_000), Some(Duration::from_secs(300)));
        assert_eq!(wait(300_001), None);
        let told = final_words(failure(ErrorClass::RateLimit, Some(600_000)), 1);
        assert_eq!(told.message, "it failed; it takes no request for 10 min");
    }

    #[test]
    fn a_service_that_says_at_once_is_asked_no_sooner_than_a_silent_one() {
        let wait = |ms, tries| wait_before_next(&failure(ErrorClass::RateLimit, Some(ms)), tries, 1.0);
        assert_eq!(wait(0, 1), Some(Duration::from_millis(500)));
        assert_eq!(wait(0, 3), Some(Duration::from_secs(2)));
        assert_eq!(wait(3000, 3), Some(Duration::from_secs(3)));
    }

    #[test]
    fn a_time_is_told_in_units_that_people_count_in() {
        let check = |seconds: u64, expect: &str| assert_eq!(words(Duration::from_secs(seconds)), expect);
        check(0, "less than a second");
        check(119, "119 s");
        check(601, "11 min");
        check(7200, "2 hours");
        check(172_801, "3 days");
        check(1_000_000_000, "more than a year");
        assert_eq!(words(Duration::from_millis(u64::MAX)), "more than a year");
    }

    #[test]
    fn what_does_not_pass_by_itself_is_not_tried_again() {
        for class in [ErrorClass::Auth, ErrorClass::BadRequest, ErrorClass::ContextOverflow] {
            assert_eq!(wait_before_next(&failure(class, Some(1)), 1, 0.5), None, "{class:?}");
        }
        assert!(another_model_may_answer(ErrorClass::Billing));
        assert!(!another_model_may_answer(ErrorClass::Auth));
    }
}
