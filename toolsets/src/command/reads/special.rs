//! Programs whose arguments are a small language of their own.

use super::{Here, Known, awk, sed, sure};

/// Asking one of these for its version runs nothing else.
pub(super) const VERSIONED: [&str; 19] = [
    "bash", "cargo", "clang", "cmake", "curl", "g++", "gcc", "grep", "jq", "make", "node", "perl", "python", "python3",
    "rg", "ruby", "rustc", "sed", "tar",
];

/// The programs that are judged here.
pub(super) const LANGUAGES: [&str; 9] = ["awk", "command", "date", "echo", "find", "printf", "ps", "sed", "test"];

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

/// What `ps` may be told to show: not the environment, which may hold keys.
const PS_COLUMNS: [&str; 25] = [
    "pid", "ppid", "pgid", "sid", "user", "uid", "ruser", "group", "comm", "cmd", "command", "args", "stat", "state",
    "tty", "time", "etime", "etimes", "lstart", "start", "rss", "vsz", "%cpu", "%mem", "nlwp",
];

/// Whether a command only reads, if it is one of those that the table can't describe.
pub(super) fn reads(here: &Here<'_>, name: &str, args: &[String]) -> Option<Known> {
    let only_if = |known: bool| {
        Some(sure(known, || {
            format!("`{name}` is not known to only read with these arguments")
        }))
    };
    match (name, args) {
        (_, [only]) if matches!(only.as_str(), "--version" | "-V") && VERSIONED.contains(&name) => {
            Some(versioned(here, name))
        }
        ("node", [only]) if only == "-v" => Some(Ok(())),
        _ if !LANGUAGES.contains(&name) => None,
        ("awk", _) => Some(awk(here, args)),
        ("echo", _) => Some(Ok(())),
        ("find", _) => Some(find(here, args)),
        ("sed", _) => Some(sed(here, args)),
        ("ps", _) => only_if(ps(args)),
        ("date", _) => only_if(
            args.iter()
                .all(|arg| arg.starts_with('+') || matches!(arg.as_str(), "-u" | "-R" | "-I")),
        ),
        ("printf", _) => only_if(
            args.first()
                .is_some_and(|format| !format.starts_with('-') && !stores(format)),
        ),
        ("test", [sort, path]) if matches!(sort.as_str(), "-d" | "-e" | "-f" | "-r" | "-s" | "-x") => {
            Some(here.may_read(path))
        }
        ("command", [option, name]) => only_if(matches!(option.as_str(), "-v" | "-V") && !name.starts_with('-')),
        _ => only_if(false),
    }
}

/// A toolchain file lets `cargo --version` fetch a toolchain, or run one that lies in the workspace.
fn versioned(here: &Here<'_>, name: &str) -> Known {
    let switched = ["rust-toolchain", "rust-toolchain.toml"];
    let plain = || {
        here.cwd
            .ancestors()
            .all(|folder| switched.iter().all(|file| !folder.join(file).exists()))
    };
    sure(!matches!(name, "cargo" | "rustc") || plain(), || {
        format!("a toolchain file says which `{name}` runs")
    })
}

fn find(here: &Here<'_>, args: &[String]) -> Known {
    let mut args = args
        .iter()
        .map(String::as_str)
        .skip_while(|arg| matches!(*arg, "-P" | "-H"))
        .peekable();
    while let Some(path) = args.next_if(|arg| !arg.starts_with(['-', '(', '!'])) {
        here.may_read(path)?;
    }
    while let Some(word) = args.next() {
        let known =
            FIND_PLAIN.contains(&word) || ((FIND_VALUED.contains(&word) || word == "-newer") && args.peek().is_some());
        sure(known, || format!("`find` is not known to only read with `{word}`"))?;
        if word == "-newer" {
            here.may_read(args.next().unwrap_or_default())?;
        } else if FIND_VALUED.contains(&word) {
            args.next();
        }
    }
    Ok(())
}

/// `awk PROGRAM FILE…`, with the options `-F` and `-v`. An operand with `=` would be no file.
fn awk(here: &Here<'_>, args: &[String]) -> Known {
    let mut args = args.iter().map(String::as_str).peekable();
    while let Some(option) = args.next_if(|arg| arg.starts_with('-')) {
        let known = match option {
            "-F" | "-v" => args.next().is_some(),
            _ => option.starts_with("-F"),
        };
        sure(known, || format!("`awk` is not known to only read with `{option}`"))?;
    }
    let program = args.next().unwrap_or_default();
    sure(!program.is_empty() && awk::only_prints(program), || {
        "its `awk` program may do more than print its input".to_owned()
    })?;
    for path in args {
        let file = path == "-" || !path.starts_with('-') && !path.contains('=');
        sure(file, || format!("`{path}` may be no file to `awk`"))?;
        here.may_read(path)?;
    }
    Ok(())
}

/// `sed SCRIPT FILE…`, with `-n`, `-E` and `-e`. Options may also stand behind files.
fn sed(here: &Here<'_>, args: &[String]) -> Known {
    let (mut scripts, mut paths) = (Vec::new(), Vec::new());
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "-n" | "-E" | "-r" | "-nE" | "-nr" | "-En" | "-rn" => {}
            "-e" | "-ne" => scripts.push(args.next().unwrap_or_default()),
            _ if arg.starts_with('-') => return Err(format!("`sed` is not known to only read with `{arg}`")),
            _ => paths.push(arg),
        }
    }
    if scripts.is_empty() && !paths.is_empty() {
        scripts.push(paths.remove(0));
    }
    let prints = !scripts.is_empty() && scripts.iter().all(|script| sed::only_prints(script));
    sure(prints, || "its `sed` script may do more than print".to_owned())?;
    paths.into_iter().try_for_each(|path| here.may_read(path))
}

fn ps(args: &[String]) -> bool {
    let columns = |list: &str| list.split(',').all(|column| PS_COLUMNS.contains(&column));
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let known = match arg {
            "aux" | "auxww" | "ax" | "-e" | "-A" | "-f" | "-ef" | "-efww" | "-aux" => true,
            "-p" => args
                .next()
                .is_some_and(|pids| pids.chars().all(|char| char.is_ascii_digit() || char == ',')),
            "-o" | "-eo" | "axo" => args.next().is_some_and(columns),
            _ => arg
                .strip_prefix("--sort=")
                .is_some_and(|key| columns(key.trim_start_matches('-'))),
        };
        if !known {
            return false;
        }
    }
    true
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
