//! The header of a database file. All of ours have the same one but for a few counters, so that a damaged one can be put
//! right in a copy.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The size of a page that all our databases have, unless somebody has made them anew with another.
const PAGE: u64 = 4096;

/// Puts the fixed parts of the header right: name, size of a page, format, encoding. Of a file that begins with anything
/// but a database's first page, nothing is changed.
pub(super) fn mend_header(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let size = file.metadata()?.len();
    let mut header = [0; 101];
    if size < PAGE || file.read_exact_at(&mut header, 0).is_err() || !is_tree(header[100]) {
        return Ok(());
    }
    let mut mended = header;
    mended[..16].copy_from_slice(MAGIC);
    if header[..16] != *MAGIC || !is_page_size([header[16], header[17]], size) {
        mended[16..18].copy_from_slice(&[0x10, 0]);
        // Nobody knows the counters either: the file's own length counts then, and no page is free.
        mended[24..44].copy_from_slice(&[0; 20]);
        mended[96..100].copy_from_slice(&[0; 4]);
    }
    // What may write and read it, no space at a page's end, and what SQLite has always had at the last three.
    mended[18..24].copy_from_slice(&[2, 2, 0, 64, 32, 32]);
    // The schema's format, its cache, no vacuum by itself, UTF-8.
    mended[44..60].copy_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    mended[64..68].copy_from_slice(&[0; 4]);
    if mended != header {
        file.write_all_at(&mended[..100], 0)?;
    }
    Ok(())
}

/// Whether a page begins like the root of a table.
fn is_tree(kind: u8) -> bool {
    matches!(kind, 0x05 | 0x0d)
}

fn is_page_size(bytes: [u8; 2], file: u64) -> bool {
    let size = match u16::from_be_bytes(bytes) {
        1 => 65_536,
        size => u64::from(size),
    };
    size.is_power_of_two() && size >= 512 && file.is_multiple_of(size)
}
