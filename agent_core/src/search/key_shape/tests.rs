use super::corpus::{EXACT, KEY, WITH_KEY, WITH_SECRET};
use super::*;

/// Lines as a private key has them.
const LINES: [&str; 3] = [
    "MIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun",
    "kQtJ7m4h0f8Q2xkq3bJv3nY5sYb9c1d8e7f6g5h4i3j2k1l0m9n8o7p6q5r4s3t2",
    "Zm9vYmFy",
];

fn key(label: &str, before: &str, line_end: &str) -> String {
    let begin = format!("-----BEGIN {label}-----");
    let end = format!("-----END {label}-----");
    let lines = [begin.as_str(), LINES[0], LINES[1], LINES[2], end.as_str()];
    lines.map(|line| format!("{before}{line}{line_end}")).concat()
}

fn has_lines(text: &str) -> bool {
    LINES.iter().any(|line| text.contains(line))
}

#[test]
fn a_key_is_masked_and_what_is_around_it_stays() {
    let check = |text: &str, expect: &str| assert_eq!(masked(text), expect);
    check("use sk-proj-abcdef0123456789XYZ now", "use sk-*** now");
    check("ghp_0123456789abcdefghijABCDEFGHIJ", "ghp_***");
    check("id=AKIAIOSFODNN7EXAMPLE.", "id=AKIA***.");
    check(
        "https://h/ghp_0123456789abcdefghijABCDEFGHIJ/repo",
        "https://h/ghp_***/repo",
    );
    check("Authorization: Bearer abcdef0123456789", "Authorization: Bearer ***");
    check("OPENAI_API_KEY=\"abc123def456ghi\"", "OPENAI_API_KEY=\"***\"");
    check(
        "{\\\"password\\\":\\\"hunter2\\\",\\\"a\\\":1}",
        "{\\\"password\\\":\\\"***\\\",\\\"a\\\":1}",
    );
    check("password: hunter2hunter2", "password: ***");
    check("Password=hunter2;Encrypt=true", "Password=***;Encrypt=true");
    check("postgres://app:hunter2@db/main", "postgres://app:***@db/main");
    check("password=sk-proj-abcdef0123456789XYZ", "password=***");
    check(
        "\u{1b}[1msk-proj-\u{1b}[0mabcdef0123456789XYZ\u{1b}[0m.",
        "\u{1b}[1msk-***\u{1b}[0m.",
    );
}

