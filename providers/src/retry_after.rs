//! When a service wants to be asked again.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The wait that an answer asks for, in milliseconds. A date counts from the answer's own date, whatever the local
/// clock says, and one in the past means now.
pub(crate) fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|wait| wait.parse().ok()) {
        return Some(wait);
    }
    let wait = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = wait.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok().map(millis);
    }
    let until = httpdate::parse_http_date(wait).ok()?;
    let now = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
    Some(millis(
        until
            .duration_since(now.unwrap_or_else(SystemTime::now))
            .unwrap_or_default(),
    ))
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &'static str)], expect: Option<u64>) {
        let map = headers.iter().map(|(name, value)| {
            let name = reqwest::header::HeaderName::from_static(name);
            (name, reqwest::header::HeaderValue::from_static(value))
        });
        assert_eq!(retry_after_ms(&map.collect()), expect, "{headers:?}");
    }

    #[test]
    fn seconds_milliseconds_and_dates_are_understood() {
        let date = ("date", "Mon, 05 Jan 2026 10:00:00 GMT");
        check(&[("retry-after", "2")], Some(2000));
        check(&[("retry-after", "0.5")], Some(500));
        check(&[("retry-after", "9"), ("retry-after-ms", "20")], Some(20));
        check(&[date, ("retry-after", "Mon, 05 Jan 2026 10:00:03 GMT")], Some(3000));
        check(&[date, ("retry-after", "Mon, 05 Jan 2026 09:00:00 GMT")], Some(0));
        check(&[("retry-after", "Mon, 05 Jan 2026 09:00:00 GMT")], Some(0));
        check(&[("retry-after", "-5")], None);
        check(&[("retry-after", "soon")], None);
        check(&[], None);
    }
}
