//! One line about a call, for a person: never more than one line, never a character that hides another.

use agent_core::visible;
use serde_json::Value;

/// The most characters a title has.
const MOST: usize = 199;

/// Makes any text a title: odd characters are written as escapes, a long text is cut.
pub(crate) fn line(text: &str) -> String {
    visible::title(text, MOST)
}

/// A text argument, however the call is made.
pub(crate) fn text<'a>(input: &'a Value, field: &str) -> &'a str {
    input.get(field).and_then(Value::as_str).unwrap_or("?")
}
