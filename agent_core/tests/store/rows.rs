//! Events and the summary that is kept of them.

use std::path::Path;

use agent_core::approval::{Grant, Mode};
use agent_core::content::{Blob, Content};
use agent_core::event::{
    ContextUse, Display, Event, HistoryMove, Progress, SessionChange, Severity, StopReason, ToolOutcome, ToolOutput,
    ToolStatus,
};
use agent_core::id::{MessageId, SessionId, ToolCallId, TurnId};
use agent_core::plan::ExactCommand;
use agent_core::provider::{Finish, Usage};
use agent_core::store::{Durability, Kept, Store};
use rusqlite::Connection;

use crate::{agent, all, at, create, record, say, user};

fn image(bytes: &[u8]) -> Content {
    Content::Image {
        mime_type: "image/png".into(),
        data: Blob::Inline(bytes.into()),
        uri: None,
    }
}

fn with_images() -> Vec<Event> {
    vec![
        Event::UserMessage {
            id: MessageId::from("m1"),
            content: vec![Content::text("see \u{0} and 😀"), image(b"one")],
            context: vec![image(b"two"), image(b"one")],
            command: false,
        },
        agent("a reply"),
        Event::ToolFinished {
            id: ToolCallId::from("c1"),
            outcome: ToolOutcome {
                status: ToolStatus::Completed,
                output: ToolOutput {
                    text: "done".into(),
                    images: vec![image(b"three")],
                    display: Display::Verbatim,
                    raw: Some(serde_json::json!({"z": 1, "a": [1.5, null]})),
                },
            },
        },
        Event::TurnFinished {
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        },
    ]
}

#[test]
fn what_is_appended_is_read_back_in_order() {
    for on_disk in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = if on_disk {
            Store::open(folder.path()).unwrap()
        } else {
            Store::memory()
        };
        let session = create(&store, "a");
        let envelopes: Vec<_> = (1..)
            .zip(with_images())
            .map(|(seq, event)| at(&session, seq, event))
            .collect();
        let (first, rest) = envelopes.split_at(1);
        assert_eq!(
            store.append(&session, first.to_vec(), Durability::Process),
            Kept::Stored
        );
        assert_eq!(store.append(&session, rest.to_vec(), Durability::Disk), Kept::Stored);
        assert_eq!(all(&store, &session), envelopes);
        assert_eq!(store.events(&session, 1, 2).unwrap(), envelopes[1..3]);
        assert_eq!(store.events(&session, 4, 2).unwrap(), []);
        assert_eq!(store.events(&"other".into(), 0, 2).unwrap(), []);
    }
}

#[test]
fn images_are_kept_once_and_not_in_the_events() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    let envelopes = (1..)
        .zip(with_images())
        .map(|(seq, event)| at(&session, seq, event))
        .collect();
    store.append(&session, envelopes, Durability::Process);
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    let count = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM blobs"), 3);
    assert_eq!(count("SELECT count(*) FROM events WHERE body LIKE '%sha256:%'"), 2);
}

#[test]
fn live_events_are_not_stored() {
    let store = Store::memory();
    let session = create(&store, "a");
    let progress = Event::ToolProgress {
        id: ToolCallId::from("c"),
        progress: Progress {
            tail: "…".into(),
            total: 1,
            lines: 0,
            ..Progress::default()
        },
    };
    let notice = Event::Notice {
        severity: Severity::Info,
        title: "hello".into(),
        detail: None,
    };
    let envelopes = vec![at(&session, 0, notice), at(&session, 0, progress)];
    assert_eq!(store.append(&session, envelopes, Durability::Disk), Kept::Stored);
    assert_eq!(all(&store, &session), []);
}

