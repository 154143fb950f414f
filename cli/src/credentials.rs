//! Keys: from the environment first, then from `.env` beside `config.toml`. No file of a workspace is ever read.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use secrecy::SecretString;

use crate::known::other_variable;
use crate::paths::{quoted, write_private};

/// Looks up environment variables.
#[derive(Clone)]
pub(crate) struct Environment(Arc<LookUp>);

type LookUp = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Environment {
    /// The environment of this process.
    pub(crate) fn real() -> Self {
        Self(Arc::new(|name| std::env::var(name).ok()))
    }

    /// A variable's value; an empty one counts as none.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.trim().is_empty())
    }

    /// An environment of exactly these variables.
    #[cfg(test)]
    pub(crate) fn of(variables: &'static [(&'static str, &'static str)]) -> Self {
        Self(Arc::new(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        }))
    }
}

/// The keys there are.
pub(crate) struct Credentials {
    environment: Environment,
    stored: BTreeMap<String, SecretString>,
    /// What is wrong with the file of keys, in sentences that show no key.
    pub(crate) warnings: Vec<String>,
}

/// A key and where it was found.
pub(crate) struct Key {
    /// The variable that holds it.
    pub(crate) variable: String,
    /// The key.
    pub(crate) secret: SecretString,
    /// Where it was found.
    pub(crate) from: KeySource,
}

/// Where a key was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// In an environment variable.
    Environment,
    /// In `.env`.
    File,
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Environment => "from the environment",
            Self::File => "from .env",
        })
    }
}

impl Credentials {
    /// Reads what is stored; without a file there is only the environment.
    pub(crate) fn read(environment: Environment, file: Option<&Path>) -> Self {
        let mut warnings = Vec::new();
        let text = match file.map(read_env) {
            None => String::new(),
            Some(Ok((text, warning))) => {
                warnings.extend(warning);
                text
            }
            Some(Err(warning)) => {
                warnings.push(warning);
                String::new()
            }
        };
        let (stored, unread) = parse(&text);
        warnings.extend(unread.into_iter().map(|line| {
            let file = file.map(|file| file.display().to_string()).unwrap_or_default();
            format!("line {line} of {file} is no NAME=VALUE and was left out")
        }));
        Self {
            environment,
            stored,
            warnings,
        }
    }

    /// How many variables are stored.
    pub(crate) fn stored_count(&self) -> usize {
        self.stored.len()
    }

    /// The key that a variable holds, or else the other one that may hold it.
    pub(crate) fn key(&self, variable: &str) -> Option<Key> {
        let other = || self.exactly(other_variable(variable)?);
        self.exactly(variable).or_else(other)
    }

    /// How a key is named where it was refused. One of the environment hides a stored one, which may be the right one.
    pub(crate) fn words(&self, key: &Key) -> String {
        match key.from {
            KeySource::Environment if self.stored.contains_key(&key.variable) => {
                format!(
                    "{} of the environment, which comes before the one in .env,",
                    key.variable
                )
            }
            KeySource::Environment | KeySource::File => key.variable.clone(),
        }
    }

    fn exactly(&self, variable: &str) -> Option<Key> {
        let of = |secret, from| Key {
            variable: variable.to_owned(),
            secret,
            from,
        };
        let given = self.environment.get(variable);
        let given = given.map(|value| of(value.trim().to_owned().into(), KeySource::Environment));
        given.or_else(|| Some(of(self.stored.get(variable)?.clone(), KeySource::File)))
    }
}

/// The file's text, and a warning if others can read it; an error is a sentence.
fn read_env(path: &Path) -> Result<(String, Option<String>), String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((String::new(), None)),
        Err(error) => return Err(format!("can't read the keys in {}: {error}", path.display())),
    };
    let open_to_others = std::fs::metadata(path).is_ok_and(|facts| facts.mode() & 0o077 != 0);
    let warning = open_to_others.then(|| {
        let command = format!("chmod 600 {}", quoted(path));
        format!(
            "{} holds keys and other users can read it; run: {command}",
            path.display()
        )
    });
    Ok((text, warning))
}

/// The variables of an `.env` file, and the numbers of the lines that hold none. The last one of a name counts.
fn parse(text: &str) -> (BTreeMap<String, SecretString>, Vec<usize>) {
    let mut variables = BTreeMap::new();
    let mut unread = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match assignment(line) {
            Some((name, value)) if value.is_empty() => _ = variables.remove(name),
            Some((name, value)) => _ = variables.insert(name.to_owned(), value.into()),
            None => unread.push(index + 1),
        }
    }
    (variables, unread)
}

/// A line's name and value: `NAME=VALUE`, bare or quoted, with or without `export`.
fn assignment(line: &str) -> Option<(&str, String)> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    is_variable(name).then_some(())?;
    let value = value.trim();
    let value = match value.chars().next() {
        Some('\'') => value[1..].split_once('\'')?.0.to_owned(),
        Some('"') => unquote(&value[1..])?,
        Some(_) | None => value
            .split_once(" #")
            .map_or(value, |(value, _)| value)
            .trim()
            .to_owned(),
    };
    Some((name, value))
}

/// The text up to the closing quote; a backslash keeps what follows it.
fn unquote(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            '"' => return Some(value),
            '\\' => value.push(chars.next()?),
            other => value.push(other),
        }
    }
}

/// Whether a name can be an environment variable's.
pub(crate) fn is_variable(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What is wrong with the name of a variable for a key. The words never show it: it may be the key itself.
pub(crate) fn variable_fault(name: &str) -> Option<&'static str> {
    if looks_like_key(name) {
        Some("takes the name of a variable, and what it got looks like a key")
    } else if !is_variable(name) {
        Some("takes the name of a variable, such as OPENAI_API_KEY, and what it got is none")
    } else {
        None
    }
}

