//! What a search in a long history takes beside a bare query of the index that ranks the same, what it takes to store a
//! message so that it can be found, and how large the file is.
#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use agent_core::content::Content;
use agent_core::event::{Envelope, Event, ToolOutcome, ToolOutput, ToolStatus};
use agent_core::id::{MessageId, SessionId, ToolCallId, TurnId};
use agent_core::search::{Found, Query, Search};
use agent_core::store::{Durability, Kept, Store};
use rusqlite::{Connection, params};
use talaria_tests::measure::{Table, Times, time};
use talaria_tests::stored::record;

/// Messages in the history; `SEARCH_MESSAGES` has it otherwise.
const MESSAGES: usize = 1_000_000;
/// The folder of their sessions.
const FOLDER: &str = "/w/app";
const OF_A_SESSION: usize = 1_000;
const AT_ONCE: usize = 250;
const ROUNDS: usize = 15;
const APPENDS: usize = 1_000;
/// Bytes of a message of the project's files, and how often these are cut.
const PIECE: usize = 470;
const CUTS: usize = 5;

/// Words of which each message has some more often than others, as in a language.
const WORDS: usize = 30_000;

fn main() {
    let messages = std::env::var("SEARCH_MESSAGES")
        .ok()
        .and_then(|count| count.parse().ok());
    let messages = messages.unwrap_or(MESSAGES);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let store = Store::open(folder.path()).expect("a new store opens");
    let mut table = Table::new("Search in the history");
    let began = Instant::now();
    let bytes = fill(&store, messages);
    table.figure(&format!("{messages} messages stored"), time(began.elapsed()), "");
    size(&mut table, "random words", folder.path(), bytes);
    own_files(&mut table);
    queries(&mut table, &store, folder.path());
    cancelled(&mut table, &store);
    appends(&mut table);
    println!("{table}");
}

/// Stores messages in sessions of a thousand; the bytes of their texts.
fn fill(store: &Store, messages: usize) -> usize {
    let mut random = fastrand::Rng::with_seed(1);
    let words: Vec<String> = (0..WORDS).map(|_| word(&mut random)).collect();
    let mut bytes = 0;
    for first in (0..messages).step_by(OF_A_SESSION) {
        let numbers = first..messages.min(first + OF_A_SESSION);
        let texts: Vec<String> = numbers.map(|number| text(&mut random, &words, number)).collect();
        bytes += texts.iter().map(String::len).sum::<usize>();
        keep(store, texts);
    }
    bytes
}

/// Stores a session with these texts.
fn keep(store: &Store, texts: Vec<String>) {
    let session = SessionId::new();
    store.create(record(&session, Path::new(FOLDER)));
    let mut envelopes = (1..)
        .zip(texts)
        .map(|(seq, text)| envelope(&session, seq, event(seq, text)));
    loop {
        let some: Vec<Envelope> = envelopes.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        let kept = store.append(&session, some, Durability::Process);
        assert!(!matches!(kept, Kept::Lost(_)), "{kept:?}");
        while store.is_behind(&session) {
            thread::sleep(Duration::from_millis(10));
        }
    }
    store.release(&session);
}

/// The size with text as people and programs write it: this project's own files, cut into messages.
fn own_files(table: &mut Table) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let store = Store::open(folder.path()).expect("a new store opens");
    let mut text = String::new();
    read(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("it is in a folder"),
        &mut text,
    );
    // Cut at other places each time, so that no two messages are alike.
    let cuts = (0..CUTS).map(|number| &text[text.ceil_char_boundary(number * PIECE / CUTS)..]);
    let mut pieces = cuts.flat_map(pieces);
    let mut bytes = 0;
    loop {
        let texts: Vec<String> = pieces.by_ref().take(OF_A_SESSION).collect();
        if texts.is_empty() {
            break;
        }
        bytes += texts.iter().map(String::len).sum::<usize>();
        keep(&store, texts);
    }
    size(table, "this project's files", folder.path(), bytes);
}

/// The text of all documents and sources below a folder.
fn read(folder: &Path, text: &mut String) {
    let entries = fs::read_dir(folder).expect("a folder of the project can be read");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            read(&path, text);
        } else if name.ends_with(".rs") || name.ends_with(".md") {
            text.push_str(&fs::read_to_string(&path).expect("a file of the project is text"));
        }
    }
}

fn pieces(mut text: &str) -> impl Iterator<Item = String> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE));
        text = rest;
        (!piece.is_empty()).then(|| piece.to_owned())
    })
}

fn word(random: &mut fastrand::Rng) -> String {
    (0..random.usize(3..10)).map(|_| random.lowercase()).collect()
}

