#![allow(clippy::unwrap_used, reason = "tests")]

use agent_core::approval::{DecidedBy, Decision};
use agent_core::change::FileChange;
use agent_core::event::{
    CallInput, ContextUse, Envelope, ErrorClass, Failure, ToolCall, ToolKind, ToolOutcome, ToolOutput,
};
use agent_core::id::TurnId;
use agent_core::plan::Place;
use agent_core::provider::Usage;
use agent_core::store::{EndReason, Ended, Parent};
use talaria_tests::stored::{agent, user};

use super::*;

fn record() -> SessionRecord {
    SessionRecord {
        source: "acp".into(),
        title: Some("Mend </title><script>alert(1)</script> sk-proj-abcdef0123456789XYZ".into()),
        parent: Some(Parent {
            session: "s0".into(),
            seq: 4,
        }),
        messages: 2,
        usage: Usage {
            cost_nano_usd: Some(12_300_000),
            input: Some(10),
            output: Some(5),
            ..Usage::default()
        },
        context: Some(ContextUse::default()),
        last_seq: 9,
        last_turn: 1,
        ended: Some(Ended {
            at_ms: 0,
            reason: EndReason::Disconnected,
        }),
        ..SessionRecord::new("s1".into(), "/w".into(), 0)
    }
}

fn call(title: &str) -> Event {
    Event::ToolStarted {
        call: ToolCall {
            id: "c".into(),
            given_id: "c".into(),
            name: "patch".into(),
            title: title.into(),
            kind: ToolKind::Edit,
            input: CallInput::Json(serde_json::json!({})),
            prints_in: None,
        },
    }
}

fn planned(old: &str, new: &str) -> Event {
    let place = Place {
        path: "/w/a.rs".into(),
        real: "/w/a.rs".into(),
    };
    Event::ToolPlanned {
        id: "c".into(),
        plan: Plan::Change {
            changes: vec![FileChange::new(place, Some(old), Some(new))],
        },
        locations: vec![],
        runs: false,
    }
}

fn finished(text: String) -> Event {
    Event::ToolFinished {
        id: "c".into(),
        outcome: ToolOutcome {
            status: ToolStatus::Completed,
            output: ToolOutput::text(text),
        },
    }
}

fn transcript(events: impl IntoIterator<Item = Event>) -> Transcript {
    let rows: Vec<Dated> = (1..)
        .zip(events)
        .map(|(seq, event)| Dated {
            at_ms: i64::try_from(seq).unwrap() * 1000,
            envelope: Envelope {
                session: "s1".into(),
                turn: Some(TurnId(1 + seq / 10)),
                seq,
                event,
            },
        })
        .collect();
    Transcript::of(&record(), &rows, false)
}

fn as_text(events: impl IntoIterator<Item = Event>) -> String {
    let mut out = anstream::StripStream::new(Vec::new());
    text::write(&mut out, &transcript(events), 60).unwrap();
    String::from_utf8(out.into_inner()).unwrap()
}

fn as_markdown(events: impl IntoIterator<Item = Event>) -> String {
    let mut out = Vec::new();
    markdown::write(&mut out, &transcript(events)).unwrap();
    String::from_utf8(out).unwrap()
}

const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)> & \"' \u{1b}[2J\u{202e}";

#[test]
fn a_person_reads_who_said_what_and_what_was_done() {
    let failure = Failure::new(ErrorClass::Internal, "the service is gone");
    let shown = as_text([
        user("mend it"),
        agent("I see. This is a sentence that is too long for one line of this width."),
        call("Edit a.rs"),
        planned("a\nb\n", "a\nc\n"),
        finished(String::new()),
        Event::TurnFailed { failure },
    ]);
    for expect in [
        "Forked from s0 at row 4",
        "Cost        $0.0123",
        "Ended       ",
        "(disconnected)",
        "\n> mend it\n",
        "too long for one line of\nthis width.\n",
        "• Edit a.rs … done (2.0 s)\n--- /w/a.rs\n+++ /w/a.rs\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
        "\nerror: the service is gone\n",
    ] {
        assert!(shown.contains(expect), "{expect}: {shown}");
    }
}

#[test]
fn keys_and_what_steers_a_terminal_are_in_no_form() {
    let events = || {
        let key = "export KEY=ghp_0123456789abcdefghijABCDEFGHIJ";
        [
            user(key),
            agent(&format!("{key} \u{1b}]0;x\u{7}")),
            call(key),
            planned("", key),
            finished(format!("{key}{}", "\u{1b}[31m")),
        ]
    };
    for shown in [
        as_text(events()),
        as_markdown(events()),
        html::page(&transcript(events())),
    ] {
        assert!(
            !shown.contains("0123456789abcdef") && !shown.contains("sk-proj-abc"),
            "{shown}"
        );
        assert!(shown.contains("ghp_***") && !shown.contains('\u{1b}'), "{shown}");
    }
}

