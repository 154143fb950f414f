//! Whether another process has the database open.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether another process holds a lock on the database or its index, which all do that have it open in WAL mode. Where
/// the system doesn't tell, nobody is seen. Files are looked at by path only: opening them would drop our own locks.
pub(super) fn has_others(database: &Path) -> bool {
    let Ok(locks) = fs::read_to_string("/proc/locks") else {
        return false;
    };
    let inodes: Vec<u64> = [database.to_owned(), database.with_extension("db-shm")]
        .iter()
        .filter_map(|path| Some(fs::metadata(path).ok()?.ino()))
        .collect();
    locks
        .lines()
        .filter_map(holder)
        .any(|(pid, inode)| pid != std::process::id() && inodes.contains(&inode))
}

/// Who holds a lock on which file: `1: POSIX  ADVISORY  READ 4242 08:01:1234567 128 128`.
fn holder(line: &str) -> Option<(u32, u64)> {
    let mut fields = line
        .split_ascii_whitespace()
        .skip_while(|field| !is_kind(field))
        .skip(1);
    let pid = fields.next()?.parse().ok()?;
    let inode = fields.next()?.rsplit(':').next()?.parse().ok()?;
    Some((pid, inode))
}

fn is_kind(field: &str) -> bool {
    matches!(field, "READ" | "WRITE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_names_its_holder_and_its_file() {
        let check = |line: &str, expect: Option<(u32, u64)>| assert_eq!(holder(line), expect, "{line}");
        check(
            "1: POSIX  ADVISORY  READ 4242 08:01:1234567 128 128",
            Some((4242, 1_234_567)),
        );
        check("2: -> POSIX  ADVISORY  WRITE 7 00:2b:99 0 EOF", Some((7, 99)));
        check("3: FLOCK  ADVISORY  WRITE -1 00:2b:99 0 EOF", None);
        check("", None);
    }
}
