//! `agent sessions`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Subcommand, ValueEnum};

// `agent sessions`.
#[derive(Debug, Subcommand)]
#[command(after_help = "Example:
  agent sessions list
  agent sessions show 3f9a02c7
  agent sessions export 3f9a02c7 --output session.json

An ID may be its beginning or its end, or the first letters of what the list shows. What looks like a key is masked in all that is shown and exported.
docs/history.md has all of it.")]
pub(crate) enum SessionsCommand {
    /// List the stored sessions, newest activity first
    #[command(after_help = "Example:
  agent sessions list --json")]
    List {
        /// Those that are archived too
        #[arg(long)]
        archived: bool,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show one session
    #[command(after_help = "Example:
  agent sessions show 3f9a02c7
  agent sessions show 3f9a02c7 --html --output session.html
  agent sessions show 3f9a02c7 --json

The page that --html writes needs no network and no other file. What looks like a key is masked.")]
    Show {
        /// Its id; the beginning or the end is enough, as `agent sessions list` shows it
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        id: String,
        /// Print one JSON document: the session and its events
        #[arg(long, conflicts_with = "html")]
        json: bool,
        /// Write one page for a browser, with diffs and a search
        #[arg(long)]
        html: bool,
        /// The page's file; `-` is stdout, where it goes by default
        #[arg(long, value_name = "FILE", requires = "html")]
        output: Option<PathBuf>,
        /// Write over a file that is there
        #[arg(long, requires = "output")]
        force: bool,
    },
    /// Search what was said in the stored sessions
    #[command(after_help = "Example:
  agent sessions search \"parser -test role:user since:7d\"
  agent sessions search '\"exactly this\" in:/home/me/app' --json

Words must all be in one message; \"a phrase\", -word, prefix*, role:user|agent|tool, in:PATH, since:DATE,
until:DATE and session:ID narrow it. docs/search.md has all of it.")]
    Search {
        /// What to look for; in quotes, so that the shell leaves it as it is
        #[arg(required = true, value_name = "QUERY")]
        query: Vec<String>,
        /// The most hits, from 1 up
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit)]
        limit: usize,
        /// Pass over so many hits
        #[arg(long, value_name = "N", default_value_t = 0)]
        offset: usize,
        /// Every hit, and not the best of each session alone
        #[arg(long)]
        all_hits: bool,
        /// In archived sessions too
        #[arg(long)]
        archived: bool,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Write a session as JSON, JSON lines or Markdown
    #[command(after_help = "Example:
  agent sessions export 3f9a02c7 --output session.json
  agent sessions export 3f9a02c7 --format md --output session.md
  agent sessions export 3f9a02c7 --format jsonl | jq .event.event

JSON can be imported again. What looks like a key is masked, in JSON too; --exact leaves it. A file is written
whole or not at all, and only you can read it.")]
    Export {
        /// Its id; the beginning or the end is enough
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        id: String,
        /// The format [default: by the ending of FILE, else json]
        #[arg(long)]
        format: Option<ExportFormat>,
        /// The file; `-` is stdout, where it goes by default
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Write over a file that is there
        #[arg(long, requires = "output")]
        force: bool,
        /// Mask nothing; for JSON and JSON lines
        #[arg(long)]
        exact: bool,
    },
    /// Store a session that was exported as JSON
    #[command(after_help = "Example:
  agent sessions import session.json
  agent sessions import session.json --cwd ~/project
  agent sessions import session.json --as-new
  ssh other agent sessions export 3f9a02c7 | agent sessions import -

It is stored whole or not at all. What was masked in the export stays so. A session that asked nothing begins again
in the mode Ask, and none gets a permission. It works in the folder of before alone, or in that of --cwd. Import only
what you trust: its text goes to the model.")]
    Import {
        /// The file; `-` is stdin
        file: PathBuf,
        /// Work in this folder instead of the one of before
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// Under a new id
        #[arg(long)]
        as_new: bool,
        /// Print the session as a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Give a session another title
    #[command(after_help = "Example:
  agent sessions rename 3f9a02c7 \"The great rewrite\"

No two sessions have one title: one that another session has is refused, with the nearest that is free.")]
    Rename {
        /// Its id; the beginning or the end is enough
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        id: String,
        /// The title, at most 80 characters
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Put sessions aside: lists and searches leave them out, and they can be opened as before
    #[command(after_help = "Example:
  agent sessions archive 3f9a02c7 51ab60de
  agent sessions list --archived")]
    Archive {
        /// Their ids; the beginning or the end of each is enough
        #[arg(required = true, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
        ids: Vec<String>,
    },
    /// Take archived sessions back into the list
    #[command(after_help = "Example:
  agent sessions unarchive 3f9a02c7")]
    Unarchive {
        /// Their ids; the beginning or the end of each is enough
        #[arg(required = true, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
        ids: Vec<String>,
    },
    /// Begin a session with the past of another one, which stays as it is
    #[command(after_help = "Example:
  agent sessions fork 3f9a02c7
  agent sessions fork 3f9a02c7 --at 120 --json")]
    Fork {
        /// The other one's id; the beginning or the end is enough
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        id: String,
        /// Take only the turns that have ended by this row, a `seq` of `agent sessions show --json`; at least one must have
        #[arg(long, value_name = "SEQ")]
        at: Option<u64>,
        /// Print the new session as a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Delete sessions for good
    #[command(after_help = "Example:
  agent sessions delete 3f9a02c7 51ab60de")]
    Delete {
        /// Their ids; the beginning or the end of each is enough
        #[arg(required = true, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
        ids: Vec<String>,
    },
    /// Delete old or large sessions for good
    #[command(
        group(clap::ArgGroup::new("which").required(true).multiple(true).args(["older_than", "larger_than"])),
        after_help = "Example:
  agent sessions prune --older-than 90d --dry-run
  agent sessions prune --older-than 12w --larger-than 10MB --yes

What is given must all hold. An age counts back from the newest activity of all sessions, so that no clock makes old
what is new. Sessions that somebody works in stay, and one that may be open in an editor stays for a week.
It asks first; without a terminal it needs --yes."
    )]
    Prune {
        /// Without activity for so long: 12h, 90d, 2w
        #[arg(long, value_name = "AGE", value_parser = age)]
        older_than: Option<Duration>,
        /// Larger than this: 500kB, 10MB, 1GB
        #[arg(long, value_name = "SIZE", value_parser = size)]
        larger_than: Option<u64>,
        /// Only say which
        #[arg(long)]
        dry_run: bool,
        /// Don't ask
        #[arg(long)]
        yes: bool,
        /// Print those sessions as a JSON array
        #[arg(long)]
        json: bool,
    },
}

impl SessionsCommand {
    /// What it would do to the history; none for one that only reads.
    pub(crate) fn change(&self) -> Option<&'static str> {
        match self {
            Self::List { .. } | Self::Show { .. } | Self::Search { .. } | Self::Export { .. } => None,
            Self::Prune { dry_run: true, .. } => None,
            Self::Import { .. } => Some("import a session"),
            Self::Rename { .. } => Some("rename a session"),
            Self::Archive { .. } => Some("archive sessions"),
            Self::Unarchive { .. } => Some("unarchive sessions"),
            Self::Fork { .. } => Some("fork a session"),
            Self::Delete { .. } => Some("delete sessions"),
            Self::Prune { dry_run: false, .. } => Some("prune sessions"),
        }
    }
}

