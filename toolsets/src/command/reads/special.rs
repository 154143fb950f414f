//! Programs whose arguments are a small language of their own.

use super::Here;

/// Asking one of these for its version runs nothing else.
pub(super) const VERSIONED: [&str; 14] = [
    "bash", "cargo", "clang", "cmake", "gcc", "grep", "make", "node", "perl", "python", "python3", "rg", "ruby",
    "rustc",
];

/// The programs that are judged here.
pub(super) const LANGUAGES: [&str; 7] = ["command", "date", "echo", "find", "printf", "sed", "test"];

/// `find` tests and actions without a value that change nothing.
const FIND_PLAIN: [&str; 28] = [
    "(",
    ")",
    "!",
    ",",
    "-not",
    "-a",
    "-and",
    "-o",
    "-or",
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-empty",
    "-true",
    "-false",
    "-depth",
    "-xdev",
    "-mount",
    "-daystart",
    "-readable",
    "-writable",
    "-executable",
    "-nouser",
    "-nogroup",
    "-noleaf",
    "-nowarn",
];

/// Those with a value that names no file.
const FIND_VALUED: [&str; 24] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-type",
    "-xtype",
    "-maxdepth",
    "-mindepth",
    "-size",
    "-mtime",
    "-mmin",
    "-ctime",
    "-cmin",
    "-atime",
    "-amin",
    "-regex",
    "-iregex",
    "-regextype",
    "-perm",
    "-user",
    "-group",
    "-links",
    "-printf",
];

/// Whether a command only reads, if it is one of those that the table can't describe.
pub(super) fn reads(here: &Here<'_>, name: &str, args: &[String]) -> Option<bool> {
    match (name, args) {
        (_, [only]) if matches!(only.as_str(), "--version" | "-V") && VERSIONED.contains(&name) => {
            Some(versioned(here, name))
        }
        ("node", [only]) if only == "-v" => Some(true),
        _ if !LANGUAGES.contains(&name) => None,
        ("echo", _) => Some(true),
        ("find", _) => Some(find(here, args)),
        ("sed", _) => Some(sed(here, args)),
        ("date", _) => Some(
            args.iter()
                .all(|arg| arg.starts_with('+') || matches!(arg.as_str(), "-u" | "-R" | "-I")),
        ),
        ("printf", _) => Some(
            args.first()
                .is_some_and(|format| !format.starts_with('-') && !stores(format)),
        ),
        ("test", [sort, path]) => {
            Some(matches!(sort.as_str(), "-d" | "-e" | "-f" | "-r" | "-s" | "-x") && here.may_read(path))
        }
        ("test", _) => Some(false),
        ("command", [option, name]) => Some(matches!(option.as_str(), "-v" | "-V") && !name.starts_with('-')),
        ("command", _) => Some(false),
        _ => None,
    }
}

/// A toolchain file lets `cargo --version` fetch a toolchain, or run one that lies in the workspace.
fn versioned(here: &Here<'_>, name: &str) -> bool {
    let switched = ["rust-toolchain", "rust-toolchain.toml"];
    let plain = || {
        here.cwd
            .ancestors()
            .all(|folder| switched.iter().all(|file| !folder.join(file).exists()))
    };
    !matches!(name, "cargo" | "rustc") || plain()
}

fn find(here: &Here<'_>, args: &[String]) -> bool {
    let mut args = args
        .iter()
        .map(String::as_str)
        .skip_while(|arg| matches!(*arg, "-P" | "-H"))
        .peekable();
    while let Some(path) = args.next_if(|arg| !arg.starts_with(['-', '(', '!'])) {
        if !here.may_read(path) {
            return false;
        }
    }
    while let Some(word) = args.next() {
        let known = FIND_PLAIN.contains(&word)
            || (FIND_VALUED.contains(&word) && args.next().is_some())
            || (word == "-newer" && args.next().is_some_and(|path| here.may_read(path)));
        if !known {
            return false;
        }
    }
    true
}

/// Only `sed -n 'N,Mp' FILE…`: other scripts can write files and run commands.
fn sed(here: &Here<'_>, args: &[String]) -> bool {
    let [quiet, script, paths @ ..] = args else {
        return false;
    };
    let prints = script
        .chars()
        .all(|char| char.is_ascii_digit() || "$,;p ".contains(char));
    quiet == "-n" && prints && paths.iter().all(|path| !path.starts_with('-') && here.may_read(path))
}

/// A `%n` of bash's `printf` stores a number in a variable, `PATH` for one.
fn stores(format: &str) -> bool {
    let mut directives = format.split('%').skip(1);
    directives.any(|directive| {
        directive
            .trim_start_matches(|char: char| !char.is_alphabetic() || "hlLjztq".contains(char))
            .starts_with('n')
    })
}
