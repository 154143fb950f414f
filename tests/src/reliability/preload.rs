//! What is loaded into the built binary before its C library, so that it is killed at a chosen call or has another
//! clock. The binary itself knows nothing of it.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

const SOURCE: &str = include_str!("preload.c");

/// The library, compiled once for each program. None where it can't be: it is for Linux with a C compiler.
pub fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    LIBRARY
        .get_or_init(compile)
        .as_ref()
        .map(|(_, library)| library.as_path())
}

fn compile() -> Option<(TempDir, PathBuf)> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return None;
    }
    let folder = tempfile::tempdir().ok()?;
    let (source, library) = (folder.path().join("preload.c"), folder.path().join("preload.so"));
    fs::write(&source, SOURCE).ok()?;
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .output();
    compiled.ok()?.status.success().then_some((folder, library))
}

/// A call of the system at which a process dies.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// What is called: a write to a file or the editor, its way to the disk, a lock.
    pub place: &'static str,
    /// `before` it, `half` through or `after` it.
    pub part: &'static str,
    /// What is being done there.
    pub is: &'static str,
}

/// All of them.
pub const POINTS: [Point; 19] = [
    point("lock", "before", "before BEGIN"),
    point("lock", "after", "after BEGIN"),
    point("log", "before", "after insert and index, before COMMIT"),
    point("log", "half", "in a page of COMMIT"),
    point("log", "after", "in COMMIT, or after its last page"),
    point("log sync", "before", "COMMIT before the disk"),
    point("log sync", "after", "COMMIT on the disk"),
    point("unlock", "before", "COMMIT done, lock still held"),
    point("unlock", "after", "after COMMIT"),
    point("database", "before", "in a checkpoint, before a page"),
    point("database", "half", "in a page of a checkpoint"),
    point("database", "after", "in a checkpoint, after a page"),
    point("database sync", "before", "checkpoint before the disk"),
    point("database sync", "after", "checkpoint on the disk"),
    point("log removed", "before", "the last one, log not removed"),
    point("log removed", "after", "the last one, log removed"),
    point("answer", "before", "before a line to the editor"),
    point("answer", "half", "in a line to the editor"),
    point("answer", "after", "line to the editor written"),
];

const fn point(place: &'static str, part: &'static str, is: &'static str) -> Point {
    Point { place, part, is }
}

/// Has the command's process die at its `pass`th call of this kind.
pub(super) fn die_at(command: &mut Command, library: &Path, point: Point, pass: u64) {
    command
        .env("LD_PRELOAD", library)
        .env("AT_PLACE", point.place)
        .env("AT_PART", point.part)
        .env("AT_PASS", pass.to_string());
}

/// A wall clock that is the system's moved by some seconds.
pub struct Clock {
    folder: TempDir,
    library: &'static Path,
}

impl Clock {
    /// A clock that goes right. None where there can't be one.
    pub fn new() -> Option<Self> {
        let library = library()?;
        let folder = tempfile::tempdir().ok()?;
        let clock = Self { folder, library };
        fs::write(clock.path(), 0i64.to_ne_bytes()).ok()?;
        Some(clock)
    }

    /// Moves it, for all processes that have it.
    pub fn set(&self, seconds: i64) {
        let file = fs::OpenOptions::new().write(true).open(self.path());
        let file = file.expect("the clock's file was made");
        file.write_all_at(&seconds.to_ne_bytes(), 0)
            .expect("a small file can be written");
    }

    /// Gives it to a process.
    pub fn give(&self, command: &mut Command) {
        command.env("LD_PRELOAD", self.library).env("CLOCK_FILE", self.path());
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("clock")
    }
}
