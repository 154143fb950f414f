//! Files in which bits fell over, pages were overwritten or the end is gone: each row that SQLite can still read before a
//! repair is there afterwards.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use rusqlite::Connection;

use crate::repair::{check_keeps, copy_open, database, filled, salvaged};
use crate::user;

#[test]
fn whatever_bits_fall_over_what_can_be_read_is_kept() {
    let whole = tempfile::tempdir().unwrap();
    filled(whole.path());
    let good = fs::read(database(whole.path())).unwrap();
    let begin = std::env::var("REPAIR_SEED").map_or_else(|_| fastrand_seed(), |seed| seed.parse().unwrap());
    for seed in begin..begin + std::env::var("REPAIRS").map_or(100, |n| n.parse().unwrap()) {
        let what = format!("REPAIR_SEED={seed}");
        let mut random = Random(seed);
        let folder = tempfile::tempdir().unwrap();
        let mut bad = good.clone();
        for _ in 0..=random.below(8) {
            // A tenth of them in the first page, which holds the header and the schema.
            let end = if random.below(10) == 0 { 4096 } else { bad.len() as u64 };
            bad[random.below(end) as usize] ^= 1 << random.below(8);
        }
        fs::write(database(folder.path()), &bad).unwrap();
        check_keeps(folder.path(), &what);
    }
}

fn fastrand_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 32
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

#[test]
fn whatever_page_is_overwritten_what_can_be_read_is_kept() {
    let whole = tempfile::tempdir().unwrap();
    filled(whole.path());
    let good = fs::read(database(whole.path())).unwrap();
    let pages = good.len() / 4096;
    for page in (0..pages).step_by(3) {
        let folder = tempfile::tempdir().unwrap();
        let mut bad = good.clone();
        bad[page * 4096..(page + 1) * 4096].fill(0xa5);
        fs::write(database(folder.path()), &bad).unwrap();
        check_keeps(folder.path(), &format!("page {page}"));
    }
}

#[test]
fn a_file_that_is_cut_off_keeps_what_is_left() {
    let whole = tempfile::tempdir().unwrap();
    filled(whole.path());
    let good = fs::read(database(whole.path())).unwrap();
    for length in [good.len() * 9 / 10, good.len() / 2, 3 * 4096, 4096, 1000, 512, 100, 1] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(database(folder.path()), &good[..length]).unwrap();
        check_keeps(folder.path(), &format!("{length} bytes"));
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(database(folder.path()), &good[..good.len() * 9 / 10]).unwrap();
    let salvaged = salvaged(folder.path());
    assert!(salvaged.rows > 100, "{salvaged:?}");
    assert!(!salvaged.faults.is_empty());
}

#[test]
fn a_log_that_is_cut_off_keeps_what_is_left() {
    let whole = tempfile::tempdir().unwrap();
    filled(whole.path());
    // By hand: a store would leave a claim of this process, which lives.
    let writer = Connection::open(database(whole.path())).unwrap();
    writer.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    for seq in 122..170 {
        let body = serde_json::to_string(&user(&format!("in the log {seq}"))).unwrap();
        let row = "INSERT INTO events (session, seq, at_ms, kind, body) VALUES (1, ?1, 0, 'user_message', ?2)";
        writer.execute_batch("BEGIN").unwrap();
        writer.execute(row, (seq, body)).unwrap();
        writer
            .execute("UPDATE sessions SET last_seq = ?1 WHERE key = 1", [seq])
            .unwrap();
        writer.execute_batch("COMMIT").unwrap();
    }
    let open = tempfile::tempdir().unwrap();
    copy_open(whole.path(), open.path());
    let log = fs::read(open.path().join("state.db-wal")).unwrap();
    assert!(log.len() > 40_000, "{}", log.len());
    for length in [log.len(), log.len() - 100, log.len() / 2, 5000, 31, 0] {
        for damage in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            fs::copy(database(open.path()), database(folder.path())).unwrap();
            fs::write(folder.path().join("state.db-wal"), &log[..length]).unwrap();
            if damage {
                let file = OpenOptions::new().write(true).open(database(folder.path())).unwrap();
                let size = file.metadata().unwrap().len();
                file.write_all_at(&[0xa5; 8192], size / 2 / 4096 * 4096).unwrap();
            }
            check_keeps(folder.path(), &format!("{length} of the log, damage {damage}"));
        }
    }
    drop(writer);
}
