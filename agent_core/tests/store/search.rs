//! What is found of the history, and what is not.

use std::path::Path;

use agent_core::cancel::Cancel;
use agent_core::content::Content;
use agent_core::event::{
    CallInput, Envelope, Event, HistoryMove, SessionChange, StopReason, ToolCall, ToolKind, ToolOutcome, ToolOutput,
    ToolStatus,
};
use agent_core::id::{MessageId, SessionId, ToolCallId, TurnId};
use agent_core::provider::Usage;
use agent_core::search::{FROM_HISTORY, Found, Part, Query, Search};
use agent_core::store::{Durability, Fork, Kept, Pages, SearchError, Store};
use rusqlite::Connection;
use serde_json::json;

use crate::{agent, record, user};

fn end() -> Event {
    Event::TurnFinished {
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    }
}

fn title(text: &str) -> Event {
    Event::SessionChanged {
        change: SessionChange::Title(text.into()),
    }
}

fn command(text: &str) -> Event {
    Event::UserMessage {
        id: MessageId::from("m"),
        content: vec![Content::text(text)],
        context: vec![],
        command: true,
    }
}

fn call(name: &str, title: &str) -> Event {
    Event::ToolStarted {
        call: ToolCall {
            prints_in: None,
            id: ToolCallId::from("c"),
            given_id: "c".into(),
            name: name.into(),
            title: title.into(),
            kind: ToolKind::Read,
            input: CallInput::Json(json!({})),
        },
    }
}

fn output(text: &str, raw: Option<serde_json::Value>) -> Event {
    let output = ToolOutput {
        raw,
        ..ToolOutput::text(text)
    };
    Event::ToolFinished {
        id: ToolCallId::from("c"),
        outcome: ToolOutcome {
            status: ToolStatus::Completed,
            output,
        },
    }
}

/// Makes a session in a folder, with a turn for each list of events.
fn session_in(store: &Store, id: &str, cwd: &str, turns: Vec<Vec<Event>>) -> SessionId {
    store.create(record(id, Path::new(cwd)));
    let session = SessionId::from(id);
    go_on(store, &session, 1, turns);
    session
}

/// Stores turns from a row on.
fn go_on(store: &Store, session: &SessionId, first: u64, turns: Vec<Vec<Event>>) {
    let mut seq = first;
    for (turn, events) in (first..).zip(turns) {
        let envelopes = events.into_iter().chain([end()]).map(|event| {
            seq += 1;
            Envelope {
                session: session.clone(),
                turn: Some(TurnId(turn)),
                seq: seq - 1,
                event,
            }
        });
        let envelopes = envelopes.collect();
        assert_eq!(store.append(session, envelopes, Durability::Disk), Kept::Stored);
    }
}

fn session(store: &Store, id: &str, events: Vec<Event>) -> SessionId {
    session_in(store, id, "/", vec![events])
}

fn search(text: &str) -> Search {
    Search {
        query: Query::read(text),
        except: None,
        all_hits: true,
        offset: 0,
        limit: 100,
    }
}

fn find(store: &Store, search: &Search) -> Found {
    store.search(search, &Cancel::new()).unwrap()
}

/// The hits of a query as `session:row`, in the order of the rows.
fn hits(store: &Store, text: &str) -> Vec<String> {
    let mut hits: Vec<String> = find(store, &search(text))
        .hits
        .iter()
        .map(|hit| format!("{}:{}", hit.session, hit.seq))
        .collect();
    hits.sort();
    hits
}

/// The index agrees with itself, and the database is whole.
fn check_whole(folder: &Path) {
    let connection = Connection::open(folder.join("state.db")).unwrap();
    connection
        .execute("INSERT INTO search (search) VALUES ('integrity-check')", [])
        .unwrap();
    let result: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(result, "ok");
}

