//! Programs that only read, each with the options under which that is so. What an option's value names is never a
//! file: options that take files are left out, as are those that write or run something, and those whose value may be
//! missing, since the next word could then be a file.

/// A program and what it may be given.
pub(super) struct Program {
    pub(super) name: &'static str,
    /// Letters of options without a value.
    pub(super) flags: &'static str,
    /// Letters of options with one.
    pub(super) values: &'static str,
    /// Long options: `name` has no value, `name=` has one, `name?` may have one.
    pub(super) long: &'static [&'static str],
    /// `-20` is an option.
    pub(super) number: bool,
    /// A value is always the next word, and what follows the letter of its option are more options.
    pub(super) values_apart: bool,
    pub(super) operands: Operands,
}

/// What a program's operands are.
#[derive(Clone, Copy)]
pub(super) enum Operands {
    /// Any text.
    Text,
    /// There are none.
    None,
    /// Files and folders that are read.
    Paths,
    /// Files; for a folder the program would read what is in it.
    Files,
    /// At most one; a second one would be written.
    OnePath,
    /// A filter of `jq`, then files.
    Filter,
    /// A pattern, then files and folders. `always_deep`: folders are searched in depth without any option.
    Pattern { always_deep: bool },
}

const fn program(name: &'static str, flags: &'static str, values: &'static str, operands: Operands) -> Program {
    Program {
        name,
        flags,
        values,
        long: &[],
        number: false,
        values_apart: false,
        operands,
    }
}

impl Program {
    const fn with(mut self, long: &'static [&'static str]) -> Self {
        self.long = long;
        self
    }

    const fn counting(mut self) -> Self {
        self.number = true;
        self
    }

    const fn with_values_apart(mut self) -> Self {
        self.values_apart = true;
        self
    }
}

const GREP: &[&str] = &[
    "after-context=",
    "basic-regexp",
    "before-context=",
    "color?",
    "colour?",
    "context=",
    "count",
    "exclude-dir=",
    "exclude=",
    "extended-regexp",
    "files-with-matches",
    "files-without-match",
    "fixed-strings",
    "ignore-case",
    "include=",
    "invert-match",
    "line-number",
    "line-regexp",
    "max-count=",
    "no-filename",
    "no-messages",
    "null",
    "only-matching",
    "perl-regexp",
    "quiet",
    "recursive",
    "regexp=",
    "silent",
    "text",
    "with-filename",
    "word-regexp",
];

const RG: &[&str] = &[
    "after-context=",
    "before-context=",
    "case-sensitive",
    "color=",
    "column",
    "context=",
    "count",
    "count-matches",
    "files",
    "files-with-matches",
    "files-without-match",
    "fixed-strings",
    "glob=",
    "heading",
    "iglob=",
    "ignore-case",
    "invert-match",
    "json",
    "line-number",
    "line-regexp",
    "max-columns=",
    "max-count=",
    "max-depth=",
    "multiline",
    "no-config",
    "no-filename",
    "no-heading",
    "no-line-number",
    "only-matching",
    "quiet",
    "regexp=",
    "smart-case",
    "sort=",
    "stats",
    "trim",
    "type-not=",
    "type=",
    "vimgrep",
    "with-filename",
    "word-regexp",
];

const JQ: &[&str] = &[
    "ascii-output",
    "color-output",
    "compact-output",
    "exit-status",
    "join-output",
    "monochrome-output",
    "null-input",
    "raw-input",
    "raw-output",
    "slurp",
    "sort-keys",
    "tab",
];

const LS: &[&str] = &[
    "all",
    "almost-all",
    "classify",
    "color?",
    "directory",
    "full-time",
    "group-directories-first",
    "human-readable",
    "inode",
    "recursive",
    "reverse",
    "size",
    "sort=",
    "time-style=",
];

const SUMS: &str = "btz";

