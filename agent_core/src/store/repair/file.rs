//! The header of a database file. All of ours have the same one but for a few counters, so that a damaged one can be put
//! right in a copy.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::leaf::u16_at;
use super::log::Log;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The sizes of a page that our databases have, the newest first, unless somebody has made them anew with another.
const PAGES: [u64; 4] = [4096, 8192, 16_384, 32_768];

/// So many pages are looked at to find out how long they are.
const LOOKED_AT: u64 = 4000;

/// A file beside a database.
pub(super) fn beside(database: &Path, end: &str) -> OsString {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push(end);
    name
}

/// Gives an image without any bytes a page of zeros: SQLite looks into the log of no empty database.
pub(super) fn make_page(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)?;
    if file.metadata()?.len() > 0 {
        return Ok(());
    }
    let log = match File::open(path.with_file_name(beside(path, "-wal"))) {
        Ok(log) => Log::read(&log)?,
        Err(_) => None,
    };
    file.set_len(log.map_or(PAGES[0], |log| log.page as u64))
}

/// What the header says of free pages: where they begin, and how many there are. None if it says nothing.
pub(super) fn free_head(path: &Path) -> Option<[u8; 8]> {
    let mut header = [0; 40];
    File::open(path)
        .and_then(|file| file.read_exact_at(&mut header, 0))
        .ok()?;
    let head: [u8; 8] = header[32..].try_into().ok()?;
    (header[..16] == *MAGIC || head != [0; 8]).then_some(head)
}

/// Puts the fixed parts of the header right: name, size of a page, format, encoding. Of a file that begins with anything
/// but a database's first page, nothing is changed.
pub(super) fn mend_header(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let size = file.metadata()?.len();
    let mut header = [0; 101];
    if file.read_exact_at(&mut header, 0).is_err() || !is_tree(header[100]) {
        return Ok(());
    }
    let page = page_size(&file)?;
    if size < page {
        return Ok(());
    }
    let mut mended = header;
    mended[..16].copy_from_slice(MAGIC);
    if header[..16] != *MAGIC || said_size([header[16], header[17]], size).is_none() {
        mended[16..18].copy_from_slice(&u16::try_from(page).unwrap_or(1).to_be_bytes());
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

/// How long a page is: what the header says, and where that can't be, what most pages look like.
pub(super) fn page_size(file: &File) -> io::Result<u64> {
    let size = file.metadata()?.len();
    let mut header = [0; 18];
    if file.read_exact_at(&mut header, 0).is_ok()
        && header[..16] == *MAGIC
        && let Some(page) = said_size([header[16], header[17]], size)
    {
        return Ok(page);
    }
    let mut best = (0, PAGES[0]);
    for page in PAGES {
        let looked_at = (1..size / page).take(usize::try_from(LOOKED_AT).unwrap_or(usize::MAX));
        let trees = looked_at
            .filter(|number| is_like_tree(file, number * page, page))
            .count();
        if trees > best.0 {
            best = (trees, page);
        }
    }
    Ok(best.1)
}

/// Whether a page is like one of a table or an index. Its records fill it from its end, so that one of them begins in its
/// second half, whatever a page of another size would have there.
fn is_like_tree(file: &File, place: u64, size: u64) -> bool {
    let mut page = vec![0; usize::try_from(size).unwrap_or_default()];
    if file.read_exact_at(&mut page, place).is_err() {
        return false;
    }
    let header = match page.first() {
        Some(0x0a | 0x0d) => 8,
        Some(0x02 | 0x05) => 12,
        _ => return false,
    };
    let cells = u16_at(&page, 3).map_or(0, usize::from);
    let begins = (0..cells).map(|cell| u16_at(&page, header + 2 * cell).map_or(u64::MAX, u64::from));
    begins.max().is_some_and(|last| (size / 2..size).contains(&last))
}

/// Whether a page begins like the root of a table.
fn is_tree(kind: u8) -> bool {
    matches!(kind, 0x05 | 0x0d)
}

fn said_size(bytes: [u8; 2], file: u64) -> Option<u64> {
    let size = match u16::from_be_bytes(bytes) {
        1 => 65_536,
        size => u64::from(size),
    };
    (size.is_power_of_two() && size >= 512 && file.is_multiple_of(size)).then_some(size)
}