#[test]
fn what_was_said_is_found_with_who_said_it() {
    let store = Store::memory();
    let long = format!("{} pear", "x ".repeat(4 * 1024));
    session(
        &store,
        "a",
        vec![
            title("The fruit apple"),
            user("buy an apple"),
            Event::UserSteered {
                id: MessageId::from("s"),
                content: vec![Content::text("and a quince")],
                context: vec![Content::text("hidden apple")],
            },
            Event::AgentThought {
                id: MessageId::from("t"),
                text: "what is an apple?".into(),
            },
            agent("Here is the apple."),
            call("terminal", "$ buy apple"),
            output(&format!("bought an apple\n{long}"), None),
        ],
    );
    assert_eq!(hits(&store, "apple"), ["a:1", "a:2", "a:5", "a:6", "a:7"]);
    assert_eq!(hits(&store, "role:user apple"), ["a:2"]);
    assert_eq!(hits(&store, "role:user|agent apple"), ["a:2", "a:5"]);
    assert_eq!(hits(&store, "role:tool apple"), ["a:6", "a:7"]);
    assert_eq!(hits(&store, "quince"), ["a:3"]);
    assert_eq!(hits(&store, "pear"), [""; 0], "beyond the first 4 KB of an output");
    let found = find(&store, &search("role:agent apple"));
    let hit = &found.hits[0];
    assert_eq!(hit.snippet.marked("**", "**"), "Here is the **apple**.");
    assert_eq!(hit.title.as_deref(), Some("The fruit apple"));
    assert_eq!(hit.role.id(), "agent");
    assert!(hit.at_ms > 1 && hit.when.len() == "2026-11-30 14:02".len(), "{hit:?}");
}

#[test]
fn what_only_repeats_the_history_is_not_found() {
    let store = Store::memory();
    session_in(
        &store,
        "a",
        "/",
        vec![
            vec![user("apple")],
            vec![
                command("/search apple"),
                agent("apple is in session a"),
                title("The apple"),
            ],
            vec![
                call("session_search", "Search the history for apple"),
                output("apple", Some(json!({FROM_HISTORY: true}))),
            ],
        ],
    );
    assert_eq!(hits(&store, "apple"), ["a:1", "a:5"], "the prompt and the title");
    session(&store, "b", vec![agent("apple")]);
    assert_eq!(hits(&store, "apple").len(), 3, "a command's turn has an end");
}

#[test]
fn what_is_out_of_a_models_history_stays_to_be_found() {
    let store = Store::memory();
    let moved = Event::HistoryMoved {
        keep_upto: 0,
        why: HistoryMove::Clear,
    };
    session(&store, "a", vec![user("apple"), moved]);
    assert_eq!(hits(&store, "apple"), ["a:1"]);
    assert_eq!(hits(&store, "apple in:all"), ["a:1"]);
}

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
fn a_session_has_one_hit_with_its_count_and_pages_are_whole() {
    let store = Store::memory();
    for id in ["a", "b", "c", "d", "e"] {
        session(
            &store,
            id,
            vec![user("apple"), agent("an apple a day keeps them away"), user("no")],
        );
    }
    let except = SessionId::from("c");
    let page = |all_hits: bool, offset: usize, limit: usize| {
        let search = Search {
            except: Some(except.clone()),
            all_hits,
            offset,
            limit,
            ..search("apple")
        };
        let found = find(&store, &search);
        let hits = found.hits.iter();
        (
            hits.map(|hit| format!("{}:{}×{}", hit.session, hit.seq, hit.hits))
                .collect::<Vec<_>>(),
            found.more,
        )
    };
    assert_eq!(
        page(false, 0, 3),
        (vec!["e:1×2".into(), "d:1×2".into(), "b:1×2".into()], true)
    );
    assert_eq!(page(false, 3, 3), (vec!["a:1×2".into()], false));
    assert_eq!(page(true, 0, 3).0, ["e:1×2", "d:1×2", "b:1×2"]);
    assert_eq!(page(true, 3, 100).0.len(), 5);
    assert_eq!(page(false, 9, 3), (vec![], false));
}

