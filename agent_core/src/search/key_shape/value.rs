//! Whether a value is a secret, or stands for one: a variable, a placeholder, a type, a piece of a program.

/// How much a name says of what stands under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// A password: any value is one.
    Password,
    /// A token or a key, as programs name many things: a value must look like one.
    Token,
}

/// What passwords are called, without signs and in small letters.
const PASSWORDS: [&str; 7] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "passwort",
    "userpass",
];

/// What else is called so that it may be a key.
const TOKENS: [&str; 15] = [
    "apikey",
    "token",
    "secret",
    "accesskey",
    "secretkey",
    "privatekey",
    "accountkey",
    "encryptionkey",
    "signingkey",
    "masterkey",
    "licensekey",
    "sharedkey",
    "authkey",
    "credential",
    "credentials",
];

impl Worth {
    /// What a name says; none says nothing.
    pub(super) fn of(name: &str) -> Option<Self> {
        // Most names end in another letter than all of ours.
        if !matches!(
            name.as_bytes().last()?,
            b'd' | b'e' | b't' | b's' | b'n' | b'y' | b'l' | b'A'..=b'Z'
        ) {
            return None;
        }
        let ends = |end: &&str| ends_in(name, end);
        if PASSWORDS.iter().any(ends) || ["_pass", "-pass", "_PASS"].iter().any(|end| name.ends_with(end)) {
            return Some(Self::Password);
        }
        TOKENS.iter().any(ends).then_some(Self::Token)
    }
}

/// Whether a name ends so, however it is written: `apiKey`, `API_KEY`, `api-key`.
fn ends_in(name: &str, end: &str) -> bool {
    let mut letters = name.bytes().rev().filter(|byte| !matches!(byte, b'_' | b'-'));
    end.bytes()
        .rev()
        .all(|byte| letters.next().is_some_and(|letter| letter.to_ascii_lowercase() == byte))
}

/// What stands between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `=`, or what means the same.
    Equals,
    /// `:` and `=>`.
    Colon,
    /// `==`: only a text in quotes is more than a name then.
    Compared,
    /// The `>` of an element.
    Element,
    /// The blank after an option.
    Option,
}

/// What is around a value without quotes.
pub(super) struct Context<'a> {
    pub(super) place: Place,
    /// A blank stands before it.
    pub(super) is_spaced: bool,
    /// Some of what follows.
    pub(super) after: &'a str,
}

/// How a value is written.
pub(super) enum Written<'a> {
    Quoted,
    Bare(Context<'a>),
}

pub(super) const QUOTED: Written<'static> = Written::Quoted;

/// The least characters of a password that is masked, and of a token.
const SHORTEST: usize = 4;
const TOKEN: usize = 8;

/// A word of so many letters is no variable.
const LONG_WORD: usize = 16;

/// Words that stand for a value or a type.
const WORDS: [&str; 61] = [
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "yes",
    "no",
    "on",
    "off",
    "empty",
    "required",
    "optional",
    "string",
    "str",
    "char",
    "bool",
    "boolean",
    "int",
    "integer",
    "number",
    "bytes",
    "byte",
    "object",
    "any",
    "void",
    "text",
    "varchar",
    "default",
    "self",
    "this",
    "unknown",
    "never",
    "hidden",
    "redacted",
    "masked",
    "removed",
    "filtered",
    "changeme",
    "change-me",
    "change_me",
    "example",
    "placeholder",
    "todo",
    "tbd",
    "secret",
    "password",
    "passwd",
    "pass",
    "token",
    "key",
    "value",
    "prompt",
    "input",
    "stdin",
    "file",
    "keyring",
    "admin-password",
    "test",
    "dummy",
    "fake",
];

/// What a path of names begins with in programs.
const ROOTS: [&str; 34] = [
    "self",
    "this",
    "args",
    "config",
    "cfg",
    "conf",
    "settings",
    "env",
    "process",
    "os",
    "options",
    "opts",
    "req",
    "request",
    "res",
    "response",
    "ctx",
    "context",
    "app",
    "user",
    "data",
    "params",
    "var",
    "local",
    "secrets",
    "module",
    "props",
    "state",
    "creds",
    "credentials",
    "account",
    "session",
    "client",
    "std",
];

/// Whether it is a secret under a name of this worth.
pub(super) fn is_secret(value: &str, worth: Worth, written: &Written<'_>) -> bool {
    let value = value.trim();
    if value.len() < SHORTEST || is_placeholder(value) || is_place(value) {
        return false;
    }
    let is_free = match written {
        Written::Quoted => !is_sentence(value, worth),
        Written::Bare(context) => !(is_code(value) || is_name(value) && is_variable(value, context)),
    };
    is_free && (worth == Worth::Password || is_token(value))
}

fn is_token(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let is_word = !value.contains(char::is_whitespace) && value.len() >= TOKEN;
    let letters = has(u8::is_ascii_alphabetic);
    let is_version = || value.split(['.', '-', '_']).all(|part| part.len() < 4);
    is_word
        && ((has(u8::is_ascii_digit) && letters && !is_version()) || (is_mixed && value.len() >= 24 && !is_name(value)))
}

