//! A folder for what commands keep for a while: the session's own, and gone with it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

const NAME: &str = "talaria-tmp-";

/// A folder that goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Tmp {
    path: PathBuf,
    /// Locked as long as it is in use, so that what a killed agent has left can be told from it.
    _in_use: File,
}

impl Tmp {
    /// Makes one that only this user can enter, and takes away those that killed agents have left.
    pub(crate) fn make() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let shared = fs::canonicalize(std::env::temp_dir())?;
        sweep(&shared);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = shared.join(format!("{NAME}{}-{number}-{:x}", std::process::id(), now.as_nanos()));
        DirBuilder::new().mode(0o700).create(&path)?;
        let in_use = File::open(&path)?;
        flock(&in_use, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, _in_use: in_use })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Tmp {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn sweep(shared: &Path) {
    let entries = fs::read_dir(shared).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME));
    for entry in ours {
        let is_own = entry
            .metadata()
            .is_ok_and(|facts| facts.is_dir() && facts.uid() == rustix::process::geteuid().as_raw());
        // A folder that was made just now may not be locked yet.
        let is_old = entry.metadata().is_ok_and(|facts| {
            let age = facts.modified().map(|at| at.elapsed().unwrap_or_default());
            age.is_ok_and(|age| age.as_secs() > 60)
        });
        let Ok(folder) = File::open(entry.path()) else { continue };
        if is_own && is_old && flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove(&entry.path());
        }
    }
}

/// What a command has taken the rights of can't be removed without giving them back; that is worth a word only.
fn remove(path: &Path) {
    if let Err(error) = fs::remove_dir_all(path) {
        tracing::info!(path = %path.display(), %error, "a folder for temporary files stays");
    }
}