fn text(random: &mut fastrand::Rng, words: &[String], number: usize) -> String {
    let mut text = String::new();
    for _ in 0..random.usize(20..110) {
        let place = random.f64().powi(4) * words.len() as f64;
        text.push_str(&words[place as usize]);
        text.push(' ');
    }
    for (word, every) in [("everywhere", 1), ("half", 2), ("percent", 100), ("permille", 1_000)] {
        if number.is_multiple_of(every) {
            text.push_str(word);
            text.push(' ');
        }
    }
    text
}

fn event(number: usize, text: String) -> Event {
    match number % 3 {
        0 => Event::UserMessage {
            id: MessageId::new(),
            content: vec![Content::text(text)],
            context: Vec::new(),
            command: false,
        },
        1 => Event::AgentText {
            id: MessageId::new(),
            text,
        },
        _ => Event::ToolFinished {
            id: ToolCallId::new(),
            outcome: ToolOutcome {
                status: ToolStatus::Completed,
                output: ToolOutput::text(text),
            },
        },
    }
}

fn envelope(session: &SessionId, seq: usize, event: Event) -> Envelope {
    Envelope {
        session: session.clone(),
        turn: Some(TurnId(1)),
        seq: seq as u64,
        event,
    }
}

fn size(table: &mut Table, what: &str, folder: &Path, bytes: usize) {
    let connection = open(folder);
    let size: i64 = connection
        .query_row(
            "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)",
            [],
            |row| row.get(0),
        )
        .expect("the database says how large it is");
    let ratio = size as f64 / bytes as f64;
    let megabytes = |bytes: f64| format!("{:.0} MB", bytes / 1e6);
    table.goal(
        &format!("the file beside the text in it: {what}"),
        megabytes(size as f64),
        format!("{ratio:.2} x {}", megabytes(bytes as f64)),
        "<= 2 x",
        ratio <= 2.0,
    );
}

/// Another connection to the store's file, of the same library.
fn open(folder: &Path) -> Connection {
    Connection::open(folder.join("state.db")).expect("the database opens again")
}

fn search(query: &str) -> Search {
    Search {
        query: Query::read(query),
        except: Some("none".into()),
        archived: false,
        all_hits: false,
        offset: 0,
        limit: 20,
    }
}

fn queries(table: &mut Table, store: &Store, folder: &Path) {
    let connection = open(folder);
    for (what, query, expression, limit) in [
        ("a word in 0.1 %", "permille", "(\"permille\")", 20),
        ("a word in 1 %", "percent", "(\"percent\")", 20),
        ("a word in 50 %", "half", "(\"half\")", 100),
        ("a word in all", "everywhere", "(\"everywhere\")", 100),
        (
            "two words, in 50 % and in all",
            "half everywhere",
            "(\"half\" \"everywhere\")",
            100,
        ),
        (
            "a word in 1 % that the user said",
            "role:user percent",
            "{user} : (\"percent\")",
            20,
        ),
        (
            "a word in 1 %, of one folder",
            "percent in:/w/app",
            "(\"percent\")",
            100,
        ),
    ] {
        let search = search(query);
        let mut ours = || {
            let began = Instant::now();
            let found = store.search(&search, &Cancel::new()).expect("the store answers");
            check(&found);
            began.elapsed()
        };
        let mut bare = || bare(&connection, expression);
        let [ours, bare] = Times::by_turns(ROUNDS, [&mut ours, &mut bare]);
        let ratio = ours.ratio(&bare);
        let reached = ratio <= 3.0 && ours.best() < Duration::from_millis(limit);
        table.goal(
            what,
            &ours,
            format!("{ratio:.2} x {}", time(bare.best())),
            &format!("< {limit} ms, <= 3 x"),
            reached,
        );
    }
}

fn check(found: &Found) {
    assert!(!found.hits.is_empty(), "nothing was found");
}

/// The newest matches ranked by the index alone.
fn bare(connection: &Connection, expression: &str) -> Duration {
    let began = Instant::now();
    let mut statement = connection
        .prepare_cached(
            "SELECT id FROM (SELECT rowid AS id, bm25(search, 0.6, 1.0, 1.5, 4.0) AS score FROM search \
             WHERE search MATCH ?1 ORDER BY rowid DESC LIMIT 20000) ORDER BY score LIMIT 20",
        )
        .expect("the query makes sense");
    let ids = statement.query_map([expression], |row| row.get::<_, i64>(0));
    let ids: Vec<i64> = ids.expect("the index answers").flatten().collect();
    assert!(!ids.is_empty(), "nothing was found");
    began.elapsed()
}

