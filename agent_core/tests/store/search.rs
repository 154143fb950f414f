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
use agent_core::store::{Durability, Kept, SearchError, Store};
use rusqlite::Connection;
use serde_json::json;

use crate::{agent, record, user};

pub(crate) fn end() -> Event {
    Event::TurnFinished {
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    }
}

pub(crate) fn title(text: &str) -> Event {
    Event::SessionChanged {
        change: SessionChange::Title(text.into()),
    }
}

pub(crate) fn command(text: &str) -> Event {
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

pub(crate) fn output(text: &str, raw: Option<serde_json::Value>) -> Event {
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
pub(crate) fn session_in(store: &Store, id: &str, cwd: &str, turns: Vec<Vec<Event>>) -> SessionId {
    store.create(record(id, Path::new(cwd)));
    let session = SessionId::from(id);
    go_on(store, &session, 1, turns);
    session
}

/// Stores turns from a row on.
pub(crate) fn go_on(store: &Store, session: &SessionId, first: u64, turns: Vec<Vec<Event>>) {
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

pub(crate) fn session(store: &Store, id: &str, events: Vec<Event>) -> SessionId {
    session_in(store, id, "/", vec![events])
}

pub(crate) fn search(text: &str) -> Search {
    Search {
        query: Query::read(text),
        except: None,
        archived: false,
        all_hits: true,
        offset: 0,
        limit: 100,
    }
}

pub(crate) fn find(store: &Store, search: &Search) -> Found {
    store.search(search, &Cancel::new()).unwrap()
}

/// The hits of a query as `session:row`, in the order of the rows.
pub(crate) fn hits(store: &Store, text: &str) -> Vec<String> {
    let mut hits: Vec<String> = find(store, &search(text))
        .hits
        .iter()
        .map(|hit| format!("{}:{}", hit.session, hit.seq))
        .collect();
    hits.sort();
    hits
}

/// The index agrees with itself, and the database is whole.
pub(crate) fn check_whole(folder: &Path) {
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
