//! The pages of the copy of a damaged database, as they lie in its file and in the log beside it.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::file;
use super::leaf::u32_at;
use super::log::Log;

/// Where the header says that free pages begin, and how many there are.
const FREE: usize = 32;

/// The files, to be read page by page.
pub(super) struct Pages {
    file: File,
    log: Option<(File, Log)>,
    /// How long a page is.
    size: usize,
    /// The number of the last one.
    pub(super) last: u32,
    /// Those that hold nothing any more; none if nobody knows them.
    pub(super) free: Option<HashSet<u32>>,
}

impl Pages {
    /// `head` is what the header said of free pages before it was put right.
    pub(super) fn open(image: &Path, head: Option<[u8; 8]>) -> io::Result<Self> {
        let file = File::open(image)?;
        let log = match File::open(image.with_file_name(file::beside(image, "-wal"))) {
            Ok(found) => Log::read(&found)?.map(|log| (found, log)),
            Err(_) => None,
        };
        let bytes = file.metadata()?.len();
        let size = match &log {
            Some((_, log)) => log.page,
            None => usize::try_from(file::page_size(&file)?).unwrap_or(usize::MAX),
        };
        let in_log = log.as_ref().and_then(|(_, log)| log.places.keys().max().copied());
        let in_file = u32::try_from(bytes.div_ceil(size as u64)).unwrap_or(u32::MAX);
        let mut pages = Self {
            file,
            log,
            size,
            last: in_file.max(in_log.unwrap_or(0)),
            free: None,
        };
        pages.free = pages.read_free(head);
        Ok(pages)
    }

    /// A page; none if it is not there, or not whole.
    pub(super) fn page(&self, number: u32) -> Option<Vec<u8>> {
        let mut page = vec![0; self.size];
        let in_log = self
            .log
            .as_ref()
            .and_then(|(file, log)| Some((file, *log.places.get(&number)?)));
        let (file, place) = match in_log {
            Some(found) => found,
            None => (&self.file, u64::from(number.checked_sub(1)?) * self.size as u64),
        };
        file.read_exact_at(&mut page, place).ok()?;
        Some(page)
    }

    /// Follows the list of free pages; none unless it has as many as the header says.
    fn read_free(&self, head: Option<[u8; 8]>) -> Option<HashSet<u32>> {
        let first = self.log.as_ref().filter(|(_, log)| log.places.contains_key(&1));
        let head = match first {
            Some(_) => self.page(1)?.get(FREE..FREE + 8)?.to_vec(),
            None => head?.to_vec(),
        };
        let (mut trunk, count) = (u32_at(&head, 0)?, u32_at(&head, 4)?);
        let mut free = HashSet::new();
        while trunk != 0 {
            let page = self.page(trunk)?;
            let leaves = usize::try_from(u32_at(&page, 4)?).ok()?;
            if leaves > self.size / 4 - 2 {
                return None;
            }
            let named = (0..leaves).map(|leaf| u32_at(&page, 8 + 4 * leaf));
            for number in named.chain([Some(trunk)]) {
                let number = number.filter(|number| (2..=self.last).contains(number))?;
                if !free.insert(number) {
                    return None;
                }
            }
            trunk = u32_at(&page, 0)?;
        }
        (free.len() == usize::try_from(count).ok()?).then_some(free)
    }
}