#[test]
fn ordinary_texts_stay_as_they_are() {
    assert!(EXACT.len() >= 60);
    let changed: Vec<_> = EXACT
        .iter()
        .filter(|text| masked(text) != **text)
        .map(|text| (text, masked(text)))
        .collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

#[test]
fn no_secret_stays() {
    let with_key = WITH_KEY.iter().map(|text| (text.replace("@K", KEY), KEY));
    let with_secret = WITH_SECRET.iter().map(|(text, secret)| ((*text).to_owned(), *secret));
    let texts: Vec<(String, &str)> = with_key.chain(with_secret).collect();
    assert!(texts.len() >= 80);
    let shown: Vec<_> = texts
        .iter()
        .map(|(text, secret)| (text, masked(text), secret))
        .filter(|(_, shown, secret)| shown.contains(&secret[secret.len() / 2..]) || shown.contains(*secret))
        .collect();
    assert!(shown.is_empty(), "{shown:#?}");
}

#[test]
fn a_private_key_is_masked_wherever_it_stands() {
    let check = |text: &str, expect: &str| assert_eq!(masked(text), expect, "{text}");
    for label in [
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
        "ENCRYPTED PRIVATE KEY",
    ] {
        check(&format!("a\n{}b", key(label, "", "\n")), "a\n***\nb");
    }
    let label = "RSA PRIVATE KEY";
    for before in ["+", "-", " ", "> ", "file-1-", "src/a.pem:12:", "  12\t"] {
        check(&key(label, before, "\n"), &format!("{before}***\n"));
    }
    check(&format!("x\\n{}y", key(label, "", "\\n")), "x\\n***\\ny");
    check(&format!("x\\r\\n{}y", key(label, "", "\\r\\n")), "x\\r\\n***\\r\\ny");
    check(
        &format!("x = [\n{}]", key(label, "    \"", "\",\n")),
        "x = [\n    \"***\",\n]",
    );
    let inner = key(label, "", "\n").replace(LINES[1], &format!("-----END FOO\n{}", LINES[1]));
    check(&inner, "***\n");
    check(&format!("-----BEGIN PRIVATE KEY-----\n{}", LINES[0]), "***");
    check("-----BEGIN PRIVATE KEY-----\nMIIabc", "***");
    let ssh2 = "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nabc\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\nz";
    check(ssh2, "***\nz");
}

#[test]
fn a_private_key_without_its_beginning_is_masked_as_far_as_it_reaches() {
    for before in ["", "+", "file-1-"] {
        let whole = key("PRIVATE KEY", before, "\n");
        let (_, cut) = whole.split_at(whole.find(LINES[0]).unwrap_or(0) + 10);
        let text = format!("some words\n{cut}after");
        let shown = masked(&text);
        assert!(!has_lines(&shown) && shown.ends_with("***\nafter"), "{shown}");
    }
    let putty = format!(
        "PuTTY-User-Key-File-2: ssh-rsa\nComment: mine\nPrivate-Lines: 2\n{}\n{}\nPrivate-MAC: 12\n",
        LINES[0], LINES[2]
    );
    let expect = "PuTTY-User-Key-File-2: ssh-rsa\nComment: mine\nPrivate-Lines: 2\n***\nPrivate-MAC: 12\n";
    assert_eq!(masked(&putty), expect);
}

#[test]
fn both_ends_of_a_text_are_masked_as_one() {
    let check = |head: &str, tail: &str, is_whole: bool, expect: (&str, &str)| {
        let (head, tail) = masked_ends(head, tail, is_whole);
        assert_eq!((head.as_str(), tail.as_str()), expect);
    };
    let begin = "a\n-----BEGIN PRIVATE KEY-----\nMII";
    check(
        begin,
        "abc\nabc\n-----END PRIVATE KEY-----\nb",
        false,
        ("a\n***", "\nb"),
    );
    check(begin, "abc\nabc", false, ("a\n***", ""));
    check("sk-proj-abcdef01234", "56789XYZ b", true, ("sk-***", " b"));
    check("a", "b", false, ("a", "b"));
    check("", "", true, ("", ""));
}

#[test]
fn what_is_named_as_one_is_a_secret() {
    let check = |name: &str, text: &str, expect: bool| assert_eq!(is_secret(name, text), expect, "{name}: {text}");
    check("api_key", "abc123def456ghi", true);
    check("password", "swordfish", true);
    check("password", "${PASSWORD}", false);
    check("tokens", "abc123def456ghi", false);
    check("title", "abc123def456ghi", false);
}

#[test]
fn a_long_text_takes_no_longer_than_it_is() {
    let sizes = [1 << 12, 1 << 18];
    for piece in [
        "sk-",
        "sk-a1-",
        "password=",
        "password=\"",
        "password='\\",
        "password=x(",
        "token: a ",
        "://a:",
        "://a:b@",
        "Bearer ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\"",
        "-----END PRIVATE KEY-----",
        "PRIVATE KEY",
        "Private-Lines: 9\n",
        "Private-Lines: 9\nabc\n",
        "abc\n-----END PRIVATE KEY-----",
        "\u{1b}[",
        "\u{1b}]",
        "\u{200b}",
        "\\n",
        "\\",
        "=",
        ":",
        " ",
        "a",
        "é",
        "--token ",
        "Authorization: Basic ",
        "%3D",
        "eyJ",
        "/eyJ",
        "a\u{200b}password=1234 ",
    ] {
        let [short, long] = sizes.map(|size| {
            let text = piece.repeat(size / piece.len());
            let begin = std::time::Instant::now();
            masked(&text);
            begin.elapsed()
        });
        // Twice as fast as the square of it would be by far, whatever else the machine does.
        let most = (short * 64 * 8).max(std::time::Duration::from_secs(2));
        assert!(long < most, "{piece:?}: {short:?} and {long:?}");
    }
}

/// Pieces of which texts are made that are hard to read.
fn pieces() -> Vec<String> {
    let key = |text: &&str| text.replace("@K", KEY);
    let mut pieces: Vec<String> = WITH_KEY.iter().map(key).collect();
    pieces.extend(EXACT.iter().map(|text| (*text).to_owned()));
    pieces.extend(WITH_SECRET.iter().map(|(text, _)| (*text).to_owned()));
    let small = [
        "sk-",
        "***",
        "password",
        "token",
        "=",
        ":",
        " ",
        "\"",
        "'",
        "\\",
        "\n",
        "\\n",
        "$",
        "{",
        "}",
        "<",
        ">",
        "(",
        ")",
        "@",
        "://",
        ".",
        "/",
        "%3D",
        "Bearer ",
        "a",
        "Abc1",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "\u{200b}",
        "\u{1b}[1m",
        "--",
        "Private-Lines: 2\n",
        KEY,
        LINES[0],
    ];
    pieces.extend(small.map(str::to_owned));
    pieces
}

proptest::proptest! {
    #[test]
    fn any_text_can_be_masked(text in proptest::prelude::any::<String>()) {
        let shown = masked(&text).into_owned();
        assert_eq!(masked(&shown), shown);
    }

    #[test]
    fn what_is_masked_stays_as_it_is(
        text in proptest::collection::vec(proptest::sample::select(pieces()), 0..12)
    ) {
        let shown = masked(&text.concat()).into_owned();
        assert_eq!(masked(&shown), shown);
    }
}