/// What an export looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One document, which can be imported
    Json,
    /// One event a line
    Jsonl,
    /// A transcript for people
    Md,
}

fn limit(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|limit| *limit > 0);
    number.ok_or_else(|| "a limit is a whole number from 1 up".to_owned())
}

fn age(text: &str) -> Result<Duration, String> {
    const HOUR: u64 = 60 * 60;
    let (number, unit) = measured(text);
    let unit = match unit {
        "h" => HOUR,
        "d" => 24 * HOUR,
        "w" => 7 * 24 * HOUR,
        _ => return Err("an age is a number with h, d or w, such as 12h, 90d or 2w".to_owned()),
    };
    let seconds = number.and_then(|number| number.checked_mul(unit));
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| "an age is a number with h, d or w, such as 12h, 90d or 2w".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = measured(text);
    let unit = match unit.to_ascii_lowercase().as_str() {
        "kb" | "k" => Some(1_000),
        "mb" | "m" => Some(1_000_000),
        "gb" | "g" => Some(1_000_000_000),
        "kib" => Some(1 << 10),
        "mib" => Some(1 << 20),
        "gib" => Some(1 << 30),
        _ => None,
    };
    let bytes = number.zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    bytes.ok_or_else(|| "a size is a number with kB, MB or GB, such as 10MB".to_owned())
}

/// A whole number and what stands behind it.
fn measured(text: &str) -> (Option<u64>, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes_have_a_unit() {
        let hour = 3600;
        let check = |text: &str, hours: Option<u64>| {
            assert_eq!(
                age(text).ok().map(|age| age.as_secs()),
                hours.map(|hours| hours * hour),
                "{text}"
            );
        };
        check("12h", Some(12));
        check("90d", Some(90 * 24));
        check("2w", Some(14 * 24));
        check("0d", Some(0));
        for wrong in [
            "",
            "d",
            "90",
            "-1d",
            "1.5d",
            "1 d",
            "9m",
            "99999999999999999999d",
            "18446744073709551615w",
        ] {
            check(wrong, None);
        }
        let check = |text: &str, bytes: Option<u64>| assert_eq!(size(text).ok(), bytes, "{text}");
        check("10MB", Some(10_000_000));
        check("1kb", Some(1000));
        check("1GiB", Some(1 << 30));
        for wrong in ["", "10", "MB", "-1MB", "1TB", "18446744073709551615GB"] {
            check(wrong, None);
        }
    }
}
