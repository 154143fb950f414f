//! A summary of the conversation: how it is asked for, and what becomes of one that fails.

use serde_json::json;
use talaria_tests::counting::tokens;
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::times_told;

use crate::room::{alternates, counts, gauges, home, overflow, reads, says, talk, using, wants_summary};
use crate::{check_paired, last_of, roles};

#[test]
fn an_overflow_in_the_summary_itself_is_survived() {
    // A summary is refused while the first prompt is in it, or always.
    for always in [false, true] {
        let mock = Mock::answering(move |asked| {
            let is_long = always || asked.raw.contains("the first prompt");
            match (wants_summary(asked), last_of(asked, "user")) {
                (true, _) if is_long => overflow(),
                (true, _) => counts(asked, "SUMMARY"),
                (false, "now") => counts(asked, "there is room"),
                (false, _) => counts(asked, &"ok ".repeat(200)),
            }
        });
        let home = home(&mock, false);
        let (mut client, session) = talk(&home);
        let first = format!("the first prompt {}", "x ".repeat(14_000));
        assert_eq!(client.prompt(&session, &first), "end_turn");
        assert_eq!(client.prompt(&session, "now"), "end_turn");
        assert!(client.said(0).ends_with("there is room"));
        assert!(mock.requests().iter().all(alternates));
        let last = mock.requests().pop().unwrap();
        assert_eq!(roles(&last), "suau", "{}", last.raw);
        assert!(!last.raw.contains(&first), "{}", last.raw);
        if always {
            assert!(last.raw.contains("What the user said"), "{}", last.raw);
        }
    }
}

#[test]
fn a_cancel_ends_the_making_of_a_summary() {
    let mock = Mock::answering(|asked| match wants_summary(asked) {
        true => Reply::silence(),
        false => counts(asked, "ok"),
    });
    let home = home(&mock, false);
    let (mut client, session) = talk(&home);
    assert_eq!(client.prompt(&session, &"first ".repeat(5000)), "end_turn");
    for prompt in ["second", "/compact"] {
        let before = mock.requests().len();
        let prompt = client.begin_prompt(&session, prompt);
        assert!(mock.wait_requests(before + 1, talaria_tests::stage::LIMIT));
        client.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(client.stop_reason(prompt), "cancelled");
    }
}

#[test]
fn a_summary_can_be_asked_for_and_told_what_to_dwell_on() {
    let mock = Mock::answering(|asked| match wants_summary(asked) {
        true => counts(asked, "SUMMARY of the parser"),
        false => counts(asked, &"a long answer ".repeat(400)),
    });
    let home = home(&mock, false);
    let (mut client, session) = talk(&home);
    assert_eq!(client.prompt(&session, "/compact"), "end_turn");
    assert!(client.said(0).contains("nothing yet"), "{}", client.said(0));
    assert_eq!(client.prompt(&session, "first"), "end_turn");
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "/compact the parser"), "end_turn");
    assert!(last_of(&mock.requests()[1], "user").ends_with("above all: the parser"));
    assert!(client.said(from).contains("is summarised"), "{}", client.said(from));
    let made = gauges(&client, from)[0];
    assert!(made < tokens(&mock.requests()[1].raw), "{made}");
    assert_eq!(client.prompt(&session, "second"), "end_turn");
    assert!(mock.requests()[2].raw.contains("SUMMARY of the parser"));
    assert!(!mock.requests()[2].raw.contains("a long answer"));
}

#[test]
fn a_summary_that_is_cut_or_filtered_is_not_taken() {
    for (finish, times) in [("length", 2), ("content_filter", 1)] {
        let mock = Mock::answering(move |asked| match wants_summary(asked) {
            true => using(tokens(&asked.raw), &json!({"content": "SUMM"}), finish),
            false => counts(asked, "fine"),
        });
        let home = home(&mock, false);
        let (mut client, session) = talk(&home);
        for _ in 0..4 {
            assert_eq!(client.prompt(&session, &"words ".repeat(1500)), "end_turn");
        }
        assert_eq!(
            mock.requests().iter().filter(|asked| wants_summary(asked)).count(),
            times
        );
        let last = mock.requests().pop().unwrap();
        assert!(!last.raw.contains("SUMM"), "{}", last.raw);
        assert!(last.raw.contains("What the user said"), "{}", last.raw);
    }
}

