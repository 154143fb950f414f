//! A path in JSON: its text, or, where it is no UTF-8, an object that holds its bytes as well, so that every path can be
//! written and is read back exactly. For `#[serde(with = "json_path")]`.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form<'a> {
    Text(Cow<'a, str>),
    Bytes {
        /// For people: what is no UTF-8 is replaced.
        text: Cow<'a, str>,
        /// All of it in base64.
        bytes: String,
    },
}

/// Writes a path.
pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    let form = match path.to_str() {
        Some(text) => Form::Text(text.into()),
        None => Form::Bytes {
            text: path.to_string_lossy(),
            bytes: STANDARD.encode(path.as_os_str().as_bytes()),
        },
    };
    form.serialize(serializer)
}

/// Reads a path.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    match Form::deserialize(deserializer)? {
        Form::Text(text) => Ok(text.into_owned().into()),
        Form::Bytes { bytes, .. } => {
            let bytes = STANDARD.decode(bytes).map_err(D::Error::custom)?;
            Ok(OsString::from_vec(bytes).into())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::ffi::OsStr;

    use serde_json::{Value, json};

    use super::*;
    use crate::change::FileChange;
    use crate::event::{Event, SessionChange};
    use crate::plan::{Location, Place, Plan};

    fn check(bytes: &[u8], expect: Value) {
        let path = PathBuf::from(OsStr::from_bytes(bytes));
        let place = Place {
            path: path.clone(),
            real: path.clone(),
        };
        let planned = Event::ToolPlanned {
            id: "c".into(),
            plan: Plan::Change {
                changes: vec![FileChange::new(place, None, Some("x"))],
            },
            locations: vec![Location {
                path: path.clone(),
                line: Some(1),
            }],
            runs: true,
        };
        let moved = Event::SessionChanged {
            change: SessionChange::Cwd(path),
        };
        for event in [planned, moved.clone()] {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
        }
        assert_eq!(serde_json::to_value(&moved).unwrap()["change"]["cwd"], expect);
    }

    #[test]
    fn any_path_is_written_and_read_back() {
        check(b"/w/a", json!("/w/a"));
        check("/w/é".as_bytes(), json!("/w/é"));
        check(
            b"/d\xff\xfe",
            json!({"text": "/d\u{fffd}\u{fffd}", "bytes": "L2T//g=="}),
        );
    }
}