pub(super) const TABLE: &[Program] = &[
    program("arch", "", "", Operands::None),
    program("b2sum", SUMS, "", Operands::Paths),
    program("base64", "di", "w", Operands::Paths).with(&["decode", "wrap="]),
    program("basename", "az", "s", Operands::Text),
    program("cat", "AbEensTtuv", "", Operands::Paths).with(&["number", "show-all", "show-ends", "show-tabs"]),
    program("cksum", "", "", Operands::Paths),
    program("cmp", "bls", "n", Operands::Paths),
    program("column", "tx", "cs", Operands::Paths),
    program("comm", "123", "", Operands::Paths),
    program("cut", "ns", "bcdf", Operands::Paths).with(&[
        "bytes=",
        "characters=",
        "delimiter=",
        "fields=",
        "only-delimited",
    ]),
    program("df", "ahHiklPT", "t", Operands::Paths).with(&["human-readable", "total"]),
    program("diff", "abBcdiqstTuwy", "CUW", Operands::Files).with(&[
        "brief",
        "color?",
        "ignore-all-space",
        "side-by-side",
        "unified?",
    ]),
    program("dirname", "z", "", Operands::Text),
    program("du", "abchkmsSx", "dt", Operands::Paths).with(&[
        "all",
        "apparent-size",
        "human-readable",
        "max-depth=",
        "summarize",
        "total",
    ]),
    program(
        "egrep",
        "EFGHLPachilnoqrsvwxz",
        "ABCem",
        Operands::Pattern { always_deep: false },
    )
    .with(GREP)
    .counting(),
    program("false", "", "", Operands::Text),
    program(
        "fgrep",
        "EFGHLPachilnoqrsvwxz",
        "ABCem",
        Operands::Pattern { always_deep: false },
    )
    .with(GREP)
    .counting(),
    program("file", "bhiL", "", Operands::Paths).with(&["brief", "mime", "mime-encoding", "mime-type"]),
    program("fold", "bs", "w", Operands::Paths),
    program("free", "bghklmtw", "", Operands::None),
    program(
        "grep",
        "EFGHLPachilnoqrsvwxzZI",
        "ABCem",
        Operands::Pattern { always_deep: false },
    )
    .with(GREP)
    .counting(),
    program("groups", "", "", Operands::Text),
    program("head", "qv", "cn", Operands::Paths)
        .with(&["bytes=", "lines=", "quiet", "verbose"])
        .counting(),
    program("hexdump", "bcCdovx", "ns", Operands::Paths),
    program("hostname", "fis", "", Operands::None),
    program("id", "Ggnruz", "", Operands::Text),
    program("jq", "aCcejMnRrSs", "", Operands::Filter).with(JQ),
    program("ls", "1AaBCcdFfGghiklmnopQqRrSsTtUuvXxZ", "", Operands::Paths).with(LS),
    program("lscpu", "", "", Operands::None),
    program("md5sum", SUMS, "", Operands::Paths),
    program("nl", "p", "bdfhilnsvw", Operands::Paths),
    program("nproc", "", "", Operands::None).with(&["all"]),
    program("od", "bcdox", "AjNt", Operands::Paths),
    program("paste", "sz", "d", Operands::Paths),
    program("pwd", "LP", "", Operands::None),
    program("readlink", "efmnz", "", Operands::Paths),
    program("realpath", "emsz", "", Operands::Paths),
    program("rev", "", "", Operands::Paths),
    program(
        "rg",
        "ceFHiIlNnopqSsUvwx",
        "ABCegMmtTd",
        Operands::Pattern { always_deep: true },
    )
    .with(RG),
    program("seq", "w", "fs", Operands::Text),
    program("sha1sum", SUMS, "", Operands::Paths),
    program("sha256sum", SUMS, "", Operands::Paths),
    program("sha512sum", SUMS, "", Operands::Paths),
    program("shasum", SUMS, "a", Operands::Paths),
    program("sort", "bCcdfghiMmnRrsuVz", "kt", Operands::Paths).with(&[
        "ignore-case",
        "key=",
        "numeric-sort",
        "reverse",
        "unique",
        "version-sort",
    ]),
    program("ss", "46aeHilmnoptuwx", "", Operands::None),
    program("stat", "Lt", "c", Operands::Paths).with(&["format=", "printf=", "terse"]),
    program("tac", "br", "s", Operands::Paths),
    program("tail", "qv", "cn", Operands::Paths)
        .with(&["bytes=", "lines=", "quiet", "verbose"])
        .counting(),
    program("tr", "Ccdst", "", Operands::Text).with(&["complement", "delete", "squeeze-repeats"]),
    program("tree", "aCdfFhiNpQrstuv", "ILP", Operands::Paths)
        .with(&["dirsfirst", "gitignore", "noreport"])
        .with_values_apart(),
    program("true", "", "", Operands::Text),
    program("type", "apt", "", Operands::Text),
    program("uname", "amnoprsv", "", Operands::None),
    program("uniq", "cdDiuz", "fsw", Operands::OnePath).with(&["count", "ignore-case", "repeated", "unique"]),
    program("uptime", "ps", "", Operands::None),
    program("wc", "clLmw", "", Operands::Paths).with(&["bytes", "chars", "lines", "max-line-length", "words"]),
    program("which", "a", "", Operands::Text),
    program("whoami", "", "", Operands::None),
];
