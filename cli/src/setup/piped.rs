//! A key that another program, or a person who said so, hands over on stdin.

use std::io::{self, BufRead, IsTerminal, Read};

use secrecy::SecretString;

use super::answer::checked_key;
use crate::exit::{Exit, Fail};

/// Bytes of a key. Nobody has one that is longer, and a header could not carry it.
const LONGEST: usize = 8 * 1024;

/// Reads the key: all of stdin, or one line of a person at a terminal.
pub(super) fn key() -> Result<SecretString, Fail> {
    let stdin = io::stdin();
    let mut limited = stdin.lock().take(LONGEST as u64 + 1);
    let mut given = Vec::new();
    let read = if stdin.is_terminal() {
        limited.read_until(b'\n', &mut given)
    } else {
        limited.read_to_end(&mut given)
    };
    read.map_err(|error| Fail::new(Exit::Failed, format!("can't read the key from stdin ({error})")))?;
    alone(&given).map_err(Fail::usage)
}

fn alone(given: &[u8]) -> Result<SecretString, String> {
    if given.len() > LONGEST {
        return Err(format!("the key on stdin is longer than {} KiB", LONGEST >> 10));
    }
    let given = String::from_utf8_lossy(given);
    if given.trim().lines().count() > 1 {
        return Err("stdin holds more than one line: give the key alone".to_owned());
    }
    checked_key(&given)
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_key_stands_alone() {
        let long = "k".repeat(LONGEST);
        let longer = "k".repeat(LONGEST + 1);
        for (given, expect) in [
            ("k-1\n", Ok("k-1")),
            ("\r\n k-1 \r\n\n", Ok("k-1")),
            (&long, Ok(&*long)),
            (&longer, Err("the key on stdin is longer than 8 KiB")),
            ("ab\ncd", Err("stdin holds more than one line: give the key alone")),
            ("\n", Err("the key is empty")),
            ("", Err("the key is empty")),
        ] {
            let key = alone(given.as_bytes());
            let key = key.as_ref().map(ExposeSecret::expose_secret).map_err(String::as_str);
            assert_eq!(key, expect);
        }
        assert!(alone(b"k\xffy").is_err());
    }
}
