//! What a query means, and that none is an error.

use agent_core::cancel::Cancel;
use agent_core::store::Store;

use crate::search::{hits, search, session, session_in};
use crate::{agent, user};

#[test]
fn words_of_any_script_and_length_are_found() {
    let store = Store::memory();
    let texts = [
        "日本語の検索機能を追加する",
        "한국어 기록검색은 어렵다",
        "全文检索引擎 rust版",
        "カタカナのテスト",
        "Naïve café, ÉCOLE",
        "Αθήνα и Ёлка",
        "party 🎉 done🚀now",
        "𠮷野家",
    ];
    session(&store, "a", texts.iter().map(|text| user(text)).collect());
    let check = |query: &str, expect: &[&str]| assert_eq!(hits(&store, query), expect, "{query}");
    check("本", &["a:1"]);
    check("検索", &["a:1"]);
    check("検索機能", &["a:1"]);
    check("機能検索", &[]);
    check("索", &["a:1", "a:3"]);
    check("검색", &["a:2"]);
    check("국", &["a:2"]);
    check("检索引擎", &["a:3"]);
    check("rust", &["a:3"]);
    check("引擎 rust版", &["a:3"]);
    check("索 -引擎", &["a:1"]);
    check("カナ", &["a:4"]);
    check("ー", &[]);
    check("naive CAFE école", &["a:5"]);
    check("αθήνα ёЛКА", &["a:6"]);
    check("🎉", &["a:7"]);
    check("🚀 now", &["a:7"]);
    check("𠮷", &["a:8"]);
    check("role:agent 検索", &[]);
}

#[test]
fn filters_hold() {
    let store = Store::memory();
    session_in(&store, "one", "/w/app", vec![vec![user("apple pie")]]);
    session_in(
        &store,
        "two",
        "/w/app/sub",
        vec![vec![user("apple cake"), agent("\"apple pie\"")]],
    );
    session_in(
        &store,
        "three",
        "/w/app2",
        vec![vec![user("pie of apple"), user("applet")]],
    );
    let check = |query: &str, expect: &[&str]| assert_eq!(hits(&store, query), expect, "{query}");
    check("apple pie", &["one:1", "three:1", "two:2"]);
    check("\"apple pie\"", &["one:1", "two:2"]);
    check("apple -pie", &["two:1"]);
    check("apple -\"apple pie\"", &["three:1", "two:1"]);
    check("appl*", &["one:1", "three:1", "three:2", "two:1", "two:2"]);
    check("appl", &[]);
    check("apple in:/w/app", &["one:1", "two:1", "two:2"]);
    check("apple in:/w/app/", &["one:1", "two:1", "two:2"]);
    check("apple in:app", &["one:1", "two:1", "two:2"]);
    check("apple in:app/sub", &["two:1", "two:2"]);
    check("apple in:/app", &[]);
    check("apple session:two", &["two:1", "two:2"]);
    check("apple session:ee", &["three:1"]);
    check("apple session:none", &[]);
    check("apple since:0d session:one", &["one:1"]);
    check("apple until:0d session:one", &["one:1"]);
    check("apple until:1d", &[]);
    check("apple since:2999-01-01", &[]);
    check("apple since:1999-01-01 until:2999-12-31 session:one", &["one:1"]);
    check("", &[]);
    check("-apple", &[]);
    check("session:one", &[]);
}

#[test]
fn no_query_is_an_error() {
    let store = Store::memory();
    session(&store, "a", vec![user("foo bar 日本 🎉"), agent("baz -x *")]);
    let odd = [
        "foo\"bar",
        "NEAR(",
        "NEAR(a b, 3)",
        "*",
        "**",
        "col:",
        "user:foo",
        "\"",
        "\"\"",
        "'",
        "''",
        ";--",
        "\0",
        "a\0b",
        "-foo",
        "-foo -bar",
        "- -",
        "foo AND",
        "OR NOT",
        "^foo",
        "{user} : x",
        "(((",
        ")",
        "foo*bar",
        "\u{e000}1f389",
        "\u{1}\u{2}\u{3}",
        "🎉",
        "👨‍👩‍👧",
        "\u{202e}foo",
        "مرحبا שלום",
        "\u{301}",
        "Ⓐ",
        "ⅷ",
        "in:",
        "in:\"",
        "in:%",
        "in:/",
        "session:",
        "session:%",
        "session:\"\"",
        "since:",
        "since:9999-12-31",
        "until:9999-12-31",
        "since:0000-01-01",
        "until:36500d",
        "since:65535d",
        "role:",
        "role:user|",
        "role:role:",
        "foo -\"",
        "\u{feff}",
        "\u{fffe}",
    ];
    let mut queries: Vec<String> = odd.iter().map(ToString::to_string).collect();
    queries.extend(odd.iter().map(|text| format!("foo {text}")));
    queries.extend(
        ["x ", "(", "\"", "語", "-a ", "a\"", "🎉", "\0"]
            .iter()
            .map(|text| text.repeat(100_000 / text.len())),
    );
    let mut random = fastrand::Rng::with_seed(7);
    let pieces = [
        "foo", "bar", "\"", "*", "-", ":", "(", ")", " ", " ", "NEAR", "AND", "OR", "NOT", "+", "^", "{", "}", ",",
        "'", "%", "\0", "日", "本", "🎉", "é", "\u{301}", "\u{202e}", "in:", "role:", "user", "since:", "7d",
        "session:", "a", "\\", "\n", "\u{1}", "\u{e000}",
    ];
    while queries.len() < 10_000 {
        let count = random.usize(1..12);
        queries.push((0..count).map(|_| pieces[random.usize(0..pieces.len())]).collect());
    }
    for query in queries {
        let short: String = query.chars().take(80).collect();
        if let Err(error) = store.search(&search(&query), &Cancel::new()) {
            panic!("{short:?}: {error:?}");
        }
    }
}

#[test]
fn a_session_is_looked_for_among_all_that_have_its_beginning() {
    let store = Store::memory();
    for number in 10..40 {
        session(&store, &format!("2026-{number}"), vec![user("apple")]);
    }
    assert_eq!(hits(&store, "session:2026- apple").len(), 30);
    assert_eq!(hits(&store, "session:2026-1 apple").len(), 10);
}
