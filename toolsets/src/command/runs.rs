//! Programs that run others by what they are given: interpreters, runners, editors, and options that name a program. No
//! standing grant is offered for these, since its words are not all that it would allow.

use super::unwrap::{is_shell, is_wrapper};

/// They run what their arguments, their input or their files say.
const INTERPRETERS: &[&str] = &[
    "python",
    "pypy",
    "perl",
    "ruby",
    "irb",
    "node",
    "nodejs",
    "deno",
    "bun",
    "tsx",
    "ts-node",
    "php",
    "lua",
    "luajit",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "tclsh",
    "expect",
    "Rscript",
    "R",
    "julia",
    "osascript",
    "java",
    "groovy",
    "scala",
    "jshell",
    "ghci",
    "ocaml",
    "elixir",
    "iex",
    "erl",
    "guile",
    "sbcl",
    "clisp",
    "emacs",
    "emacsclient",
    "vi",
    "vim",
    "view",
    "vimdiff",
    "nvim",
    "ex",
    "ed",
    "sed",
    "nano",
    "pico",
    "micro",
    "hx",
    "kak",
    "joe",
    "less",
    "more",
    "most",
    "man",
    "info",
    "m4",
    "dc",
    "bc",
    "gdb",
    "lldb",
    "sqlite",
    "psql",
    "mysql",
    "mariadb",
    "ssh",
    "scp",
    "sftp",
    "socat",
    "nc",
    "ncat",
    "telnet",
    "ftp",
    "screen",
    "tmux",
    "powershell",
    "pwsh",
    "nu",
];

/// They run a command that is one of their arguments, or fetch a program from somewhere and run it.
const RUNNERS: &[&str] = &[
    "npx",
    "pnpx",
    "bunx",
    "uvx",
    "pipx",
    "dlx",
    "at",
    "batch",
    "crontab",
    "entr",
    "watchexec",
    "nodemon",
    "hyperfine",
    "perf",
    "valgrind",
    "rlwrap",
    "unbuffer",
    "proot",
    "fakeroot",
    "firejail",
    "bwrap",
    "nsenter",
    "capsh",
    "setarch",
    "linux32",
    "linux64",
    "setpriv",
    "prlimit",
    "pkexec",
    "chpst",
    "daemonize",
    "run-parts",
    "start-stop-daemon",
    "dbus-run-session",
    "dbus-launch",
    "xvfb-run",
    "faketime",
    "datefudge",
    "torsocks",
    "proxychains",
    "proxychains4",
    "cpulimit",
    "cgexec",
    "numactl",
    "systemd-inhibit",
    "ssh-agent",
    "sshpass",
    "gcore",
    "rr",
    "uftrace",
    "heaptrack",
    "direnv",
    "nix-shell",
    "tox",
    "nox",
    "rake",
    "vagrant",
    "ansible",
];

/// They do so with these arguments.
const RUNNING: &[(&str, &[&str])] = &[
    ("npm", &["exec", "x", "explore", "config", "set"]),
    ("pnpm", &["exec", "dlx", "x", "config", "set"]),
    ("yarn", &["exec", "dlx", "node", "config"]),
    ("uv", &["run", "tool", "x"]),
    ("poetry", &["run", "shell", "config"]),
    ("pipenv", &["run", "shell"]),
    ("pdm", &["run"]),
    ("hatch", &["run", "shell"]),
    ("conda", &["run"]),
    ("mamba", &["run"]),
    ("docker", &["run", "exec", "compose", "build"]),
    ("podman", &["run", "exec", "compose", "build"]),
    ("kubectl", &["exec", "run", "debug", "edit"]),
    ("bundle", &["exec", "config"]),
    ("composer", &["exec", "run-script", "config"]),
    ("rbenv", &["exec"]),
    ("pyenv", &["exec"]),
    ("asdf", &["exec"]),
    ("mise", &["exec", "x", "run"]),
    ("nix", &["run", "shell", "develop", "eval"]),
    ("dotnet", &["exec", "script"]),
    ("go", &["run", "generate", "tool", "env"]),
    ("zig", &["run"]),
    ("find", &["-exec", "-execdir", "-ok", "-okdir"]),
    ("cmake", &["-E", "-P"]),
    (
        "git",
        &[
            "config",
            "clone",
            "bisect",
            "rebase",
            "submodule",
            "difftool",
            "mergetool",
            "filter-branch",
            "daemon",
            "shell",
            "send-email",
            "instaweb",
            "help",
            "gui",
            "citool",
            "maintenance",
            "hook",
            "for-each-repo",
        ],
    ),
];

