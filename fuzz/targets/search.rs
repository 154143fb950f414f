//! What is looked for in the history. What must hold: any text is a query that a real store answers, by its best hits
//! or by all of them; it is never an error of SQLite; nothing panics.

#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use agent_core::cancel::Cancel;
use agent_core::content::Content;
use agent_core::event::{Envelope, Event};
use agent_core::id::{MessageId, SessionId, TurnId};
use agent_core::search::{Query, Search};
use agent_core::store::{Durability, Kept, SessionRecord, Store};
use libfuzzer_sys::fuzz_target;

/// What was said, in scripts of many kinds.
const SAID: [&str; 8] = [
    "the quick brown fox jumps over the lazy dog",
    "fn main() { println!(\"foo-bar_baz\"); } // NEAR AND OR NOT",
    "日本語の検索機能を追加する",
    "한국어 기록검색은 어렵다",
    "Naïve café, ÉCOLE, Αθήνα и Ёлка",
    "party 🎉 done🚀now 👨‍👩‍👧",
    "a* \"quoted words\" col:on ^up {user} : x",
    "in:/w/app since:2026-01-01 role:user session:one",
];

static STORE: LazyLock<Store> = LazyLock::new(|| {
    let store = Store::memory();
    for (name, cwd) in [("one", "/w/app"), ("two", "/w/other")] {
        let session = SessionId::from(name);
        store.create(SessionRecord::new(session.clone(), PathBuf::from(cwd), 1));
        let event = |text: &str, seq: u64| match seq % 2 {
            0 => Event::AgentText {
                id: MessageId::from("m"),
                text: text.to_owned(),
            },
            _ => Event::UserMessage {
                id: MessageId::from("m"),
                content: vec![Content::text(text)],
                context: vec![],
                command: false,
            },
        };
        let envelopes = (1..).zip(SAID).map(|(seq, text)| Envelope {
            session: session.clone(),
            turn: Some(TurnId(1)),
            seq,
            event: event(text, seq),
        });
        let kept = store.append(&session, envelopes.collect(), Durability::Process);
        assert_eq!(kept, Kept::Stored);
    }
    store
});

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let query = Query::read(&text);
    for all_hits in [false, true] {
        let search = Search {
            query: query.clone(),
            except: None,
            archived: all_hits,
            all_hits,
            offset: 0,
            limit: 20,
        };
        let found = STORE.search(&search, &Cancel::new()).expect("no query is an error");
        assert!(!query.is_empty() || found.hits.is_empty(), "hits of nothing");
    }
});