/// Keys begin with a word of their service in small letters, or are long and mixed.
fn looks_like_key(text: &str) -> bool {
    const BEGINNINGS: [&str; 8] = ["sk-", "sk_", "gsk_", "xai-", "pk-", "hf_", "AIza", "key-"];
    let has = |fits: fn(&char) -> bool| text.chars().any(|char| fits(&char));
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
        || (text.len() >= 20 && !text.contains('_') && has(char::is_ascii_lowercase) && has(char::is_ascii_digit))
}

/// The text of an `.env` file with one variable set; all other lines stay as they are.
pub(crate) fn with_variable(text: &str, name: &str, value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("{}{name}=\"{escaped}\"\n", without_variable(text, name))
}

/// The text of an `.env` file without a variable; all other lines stay as they are.
pub(crate) fn without_variable(text: &str, name: &str) -> String {
    let is_other = |line: &&str| assignment(line.trim()).is_none_or(|(other, _)| other != name);
    text.lines().filter(is_other).map(|line| format!("{line}\n")).collect()
}

/// Takes the key that a variable holds out of the file of keys, or that of the other variable that may hold it.
pub(crate) fn forget(file: &Path, variable: &str) -> anyhow::Result<()> {
    let (text, _) = read_env(file).map_err(anyhow::Error::msg)?;
    let mut left = without_variable(&text, variable);
    if let Some(other) = other_variable(variable) {
        left = without_variable(&left, other);
    }
    if left == text || left.trim_end() == text.trim_end() {
        return Ok(());
    }
    write_private(file, &left)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn each_form_of_a_line_is_read() {
        let check = |line: &str, expect: Option<&str>| {
            let (variables, unread) = parse(line);
            let value = variables.get("A").map(|value| value.expose_secret().to_owned());
            assert_eq!(value.as_deref(), expect, "{line:?}");
            let fine = expect.is_some() || line.is_empty() || line.starts_with('#') || line == "A=";
            assert_eq!(unread.is_empty(), fine, "{line:?}");
        };
        check("A=1", Some("1"));
        check("  A = 1  ", Some("1"));
        check("export A=1", Some("1"));
        check("A=\"a b\" # why", Some("a b"));
        check("A='a\"b'", Some("a\"b"));
        check(r#"A="a\"\\b""#, Some("a\"\\b"));
        check("A=a#b", Some("a#b"));
        check("A=a # b", Some("a"));
        check("A=x=y=", Some("x=y="));
        check("A=1\nA=2", Some("2"));
        check("A=1\r\n", Some("1"));
        check("A=", None);
        check("", None);
        check("# A=1", None);
        check("A", None);
        check("A B=1", None);
        check("A=\"open", None);
        check("A='open", None);
        check("1A=1", None);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for value in ["sk-1", "a b", "a\"b", "a\\b", "#x", "'", "ü"] {
            let text = with_variable("# mine\nB=2\nA=old\nexport A=older", "A", value);
            assert!(text.starts_with("# mine\nB=2\nA=\""), "{text}");
            let (variables, unread) = parse(&text);
            assert_eq!(variables["A"].expose_secret(), value);
            assert_eq!(unread, [0; 0]);
        }
    }

    #[test]
    fn a_key_is_forgotten_under_both_its_names_and_the_rest_stays() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".env");
        forget(&file, "A").unwrap();
        assert!(!file.exists());
        fs::write(&file, "# mine\nB=2\nexport GOOGLE_API_KEY=x\nGEMINI_API_KEY=\"y\"").unwrap();
        forget(&file, "GEMINI_API_KEY").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\nB=2\n");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_environment_comes_first_and_empty_is_none() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".env");
        fs::write(&file, "BOTH=file\nFILE=file\nEMPTY=file\n").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let environment = Environment::of(&[("BOTH", "env"), ("EMPTY", "  ")]);
        let credentials = Credentials::read(environment, Some(&file));
        let check = |variable: &str, expect: Option<(&str, KeySource)>| {
            let key = credentials.key(variable);
            let found = key.as_ref().map(|key| (key.secret.expose_secret(), key.from));
            assert_eq!(found, expect, "{variable}");
        };
        check("BOTH", Some(("env", KeySource::Environment)));
        check("FILE", Some(("file", KeySource::File)));
        check("EMPTY", Some(("file", KeySource::File)));
        check("NONE", None);
        assert_eq!(credentials.warnings, [""; 0]);
    }

    #[test]
    fn a_key_may_have_two_names() {
        let check = |variables: &'static [(&'static str, &'static str)], expect: Option<&str>| {
            let key = Credentials::read(Environment::of(variables), None).key("GEMINI_API_KEY");
            assert_eq!(key.map(|key| key.variable).as_deref(), expect, "{variables:?}");
        };
        check(
            &[("GOOGLE_API_KEY", "a"), ("GEMINI_API_KEY", "b")],
            Some("GEMINI_API_KEY"),
        );
        check(&[("GOOGLE_API_KEY", "a")], Some("GOOGLE_API_KEY"));
        check(&[("OPENAI_API_KEY", "a")], None);
    }

    #[test]
    fn a_file_that_others_can_read_is_warned_of_without_its_content() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".env");
        fs::write(&file, "A=hunter2\nhunter3\n").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let warnings = Credentials::read(Environment::of(&[]), Some(&file)).warnings.join("\n");
        assert!(
            warnings.contains("chmod 600") && warnings.contains("line 2 of"),
            "{warnings}"
        );
        assert!(!warnings.contains("hunter"), "{warnings}");
    }
}
