//! The machine and what is on it: the system, this program, those that its tools use.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use agent_core::config::{Config, SandboxMode};

use super::Finding;
use crate::wiring;

/// Whether this system is one of those that are served.
pub(crate) fn platform() -> Finding {
    let system = format!("{} on {}", wiring::os(), env::consts::ARCH);
    match env::consts::OS {
        "linux" | "macos" => Finding::ok("platform", system),
        "windows" => Finding::failed(
            "platform",
            format!("{system}: Windows is not served yet; use Linux, macOS or WSL"),
        ),
        _ => Finding::warning(
            "platform",
            format!("{system}: only Linux and macOS are tested; use one of these if something fails"),
        ),
    }
}

/// This program, and whether editors find it by its name.
pub(crate) fn version() -> Finding {
    let version = concat!("talaria ", env!("CARGO_PKG_VERSION"));
    let Ok(own) = env::current_exe() else {
        return Finding::ok("version", version);
    };
    let path = env::var_os("PATH").unwrap_or_default();
    let named = env::split_paths(&path)
        .map(|folder| folder.join("agent"))
        .find(|file| file.is_file());
    called(version, &own, named.as_deref())
}

fn called(version: &str, own: &Path, named: Option<&Path>) -> Finding {
    let (own_real, named_real) = (real(own), named.map(real));
    let said = format!("{version}, {}", own.display());
    match named {
        Some(named) if named_real.as_ref() != Some(&own_real) => Finding::warning(
            "version",
            format!(
                "{said}; but `agent` on the PATH is {}: give editors the whole path",
                named.display()
            ),
        ),
        Some(_) => Finding::ok("version", said),
        None => Finding::ok(
            "version",
            format!("{said}; not on the PATH, so give editors the whole path"),
        ),
    }
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The programs that the tools use, and what is lost without.
pub(crate) fn tools() -> Vec<Finding> {
    let shell = match wiring::bash() {
        Some(bash) => Finding::ok("bash", bash),
        None if Path::new("/bin/sh").exists() => Finding::warning(
            "bash",
            "there is none in /bin, /usr/bin and /usr/local/bin, so commands run with /bin/sh: install bash",
        ),
        None => Finding::failed(
            "bash",
            "there is neither bash nor /bin/sh, so no command can run: install bash",
        ),
    };
    let git = match wiring::program("git") {
        Some(git) => Finding::ok("git", git.display().to_string()),
        None => Finding::warning(
            "git",
            "there is none, so models are not told the branch and what has changed: install git",
        ),
    };
    vec![shell, git]
}

/// What holds in commands and MCP servers, in a session of this folder.
pub(crate) fn sandbox(config: &Config) -> Finding {
    let cwd = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let (is_there, sentence) = wiring::look_at_sandbox(&cwd, config);
    match config.sandbox.mode {
        _ if is_there => Finding::ok("sandbox", sentence),
        SandboxMode::Required => Finding::failed("sandbox", sentence),
        SandboxMode::Off if config.sandbox.network => Finding::ok("sandbox", sentence),
        SandboxMode::Off | SandboxMode::Auto => Finding::warning(
            "sandbox",
            format!("{sentence}. What a command does that you allow is up to that command, so read it before you do"),
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::super::State;
    use super::*;

    #[test]
    fn another_program_of_our_name_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let [own, link, other] = ["own", "link", "other"].map(|name| folder.path().join(name));
        fs::write(&own, "").unwrap();
        fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&own, &link).unwrap();
        let check = |named: Option<&Path>, expect: State| {
            assert_eq!(called("1", &own, named).state, expect, "{named:?}");
        };
        check(None, State::Ok);
        check(Some(&own), State::Ok);
        check(Some(&link), State::Ok);
        check(Some(&other), State::Warning);
    }
}
