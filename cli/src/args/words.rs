//! The words of a query on the command line. Some begin with a dash, and are no flags.

use std::ffi::OsString;

/// The flags of a search whose value is the next argument.
pub(super) const WITH_VALUE: [&str; 2] = ["--limit", "--offset"];

/// The arguments, with those of a search so that its flags come first and what it looks for behind `--`.
pub(crate) fn apart(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_none_or(|word| word != "sessions") || arguments.get(2).is_none_or(|word| word != "search") {
        return arguments;
    }
    let mut rest = arguments.split_off(3).into_iter();
    let mut words = Vec::new();
    while let Some(argument) = rest.next() {
        let shown = argument.to_string_lossy();
        if shown == "--" {
            words.extend(rest.by_ref());
        } else if shown.starts_with("--") || matches!(shown.as_ref(), "-h" | "-V") {
            let takes_value = WITH_VALUE.contains(&shown.as_ref());
            arguments.push(argument);
            arguments.extend(takes_value.then(|| rest.next()).flatten());
        } else {
            words.push(argument);
        }
    }
    if !words.is_empty() {
        arguments.push("--".into());
        arguments.extend(words);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: &str) {
        let apart = apart(line.split(' ').map(OsString::from));
        assert_eq!(apart, expect.split(' ').collect::<Vec<_>>(), "{line}");
    }

    #[test]
    fn flags_come_first_and_what_is_looked_for_behind_them() {
        check("agent sessions search -draft", "agent sessions search -- -draft");
        check(
            "agent sessions search -foo a --limit 3 -b --json",
            "agent sessions search --limit 3 --json -- -foo a -b",
        );
        check(
            "agent sessions search --offset=1 -1 -- --json",
            "agent sessions search --offset=1 -- -1 --json",
        );
        check("agent sessions search a --limit", "agent sessions search --limit -- a");
        for as_it_is in [
            "agent",
            "agent sessions search",
            "agent sessions search -h",
            "agent sessions show -x",
            "agent run sessions search -x",
        ] {
            check(as_it_is, as_it_is);
        }
    }
}