#[test]
fn the_better_match_is_first_and_of_two_alike_the_newer() {
    let store = Store::memory();
    let filler = "one two three four five six seven eight nine ten ".repeat(5);
    session(&store, "rare", vec![user("rare word")]);
    session(&store, "long", vec![user(&format!("rare {filler}"))]);
    session(&store, "often", vec![user("rare word")]);
    session(&store, "titled", vec![title("rare"), agent("something else")]);
    for id in 0..20 {
        session(&store, &format!("x{id}"), vec![user("nothing of it")]);
    }
    let order: Vec<String> = find(&store, &search("rare"))
        .hits
        .iter()
        .map(|hit| hit.session.to_string())
        .collect();
    assert_eq!(order, ["titled", "often", "rare", "long"]);
}

fn fork(store: &Store, from: &SessionId, id: &str) -> SessionId {
    let id = SessionId::from(id);
    let fork = Fork {
        from: from.clone(),
        upto: None,
        id: id.clone(),
        source: "run".into(),
        folders: None,
        set: None,
    };
    store.fork(fork).unwrap();
    id
}

#[test]
fn what_a_fork_has_copied_is_found_once_and_outlives_where_it_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let parent = session_in(
        &store,
        "parent",
        "/w",
        vec![vec![user("apple")], vec![command("/search apple"), agent("apple")]],
    );
    let child = fork(&store, &parent, "child");
    let last = store.session(&child).unwrap().unwrap().last_seq;
    go_on(&store, &child, last + 1, vec![vec![user("another apple")]]);
    let grandchild = fork(&store, &child, "grand");
    assert_eq!(
        hits(&store, "apple"),
        [format!("child:{}", last + 1), "parent:1".into()]
    );
    // Asked about itself, a fork has the past that it shows.
    assert_eq!(
        hits(&store, "apple session:grand"),
        ["grand:1".to_owned(), format!("grand:{}", last + 1)]
    );
    let except = Search {
        except: Some(grandchild.clone()),
        ..search("apple")
    };
    assert_eq!(find(&store, &except).hits, []);
    store.delete(&parent).unwrap();
    assert_eq!(
        hits(&store, "apple"),
        ["child:1".to_owned(), format!("child:{}", last + 1)]
    );
    check_whole(folder.path());
    store.delete(&child).unwrap();
    assert_eq!(
        hits(&store, "apple"),
        ["grand:1".to_owned(), format!("grand:{}", last + 1)]
    );
    check_whole(folder.path());
    store.delete(&grandchild).unwrap();
    assert_eq!(hits(&store, "apple"), [""; 0]);
    check_whole(folder.path());
}

#[test]
fn a_deleted_session_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let one = session(&store, "a", vec![user("apple"), agent("apple")]);
    session(&store, "b", vec![user("apple")]);
    store.delete(&one).unwrap();
    assert_eq!(hits(&store, "apple"), ["b:1"]);
    check_whole(folder.path());
}

/// Makes the newest store one of schema 5.
const TO_SCHEMA_5: &str = "DROP TABLE search; DROP INDEX events_copies; ALTER TABLE events DROP COLUMN original;
     PRAGMA user_version = 5;";

#[test]
fn an_older_store_is_indexed_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let parent = session_in(
        &store,
        "a",
        "/",
        vec![
            vec![title("Fruit"), user("apple")],
            vec![command("/search apple"), agent("apple")],
        ],
    );
    let child = fork(&store, &parent, "child");
    fork(&store, &child, "grand");
    store.close();
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    connection.execute_batch(TO_SCHEMA_5).unwrap();
    drop(connection);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(hits(&store, "apple"), ["a:2"]);
    assert_eq!(hits(&store, "fruit").len(), 3, "each has a title");
    check_whole(folder.path());
    store.delete(&parent).unwrap();
    store.delete(&child).unwrap();
    assert_eq!(hits(&store, "apple"), ["grand:2"]);
    check_whole(folder.path());
}

