//! The user's own rules against commands: a program's name and, after it, a pattern for all its arguments.

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
