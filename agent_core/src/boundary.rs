//! Which paths need a question of their own. Pure: it judges paths whose links are resolved already.

use std::path::{Component, Path, PathBuf};

use crate::plan::Place;

/// Folders whose content steers tools of the user: version control, editors, hooks, other agents.
pub const PROTECTED_FOLDERS: [&str; 24] = [
    ".git",
    ".hg",
    ".vscode",
    ".zed",
    ".idea",
    ".husky",
    ".fleet",
    ".helix",
    ".devcontainer",
    ".claude",
    ".cursor",
    ".gemini",
    ".codex",
    ".continue",
    ".windsurf",
    ".clinerules",
    ".roo",
    ".kiro",
    ".junie",
    ".amazonq",
    ".augment",
    ".qwen",
    ".opencode",
    ".trae",
];

/// Files that steer tools of the user, agents and shells; in lower case.
pub const PROTECTED_FILES: [&str; 38] = [
    ".mcp.json",
    ".envrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".devcontainer.json",
    ".exrc",
    ".vimrc",
    ".nvimrc",
    ".nvim.lua",
    ".dir-locals.el",
    ".rules",
    ".cursorrules",
    ".windsurfrules",
    ".roorules",
    ".goosehints",
    ".aider.conf.yml",
    "opencode.json",
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "qwen.md",
    ".bash_aliases",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    "config.fish",
    ".gitconfig",
];

/// What in `.github` runs, or steers agents.
const GITHUB: [&str; 6] = [
    "workflows",
    "actions",
    "copilot-instructions.md",
    "instructions",
    "prompts",
    "chatmodes",
];

/// Folders that hold credentials.
const SECRET_FOLDERS: [&str; 3] = [".ssh", ".aws", ".gnupg"];

/// What a session may touch without a question of its own.
pub(crate) struct Boundary<'a> {
    /// Real paths of the session's folders.
    pub(crate) roots: &'a [PathBuf],
    /// Real paths of our own folders.
    pub(crate) forbidden: &'a [PathBuf],
}

impl Boundary<'_> {
    /// Whether it is inside one of our own folders, which no tool touches in any mode.
    pub(crate) fn is_forbidden(&self, place: &Place) -> bool {
        self.forbidden
            .iter()
            .any(|folder| place.real.starts_with(folder) || place.path.starts_with(folder))
    }

    /// Whether it really lies inside the session's folders.
    pub(crate) fn is_inside(&self, place: &Place) -> bool {
        self.roots.iter().any(|root| place.real.starts_with(root))
    }

    /// Whether writing it steers tools of the user, by either of its names.
    pub(crate) fn is_protected(&self, place: &Place) -> bool {
        self.names(place).any(|names| is_protected(&names))
    }

    /// Whether it holds credentials, by either of its names.
    pub(crate) fn is_secret(&self, place: &Place) -> bool {
        self.names(place).any(|names| is_secret(&names))
    }

    /// Both names, in parts below the root they lie in, in lower case: file systems may not tell case apart.
    fn names(&self, place: &Place) -> impl Iterator<Item = Vec<String>> {
        [&place.path, &place.real].into_iter().map(|path| {
            let root = self.roots.iter().find_map(|root| path.strip_prefix(root).ok());
            parts(root.unwrap_or(path))
        })
    }
}

/// Whether a path, by its name alone, holds credentials: what is never read without a question.
pub fn is_secret_name(path: &Path) -> bool {
    is_secret(&parts(path))
}

/// Whether writing a path, by its name alone, steers tools of the user.
pub fn is_protected_name(path: &Path) -> bool {
    is_protected(&parts(path))
}

fn parts(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        })
        .collect()
}

fn is_protected(names: &[String]) -> bool {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let file = names.last().copied().unwrap_or_default();
    names.iter().any(|name| PROTECTED_FOLDERS.contains(name))
        || PROTECTED_FILES.contains(&file)
        || names
            .windows(2)
            .any(|pair| matches!(pair, [".cargo", file] if file.starts_with("config")))
        || names
            .windows(2)
            .any(|pair| matches!(pair, [".github", of] if GITHUB.contains(of)))
}

fn is_secret(names: &[String]) -> bool {
    let file = names.last().map(String::as_str).unwrap_or_default();
    names.iter().any(|name| SECRET_FOLDERS.contains(&name.as_str()))
        || file == ".netrc"
        || (file.starts_with(".env") && file != ".envrc")
        || Path::new(file).extension().is_some_and(|extension| extension == "pem")
        || is_key_file(file)
}

/// `id_ed25519`, `id_rsa.pub`; but not `id_map.rs`, which is source text.
fn is_key_file(file: &str) -> bool {
    file.starts_with("id_") && matches!(file.split_once('.'), None | Some((_, "pub")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expect: &str) {
        let roots = [PathBuf::from("/w/app"), PathBuf::from("/home/u/.zed/ext")];
        let forbidden = [PathBuf::from("/home/u/.config/talaria")];
        let boundary = Boundary {
            roots: &roots,
            forbidden: &forbidden,
        };
        let place = Place {
            path: path.into(),
            real: path.into(),
        };
        let mut said = Vec::new();
        for (is, word) in [
            (boundary.is_forbidden(&place), "forbidden"),
            (boundary.is_inside(&place), "inside"),
            (boundary.is_protected(&place), "protected"),
            (boundary.is_secret(&place), "secret"),
        ] {
            if is {
                said.push(word);
            }
        }
        assert_eq!(said.join(" "), expect, "{path}");
    }

    #[test]
    fn paths_are_judged_by_their_parts() {
        check("/w/app/src/a.rs", "inside");
        check("/w/app-secrets/k", "");
        check("/etc/passwd", "");
        check("/w/app/.git/hooks/pre-commit", "inside protected");
        check("/w/app/.GIT/config", "inside protected");
        check("/w/app/.github/workflows/ci.yml", "inside protected");
        check("/w/app/.github/copilot-instructions.md", "inside protected");
        check("/w/app/.github/CODEOWNERS", "inside");
        check("/w/app/.claude/settings.json", "inside protected");
        check("/w/app/sub/.Cursor/rules/a.mdc", "inside protected");
        check("/w/app/GEMINI.md", "inside protected");
        check("/w/app/.windsurfrules", "inside protected");
        check("/w/app/.clinerules", "inside protected");
        check("/w/app/.clinerules/a.md", "inside protected");
        check("/w/app/.codex/config.toml", "inside protected");
        check("/w/app/src/cursor/a.rs", "inside");
        check("/w/app/.cargo/config.toml", "inside protected");
        check("/w/app/sub/AGENTS.md", "inside protected");
        check("/w/app/.env.local", "inside secret");
        check("/w/app/.envrc", "inside protected");
        check("/w/app/certs/x.pem", "inside secret");
        check("/w/app/src/id_map.rs", "inside");
        check("/home/u/.ssh/id_ed25519", "secret");
        check("/home/u/.zed/ext/src/a.rs", "inside");
        check("/home/u/.bashrc", "protected");
        check("/home/u/.config/talaria/config.toml", "forbidden");
        check("/home/u/.config/talaria-notes/a", "");
    }
}