#[test]
fn an_index_that_is_damaged_or_gone_is_made_anew_and_no_event_is_lost() {
    for damage in [
        "DROP TABLE search",
        "UPDATE search_data SET block = x'ffffffffffffffffffffffffff' WHERE id = 10",
        "DELETE FROM search_data WHERE id >= 10",
        "DELETE FROM search_docsize",
        "DROP TABLE search_docsize",
    ] {
        for reads_first in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path()).unwrap();
            let one = session(&store, "a", vec![user("apple"), agent("apple")]);
            store.close();
            let connection = Connection::open(folder.path().join("state.db")).unwrap();
            connection.execute_batch(damage).unwrap();
            drop(connection);
            let store = Store::open(folder.path()).unwrap();
            let pages = store.health(std::time::Duration::from_secs(20)).unwrap().pages;
            assert_eq!(pages, Pages::Whole, "{damage}: the index is no part of what counts");
            if reads_first && !damage.contains("docsize") {
                assert_eq!(hits(&store, "apple"), ["a:1", "a:2"], "{damage}");
            }
            go_on(&store, &one, 4, vec![vec![user("apple")]]);
            store.delete(&session(&store, "b", vec![user("apple")])).unwrap();
            if !damage.contains("docsize") {
                assert_eq!(hits(&store, "apple"), ["a:1", "a:2", "a:4"], "{damage}");
                check_whole(folder.path());
            }
            assert_eq!(crate::all(&store, &one).len(), 5, "{damage}");
        }
    }
}

#[test]
fn a_key_is_masked_in_what_is_shown_and_exact_in_what_is_stored() {
    let store = Store::memory();
    let text = "the key sk-proj-abcdef0123456789XYZ is mine";
    let one = session(&store, "a", vec![user(text)]);
    let found = find(&store, &search("mine"));
    assert_eq!(found.hits[0].snippet.text(), "the key sk-*** is mine");
    assert_eq!(crate::all(&store, &one)[0].event, user(text));
}

#[test]
fn a_part_of_a_session_is_read_around_a_row_and_at_its_ends() {
    let store = Store::memory();
    let one = session(&store, "a", (1..=30).map(|n| agent(&format!("text {n}"))).collect());
    let rows = |part| -> Vec<u64> {
        let passages = store.excerpt(&one, part, 2).unwrap();
        passages.iter().map(|passage| passage.seq).collect()
    };
    assert_eq!(rows(Part::Around(10)), [8, 9, 10, 11, 12]);
    assert_eq!(rows(Part::Around(1)), [1, 2, 3]);
    assert_eq!(rows(Part::Around(999)), [29, 30]);
    assert_eq!(rows(Part::Ends), [1, 2, 29, 30]);
}

#[test]
fn a_search_that_is_cancelled_ends() {
    let store = Store::memory();
    session(&store, "a", vec![user("apple")]);
    let cancel = Cancel::new();
    cancel.set();
    let error = store.search(&search("apple"), &cancel).unwrap_err();
    assert!(matches!(error, SearchError::Cancelled), "{error}");
    assert_eq!(hits(&store, "apple"), ["a:1"], "the next one is not");
}

#[test]
fn so_many_matches_are_ranked_and_no_more() {
    let store = Store::memory();
    let texts = |count: usize| -> Vec<Event> { (0..count).map(|_| user("apple")).collect() };
    session(&store, "old", texts(1));
    let turns = vec![texts(500); 39].into_iter().chain([texts(499)]);
    session_in(&store, "a", "/", turns.collect());
    assert!(!find(&store, &search("apple")).cut);
    session(&store, "b", texts(1));
    let found = find(
        &store,
        &Search {
            all_hits: false,
            ..search("apple")
        },
    );
    assert!(found.cut);
    assert_eq!(found.hits.len(), 2, "the oldest is not looked at");
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
