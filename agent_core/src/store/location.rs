//! The state folder and the files in it: whose they are, who may read them, on what sort of disk they lie.
//!
//! No file of the database is ever opened here once it exists: closing any descriptor of it would drop the locks that
//! SQLite holds for the whole process.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::error::StoreError;
use super::{absent, lone_log};
use crate::folder::private_folder;

/// How long an opening process may hold up another.
const OPENING: Duration = Duration::from_secs(5);

/// A state folder that is ours and private, with its lock held: one process at a time opens the store.
pub(super) struct Location {
    /// The database; exists.
    pub(super) database: PathBuf,
    /// The disk can't carry the shared memory of a write-ahead log.
    pub(super) network: bool,
    /// What is to be said of a database that was there before, and is begun anew.
    pub(super) absent: Option<String>,
    _opening: File,
}

impl Location {
    /// Makes what is missing, tightens what is too open, and refuses what is not ours.
    pub(super) fn prepare(folder: &Path) -> Result<Self, StoreError> {
        private_folder(folder)?;
        let opening = lock(&folder.join("state.lock"))?;
        let database = folder.join("state.db");
        lone_log::check(&database)?;
        let absent = absent::look(&database, &opening);
        make_database(&database)?;
        absent::mark(&opening);
        let location = Self {
            absent,
            ..Self::locked(folder, opening)?
        };
        check_size(&location.database)?;
        Ok(location)
    }

    /// The same for a database that is there, whatever is in its file.
    pub(super) fn of_existing(folder: &Path) -> Result<Self, StoreError> {
        private_folder(folder)?;
        Self::locked(folder, lock(&folder.join("state.lock"))?)
    }

    fn locked(folder: &Path, opening: File) -> Result<Self, StoreError> {
        for beside in ["state.db", "state.db-wal", "state.db-shm", "state.db-journal"] {
            make_private(&folder.join(beside))?;
        }
        Ok(Self {
            network: is_network(folder),
            database: folder.join("state.db"),
            absent: None,
            _opening: opening,
        })
    }

    /// What the user should know of the disk.
    pub(super) fn warning(&self) -> Option<String> {
        self.network.then(|| {
            format!(
                "{} is on a network file system: saving is slower there, and no other machine may use it at the same \
                 time.",
                self.database.display()
            )
        })
    }
}

/// A path with all symbolic links resolved; as it is, where that can't be done.
pub(super) fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn check_owner(path: &Path, owner: u32) -> Result<(), StoreError> {
    if owner == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(StoreError::ForeignOwner {
        path: path.to_owned(),
        owner,
    })
}

fn tighten(path: &Path, found: u32, wanted: u32) -> io::Result<()> {
    if found & 0o777 == wanted {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(wanted))
}

fn lock(path: &Path) -> Result<File, StoreError> {
    let failed = |source| StoreError::of_file(path, source);
    make_private(path)?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    let end = Instant::now() + OPENING;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path: path.to_owned() }),
            // Some network file systems have no such locks. SQLite's own still hold there.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

/// SQLite would make it with the user's umask. It is new, so nobody can hold a lock that the descriptor's end drops.
fn make_database(path: &Path) -> Result<(), StoreError> {
    match OpenOptions::new().create_new(true).write(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(StoreError::of_file(path, source)),
    }
}

/// Whether the disk of a file has no room for what a database needs to be opened at all.
pub(super) fn is_full(path: &Path) -> bool {
    const LEAST: u64 = 128 * 1024;
    let folder = path.parent().unwrap_or(path);
    rustix::fs::statvfs(folder).is_ok_and(|facts| facts.f_bavail.saturating_mul(facts.f_frsize) < LEAST)
}

/// SQLite takes a file shorter than any database for an empty one and writes over it. Only with a journal beside it
/// can it be what a crash left of ours.
fn check_size(database: &Path) -> Result<(), StoreError> {
    const SMALLEST: u64 = 512;
    let size = fs::metadata(database).map_or(0, |metadata| metadata.len());
    if (1..SMALLEST).contains(&size) && !database.with_extension("db-journal").exists() {
        return Err(StoreError::NoDatabase {
            path: database.to_owned(),
        });
    }
    Ok(())
}

fn make_private(path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::of_file(path, source);
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if !metadata.is_file() {
        return Err(StoreError::NotAFile { path: path.to_owned() });
    }
    check_owner(path, metadata.uid())?;
    tighten(path, metadata.mode(), 0o600).map_err(failed)
}

/// Whether the folder lies on a file system whose locks and shared memory other machines don't see.
#[cfg(target_os = "linux")]
fn is_network(folder: &Path) -> bool {
    // From linux/magic.h and the file systems' own headers.
    const NETWORK: [u64; 10] = [
        0x6969,      // NFS
        0x517b,      // SMB
        0xfe53_4d42, // SMB 2
        0xff53_4d42, // CIFS
        0x0102_1997, // 9p
        0x6573_5546, // FUSE
        0x5346_414f, // AFS
        0x00c3_6400, // Ceph
        0x7375_7245, // Coda
        0x0bd0_0bd0, // Lustre
    ];
    rustix::fs::statfs(folder).is_ok_and(|facts| {
        #[expect(
            clippy::cast_sign_loss,
            reason = "the kernel's number has 32 bits, signed on some machines"
        )]
        let kind = facts.f_type as u64 & 0xffff_ffff;
        NETWORK.contains(&kind)
    })
}

/// Whether the folder lies on a network file system; only Linux is asked.
#[cfg(not(target_os = "linux"))]
fn is_network(_folder: &Path) -> bool {
    false
}
