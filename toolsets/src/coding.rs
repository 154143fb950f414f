//! How a file's bytes are text: its encoding and its byte order mark, found on reading and kept on writing.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How much of a file is looked at for its encoding.
pub(crate) const SAMPLE: usize = 1024 * 1024;

/// The encoding of one file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coding {
    pub(crate) encoding: &'static Encoding,
    /// The bytes of the mark at the file's start; 0 without one.
    pub(crate) bom: usize,
}

impl Coding {
    /// UTF-8 without a mark: what a new file gets.
    pub(crate) const PLAIN: Self = Self {
        encoding: UTF_8,
        bom: 0,
    };

    /// Finds the encoding of a file by its first bytes; none if it is no text. `whole`: there are no more bytes.
    pub(crate) fn detect(bytes: &[u8], whole: bool) -> Option<Self> {
        if let Some((encoding, bom)) = Encoding::for_bom(bytes) {
            return Some(Self { encoding, bom });
        }
        if bytes.contains(&0) {
            return utf16_without_mark(bytes).map(|encoding| Self { encoding, bom: 0 });
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => Some(Self::PLAIN),
            Err(error) if error.error_len().is_none() && !whole => Some(Self::PLAIN),
            Err(_) if looks_binary(bytes) => None,
            Err(_) => Some(Self {
                encoding: guess(bytes),
                bom: 0,
            }),
        }
    }

    /// The name that is shown for anything but plain UTF-8.
    pub(crate) fn label(self) -> Option<String> {
        match (self.encoding == UTF_8, self.bom > 0) {
            (true, false) => None,
            (_, true) => Some(format!("{} with byte order mark", self.encoding.name())),
            (false, false) => Some(self.encoding.name().to_owned()),
        }
    }

    /// The text as bytes of this encoding; the first character that it does not have, if there is one.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        let mut bytes = if self.bom > 0 { mark(self.encoding) } else { Vec::new() };
        if self.encoding == UTF_16LE {
            bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        } else if self.encoding == UTF_16BE {
            bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        } else {
            let (encoded, _, unmappable) = self.encoding.encode(text);
            if unmappable {
                return Err(first_unmappable(self.encoding, text));
            }
            bytes.extend_from_slice(&encoded);
        }
        Ok(bytes)
    }
}

/// Decodes a whole file; none if it is no text, or text that would not be written back byte for byte.
pub(crate) fn decode(bytes: &[u8]) -> Option<(String, Coding)> {
    let coding = Coding::detect(bytes, true)?;
    let body = &bytes[coding.bom..];
    let text = coding
        .encoding
        .decode_without_bom_handling_and_without_replacement(body)?;
    // UTF-8 that decodes is its own bytes; other encodings can have two spellings for one text.
    if coding.encoding != UTF_8 && coding.encode(&text).as_deref() != Ok(bytes) {
        return None;
    }
    Some((text.into_owned(), coding))
}

fn mark(encoding: &'static Encoding) -> Vec<u8> {
    if encoding == UTF_16LE {
        vec![0xff, 0xfe]
    } else if encoding == UTF_16BE {
        vec![0xfe, 0xff]
    } else {
        vec![0xef, 0xbb, 0xbf]
    }
}

fn first_unmappable(encoding: &'static Encoding, text: &str) -> char {
    text.chars()
        .find(|character| encoding.encode(character.encode_utf8(&mut [0; 4])).2)
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Text of mostly Western letters in UTF-16 has its zeros on one side only, and letters on the other.
fn utf16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = &bytes[..bytes.len().min(4096) & !1];
    let side = |first: usize| sample.iter().skip(first).step_by(2).copied().collect::<Vec<u8>>();
    let (even, odd) = (side(0), side(1));
    let is_text = |letters: &[u8], zeros: &[u8]| {
        let count = zeros.iter().filter(|byte| **byte == 0).count();
        zeros.len() >= 4 && count * 2 > zeros.len() && !letters.contains(&0) && !looks_binary(letters)
    };
    if !bytes.len().is_multiple_of(2) {
        None
    } else if is_text(&even, &odd) {
        Some(UTF_16LE)
    } else {
        is_text(&odd, &even).then_some(UTF_16BE)
    }
}

/// More than one control character in twenty bytes: no text in any encoding.
fn looks_binary(bytes: &[u8]) -> bool {
    let is_odd = |byte: &&u8| matches!(**byte, 0x00..=0x08 | 0x0e..=0x1a | 0x1c..=0x1f);
    bytes.starts_with(b"%PDF-") || bytes.iter().filter(is_odd).count() * 20 > bytes.len()
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, big: bool) -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    }

    #[test]
    fn text_is_decoded_and_written_back_byte_for_byte() {
        let check = |bytes: &[u8], text: &str, name: &str, bom: usize| {
            let (decoded, coding) = decode(bytes).unwrap_or_else(|| panic!("{text:?} is text"));
            assert_eq!(
                (decoded.as_str(), coding.encoding.name(), coding.bom),
                (text, name, bom)
            );
            assert_eq!(coding.encode(&decoded).as_deref(), Ok(bytes));
        };
        check(b"", "", "UTF-8", 0);
        check("a é\r\n".as_bytes(), "a é\r\n", "UTF-8", 0);
        check(b"\xef\xbb\xbfa", "a", "UTF-8", 3);
        check(
            &[b"\xff\xfe".as_slice(), &utf16("aé😀", false)].concat(),
            "aé😀",
            "UTF-16LE",
            2,
        );
        check(
            &[b"\xfe\xff".as_slice(), &utf16("aé", true)].concat(),
            "aé",
            "UTF-16BE",
            2,
        );
        check(&utf16("hello\n", false), "hello\n", "UTF-16LE", 0);
        check(&utf16("hello\n", true), "hello\n", "UTF-16BE", 0);
        check(b"un caf\xe9 cr\xe8me\n", "un café crème\n", "windows-1252", 0);
        check(b"form\x0cfeed", "form\x0cfeed", "UTF-8", 0);
    }

    #[test]
    fn what_is_no_text_is_not_decoded() {
        for bytes in [
            b"a\0b".as_slice(),
            b"\x7fELF\x02\x01\x01\0\0",
            b"\xff\xfea",
            b"%PDF-1.7\n\xe2\xe3",
            &[0x80, 1, 2, 3, 4],
        ] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_character_that_the_encoding_lacks_is_named() {
        let coding = Coding {
            encoding: encoding_rs::WINDOWS_1252,
            bom: 0,
        };
        assert_eq!(coding.encode("a→b"), Err('→'));
    }
}
