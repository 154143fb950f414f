//! The log of a database, read from its bytes alone: which page lies where in it. SQLite takes a log in only where it can
//! read the database's first page.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::leaf::u32_at;

const HEADER: usize = 32;
const FRAME: usize = 24;

/// The pages that a log has, each at its newest place.
pub(super) struct Log {
    /// How long each is.
    pub(super) page: usize,
    /// Where they begin in the file.
    pub(super) places: HashMap<u32, u64>,
}

impl Log {
    /// Reads a log up to its last whole commit; none if it is no log.
    pub(super) fn read(file: &File) -> io::Result<Option<Self>> {
        let mut header = [0; HEADER];
        if file.read_exact_at(&mut header, 0).is_err() {
            return Ok(None);
        }
        let Some((page, mut sum)) = begin(&header) else {
            return Ok(None);
        };
        let mut log = Self {
            page,
            places: HashMap::new(),
        };
        let mut waiting = HashMap::new();
        let mut frame = vec![0; FRAME + page];
        let mut at = HEADER as u64;
        while file.read_exact_at(&mut frame, at).is_ok() {
            let is_next = frame[8..16] == header[16..24];
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME..]);
            if !is_next || !sum.is(&frame[16..24]) {
                break;
            }
            let (Some(number), Some(size)) = (u32_at(&frame, 0), u32_at(&frame, 4)) else {
                break;
            };
            waiting.insert(number, at + FRAME as u64);
            if size > 0 {
                log.places.extend(waiting.drain());
                log.places.retain(|number, _| *number <= size);
            }
            at += frame.len() as u64;
        }
        Ok(Some(log))
    }
}

/// The size of a page, and the sum that the first frame goes on with.
fn begin(header: &[u8; HEADER]) -> Option<(usize, Sum)> {
    let is_big = match u32_at(header, 0)? {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return None,
    };
    let page = usize::try_from(u32_at(header, 8)?).ok()?;
    let mut sum = Sum { is_big, a: 0, b: 0 };
    sum.add(&header[..24]);
    let is_page = page.is_power_of_two() && (512..=65_536).contains(&page);
    (is_page && sum.is(&header[24..])).then_some((page, sum))
}

/// The sum over all that came before.
struct Sum {
    is_big: bool,
    a: u32,
    b: u32,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let word = |bytes: &[u8]| {
            let bytes = bytes.try_into().expect("a chunk has four bytes");
            if self.is_big {
                u32::from_be_bytes(bytes)
            } else {
                u32::from_le_bytes(bytes)
            }
        };
        for pair in bytes.chunks_exact(8) {
            self.a = self.a.wrapping_add(word(&pair[..4])).wrapping_add(self.b);
            self.b = self.b.wrapping_add(word(&pair[4..])).wrapping_add(self.a);
        }
    }

    fn is(&self, said: &[u8]) -> bool {
        u32_at(said, 0) == Some(self.a) && u32_at(said, 4) == Some(self.b)
    }
}
