//! Bytes cut into pieces, as they come over a pipe.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};

/// The ways in which bytes may come: at once, one by one, and in pieces of many sizes that only the bytes decide.
pub fn ways(bytes: &[u8]) -> [Vec<&[u8]>; 3] {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let mut state = hasher.finish() | 1;
    let (mut rest, mut pieces) = (bytes, Vec::new());
    while !rest.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (piece, behind) = rest.split_at((state % 23) as usize % rest.len() + 1);
        pieces.push(piece);
        rest = behind;
    }
    [vec![bytes], bytes.chunks(1).collect(), pieces]
}

/// Gives the pieces one at a time.
pub struct Drip<'a>(pub std::vec::IntoIter<&'a [u8]>);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.0.find(|piece| !piece.is_empty()).unwrap_or_default();
        buffer[..piece.len()].copy_from_slice(piece);
        Ok(piece.len())
    }
}