/// A sentence about a password, and what a token never is.
fn is_sentence(value: &str, worth: Worth) -> bool {
    if !value.contains(char::is_whitespace) {
        return false;
    }
    let small = value.to_ascii_lowercase();
    let speaks = [
        "pass", "enter", "must", "your", "invalid", "required", "wrong", "secret", "{", "%s",
    ];
    worth == Worth::Token || speaks.iter().any(|word| small.contains(word))
}

/// What stands for a value that is given elsewhere.
pub(super) fn is_placeholder(value: &str) -> bool {
    let small = value.to_ascii_lowercase();
    let small = small.trim_end_matches(['.', ':', '?', '!']);
    let bytes = value.as_bytes();
    let is_one_sign = bytes.iter().all(|byte| *byte == bytes[0] && !byte.is_ascii_digit());
    is_one_sign
        || WORDS.contains(&small)
        || value.ends_with("***")
        || value.contains('…')
        || value.contains("...")
        || value.starts_with("${")
        || value.starts_with("$(")
        || value.starts_with("{{")
        || value.starts_with("!!")
        || (value.starts_with('$') && is_name(&value[1..]))
        || (value.starts_with("$env:") && is_name(&value[5..]))
        || is_between(value, "<", ">")
        || is_between(value, "{", "}")
        || is_between(value, "[", "]")
        || is_between(value, "%", "%")
        || is_between(value, "__", "__")
        || value.starts_with("%(")
        || ["%s", "%d", "%v", "%q", "%w"].contains(&value)
        || small.starts_with("your") && small.len() > 4 && !small.as_bytes()[4].is_ascii_alphanumeric()
        || small.starts_with("<your")
        || (small.starts_with("xxxx") && small.ends_with("xxxx"))
        || ["!vault", "!secret", "!ref", "!sub", "!env", "!getatt"].contains(&small)
}

fn is_between(value: &str, open: &str, close: &str) -> bool {
    let inner = value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    inner.is_some_and(|inner| !inner.contains(['<', '>', '"']))
}

/// Where a secret is rather than one: an address, the path of a file.
fn is_place(value: &str) -> bool {
    let is_path = value.starts_with("./")
        || value.starts_with("../")
        || value.starts_with("~/")
        || matches!(value.as_bytes(), [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic())
        || (value.starts_with('/') && !is_base64_key(value));
    is_path || value.contains("://") || value.starts_with("arn:") || value.starts_with("data:")
}

/// A key of base64 can begin with `/`.
fn is_base64_key(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    value.len() >= 40
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && !value.contains(['.', '_', '-'])
}

/// Letters and `_`, as programs name things.
fn is_name(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

/// A piece of a program: what is called, what is taken out of another thing, a type with its parts.
pub(super) fn is_code(value: &str) -> bool {
    let bare = value.trim_start_matches(['&', '*', '@', ':', '!', '-', '(', '[']);
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | ':' | '?');
    let name = &bare[..bare.find(|letter| !is_part(letter)).unwrap_or(bare.len())];
    if !name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
        return value.starts_with("(") && value.ends_with(')');
    }
    let rest = &bare[name.len()..];
    let is_called = rest.starts_with(['(', '[', '<', '{']) || rest.starts_with("!(");
    let is_sigil_name = bare.len() < value.len() && rest.is_empty() && is_name(name) && names_a_secret(name);
    let is_str = matches!(bare, "str" | "mut" | "dyn" | "String");
    is_called || is_sigil_name || is_str || (rest.is_empty() && (name.contains("::") || is_path_of_names(name)))
}

/// `args.password`, `process.env.TOKEN`.
fn is_path_of_names(name: &str) -> bool {
    let parts: Vec<&str> = name.split(['.', '?']).filter(|part| !part.is_empty()).collect();
    let [first, .., last] = parts.as_slice() else {
        return false;
    };
    let is_known = ROOTS.contains(&first.to_ascii_lowercase().as_str()) || names_a_secret(last);
    is_known && parts.iter().all(|part| part.len() < 40)
}

fn names_a_secret(name: &str) -> bool {
    Worth::of(name).is_some()
        || name.to_ascii_lowercase().contains("password")
        || name.to_ascii_lowercase().contains("secret")
}

/// Whether a name stands for another value, or is a word of a sentence or a type.
fn is_variable(value: &str, context: &Context<'_>) -> bool {
    let after = context.after.trim_start_matches([' ', '\t']);
    let is_apart = after.len() < context.after.len();
    let is_listed = after.starts_with([',', ')', '}', ']', '(', '[', '{', '<', '.', '=', '?', '|', '>']);
    let is_ended = context.is_spaced && after.starts_with(';');
    let is_constant = !value.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_type = context.place == Place::Colon && value.starts_with(|letter: char| letter.is_ascii_uppercase());
    let is_short = value.len() < LONG_WORD || value.contains('_');
    if is_listed || is_ended || is_constant || names_a_secret(value) {
        return true;
    }
    match context.place {
        Place::Equals => context.is_spaced && is_short,
        Place::Colon => is_type && is_ended || is_apart && after.starts_with(|letter: char| letter.is_alphabetic()),
        Place::Option => is_short,
        Place::Compared => true,
        Place::Element => false,
    }
}
