//! The wall of bubblewrap: a program that starts another one in namespaces of its own, where the file system is another
//! one. This is its command line.

use std::ffi::OsString;
use std::path::Path;

use super::confinement::{Confinement, Layer};

/// Namespaces of its own, no rights of an administrator, and death with the agent. The agent has made a session of the
/// system's for it already, so that there is no terminal it could type into.
const ALWAYS: [&str; 7] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
];

/// Sockets of services lie here, through which a process could have others do what it may not.
const RUN: &str = "/run";

/// What of it programs can't do without, and that is no socket: on NixOS all programs are there.
const KEPT_OF_RUN: [&str; 2] = ["/run/current-system", "/run/opengl-driver"];

/// The arguments before those of the program that starts in `cwd`.
pub(super) fn arguments(confinement: &Confinement, program: &Path, cwd: &Path) -> Vec<OsString> {
    let mut line = Line(ALWAYS.map(OsString::from).to_vec());
    if !confinement.network {
        line.word("--unshare-net");
    }
    let all = if confinement.is_writable(Path::new("/")) {
        "--bind"
    } else {
        "--ro-bind"
    };
    line.bind(all, "/", "/").over("--dev", "/dev").over("--proc", "/proc");
    line.bind("--bind", &confinement.tmp, "/tmp");
    // It is the user's own word that this one runs.
    if program.starts_with("/tmp") && program.is_file() {
        line.bind("--ro-bind", program, program);
    }
    let mut sealed = Vec::new();
    if Path::new(RUN).is_dir() {
        line.over("--tmpfs", RUN);
        sealed.push(Path::new(RUN));
        for kept in KEPT_OF_RUN {
            line.bind("--ro-bind-try", kept, kept);
        }
        // Without it no name is looked up.
        if let Some(names) = std::fs::canonicalize("/etc/resolv.conf")
            .ok()
            .filter(|file| is_masked(file))
        {
            line.bind("--ro-bind", &names, &names);
        }
    }
    for (path, layer) in confinement.layers() {
        match layer {
            Layer::Writable if path == Path::new("/") => {}
            Layer::Writable | Layer::Fixed => drop(line.bind("--bind", path, path)),
            Layer::ReadOnly => drop(line.bind("--ro-bind", path, path)),
            Layer::Hidden if is_masked(path) && !confinement.is_writable(path) => {}
            Layer::Hidden if path.is_dir() => {
                line.over("--tmpfs", path);
                sealed.push(path);
            }
            Layer::Hidden => drop(line.bind("--ro-bind", "/dev/null", path)),
        }
    }
    // After all that lies in them.
    for folder in sealed {
        line.over("--remount-ro", folder);
    }
    line.over("--chdir", cwd).word("--");
    line.0
}

/// Whether another folder lies over it in any case.
fn is_masked(path: &Path) -> bool {
    ["/tmp", RUN].iter().any(|folder| path.starts_with(folder))
}

struct Line(Vec<OsString>);

impl Line {
    fn word(&mut self, word: impl Into<OsString>) -> &mut Self {
        self.0.push(word.into());
        self
    }

    fn over(&mut self, option: &str, path: impl AsRef<Path>) -> &mut Self {
        self.word(option).word(path.as_ref())
    }

    fn bind(&mut self, option: &str, from: impl AsRef<Path>, to: impl AsRef<Path>) -> &mut Self {
        self.word(option).word(from.as_ref()).word(to.as_ref())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_is_protected_lies_over_what_is_writable() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let confinement = Confinement {
            writable: vec![root.clone()],
            fixed: vec![root.join(".git")],
            read_only: vec![root.join(".git/config")],
            hidden: vec!["/tmp/elsewhere".into(), "/root/.ssh".into()],
            tmp: "/tmp/own".into(),
            network: false,
        };
        let words = arguments(&confinement, Path::new("/tmp/none"), &root);
        let line: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let line = line.join(" ");
        let root = root.display();
        let at = |part: &str| line.find(part).unwrap_or_else(|| panic!("{part} is not in {line}"));
        assert!(at("--ro-bind / /") < at("--bind /tmp/own /tmp"));
        assert!(at("--bind /tmp/own /tmp") < at(&format!("--bind {root} {root}")));
        assert!(at(&format!("--bind {root} {root}")) < at(&format!("--bind {root}/.git {root}/.git")));
        assert!(at(&format!("--bind {root}/.git")) < at(&format!("--ro-bind {root}/.git/config {root}/.git/config")));
        assert!(line.contains("--unshare-net") && !line.contains("/tmp/elsewhere"));
        assert!(line.ends_with(&format!("--chdir {root} --")), "{line}");
    }
}