fn cancelled(table: &mut Table, store: &Store) {
    let search = search("half everywhere");
    let times = (0..ROUNDS).map(|_| {
        let cancel = Cancel::new();
        let switch = cancel.clone();
        let setter = thread::spawn(move || {
            thread::sleep(Duration::from_millis(5));
            let set = Instant::now();
            switch.set();
            set
        });
        let found = store.search(&search, &cancel);
        let ended = Instant::now();
        let set = setter.join().expect("the thread sets the switch");
        assert!(found.is_err(), "it was too fast to be cancelled");
        ended.saturating_duration_since(set)
    });
    let times = Times::of(times.collect());
    table.figure("a search of two frequent words: its cancel to its end", &times, "");
}

/// A message stored by the store, and the same statements by SQLite alone in a like database.
fn appends(table: &mut Table) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let other = Store::open(folder.path()).expect("a new store opens");
    let mut random = fastrand::Rng::with_seed(2);
    let words: Vec<String> = (0..WORDS).map(|_| word(&mut random)).collect();
    fill(&other, 1_000);
    let like = tempfile::tempdir().expect("a folder can be made");
    let beside = Store::open(like.path()).expect("a new store opens");
    fill(&beside, 1_000);
    beside.close();
    let connection = open(like.path());
    connection
        .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 16384;")
        .expect("the database can be set up");
    let id: String = connection
        .query_row("SELECT id FROM sessions", [], |row| row.get(0))
        .expect("there is a session");
    let session = SessionId::new();
    other.create(record(&session, Path::new(FOLDER)));
    let texts: Vec<String> = (0..APPENDS).map(|number| text(&mut random, &words, number)).collect();
    let (mut ours, mut plain) = (0, 0);
    let mut by_store = || {
        ours += 1;
        let envelope = envelope(&session, ours, event(1, texts[ours - 1].clone()));
        let began = Instant::now();
        let kept = other.append(&session, vec![envelope], Durability::Process);
        assert_eq!(kept, Kept::Stored);
        began.elapsed()
    };
    let mut by_sqlite = || {
        plain += 1;
        let body = serde_json::to_string(&event(1, texts[plain - 1].clone())).expect("an event is JSON");
        let began = Instant::now();
        statements(&connection, &id, 10_000 + plain, &body, &texts[plain - 1]).expect("SQLite stores it");
        began.elapsed()
    };
    let [ours, plain] = Times::by_turns(APPENDS, [&mut by_store, &mut by_sqlite]);
    let ratio = ours.median().as_secs_f64() / plain.median().as_secs_f64();
    table.goal(
        "a message stored, medians",
        &ours,
        format!("{ratio:.2} x {plain}"),
        "<= 1.5 x",
        ratio <= 1.5,
    );
}

/// What the store does for a message, statement by statement.
fn statements(connection: &Connection, session: &str, seq: usize, body: &str, text: &str) -> rusqlite::Result<()> {
    let seq = seq as i64;
    let run = |sql: &str, params: &[&dyn rusqlite::ToSql]| connection.prepare_cached(sql)?.execute(params);
    let read = |sql: &str, params: &[&dyn rusqlite::ToSql]| connection.prepare_cached(sql)?.exists(params);
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    read(
        "SELECT pid, started, place, beat_ms FROM leases WHERE session_id = ?1",
        params![session],
    )?;
    run(
        "INSERT INTO leases (session_id, pid, started, place, beat_ms) VALUES (?1, 1, '', '', 1) \
         ON CONFLICT (session_id) DO UPDATE SET beat_ms = 1",
        params![session],
    )?;
    read("SELECT * FROM sessions WHERE id = ?1", params![session])?;
    let key: i64 = connection
        .prepare_cached("SELECT key FROM sessions WHERE id = ?1")?
        .query_row(params![session], |row| row.get(0))?;
    read(
        "SELECT body FROM events WHERE session = ?1 AND seq = ?2",
        params![key, seq],
    )?;
    run(
        "INSERT INTO events (session, seq, turn, at_ms, kind, body) VALUES (?1, ?2, 1, 1, 'agent_text', ?3)",
        params![key, seq, body],
    )?;
    let id = connection.last_insert_rowid();
    run("INSERT INTO search (rowid, agent) VALUES (?1, ?2)", params![id, text])?;
    run(
        "DELETE FROM partials WHERE session_id = ?1 AND seq = ?2",
        params![session, seq],
    )?;
    run(
        "UPDATE sessions SET updated_ms = ?2, messages = messages + 1, last_seq = ?3, activity = ?4 WHERE id = ?1",
        params![session, seq, seq, id],
    )?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}
