//! What is never run, in any mode: commands that take away the machine, the home folder or the work, the user's own
//! rules, and whatever names our own folders or the keys in other processes. Only what stands literally in the text is found.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Ground;
use super::deny;
use super::place::{lexical, real};
use super::syntax::Script;
use super::unwrap::base_name;
use crate::private;

/// They belong to the system; nothing in them is anybody's work.
const SYSTEM: [&str; 16] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root", "/sbin", "/sys", "/usr",
    "/var", "/Users",
];

const RAW_DEVICES: [&str; 10] = [
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "dm-",
];

/// More folders than this that a text enters are not followed, nor more words of it looked at.
const MOST_FOLDERS: usize = 16;
const MOST_WORDS: usize = 4096;

/// The reason a text is never run, if there is one. `commands` are all of its script's.
pub(super) fn reason(text: &str, script: &Script, commands: &[Vec<String>], ground: &Ground<'_>) -> Option<String> {
    let bomb = script
        .bombs
        .first()
        .map(|name| format!("the function `{name}` starts itself without end"));
    let redirect = script
        .redirects
        .iter()
        .find(|to| is_raw_device(to))
        .map(|to| format!("it writes over the device `{to}`"));
    let mut floor = Floor {
        ground,
        here: ground.cwd.to_path_buf(),
        entered: vec![ground.cwd.to_path_buf()],
    };
    bomb.or(redirect)
        .or_else(|| floor.commands(commands))
        .or_else(|| floor.ours(text, script, commands))
}

struct Floor<'a> {
    ground: &'a Ground<'a>,
    /// Where the commands so far have gone.
    here: PathBuf,
    /// The folder it starts in and all that any of its commands may enter.
    entered: Vec<PathBuf>,
}

impl Floor<'_> {
    fn commands(&mut self, commands: &[Vec<String>]) -> Option<String> {
        commands.iter().find_map(|words| {
            let (program, args) = words.split_first()?;
            let name = base_name(program);
            self.enter(name, args);
            deny::reason(self.ground.deny, name, args).or_else(|| self.destroys(name, args))
        })
    }

    /// Follows a change of the folder.
    fn enter(&mut self, name: &str, args: &[String]) {
        let folder = match name {
            "cd" | "pushd" => args
                .iter()
                .find(|arg| !arg.starts_with('-'))
                .map_or(Some("~"), |arg| Some(arg)),
            "git" | "make" | "tar" => args
                .iter()
                .position(|arg| arg == "-C")
                .and_then(|at| args.get(at + 1))
                .map(String::as_str),
            _ => None,
        };
        let places = folder.map(|folder| self.places(folder, std::slice::from_ref(&self.here)));
        let places = places.unwrap_or_default();
        if let (Some(place), "cd" | "pushd") = (places.last(), name) {
            self.here.clone_from(place);
        }
        if self.entered.len() < MOST_FOLDERS {
            self.entered.extend(places);
        }
    }

    fn destroys(&self, name: &str, args: &[String]) -> Option<String> {
        let victim = |args: &[String]| args.iter().find_map(|arg| self.vital(arg));
        match name {
            "rm" | "srm" if recursive(args) => victim(args).map(|place| format!("it would remove {place}")),
            "find" if args.iter().any(|arg| removes(arg)) => {
                let paths = args.iter().position(|arg| arg.starts_with('-')).unwrap_or(args.len());
                let paths = if has_narrowing(args) { &[] } else { &args[..paths] };
                victim(paths).map(|place| format!("it would remove what is in {place}"))
            }
            "chmod" | "chown" | "chgrp" if recursive(args) => args
                .iter()
                .find_map(|arg| self.system(arg))
                .map(|place| format!("it would change the rights of all of {place}")),
            "dd" | "shred" | "tee" | "cp" | "mv" => {
                raw_target(name, args).map(|to| format!("it writes over the device `{to}`"))
            }
            "wipefs" | "blkdiscard" | "mkswap" => Some(format!("`{name}` wipes a device")),
            _ if name == "mkfs" || name.starts_with("mkfs.") => Some(format!("`{name}` wipes a device")),
            _ => None,
        }
    }

    /// What of value a path names, if it does: the machine, the home, the work or its history, or what holds them.
    fn vital(&self, path: &str) -> Option<String> {
        let trimmed = without_all(path);
        if Path::new(trimmed).file_name().is_some_and(|name| name == ".git") {
            return Some(format!("the history in `{path}`"));
        }
        let kept: Vec<&Path> = self
            .ground
            .roots
            .iter()
            .chain(self.ground.forbidden)
            .map(PathBuf::as_path)
            .collect();
        let kept = kept.into_iter().chain(self.ground.home);
        let kept: Vec<&Path> = kept.chain(SYSTEM.map(Path::new)).collect();
        let hit = self
            .places(trimmed, std::slice::from_ref(&self.here))
            .into_iter()
            .find(|place| kept.iter().any(|kept| kept.starts_with(place)))?;
        Some(format!("`{}`", hit.display()))
    }

    fn system(&self, path: &str) -> Option<String> {
        let hit = self
            .places(without_all(path), std::slice::from_ref(&self.here))
            .into_iter()
            .find(|place| SYSTEM.iter().any(|system| Path::new(system) == place))?;
        Some(format!("`{}`", hit.display()))
    }

    /// Where a path of a command may lead: as it is spelled, then as it really is, since `/bin` may be a link. Nowhere if
    /// it holds what only the shell knows.
    fn places(&self, path: &str, from: &[PathBuf]) -> Vec<PathBuf> {
        let named = expanded(path, self.ground).map(|path| from.iter().map(move |base| base.join(&path)));
        named
            .into_iter()
            .flatten()
            .flat_map(|named| [lexical(&named), real(&named)])
            .collect()
    }

    /// Whether a path names what holds keys of another process. As it is spelled: `/proc/self` is the command's own.
    fn is_private(&self, path: &str) -> bool {
        expanded(path, self.ground).is_some_and(|path| {
            let mut named = self.entered.iter().map(|base| base.join(&path));
            named.any(|named| private::is_private(&lexical(&named)))
        })
    }

    /// Whether anything in the text names one of our own folders, or what holds keys.
    fn ours(&self, text: &str, script: &Script, commands: &[Vec<String>]) -> Option<String> {
        let words: BTreeSet<&String> = commands
            .iter()
            .flatten()
            .chain(&script.redirects)
            .take(MOST_WORDS)
            .collect();
        let parts: BTreeSet<&str> = words.into_iter().flat_map(|word| parts(word)).collect();
        if private::is_spelled(text) || parts.iter().any(|part| self.is_private(part)) {
            return Some(private::REASON.to_owned());
        }
        let mut places = parts.into_iter().flat_map(|part| self.places(part, &self.entered));
        let named = places.any(|place| self.ground.is_forbidden(&place));
        let spelled = self
            .ground
            .forbidden
            .iter()
            .any(|folder| spells(text, folder, self.ground.home));
        (named || spelled)
            .then(|| "it names the agent's own configuration or state, which no command may touch".to_owned())
    }
}