/// Letters of options that take a program's name, or run one, anywhere in a word of such letters.
const LETTERS: &[(&str, &str)] = &[
    ("tar", "IF"),
    ("bsdtar", "I"),
    ("git", "cOx"),
    ("rsync", "e"),
    ("zip", "T"),
    ("fd", "xX"),
    ("fdfind", "xX"),
    ("gcc", "B"),
    ("g++", "B"),
    ("cc", "B"),
    ("clang", "B"),
    ("ld", "I"),
    ("wget", "e"),
    ("curl", "K"),
    ("apt-get", "o"),
    ("apt", "o"),
];

/// Options of these may be shortened: `--to-c` is `--to-command`.
const SHORTENED: &[&str] = &[
    "tar", "bsdtar", "sort", "rsync", "wget", "zip", "split", "scp", "curl", "git",
];

/// A long option with one of these in its name may name a program.
const TELLING: &[&str] = &[
    "exec",
    "toolexec",
    "command",
    "cmd",
    "pager",
    "editor",
    "shell",
    "program",
    "script",
    "hook",
    "runner",
    "plugin",
    "fplugin",
    "rsh",
    "filter",
    "wrapper",
    "pack",
    "config",
    "checkpoint",
    "compress",
    "pre",
    "hostname",
    "textconv",
    "ext",
    "engine",
    "askpass",
    "specs",
    "require",
    "eval",
];

/// Whether a program, by its name or by its arguments, may run others.
pub(super) fn runs_others(name: &str, args: &[String]) -> bool {
    let unversioned = name.trim_end_matches(|char: char| char.is_ascii_digit() || matches!(char, '.' | '-'));
    let is_one = |list: &[&str]| list.contains(&name) || list.contains(&unversioned);
    is_shell(name)
        || is_wrapper(name)
        || is_one(INTERPRETERS)
        || is_one(RUNNERS)
        || is_told_to(unversioned, args)
        || args.iter().any(|arg| names_program(name, arg))
}

fn is_told_to(name: &str, args: &[String]) -> bool {
    let mut told = RUNNING.iter().filter(|(program, _)| *program == name);
    told.any(|(_, verbs)| args.iter().any(|arg| verbs.contains(&arg.as_str())))
}

/// Whether an argument may name a program: as an option, by its letter or its name; as a variable of `make` and its like,
/// many of which are programs; as git's way to speak to another repository.
fn names_program(name: &str, arg: &str) -> bool {
    match (arg.strip_prefix("--"), arg.strip_prefix('-')) {
        (Some(long), _) => is_telling(name, long),
        (None, Some(letters)) => {
            let own = LETTERS.iter().find(|(program, _)| *program == name);
            let by_letter = own.is_some_and(|(_, own)| letters.contains(|letter| own.contains(letter)));
            by_letter || is_telling("", letters)
        }
        (None, None) => {
            let variable = arg.split_once('=').map(|(variable, _)| variable);
            let capital = |char: char| char.is_ascii_uppercase() || char == '_';
            let assigned = variable.is_some_and(|variable| !variable.is_empty() && variable.chars().all(capital));
            // `tar cIf PROGRAM`
            let bundled = name == "tar" && arg.contains('I') && arg.chars().all(|char| char.is_ascii_alphabetic());
            assigned || bundled || (name == "git" && arg.contains("::"))
        }
    }
}

/// Whether one of an option's words tells of a program; the last one may be cut short.
fn is_telling(name: &str, option: &str) -> bool {
    let option = option.split('=').next().unwrap_or_default();
    let cut = option
        .rsplit('-')
        .next()
        .filter(|cut| !cut.is_empty() && SHORTENED.contains(&name));
    option.split('-').any(|word| TELLING.contains(&word))
        || cut.is_some_and(|cut| TELLING.iter().any(|telling| telling.starts_with(cut)))
}