#[test]
fn a_model_that_calls_instead_of_summing_up_is_asked_without_tools() {
    let mock = Mock::answering(|asked| match (wants_summary(asked), asked.body["tools"].is_null()) {
        (true, false) => reads(tokens(&asked.raw), "a.txt"),
        (true, true) => counts(asked, "SUMMARY"),
        (false, _) => counts(asked, "fine"),
    });
    let home = home(&mock, false);
    let (mut client, session) = talk(&home);
    for _ in 0..4 {
        assert_eq!(client.prompt(&session, &"words ".repeat(1500)), "end_turn");
    }
    let last = mock.requests().pop().unwrap();
    assert!(last.raw.contains("SUMMARY"), "{}", last.raw);
    check_paired(&last);
}

#[test]
fn a_summary_is_asked_for_behind_what_the_service_has_in_its_cache() {
    let mock = Mock::answering(|asked| match wants_summary(asked) {
        true => counts(asked, "SUMMARY"),
        false if last_of(asked, "user") == "read" && roles(asked).ends_with('u') => reads(tokens(&asked.raw), "a.txt"),
        false => counts(asked, "fine"),
    });
    let home = home(&mock, false);
    std::fs::write(home.workspace().join("a.txt"), "line of text\n".repeat(400)).unwrap();
    let (mut client, session) = talk(&home);
    for prompt in ["read", &"words ".repeat(2000), &"words ".repeat(1000), "last"] {
        assert_eq!(client.prompt(&session, prompt), "end_turn");
    }
    let requests = mock.requests();
    let at = requests.iter().position(wants_summary).unwrap();
    let (before, summary) = (&requests[at - 1], &requests[at]);
    assert_eq!(before.body["tools"], summary.body["tools"]);
    let shared = summary.messages().len() - 1;
    assert!(shared > 3, "{}", summary.raw);
    assert_eq!(before.messages()[..shared], summary.messages()[..shared]);
}

#[test]
fn a_wait_for_a_summary_is_told() {
    let mut is_busy = true;
    let mock = Mock::answering(move |asked| match wants_summary(asked) {
        true if std::mem::take(&mut is_busy) => Reply::answer("HTTP/1.1 429 Too Many Requests\nretry-after: 1", "{}"),
        true => counts(asked, "SUMMARY"),
        false => counts(asked, "fine"),
    });
    let home = home(&mock, false);
    let (mut client, session) = talk(&home);
    assert_eq!(client.prompt(&session, &"first ".repeat(5000)), "end_turn");
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "second"), "end_turn");
    assert_eq!(times_told(&client, from, "trying again in 1 s"), 1);
    assert!(mock.requests().pop().unwrap().raw.contains("SUMMARY"));
}

#[test]
fn a_summary_that_was_asked_for_and_can_not_be_had_changes_nothing() {
    let refused = || Reply::answer("HTTP/1.1 401 Unauthorized", "no");
    let filtered = || using(100, &json!({"content": "I can't."}), "content_filter");
    let mut replies = vec![says(100, &"word ".repeat(2000)), refused(), filtered()].into_iter();
    let mock = Mock::answering(move |_| replies.next().unwrap_or_else(|| says(100, "fine")));
    let home = home(&mock, false);
    let (mut client, session) = talk(&home);
    assert_eq!(client.prompt(&session, "PELICAN"), "end_turn");
    let prompt = client.begin_prompt(&session, "/compact");
    let error = client.response(prompt).unwrap_err();
    assert_eq!(error["data"]["class"], "auth", "{error}");
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "/compact"), "end_turn");
    assert!(
        client.said(from).contains("nothing was changed"),
        "{}",
        client.said(from)
    );
    assert_eq!(client.prompt(&session, "next"), "end_turn");
    let last = mock.requests().pop().unwrap();
    assert!(last.raw.contains("PELICAN"), "{}", last.raw);
}