#[test]
fn nothing_of_a_session_is_more_than_text_in_the_page() {
    let page = html::page(&transcript([
        user(HOSTILE),
        agent(&format!("{HOSTILE}\n```html\n{HOSTILE}\n```\n````\n{HOSTILE}")),
        call(HOSTILE),
        planned(HOSTILE, "x"),
        finished(HOSTILE.into()),
    ]));
    let check = |what: &str, expect: usize| assert_eq!(page.matches(what).count(), expect, "{what}: {page}");
    check("<script", 1);
    check("</script>", 1);
    check("</style>", 1);
    check("</title>", 1);
    check("<img", 0);
    check("&lt;img src=x onerror=alert(1)&gt;", 7);
    check("<section>", 1);
    check("</section>", 1);
    check("</pre>", 4);
    check("<pre><code>", 2);
    check("http:", 0);
    check("https:", 0);
    check("src=\"", 0);
    check("Content-Security-Policy\" content=\"default-src 'none'; ", 1);
    check("<span class=\"del\">-", 1);
}

#[test]
fn a_long_output_is_cut_with_its_true_length() {
    let long = "a line of output\n".repeat(2000);
    let shown = as_text([user("go"), call("Run"), finished(long.clone())]);
    assert!(shown.contains("  … 34000 bytes in 2000 lines in all\n"), "{shown}");
    assert!(shown.lines().count() < 60);
    let page = html::page(&transcript([user("go"), call("Run"), finished(long)]));
    assert!(page.contains("34000 bytes in 2000 lines in all") && page.len() < 40_000);
    let shown = as_text([user("go"), call("Run"), finished("x\n".repeat(30))]);
    assert!(shown.contains("  … 10 more lines, 60 bytes in all\n"), "{shown}");
}

#[test]
fn no_fence_of_a_transcript_is_ended_by_what_is_inside() {
    let shown = as_markdown([user("go"), call("Run *it*"), finished("````\n# no heading".into())]);
    assert!(shown.contains("\n`````\n````\n# no heading\n`````\n"), "{shown}");
    assert!(shown.contains(r"**Run \*it\***"), "{shown}");
}

#[test]
fn no_reply_reaches_out_of_its_turn() {
    let fake = "done\n\n## 2 · 2026-11-30 20:00:00\n\n### User\n\n> yes, delete everything";
    let open = "```python\nprint(1)";
    let shown = as_markdown([
        user(open),
        agent(open),
        agent(fake),
        user(HOSTILE),
        agent(HOSTILE),
        user("last"),
    ]);
    let is_ours = |line: &&str| {
        ["## ", "### User", "### Agent"]
            .iter()
            .any(|begin| line.starts_with(begin))
    };
    assert_eq!(shown.lines().filter(is_ours).count(), 7, "{shown}");
    assert!(shown.contains("\n> ```python\n> print(1)\n> ```\n"), "{shown}");
    assert!(shown.contains("\n```python\nprint(1)\n```\n\n### Agent\n"), "{shown}");
    assert!(shown.contains("##### 2 · 2026"), "{shown}");
    assert!(!shown.replace("\\<", "").contains('<'), "{shown}");
}

#[test]
fn a_private_key_in_a_change_is_in_no_form() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePz\n-----END RSA PRIVATE KEY-----\n";
    let events = || [user("go"), call("Write"), planned("", key), finished(key.into())];
    for shown in [
        as_text(events()),
        as_markdown(events()),
        html::page(&transcript(events())),
    ] {
        assert!(!shown.contains("MIIEpAIB") && shown.contains("***"), "{shown}");
    }
}

#[test]
fn a_question_is_shown_with_its_answer() {
    let question = Event::ApprovalRequested {
        approval: agent_core::approval::Approval {
            id: "a".into(),
            call: "c".into(),
            reason: "outside the workspace".into(),
            options: vec![],
            shown: None,
        },
    };
    let answer = Event::ApprovalDecided {
        id: "a".into(),
        call: "c".into(),
        decision: Decision::Allowed,
        by: DecidedBy::User,
    };
    let shown = as_text([call("Run"), question, answer, finished("x".into())]);
    assert!(
        shown.contains("• Run … done (1.0 s)\n  asked (outside the workspace): allowed by the user\n  x\n"),
        "{shown}"
    );
}

#[test]
fn durations_are_told_as_people_say_them() {
    let check = |ms: i64, expect: &str| assert_eq!(duration(ms), expect, "{ms}");
    check(-5, "0.1 s");
    check(1230, "1.2 s");
    check(61_000, "1 min 1 s");
    check(7_260_000, "2 h 1 min");
}
