//! Files as they were before a change, so that it can be taken back. An event names their bytes by a hash; the store has
//! the bytes themselves, exactly as they were, for as long as there is room.

use std::fmt::{self, Display, Formatter, Write};
use std::sync::Arc;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::plan::Place;

/// A file that is about to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
    /// What it holds; none where there is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<KeptBytes>,
    /// What it will hold; none where it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Hash>,
    /// So many of the folders that it lies in, the innermost ones, are made for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub folders: usize,
    /// Its permissions change too: it is another file that takes its place.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sets_mode: bool,
}

/// What a file held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptBytes {
    /// The hash of its bytes.
    pub data: Hash,
    /// Its permissions, as the system counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// The SHA-256 of some bytes; in JSON `sha256:` and hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hash(String);

const PREFIX: &str = "sha256:";

impl Hash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(hex(&Sha256::digest(bytes)))
    }

    /// In hexadecimal.
    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl Display for Hash {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hex = text.strip_prefix(PREFIX).ok_or_else(|| D::Error::custom("no hash"))?;
        Ok(Self(hex.to_owned()))
    }
}

/// A file that is about to change, with what is to be kept of it.
#[derive(Clone, Debug, PartialEq)]
pub struct OldFile {
    /// As an event tells it.
    pub file: KeptFile,
    /// The bytes that it holds; none where there are none, or where the store has them already.
    pub bytes: Option<Arc<[u8]>>,
}

impl OldFile {
    /// A file that holds `before`, with these permissions, and will hold what has the hash `after`.
    pub fn new(place: Place, before: Option<(Arc<[u8]>, Option<u32>)>, after: Option<Hash>) -> Self {
        let before = before.map(|(bytes, mode)| {
            let data = Hash::of(&bytes);
            (KeptBytes { data, mode }, bytes)
        });
        Self::of(place, before, after)
    }

    /// The same where the hash of the bytes is known.
    pub(crate) fn of(place: Place, before: Option<(KeptBytes, Arc<[u8]>)>, after: Option<Hash>) -> Self {
        let (kept, bytes) = before.unzip();
        Self {
            file: KeptFile {
                place,
                before: kept,
                after,
                folders: 0,
                sets_mode: false,
            },
            bytes,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes any text");
        text
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