#[test]
fn a_summary_is_folded_from_the_events() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let before = record("a", folder.path());
    let session = before.id.clone();
    store.create(before.clone());
    let usage = |input, reasoning| Usage {
        input: Some(input),
        reasoning,
        ..Usage::default()
    };
    let step = |step, usage, used| Event::StepFinished {
        step,
        model: None,
        usage,
        context: ContextUse {
            used,
            window: Some(100),
            cost_nano_usd: None,
        },
        finish: Finish::Stop,
        native: None,
    };
    let command = Event::UserMessage {
        id: MessageId::from("m"),
        content: vec![Content::text("/help")],
        context: vec![],
        command: true,
    };
    let change = |change| Event::SessionChanged { change };
    let events = [
        user("hello"),
        command,
        agent("hi"),
        step(1, usage(10, None), 10),
        step(2, usage(5, Some(2)), 15),
        change(SessionChange::Title("A greeting".into())),
        change(SessionChange::Mode(Mode::Plan)),
        change(SessionChange::Model("x/y/z".parse().unwrap())),
        change(SessionChange::Cwd("/tmp".into())),
    ];
    for (seq, event) in (1..).zip(events) {
        let mut envelope = at(&session, seq, event);
        envelope.turn = Some(TurnId(seq));
        store.append(&session, vec![envelope], Durability::Process);
    }
    store.close();
    let after = Store::open(folder.path()).unwrap().session(&session).unwrap().unwrap();
    assert!(after.updated_ms > before.updated_ms);
    let mut expect = before;
    expect.title = Some("A greeting".into());
    expect.mode = Mode::Plan;
    expect.model = "x/y/z".parse().unwrap();
    expect.cwd = "/tmp".into();
    expect.messages = 2;
    expect.usage = usage(15, Some(2));
    expect.context = Some(ContextUse {
        used: 15,
        // The last model's; the new one's is not stored.
        window: None,
        cost_nano_usd: None,
    });
    expect.last_seq = 9;
    expect.last_turn = 9;
    expect.updated_ms = after.updated_ms;
    assert_eq!(after, expect);
}

#[test]
fn a_session_without_events_leaves_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    assert!(store.session(&session).unwrap().is_some(), "remembered");
    store.release(&session);
    assert_eq!(store.session(&session).unwrap(), None, "forgotten");
    let session = create(&store, "b");
    drop(store);
    assert_eq!(Store::open(folder.path()).unwrap().session(&session).unwrap(), None);
}

#[test]
fn moves_of_the_history_hide_ranges() {
    let store = Store::memory();
    let session = create(&store, "a");
    let moved = |keep_upto, why| Event::HistoryMoved { keep_upto, why };
    let events = [
        user("one"),
        agent("two"),
        moved(1, HistoryMove::Refusal),
        user("four"),
        moved(0, HistoryMove::Clear),
    ];
    let envelopes = (1..).zip(events).map(|(seq, event)| at(&session, seq, event)).collect();
    store.append(&session, envelopes, Durability::Process);
    assert_eq!(store.hidden(&session).unwrap(), [2..=3, 1..=5]);
    assert_eq!(store.hidden(&"other".into()).unwrap(), []);
}

#[test]
fn a_redo_takes_the_last_undo_back_and_hides_what_led_there() {
    let store = Store::memory();
    let session = create(&store, "a");
    let mut seq = 0;
    let mut check = |keep_upto: u64, why, expect: &[std::ops::RangeInclusive<u64>]| {
        // Something is said before each move.
        let moved = Event::HistoryMoved { keep_upto, why };
        let envelopes = vec![at(&session, seq + 1, user("x")), at(&session, seq + 2, moved)];
        seq += 2;
        store.append(&session, envelopes, Durability::Process);
        assert_eq!(store.hidden(&session).unwrap(), expect, "{why:?} to {keep_upto}");
    };
    use HistoryMove::{Clear, Redo, Refusal, Undo};
    check(0, Undo, &[1..=2]);
    check(2, Undo, &[1..=2, 3..=4]);
    check(2, Redo, &[1..=2, 3..=6]);
    check(0, Redo, &[3..=6, 1..=8]);
    check(9, Refusal, &[3..=6, 1..=8, 10..=10]);
    check(8, Undo, &[3..=6, 1..=8, 10..=10, 9..=12]);
    check(10, Redo, &[3..=6, 1..=8, 10..=10, 11..=14]);
    check(0, Clear, &[3..=6, 1..=8, 10..=10, 11..=14, 1..=16]);
}

