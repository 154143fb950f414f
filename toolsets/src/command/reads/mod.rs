//! Which plain commands surely only read, and only what may be read without a question.

mod awk;
#[cfg(test)]
mod documented;
mod filter;
mod options;
mod sed;
mod special;
mod table;

use std::path::{Path, PathBuf};

use agent_core::boundary::is_secret_name;
use ignore::WalkBuilder;

use super::Ground;
use super::place::{lexical, real};
use super::plain::{Joint, Step};
use options::Used;
use table::{Operands, Program, TABLE};

/// The shell itself is these; no file of that name is run.
const BUILTINS: [&str; 8] = ["echo", "printf", "pwd", "true", "false", "test", "command", "type"];

/// Version managers, and their folders of programs that pick the program to run by the folder they run in.
const SHIMS: [&str; 10] = [
    "shims", ".pyenv", ".rbenv", ".nodenv", ".goenv", ".asdf", ".volta", ".proto", ".mise", "mise",
];

/// A search through a larger tree is asked for.
const MOST_ENTRIES: usize = 20_000;

/// The programs that may run unasked.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let languages = special::LANGUAGES.into_iter().chain(special::VERSIONED);
    TABLE.iter().map(|program| program.name).chain(languages)
}

/// That a command surely only reads, or why that is not sure, as a question says it.
type Known = Result<(), String>;

/// Why it is not sure that all steps only read what may be read, if it is not.
pub(super) fn doubt(steps: &[Step], ground: &Ground<'_>) -> Option<String> {
    known(steps, ground).err()
}

fn known(steps: &[Step], ground: &Ground<'_>) -> Known {
    sure(ground.in_roots(ground.cwd), || {
        "it starts outside the workspace".to_owned()
    })?;
    // After a `cd` that may have failed or not run, or that ran in a pipe, nobody knows where the next command is.
    let chained = steps
        .iter()
        .skip(1)
        .all(|step| step.joint == Joint::And || step.joint == Joint::Pipe);
    let mut here = Here {
        ground,
        cwd: ground.cwd.to_path_buf(),
    };
    for (index, step) in steps.iter().enumerate() {
        match step.words.as_slice() {
            [program, folder] if program == "cd" => {
                let next = steps.get(index + 1).map(|next| next.joint);
                let piped = step.joint == Joint::Pipe || next == Some(Joint::Pipe);
                sure(chained && !piped, || {
                    "it is not sure in which folder the commands beside its `cd` run".to_owned()
                })?;
                here.enter(folder)?;
            }
            words => here.reads(words)?,
        }
    }
    Ok(())
}

fn sure(is_so: bool, why: impl FnOnce() -> String) -> Known {
    if is_so { Ok(()) } else { Err(why()) }
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
    fn enter(&mut self, folder: &str) -> Known {
        let named = self.cwd.join(folder);
        let place = real(&named);
        // The shell's `..` goes back over a symbolic link, the system's does not: behind one they would part.
        let straight = place == lexical(&named);
        let known = !folder.starts_with('-') && !folder.is_empty() && straight && place.is_dir();
        sure(known, || format!("it is not sure where `cd {folder}` leads"))?;
        self.may_read(folder)?;
        self.cwd = place;
        Ok(())
    }

    fn reads(&self, words: &[String]) -> Known {
        let Some((name, args)) = words.split_first() else {
            return Err("there is no command in it".to_owned());
        };
        let found = BUILTINS.contains(&name.as_str()) || self.is_from_outside(name);
        special::reads(self, name, args).unwrap_or_else(|| self.table_reads(name, args))?;
        sure(found, || {
            format!("`{name}` is not found, or is a file of the workspace or of a version manager")
        })
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

    fn table_reads(&self, name: &str, args: &[String]) -> Known {
        let program = TABLE.iter().find(|program| program.name == name);
        let program = program.ok_or_else(|| format!("`{name}` is not known to only read"))?;
        let used = program
            .used(args)
            .map_err(|option| format!("`{name}` is not known to only read with {option}"))?;
        self.operands_known(program, &used)
    }

    fn operands_known(&self, program: &Program, used: &Used<'_>) -> Known {
        let paths = used.operands.as_slice();
        let name = program.name;
        let most = |count: usize| {
            sure(paths.len() <= count, || {
                format!("`{name}` is not known to only read with so many arguments")
            })
        };
        match program.operands {
            Operands::Text => Ok(()),
            Operands::None => most(0),
            Operands::Paths => self.may_read_all(paths),
            Operands::Files => {
                self.may_read_all(paths)?;
                sure(!paths.iter().any(|path| self.cwd.join(path).is_dir()), || {
                    format!("`{name}` would read all in a folder")
                })
            }
            Operands::OnePath => most(1).and_then(|()| self.may_read_all(paths)),
            Operands::Filter => {
                let (filter, paths) = paths.split_first().ok_or("it has no filter")?;
                sure(filter::only_filters(filter), || {
                    "its filter may read more than its input".to_owned()
                })?;
                self.may_read_all(paths)
            }
            Operands::Pattern { always_deep } => self.search_known(used, always_deep),
        }
    }

    /// A search: its pattern, then files; in depth it reads whatever is there.
    fn search_known(&self, used: &Used<'_>, always_deep: bool) -> Known {
        let skip = usize::from(!used.pattern_given);
        let paths = used.operands.get(skip..).unwrap_or_default();
        let deep = always_deep || used.recursive;
        let folders = if paths.is_empty() && deep { &["."][..] } else { paths };
        self.may_read_all(paths)?;
        let closed = deep.then(|| {
            folders
                .iter()
                .find(|folder| !self.holds_no_secret(folder, always_deep && !used.chosen))
        });
        match closed.flatten() {
            Some(folder) => Err(format!(
                "it searches all of `{folder}`, which may hold secrets or is large"
            )),
            None => Ok(()),
        }
    }

    fn may_read_all(&self, paths: &[&str]) -> Known {
        paths.iter().try_for_each(|path| self.may_read(path))
    }

    fn may_read(&self, path: &str) -> Known {
        if matches!(path, "-" | "/dev/null") {
            return Ok(());
        }
        self.ground.may_read(&self.cwd, path)
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
