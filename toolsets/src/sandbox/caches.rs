//! Where package managers keep what they fetch: folders that processes with a network may write beside the session's own.
//! Neither credentials nor programs on the search path lie in them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::real;

/// The caches of some programs.
struct Cache {
    /// Whose word in a command is reason enough to make what is not there yet.
    programs: &'static [&'static str],
    /// What holds another folder than the usual one.
    variable: &'static str,
    /// The usual folder, below the home folder.
    folder: &'static str,
    /// What of it is written, "" for all of it.
    written: &'static [&'static str],
    /// Files in it that are written if they are there.
    locks: &'static [&'static str],
}

const CACHES: [Cache; 11] = [
    Cache {
        programs: &[
            "pip", "pip3", "pipx", "uv", "uvx", "poetry", "go", "yarn", "pnpm", "deno", "composer",
        ],
        variable: "XDG_CACHE_HOME",
        folder: ".cache",
        written: &[""],
        locks: &[],
    },
    Cache {
        programs: &["npm", "npx"],
        variable: "npm_config_cache",
        folder: ".npm",
        written: &[""],
        locks: &[],
    },
    Cache {
        programs: &["cargo"],
        variable: "CARGO_HOME",
        folder: ".cargo",
        written: &["registry", "git"],
        locks: &[".package-cache", ".package-cache-mutate"],
    },
    Cache {
        programs: &["go"],
        variable: "GOPATH",
        folder: "go",
        written: &["pkg"],
        locks: &[],
    },
    // Not all of it: what is in `init.d` and `gradle.properties` steers each build.
    Cache {
        programs: &["gradle", "gradlew"],
        variable: "GRADLE_USER_HOME",
        folder: ".gradle",
        written: &[
            "caches",
            "daemon",
            "native",
            "notifications",
            "wrapper",
            "workers",
            ".tmp",
        ],
        locks: &[],
    },
    Cache {
        programs: &["mvn", "mvnw"],
        variable: "",
        folder: ".m2",
        written: &["repository", "wrapper"],
        locks: &[],
    },
    Cache {
        programs: &["pnpm"],
        variable: "",
        folder: ".local/share/pnpm",
        written: &["store"],
        locks: &[],
    },
    Cache {
        programs: &["bun", "bunx"],
        variable: "",
        folder: ".bun",
        written: &["install/cache"],
        locks: &[],
    },
    Cache {
        programs: &["dotnet", "nuget"],
        variable: "",
        folder: ".nuget",
        written: &["packages"],
        locks: &[],
    },
    Cache {
        programs: &["yarn"],
        variable: "",
        folder: ".yarn",
        written: &["berry"],
        locks: &[],
    },
    // macOS.
    Cache {
        programs: &[],
        variable: "",
        folder: "Library/Caches",
        written: &[""],
        locks: &[],
    },
];

/// The caches of one user.
#[derive(Debug, Default)]
pub(super) struct Caches {
    /// Each with the programs that it may be made for.
    folders: Vec<(PathBuf, &'static [&'static str])>,
    locks: Vec<PathBuf>,
}

impl Caches {
    /// Those of the user with this home folder and these variables, outside of the folders that may be written anyway: a
    /// link in one of these can lead anywhere.
    pub(super) fn of(home: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>, writable: &[PathBuf]) -> Self {
        let Some(home) = home.map(real) else {
            return Self::default();
        };
        let is_apart = |path: &Path| !writable.iter().any(|folder| path.starts_with(folder));
        let mut found = Self::default();
        for cache in &CACHES {
            let elsewhere = variable(cache.variable).map(PathBuf::from);
            // The home folder itself, or what it lies in, is no cache.
            let elsewhere = elsewhere.filter(|folder| folder.is_absolute() && !home.starts_with(folder));
            let folder = elsewhere.unwrap_or_else(|| home.join(cache.folder));
            if is_apart(&folder) {
                let written = cache.written.iter().map(|name| (folder.join(name), cache.programs));
                found.folders.extend(written);
                found.locks.extend(cache.locks.iter().map(|name| folder.join(name)));
            }
        }
        found
    }

    /// The real paths of those that are there.
    pub(super) fn there(&self) -> Vec<PathBuf> {
        let folders = self.folders.iter().map(|(folder, _)| folder);
        let there = folders
            .chain(&self.locks)
            .filter_map(|path| fs::canonicalize(path).ok());
        there.collect()
    }

    /// Makes those that a program needs which is named in its own or another's command line.
    pub(super) fn make_for(&self, program: &OsStr, args: &[OsString]) {
        let words: Vec<_> = std::iter::once(program)
            .chain(args.iter().map(OsString::as_os_str))
            .map(OsStr::to_string_lossy)
            .collect();
        let is_in_name = |c: char| c.is_alphanumeric() || "-_".contains(c);
        let names: Vec<&str> = words
            .iter()
            .flat_map(|word| word.split(move |c| !is_in_name(c)))
            .collect();
        for (folder, programs) in &self.folders {
            if programs.iter().any(|program| names.contains(program)) {
                // It may be on a disk that can't be written; then the program says so.
                let _program_says_so = fs::create_dir_all(folder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn names(caches: &Caches, home: &Path) -> Vec<String> {
        let there = caches.there();
        let below = there.iter().map(|path| path.strip_prefix(home).unwrap_or(path));
        below.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn what_is_there_may_be_written_and_no_folder_is_made_without_need() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join(".cargo/registry")).unwrap();
        fs::write(home.join(".cargo/.package-cache"), "").unwrap();
        fs::write(home.join(".cargo/credentials.toml"), "").unwrap();
        let caches = Caches::of(Some(&home), |_| None, &[]);
        assert_eq!(names(&caches, &home), [".cargo/registry", ".cargo/.package-cache"]);
        caches.make_for(OsStr::new("bash"), &["-c".into(), "echo npm-x cargo.toml".into()]);
        assert!(!home.join(".npm").exists());
        caches.make_for(OsStr::new("bash"), &["-c".into(), "cd a&&npm install".into()]);
        caches.make_for(OsStr::new("/usr/bin/uvx"), &[]);
        assert_eq!(
            names(&caches, &home),
            [
                ".cache",
                ".npm",
                ".cargo/registry",
                ".cargo/git",
                ".cargo/.package-cache"
            ]
        );
        let inside = Caches::of(Some(&home), |_| None, std::slice::from_ref(&home));
        assert!(inside.there().is_empty());
    }

    #[test]
    fn variables_lead_elsewhere_but_never_to_the_home_folder() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for folder in ["elsewhere/registry", ".cache", ".npm"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        let variable = |name: &str| match name {
            "CARGO_HOME" => Some(home.join("elsewhere").into_os_string()),
            "XDG_CACHE_HOME" => Some(home.clone().into_os_string()),
            "npm_config_cache" => Some("relative".into()),
            _ => None,
        };
        let caches = Caches::of(Some(&home), variable, &[]);
        assert_eq!(names(&caches, &home), [".cache", ".npm", "elsewhere/registry"]);
    }
}