#[test]
fn sessions_are_found_by_both_ends_of_their_ids_with_wildcards_taken_literally() {
    let store = Store::memory();
    for id in ["ab1", "ab2", "a_b", "a%"] {
        let session = create(&store, id);
        say(&store, &session, 1, "hello");
    }
    let find = |part: &str| -> Vec<String> { store.find(part).unwrap().iter().map(SessionId::to_string).collect() };
    for (part, expect) in [
        ("ab", vec!["ab2", "ab1"]),
        ("ab1", vec!["ab1"]),
        ("a%", vec!["a%"]),
        ("a_", vec!["a_b"]),
        ("x", vec![]),
        ("ab12", vec![]),
        ("b2", vec!["ab2"]),
        ("b", vec!["a_b"]),
        ("%", vec!["a%"]),
        ("_", vec![]),
    ] {
        assert_eq!(find(part), expect, "{part}");
    }
}

#[test]
fn a_row_that_cannot_be_read_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "a");
    for seq in 1..=4 {
        say(&store, &session, seq, "hello");
    }
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    connection
        .execute("UPDATE events SET body = '{\"event\":\"later\"}' WHERE seq = 2", [])
        .unwrap();
    connection
        .execute("UPDATE events SET body = x'ff00' WHERE seq = 3", [])
        .unwrap();
    let seqs = |limit| -> Vec<u64> {
        let events = store.events(&session, 0, limit).unwrap();
        events.iter().map(|envelope| envelope.seq).collect()
    };
    assert_eq!(seqs(10), [1, 4]);
    assert_eq!(seqs(2), [1, 4], "a limit counts what can be read");
}

#[test]
fn the_same_row_again_is_one_and_another_is_refused() {
    let store = Store::memory();
    let session = create(&store, "a");
    say(&store, &session, 1, "hello");
    say(&store, &session, 1, "hello");
    assert_eq!(store.session(&session).unwrap().unwrap().messages, 1);
    let kept = store.append(&session, vec![at(&session, 1, user("other"))], Durability::Disk);
    assert!(
        matches!(&kept, Kept::Lost(reason) if reason.contains("another process")),
        "{kept:?}"
    );
    say(&store, &session, 2, "the store goes on");
}

#[test]
fn what_can_never_be_stored_does_not_stop_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let [broken, whole] = ["broken", "whole"].map(|id| create(&store, id));
    say(&store, &broken, 1, "hello");
    say(&store, &whole, 1, "hello");
    let connection = Connection::open(folder.path().join("state.db")).unwrap();
    connection
        .execute("UPDATE sessions SET mode = 'later' WHERE id = 'broken'", [])
        .unwrap();
    let kept = store.append(&broken, vec![at(&broken, 2, user("more"))], Durability::Process);
    assert!(matches!(kept, Kept::Lost(reason) if reason.contains("later")));
    say(&store, &whole, 2, "more");
    assert!(store.session(&broken).is_err());
    let listed = store.list(None, None, 9).unwrap().sessions;
    assert_eq!(listed.len(), 1, "a list passes over what can't be read");
}

#[test]
fn a_session_nobody_created_is_refused() {
    let store = Store::memory();
    let session = "a".into();
    let kept = store.append(&session, vec![at(&session, 1, user("hello"))], Durability::Process);
    assert!(matches!(kept, Kept::Lost(reason) if reason.contains("session a")));
    assert_eq!(all(&store, &session), []);
}

#[test]
fn grants_for_commands_are_kept_by_root() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let grant = |program: &str, root: &str| Grant::Command {
        command: ExactCommand {
            program: program.into(),
            args: vec!["test".into(), "-x y".into()],
        },
        root: root.into(),
    };
    let grants = [
        grant("/bin/a", "/one"),
        grant("/bin/a", "/two"),
        grant("/bin/b", "/one"),
    ];
    for grant in grants.iter().chain(&grants) {
        store.grant(grant);
    }
    store.grant(&Grant::EditsThisSession);
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(
        store.grants(Path::new("/one")).unwrap(),
        [grants[0].clone(), grants[2].clone()]
    );
    assert_eq!(store.grants(Path::new("/three")).unwrap(), []);
}
