//! Which wall this system has. It is found out by really using it, once a process, and not before it matters.

use std::path::PathBuf;
use std::sync::OnceLock;

/// A wall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wall {
    /// This program, which works.
    Bubblewrap(PathBuf),
    /// Landlock of this version, and seccomp.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "it is Linux's"))]
    Kernel(u8),
    /// macOS's own.
    #[cfg_attr(not(target_os = "macos"), expect(dead_code, reason = "it is macOS's"))]
    Seatbelt,
}

impl Wall {
    /// What people are told that it is made of.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Bubblewrap(_) => "bubblewrap".to_owned(),
            Self::Kernel(abi) => format!("Landlock {abi} and seccomp"),
            Self::Seatbelt => "sandbox-exec".to_owned(),
        }
    }

    /// Whether what lies in a writable folder can be kept from being written.
    pub(crate) fn holds_protected(&self) -> bool {
        match self {
            Self::Bubblewrap(_) | Self::Seatbelt => true,
            Self::Kernel(_) => false,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The best wall there is.
    pub(crate) wall: Option<Wall>,
    /// Why there is no better one, and what to do; empty where there is no better one.
    pub(crate) lacks: String,
}

/// The best wall of this system. The first call may take some hundredths of a second.
pub(crate) fn found() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(system::look)
}

#[cfg(all(test, target_os = "linux"))]
pub(super) use system::{look_at_bubblewrap, look_at_kernel};

#[cfg(target_os = "linux")]
mod system {
    use std::io;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::{Arc, OnceLock};

    use super::super::confinement::Confinement;
    use super::super::{bwrap, kernel};
    use super::{Found, Wall};
    use crate::process::{Leader, Ready, Spawner, last_words};
    use crate::surroundings::program;

    pub(super) fn look() -> Found {
        let why = match look_at_bubblewrap() {
            Ok(wall) => {
                return Found {
                    wall: Some(wall),
                    lacks: String::new(),
                };
            }
            Err(why) => why,
        };
        match look_at_kernel() {
            Ok(wall) => Found {
                wall: Some(wall),
                lacks: why,
            },
            Err(kernel) => Found {
                wall: None,
                lacks: format!("{why}; {kernel}"),
            },
        }
    }

    /// Has it start a program with all that it is used with.
    pub(in super::super) fn look_at_bubblewrap() -> Result<Wall, String> {
        let Some(bwrap) = program("bwrap") else {
            return Err("bubblewrap is not installed (on Debian and Ubuntu: `apt install bubblewrap`)".to_owned());
        };
        let mut command = Command::new(&bwrap);
        command
            .args(bwrap::arguments(&nothing(), Path::new("true"), Path::new("/")))
            .arg("true");
        match last_words(Ready::new(command, Spawner::of_all(), Leader::Keeper)) {
            Ok(()) => Ok(Wall::Bubblewrap(bwrap)),
            Err(error) => Err(format!(
                "bubblewrap ({}) can't be used here: {error}; are user namespaces allowed?",
                bwrap.display()
            )),
        }
    }

    /// Puts it around a thread, and starts a program from there.
    pub(in super::super) fn look_at_kernel() -> Result<Wall, String> {
        let abi = Arc::new(OnceLock::new());
        let told = Arc::clone(&abi);
        let start = || -> io::Result<()> {
            let spawner = Spawner::confined(move || {
                let _first = told.set(kernel::confine(&nothing())?);
                Ok(())
            })?;
            last_words(Ready::new(Command::new("true"), spawner, Leader::Command))
        };
        match start() {
            Ok(()) => Ok(Wall::Kernel(abi.get().copied().unwrap_or_default())),
            Err(error) => Err(format!("the kernel's own walls can't be used: {error}")),
        }
    }

    /// May do nothing but read.
    fn nothing() -> Confinement {
        Confinement {
            tmp: std::fs::canonicalize(std::env::temp_dir()).unwrap_or_else(|_| PathBuf::from("/tmp")),
            ..Confinement::default()
        }
    }
}

#[cfg(target_os = "macos")]
mod system {
    use std::process::Command;

    use super::super::confinement::Confinement;
    use super::super::mac;
    use super::{Found, Wall};
    use crate::process::{Ready, last_words};

    pub(super) fn look() -> Found {
        let mut command = Command::new(mac::PROGRAM);
        command.args(["-p", &mac::profile(&Confinement::default()), "/usr/bin/true"]);
        match last_words(Ready::from(command)) {
            Ok(()) => Found {
                wall: Some(Wall::Seatbelt),
                lacks: String::new(),
            },
            Err(error) => Found {
                wall: None,
                lacks: format!("sandbox-exec can't be used here: {error}"),
            },
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod system {
    use super::Found;

    pub(super) fn look() -> Found {
        Found {
            wall: None,
            lacks: "there is none for this system yet".to_owned(),
        }
    }
}
