//! Where processes behind a wall may write, and what they don't see.

use std::path::{Path, PathBuf};

use crate::command::real;

/// Where credentials lie in a home folder.
const SECRETS: [&str; 19] = [
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".pypirc",
    ".password-store",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".config/gcloud",
    ".config/gh",
    ".docker/config.json",
    ".local/share/keyrings",
    "Library/Keychains",
];

/// Where `npx` and `uvx` put the servers that they fetch.
const FETCHED: [&str; 2] = [".npm", ".cache"];

/// The real paths of all places of credentials that there are, beside our own folders. A folder of the session that is
/// one of them was chosen by the user.
pub(super) fn hidden(own: &[PathBuf], home: Option<&Path>, roots: &[PathBuf]) -> Vec<PathBuf> {
    let agent = std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from);
    let secrets = below(home, &SECRETS).chain(agent).map(|path| real(&path));
    let secrets = secrets.filter(|path| !roots.contains(path));
    let mut hidden: Vec<PathBuf> = own.iter().map(|path| real(path)).chain(secrets).collect();
    hidden.retain(|path| path.exists());
    hidden.sort();
    hidden.dedup();
    hidden
}

/// Where servers may write beside what commands may.
pub(super) fn of_fetchers(home: Option<&Path>) -> Vec<PathBuf> {
    existing(below(home, &FETCHED))
}

/// The real paths of configured folders.
pub(super) fn configured(folders: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
    existing(folders.iter().filter_map(|folder| match folder.strip_prefix("~") {
        Ok(below) => Some(home?.join(below)),
        Err(_) => Some(folder.clone()),
    }))
}

fn below<'a>(home: Option<&'a Path>, names: &'a [&str]) -> impl Iterator<Item = PathBuf> + 'a {
    home.into_iter()
        .flat_map(|home| names.iter().map(|name| home.join(name)))
}

fn existing(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    paths.map(|path| real(&path)).filter(|path| path.exists()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_is_there_is_hidden_unless_it_is_where_the_user_works() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for name in [".ssh", ".aws", "own"] {
            std::fs::create_dir(home.join(name)).unwrap();
        }
        let own = [home.join("own")];
        let hidden = hidden(&own, Some(&home), &[home.join(".aws"), home.join("own")]);
        let below: Vec<_> = hidden.iter().filter(|path| path.starts_with(&home)).collect();
        assert_eq!(below, [&home.join(".ssh"), &home.join("own")]);
        let folders = ["~/.ssh".into(), "~/none".into(), home.join("own")];
        assert_eq!(configured(&folders, Some(&home)), [home.join(".ssh"), home.join("own")]);
    }
}
