//! A file's place in a folder that is held open: whatever the folder's path leads to by then, what is done here is done
//! in that very folder. No symbolic link is followed, not on the way and not at the end.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fchmod, fchown, fstat, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, geteuid, test_kill_process};

/// How a folder is held. What only stands for it needs no right to list it.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A name in a folder.
pub(crate) struct Held {
    folder: OwnedFd,
    name: OsString,
}

impl Held {
    /// Goes by a real path, folder after folder from the root. A link on the way is an error, [`is_link`] tells it.
    pub(crate) fn find(real: &Path) -> io::Result<Self> {
        Self::walk(real, |held, _| held.enter())
    }

    /// The same, and makes the folders that are missing; each is told in `made`, also if a later one fails.
    pub(crate) fn make(real: &Path, made: &mut Vec<PathBuf>) -> io::Result<Self> {
        Self::walk(real, |held, path| {
            let entered = held.enter();
            if !matches!(&entered, Err(error) if error.kind() == io::ErrorKind::NotFound) {
                return entered;
            }
            match mkdirat(&held.folder, &held.name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                Ok(()) => made.push(path.to_owned()),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            held.enter()
        })
    }

    fn walk(real: &Path, mut enter: impl FnMut(&Self, &Path) -> io::Result<OwnedFd>) -> io::Result<Self> {
        // A walk gets deeper than any path can name, to where nobody else would find the file.
        if let Err(error @ Errno::NAMETOOLONG) = statat(CWD, real, AtFlags::SYMLINK_NOFOLLOW) {
            return Err(error.into());
        }
        let mut path = PathBuf::from("/");
        let mut held = Self {
            folder: openat(CWD, &path, FOLDER, Mode::empty())?,
            name: OsString::from("."),
        };
        for name in real.iter().skip(1) {
            held.folder = enter(&held, &path)?;
            held.name = name.to_owned();
            path.push(name);
        }
        Ok(held)
    }

    /// Opens the folder that has this name.
    fn enter(&self) -> io::Result<OwnedFd> {
        match openat(&self.folder, &self.name, FOLDER, Mode::empty()) {
            // The same error as for a file. By now a folder may stand there again.
            Err(Errno::NOTDIR) if matches!(self.kind(), Ok(Some(FileType::Symlink | FileType::Directory))) => {
                Err(Errno::LOOP.into())
            }
            Ok(folder) => Ok(folder),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    fn kind(&self) -> io::Result<Option<FileType>> {
        Ok(self.facts()?.map(|facts| FileType::from_raw_mode(facts.st_mode)))
    }

    /// What is known of the thing that has the name now; none if there is none.
    fn facts(&self) -> io::Result<Option<Stat>> {
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(facts) => Ok(Some(facts)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn exists(&self) -> io::Result<bool> {
        Ok(self.facts()?.is_some())
    }

    pub(crate) fn remove_file(&self) -> io::Result<()> {
        Ok(unlinkat(&self.folder, &self.name, AtFlags::empty())?)
    }

    /// Takes an empty folder away.
    pub(crate) fn remove_folder(&self) -> io::Result<()> {
        Ok(unlinkat(&self.folder, &self.name, AtFlags::REMOVEDIR)?)
    }
}

/// Whether something failed at a link that nobody followed.
pub(crate) fn is_link(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// The bits of a mode that have a program run as its file's owner or group.
const RUNS_AS_OWNER: u32 = 0o6000;

/// The mode of a new file.
#[derive(Clone, Copy)]
pub(crate) enum Bits<'a> {
    /// That of the file that has the place now, else this one, else as for any new file.
    Kept(Option<&'a Permissions>),
    /// This one.
    Set(&'a Permissions),
}

/// A file that is written whole beside its place before it takes it, so that a reader never sees half of it. It is gone
/// with this value if it has not taken its place.
pub(crate) struct NewFile<'a> {
    held: &'a Held,
    /// The name it has until then.
    name: OsString,
    file: File,
    placed: bool,
}

impl<'a> NewFile<'a> {
    /// Writes the bytes to disk. The owner is that of the file that has the place now.
    pub(crate) fn write(held: &'a Held, bytes: &[u8], bits: Bits<'_>) -> io::Result<Self> {
        let old = held.facts()?;
        let first = match old.is_some() || !matches!(bits, Bits::Kept(None)) {
            // Until it has its mode it may be nobody else's to read.
            true => Mode::RUSR | Mode::WUSR,
            // The process's umask takes its part of this, as for any new file.
            false => Mode::from_raw_mode(0o666),
        };
        let mut new = Self::open(held, first)?;
        new.file.write_all(bytes)?;
        if let Some(old) = &old {
            new.keep(old)?;
        }
        match bits {
            Bits::Set(mode) => new.set(mode)?,
            Bits::Kept(Some(mode)) if old.is_none() => new.set(mode)?,
            Bits::Kept(_) => {}
        }
        new.file.sync_data()?;
        Ok(new)
    }

    /// Nobody knows whose the file was that had this mode.
    fn set(&self, mode: &Permissions) -> io::Result<()> {
        let mode = mode.mode() & !RUNS_AS_OWNER;
        self.file.set_permissions(Permissions::from_mode(mode))
    }

    fn open(held: &'a Held, mode: Mode) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // What can't be tidied up hinders nobody.
        let _ = sweep_once(held);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".write-{}-{number}", std::process::id()));
            match retry_on_intr(|| openat(&held.folder, &name, flags, mode)) {
                // Left by a process of the same number.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
                Ok(file) => {
                    return Ok(Self {
                        held,
                        name,
                        file: File::from(file),
                        placed: false,
                    });
                }
            }
        }
    }

    fn keep(&self, old: &Stat) -> io::Result<()> {
        let new = rustix::fs::fstat(&self.file)?;
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
            let (owner, group) = (
                rustix::fs::Uid::from_raw(old.st_uid),
                rustix::fs::Gid::from_raw(old.st_gid),
            );
            // Without the right to give files away, the file becomes ours, as with any editor that saves like this. It
            // must not run as us then because it did as its owner.
            if fchown(&self.file, Some(owner), Some(group)).is_err() {
                return Ok(fchmod(
                    &self.file,
                    Mode::from_raw_mode(old.st_mode) - (Mode::SUID | Mode::SGID),
                )?);
            }
        }
        Ok(fchmod(&self.file, Mode::from_raw_mode(old.st_mode))?)
    }

    /// Takes the place of the file that is there.
    pub(crate) fn replace(mut self) -> io::Result<()> {
        let (folder, name) = (&self.held.folder, &self.held.name);
        renameat(folder, &self.name, folder, name)?;
        self.placed = true;
        Ok(())
    }

    /// Takes the place where no file is; fails if there is one by now.
    pub(crate) fn create(mut self) -> io::Result<()> {
        match rename_new(self.held, &self.name) {
            Ok(()) => {
                self.placed = true;
                Ok(())
            }
            // Some file systems can't rename without replacing; there the look before has to do.
            Err(error) if error != Errno::EXIST && !self.held.exists()? => self.replace(),
            Err(error) => Err(error.into()),
        }
    }
}

/// [`sweep`]s a folder that was not swept before.
fn sweep_once(held: &Held) -> rustix::io::Result<()> {
    static SWEPT: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());
    let facts = fstat(&held.folder)?;
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        reason = "the types differ between systems"
    )]
    let folder = (facts.st_dev as u64, facts.st_ino as u64);
    if !SWEPT.lock().insert(folder) {
        return Ok(());
    }
    sweep(held)
}

/// Takes away what processes that died in the middle of a write have left in the folder.
pub(crate) fn sweep(held: &Held) -> rustix::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    for entry in Dir::new(openat(&held.folder, ".", flags, Mode::empty())?)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if !writer(name).is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH)) {
            continue;
        }
        let facts = statat(&held.folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_uid == geteuid().as_raw() {
            unlinkat(&held.folder, name, AtFlags::empty())?;
        }
    }
    Ok(())
}

/// The process that a file of this name is written by.
fn writer(name: &OsStr) -> Option<Pid> {
    let (pid, number) = name.to_str()?.strip_prefix(".write-")?.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    Pid::from_raw(pid.parse().ok().filter(|_| is_number(pid) && is_number(number))?)
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if !self.placed {
            let _ = unlinkat(&self.held.folder, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_new(held: &Held, from: &OsStr) -> rustix::io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};

    renameat_with(&held.folder, from, &held.folder, &held.name, RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename_new(_: &Held, _: &OsStr) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}
