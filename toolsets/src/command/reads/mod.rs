//! Which plain commands surely only read, and only what may be read without a question.

#[cfg(test)]
mod documented;
mod options;
mod special;
mod table;

use std::path::{Path, PathBuf};

use agent_core::boundary::is_secret_name;
use ignore::WalkBuilder;

use super::Ground;
use super::place::{lexical, real};
use super::plain::{Joint, Step};
use options::Used;
use table::{Operands, TABLE};

/// The shell itself is these; no file of that name is run.
const BUILTINS: [&str; 8] = ["echo", "printf", "pwd", "true", "false", "test", "command", "type"];

/// Version managers, and their folders of programs that pick the program to run by the folder they run in.
const SHIMS: [&str; 10] = [
    "shims", ".pyenv", ".rbenv", ".nodenv", ".goenv", ".asdf", ".volta", ".proto", ".mise", "mise",
];

/// A search through a larger tree is asked for.
const MOST_ENTRIES: usize = 20_000;

/// Whether all steps only read.
pub(super) fn only_reads(steps: &[Step], ground: &Ground<'_>) -> bool {
    // After a `cd` that may have failed or not run, or that ran in a pipe, nobody knows where the next command is.
    let chained = steps
        .iter()
        .skip(1)
        .all(|step| step.joint == Joint::And || step.joint == Joint::Pipe);
    let mut here = Here {
        ground,
        cwd: ground.cwd.to_path_buf(),
    };
    ground.in_roots(ground.cwd)
        && steps
            .iter()
            .enumerate()
            .all(|(index, step)| match step.words.as_slice() {
                [program, folder] if program == "cd" => {
                    let piped =
                        step.joint == Joint::Pipe || steps.get(index + 1).is_some_and(|next| next.joint == Joint::Pipe);
                    chained && !piped && here.enter(folder)
                }
                words => here.reads(words),
            })
}

/// Whether a program lies where version managers keep their stand-ins.
fn is_shim(program: &Path) -> bool {
    program
        .iter()
        .any(|part| SHIMS.iter().any(|folder| part == Path::new(folder)))
}

/// Where a command stands.
struct Here<'a> {
    ground: &'a Ground<'a>,
    cwd: PathBuf,
}

impl Here<'_> {
    fn enter(&mut self, folder: &str) -> bool {
        let named = self.cwd.join(folder);
        let place = real(&named);
        // The shell's `..` goes back over a symbolic link, the system's does not: behind one they would part.
        let straight = place == lexical(&named);
        let known =
            !folder.starts_with('-') && !folder.is_empty() && straight && place.is_dir() && self.may_read(folder);
        if known {
            self.cwd = place;
        }
        known
    }

    fn reads(&self, words: &[String]) -> bool {
        let Some((name, args)) = words.split_first() else {
            return false;
        };
        let found = BUILTINS.contains(&name.as_str()) || self.is_from_outside(name);
        found && special::reads(self, name, args).unwrap_or_else(|| self.table_reads(name, args))
    }

    /// The program is a file outside the roots, where the workspace can't have put another in its place, and no shim,
    /// which lets a file of the workspace say what it runs.
    fn is_from_outside(&self, name: &str) -> bool {
        let program = (!name.contains('/')).then(|| self.ground.program(name)).flatten();
        program.is_some_and(|file| {
            let places = [real(&file), file];
            places
                .iter()
                .all(|place| !self.ground.in_roots(place) && !is_shim(place))
        })
    }

    fn table_reads(&self, name: &str, args: &[String]) -> bool {
        let program = TABLE.iter().find(|program| program.name == name);
        program.is_some_and(|program| {
            program
                .used(args)
                .is_some_and(|used| self.operands_ok(program.operands, &used))
        })
    }

    fn operands_ok(&self, operands: Operands, used: &Used<'_>) -> bool {
        let paths = used.operands.as_slice();
        match operands {
            Operands::Text => true,
            Operands::None => paths.is_empty(),
            Operands::Paths => self.may_read_all(paths),
            Operands::Files => self.may_read_all(paths) && !paths.iter().any(|path| self.cwd.join(path).is_dir()),
            Operands::OnePath => paths.len() <= 1 && self.may_read_all(paths),
            Operands::Pattern { always_deep } => self.search_ok(used, always_deep),
        }
    }

    /// A search: its pattern, then files; in depth it reads whatever is there.
    fn search_ok(&self, used: &Used<'_>, always_deep: bool) -> bool {
        let skip = usize::from(!used.pattern_given);
        let paths = used.operands.get(skip..).unwrap_or_default();
        let deep = always_deep || used.recursive;
        let folders = if paths.is_empty() && deep { &["."][..] } else { paths };
        self.may_read_all(paths)
            && (!deep
                || folders
                    .iter()
                    .all(|folder| self.holds_no_secret(folder, always_deep && !used.chosen)))
    }

    fn may_read_all(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| self.may_read(path))
    }

    fn may_read(&self, path: &str) -> bool {
        matches!(path, "-" | "/dev/null") || self.ground.may_read(&self.cwd, path)
    }

    /// Whether nothing below the folder needs a question of its own. `like_rg`: what ripgrep passes over is no matter.
    fn holds_no_secret(&self, folder: &str, like_rg: bool) -> bool {
        let folder = self.cwd.join(folder);
        let mut walk = WalkBuilder::new(&folder);
        walk.standard_filters(like_rg).follow_links(false);
        if like_rg {
            walk.add_custom_ignore_filename(".rgignore");
        }
        let mut seen = 0;
        let open =
            |path: &Path| path == folder || !path.file_name().is_some_and(|name| is_secret_name(Path::new(name)));
        walk.build().all(|entry| {
            seen += 1;
            seen <= MOST_ENTRIES
                && entry.is_ok_and(|entry| open(entry.path()) && !self.ground.is_forbidden(&real(entry.path())))
        })
    }
}
