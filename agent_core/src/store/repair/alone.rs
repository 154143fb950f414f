//! Whether another process has the database open. Each that does holds a lock of SQLite's on the database, or on the
//! shared memory beside it, for as long as that is so.

use std::fs::File;
use std::path::Path;

use rustix::process::{Flock, FlockType, fcntl_getlk};

use super::RepairError;

/// An error names the process that holds a lock.
pub(super) fn check_locks(database: &Path) -> Result<(), RepairError> {
    for name in ["db", "db-shm"] {
        // Nobody else can have made it if it is not there; what can't be opened fails later, with a better word.
        let Ok(file) = File::open(database.with_extension(name)) else {
            continue;
        };
        // Where the system does not say, SQLite's own exclusive lock must do.
        if let Ok(Some(lock)) = fcntl_getlk(&file, &Flock::from(FlockType::WriteLock)) {
            return Err(RepairError::InUse {
                path: database.to_owned(),
                pid: lock.pid.and_then(|pid| u32::try_from(pid.as_raw_pid()).ok()),
            });
        }
    }
    Ok(())
}