/// A path with `~` and the few variables whose value is known; none if there is anything else to expand.
fn expanded(path: &str, ground: &Ground<'_>) -> Option<String> {
    let home = ground.home.and_then(Path::to_str);
    let cwd = ground.cwd.to_str();
    let known = [
        ("~", home),
        ("$HOME", home),
        ("${HOME}", home),
        ("$PWD", cwd),
        ("${PWD}", cwd),
        ("$(pwd)", cwd),
        ("`pwd`", cwd),
    ];
    let expanded = known.into_iter().find_map(|(spelling, value)| {
        let rest = path.strip_prefix(spelling)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| value.map(|value| format!("{value}{rest}")))
    });
    expanded
        .unwrap_or_else(|| Some(path.to_owned()))
        .filter(|path| !path.contains(['$', '`']))
}

/// A path without what means "all in it" at its end.
fn without_all(path: &str) -> &str {
    let mut path = path;
    loop {
        let shorter = path.trim_end_matches('/');
        let shorter = ["/*", "/.*", "/.", "/{*,.*}", "/**"]
            .iter()
            .find_map(|end| shorter.strip_suffix(end))
            .unwrap_or(shorter);
        match shorter {
            "" if path.starts_with('/') => return "/",
            "*" | ".*" | "**" => return ".",
            _ if shorter == path => return path,
            _ => path = shorter,
        }
    }
}

/// A word and what stands in it after a mark that often precedes a path: `--file=/x`, `of=/x`, `@/x`, `-I/x`.
fn parts(word: &str) -> Vec<&str> {
    let marks = word
        .char_indices()
        .filter(|(_, char)| "=:@,".contains(*char))
        .map(|(at, _)| &word[at + 1..]);
    let attached = word
        .starts_with('-')
        .then(|| word.find(['/', '~', '$']).map(|at| &word[at..]))
        .flatten();
    std::iter::once(word)
        .chain(marks.take(16))
        .chain(attached)
        .filter(|part| !part.is_empty())
        .collect()
}

/// Whether the text spells the folder out, also inside a script for another program.
fn spells(text: &str, folder: &Path, home: Option<&Path>) -> bool {
    let whole = folder.to_str().map(str::to_owned);
    let below = home
        .and_then(|home| folder.strip_prefix(home).ok())
        .and_then(Path::to_str)
        .filter(|below| !below.is_empty());
    let below = below.map(|below| ["~/", "$HOME/", "${HOME}/"].map(|home| format!("{home}{below}")));
    whole.into_iter().chain(below.into_iter().flatten()).any(|spelling| {
        text.match_indices(&spelling).any(|(at, _)| {
            let next = text[at + spelling.len()..].chars().next();
            next.is_none_or(|next| !next.is_alphanumeric() && !"_-.".contains(next))
        })
    })
}

fn recursive(args: &[String]) -> bool {
    let short = |arg: &str| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['r', 'R']);
    args.iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| short(arg) || (arg.len() > 4 && "--recursive".starts_with(arg.as_str())))
}

fn removes(arg: &str) -> bool {
    arg == "-delete" || base_name(arg) == "rm"
}

/// A `find` that says which files it means takes not all of them.
fn has_narrowing(args: &[String]) -> bool {
    args.iter().any(|arg| {
        [
            "-name", "-iname", "-path", "-mtime", "-mmin", "-empty", "-size", "-regex", "-newer",
        ]
        .contains(&arg.as_str())
    })
}

fn raw_target<'a>(name: &str, args: &'a [String]) -> Option<&'a str> {
    let mut targets = args.iter().filter_map(|arg| {
        if name == "dd" {
            arg.strip_prefix("of=")
        } else {
            Some(arg.as_str())
        }
    });
    match name {
        "cp" | "mv" => args.last().map(String::as_str).filter(|to| is_raw_device(to)),
        _ => targets.find(|to| is_raw_device(to)),
    }
}

fn is_raw_device(path: &str) -> bool {
    path.strip_prefix("/dev/")
        .is_some_and(|device| RAW_DEVICES.iter().any(|raw| device.starts_with(raw)))
}
