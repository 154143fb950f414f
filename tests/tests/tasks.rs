//! The ten tasks, done by a model that makes every mistake first: what it is told then, and that the task's own check
//! knows good work from bad.

#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};
use talaria_tests::client::Home;
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::stage::LIMIT;
use talaria_tests::start::config_of;
use talaria_tests::tasks::{TASKS, Verdict};

/// What the model does in a step.
enum Step {
    Call(&'static str, Value),
    /// A call whose arguments are this text.
    Garbled(&'static str, &'static str),
    Say(&'static str),
}

use Step::{Call, Garbled, Say};

impl Step {
    fn reply(&self, asked: &Asked) -> Reply {
        let id = format!("call-{}", asked.messages().len());
        match self {
            Call(name, input) => Reply::calls(&[(&id, name, input.clone())]),
            Garbled(name, text) => Reply::call_of_text(&id, name, text),
            Say(text) => Reply::text(text),
        }
    }
}

fn run(name: &str, steps: Vec<Step>) -> Verdict {
    let mut steps = steps.into_iter();
    let mock = Mock::answering(move |asked| match steps.next() {
        Some(step) => step.reply(asked),
        None => Reply::text("I have nothing more to do."),
    });
    let home = Home::with_config(&config_of(&mock, ""));
    let folder = tempfile::tempdir().unwrap();
    let task = TASKS.iter().find(|task| task.name == name).unwrap();
    task.run(folder.path(), LIMIT, |arguments| home.command(arguments))
}

/// The steps do the task, the tools' answers tell these things on the way, and doing nothing doesn't do it.
fn check(name: &str, steps: Vec<Step>, told: &[&str]) {
    let count = steps.len();
    let Verdict { result, work } = run(name, steps);
    let results: Vec<&str> = work.results().collect();
    assert_eq!(result, Ok(()), "{name}: {results:#?}");
    assert_eq!(
        (work.steps(), work.tokens("output")),
        (count, 5 * count as u64),
        "{name}"
    );
    let mut results = results.iter();
    for what in told {
        assert!(
            results.any(|text| text.contains(what)),
            "{name}: no {what:?} in its place: {:#?}",
            work.results().collect::<Vec<_>>()
        );
    }
    let idle = run(name, vec![Say("Done.")]);
    assert!(idle.result.is_err(), "{name} is done by doing nothing");
}

#[test]
fn find_by_a_call_that_is_no_json_and_a_tool_that_is_none() {
    let steps = vec![
        Garbled("search_files", "{\"pattern\": \"settle_account"),
        Call("find_symbol", json!({"name": "settle_account"})),
        Call("search_files", json!({"pattern": "settle_account\\(\\)"})),
        Say("It is defined in src/part7.sh:17."),
    ];
    check(
        "find",
        steps,
        &["JSON", "There is no tool `find_symbol`", "src/part7.sh"],
    );
}

#[test]
fn fix_by_a_change_of_what_is_no_longer_there() {
    let change = |old: &str, new: &str| {
        Call(
            "patch",
            json!({"path": "count.sh", "old_string": old, "new_string": new}),
        )
    };
    let steps = vec![
        Call("read_file", json!({"path": "count.sh"})),
        Call("terminal", json!({"command": "sed -i 's/-lt/-ne/' count.sh"})),
        change("[ \"$i\" -lt \"$1\" ]", "[ \"$i\" -le \"$1\" ]"),
        Call("read_file", json!({"path": "count.sh"})),
        change("[ \"$i\" -ne \"$1\" ]", "[ \"$i\" -le \"$1\" ]"),
        Say("Mended."),
    ];
    check("fix", steps, &["", "", "count.sh", "-ne"]);
}

#[test]
fn rename_by_one_patch_of_which_a_part_did_not_fit() {
    let patch = |again: &str| {
        let text = format!(
            "*** Begin Patch\n*** Update File: settings.sh\n@@\n-load() {{\n+load_settings() {{\n     cat colour.txt\n }}\n \n \
             reload() {{\n-    load\n+    load_settings\n }}\n*** Update File: main.sh\n@@\n-payload=$(load)\n\
             +payload=$(load_settings)\n*** Update File: again.sh\n@@\n-{again}\n+load_settings >/dev/null\n*** End Patch\n"
        );
        Call("patch", json!({ "patch": text }))
    };
    let steps = vec![
        Call("search_files", json!({"pattern": "\\bload\\b", "context": 2})),
        patch("load > /dev/zero"),
        patch("load >/dev/null"),
        Say("Renamed."),
    ];
    check("rename across files", steps, &["again.sh", "again.sh", "settings.sh"]);
}

#[test]
fn failing_test_by_a_second_try() {
    let write = |filter: &str| {
        let text = format!("slug() {{\n    printf '%s' \"$1\" | {filter}\n}}\n");
        Call("write_file", json!({"path": "slug.sh", "content": text}))
    };
    let test = || Call("terminal", json!({"command": "sh test.sh"}));
    let steps = vec![
        test(),
        Call("read_file", json!({"path": "slug.sh"})),
        write("tr 'A-Z' 'a-z' | tr -cs 'a-z0-9' '-'"),
        test(),
        write("tr 'A-Z' 'a-z' | tr -cs 'a-z0-9' '-' | sed 's/^-//; s/-$//'"),
        test(),
        Say("It passes."),
    ];
    check(
        "failing test",
        steps,
        &["two-spaces", "", "", "at-the-ends", "", "all is well"],
    );
}

#[test]
fn ambiguous_patch_by_more_of_its_surroundings() {
    let change = |old: &str, new: &str| {
        Call(
            "patch",
            json!({"path": "service.toml", "old_string": old, "new_string": new}),
        )
    };
    let steps = vec![
        Call("read_file", json!({"path": "service.toml"})),
        change("timeout = 30", "timeout = 60"),
        change(
            "[store]\nretries = 3\ntimeout = 30",
            "[store]\nretries = 3\ntimeout = 60",
        ),
        Say("The store waits for 60 seconds."),
    ];
    check("ambiguous patch", steps, &["", "3"]);
}

#[test]
fn long_output_by_a_filter_after_the_same_call_again_and_again() {
    let report = |command: &str| Call("terminal", json!({ "command": command }));
    let mut steps: Vec<Step> = (0..5).map(|_| report("sh report.sh")).collect();
    steps.push(report("sh report.sh | grep ^checksum"));
    steps.push(Say("The number is 59293."));
    let told = [
        "row 1 ",
        "row 1 ",
        "row 1 ",
        "row 1 ",
        "was not run again",
        "checksum 59293",
    ];
    check("long output", steps, &told);
}

#[test]
fn a_model_that_only_repeats_itself_has_not_done_the_task() {
    let report = || Call("terminal", json!({"command": "sh report.sh"}));
    let Verdict { result, work } = run("long output", (0..20).map(|_| report()).collect());
    assert_eq!(result, Err("ended by \"max_steps\"".to_owned()));
    assert_eq!(work.steps(), 7);
    assert_eq!(
        work.results().filter(|text| text.contains("was not run again")).count(),
        3
    );
}

#[test]
fn refusal_by_asking_and_letting_be() {
    let steps = vec![Call("terminal", json!({"command": "rm -r old"})), Say("REFUSED")];
    check("refusal", steps, &["Not run"]);
}

#[test]
fn big_file_by_a_search_instead_of_a_read() {
    let line = "record 07315 | shelf 40 | status: broken | seen in spring";
    let steps = vec![
        Call("read_file", json!({"path": "records.txt"})),
        Call("search_files", json!({"pattern": "status: broken"})),
        Call(
            "patch",
            json!({"path": "records.txt", "old_string": line, "new_string": line.replace("broken", "mended")}),
        ),
        Say("Mended."),
    ];
    check("big file", steps, &["record 00001", "07315"]);
}

#[test]
fn two_roots_by_the_path_of_the_other() {
    let steps = vec![
        Call("terminal", json!({"command": "cat ../other/version.txt"})),
        Call("read_file", json!({"path": "../other/version.txt"})),
        Call(
            "patch",
            json!({"path": "app.conf", "old_string": "0.0.0", "new_string": "4.18.3"}),
        ),
        Say("Written."),
    ];
    check("two roots", steps, &["4.18.3", "4.18.3"]);
}

#[test]
fn plan_by_a_list_with_a_status_that_is_none() {
    let list = |status: [&str; 3]| {
        let items = ["a.txt", "b.txt", "c.txt"].iter().zip(status);
        let items =
            items.map(|(name, status)| json!({"id": name, "content": format!("Write {name}"), "status": status}));
        Call("todo", json!({"items": items.collect::<Vec<_>>()}))
    };
    let write = |path: &str, content: &str| Call("write_file", json!({"path": path, "content": content}));
    let steps = vec![
        list(["begun", "open", "open"]),
        list(["in_progress", "pending", "pending"]),
        write("a.txt", "one\n"),
        write("b.txt", "two\n"),
        write("c.txt", "three\n"),
        list(["completed", "completed", "completed"]),
        Say("All three are written."),
    ];
    check("plan", steps, &["begun"]);
}
