//! The user's own rules against commands: a program's name and, after it, a pattern for all its arguments.

/// What is wrong with a rule that could never forbid what it seems to, and what was perhaps meant.
pub fn deny_rule_fault(rule: &str) -> Option<String> {
    let program = rule.split_whitespace().next().unwrap_or_default();
    if program.is_empty() {
        return Some("is empty: write a program's name, such as `sudo`".to_owned());
    }
    if program.chars().all(|c| c == '*') {
        return Some(
            "names no program: to have no commands at all, write disabled_tools = [\"terminal\", \"process\"] in [agent]"
                .to_owned(),
        );
    }
    // What a program's name may have beside letters and digits; `*` stands for any text.
    let fits = |c: char| c.is_alphanumeric() || "-_.+@*".contains(c);
    if program.chars().all(fits) {
        return None;
    }
    let name = program.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
    let name = name
        .trim_start_matches(|c| !fits(c))
        .split(|c| !fits(c))
        .next()
        .unwrap_or_default();
    let meant = if name.is_empty() {
        String::new()
    } else {
        format!(": did you mean `{name} *`?")
    };
    Some(format!(
        "does not begin with a program's name alone, in which `*` stands for any text{meant}"
    ))
}

/// The reason a command is never run, if one of the rules forbids it.
pub(super) fn reason(rules: &[String], name: &str, args: &[String]) -> Option<String> {
    let rule = rules.iter().find(|rule| denies(rule, name, args))?;
    Some(format!(
        "the rule `{rule}` of your configuration (approvals.deny) forbids it"
    ))
}

/// The pattern is for the arguments as one text; without one the rule means any.
fn denies(rule: &str, name: &str, args: &[String]) -> bool {
    let rule = rule.trim();
    let (program, pattern) = rule
        .split_once(char::is_whitespace)
        .map_or((rule, "*"), |(program, rest)| (program, rest.trim()));
    let args = args.join(" ");
    // `sudo *` also means `sudo` alone, and `rm -rf *` also `rm -rf`.
    let bare = pattern.strip_suffix('*').map(str::trim_end);
    !program.is_empty() && glob(program, name) && (glob(pattern, &args) || bare == Some(args.as_str()))
}

/// `*` stands for any text, also none and also with spaces.
fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_could_never_hold_is_a_fault() {
        let check = |rule: &str, expect: Option<&str>| {
            let fault = deny_rule_fault(rule);
            let fits = match (&fault, expect) {
                (Some(fault), Some(expect)) => fault.contains(expect),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            assert!(fits, "{rule:?}: {fault:?}");
        };
        for fine in [
            "sudo *",
            "sudo",
            "mkfs.*",
            "git push *",
            "g++ *",
            " rm -rf * ",
            "rm /etc/*",
            "mañana",
        ] {
            check(fine, None);
        }
        check("python3? *", Some("did you mean `python3 *`?"));
        check("*", Some("names no program"));
        check("* --force *", Some("names no program"));
        check("", Some("is empty"));
        check("  ", Some("is empty"));
        check("/usr/bin/sudo *", Some("did you mean `sudo *`?"));
        check("^sudo", Some("did you mean `sudo *`?"));
        check("sudo:*", Some("did you mean `sudo *`?"));
        check("(rm|mv) *", Some("did you mean `rm *`?"));
        check("\"sudo\" *", Some("did you mean `sudo *`?"));
        check("/", Some("program's name alone"));
    }
}
