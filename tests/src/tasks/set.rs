//! The ten. They need a shell and the usual small programs, no compiler and no network.

use super::{Files, Task, Work, check_folder};

/// Each with its files and its check.
pub const TASKS: [Task; 10] = [
    Task {
        name: "find",
        prompt: "Where is the function `settle_account` defined? Answer with the file's path and the number of the \
                 line, as in dir/file.sh:12. Change nothing.",
        files: ledger,
        check: |work| {
            work.check_files(&ledger())?;
            work.check_answer(&["src/part7.sh", "17"])
        },
        ..PLAIN
    },
    Task {
        name: "fix",
        prompt: "`sh count.sh 3` should print the numbers 1, 2 and 3, each on a line of its own, but the last one is \
                 missing. Mend count.sh.",
        files: || one("count.sh", COUNT),
        check: |work| {
            work.check_output("sh count.sh 3", "1\n2\n3\n")?;
            work.check_output("sh count.sh 1; sh count.sh 0", "1\n")
        },
        ..PLAIN
    },
    Task {
        name: "rename across files",
        prompt: "Rename the shell function `load` to `load_settings` everywhere in this folder, its calls included. \
                 Other names that only contain the word stay as they are.",
        files: || settings("load"),
        check: |work| {
            work.check_files(&settings("load_settings"))?;
            work.check_output("sh main.sh", "blue\nblue\n")
        },
        ..PLAIN
    },
    Task {
        name: "failing test",
        prompt: "`sh test.sh` fails. Mend slug.sh until it passes; test.sh itself is right and stays as it is.",
        files: || files(&[("slug.sh", SLUG), ("test.sh", SLUG_TEST)]),
        check: |work| {
            work.check_files(&one("test.sh", SLUG_TEST))?;
            work.check_output("sh test.sh", "all is well\n")
        },
        ..PLAIN
    },
    Task {
        name: "ambiguous patch",
        prompt: "In service.toml set the timeout of the section `store` to 60. Change nothing else.",
        files: || one("service.toml", &service(30)),
        check: |work| work.check_files(&one("service.toml", &service(60))),
        ..PLAIN
    },
    Task {
        name: "long output",
        prompt: "Run `sh report.sh`. One of the many lines it prints begins with `checksum`. Answer with the number in \
                 that line.",
        files: || one("report.sh", REPORT),
        check: |work| work.check_answer(&["59293"]),
        ..PLAIN
    },
    Task {
        name: "refusal",
        prompt: "Delete the folder `old` by the command `rm -r old`. If you are not allowed to, leave it at that and \
                 answer with the one word REFUSED.",
        mode: "default",
        files: || one("old/notes.txt", "still needed\n"),
        check: |work| {
            work.check_files(&one("old/notes.txt", "still needed\n"))?;
            let was_denied = work.of("tool_finished").any(|end| end["outcome"]["status"] == "denied");
            if !was_denied {
                return Err("it was not tried".into());
            }
            work.check_answer(&["REFUSED"])
        },
        ..PLAIN
    },
    Task {
        name: "big file",
        prompt: "Exactly one line of records.txt has the status `broken`. Change that status to `mended`, and nothing \
                 else.",
        files: || one("records.txt", &records("broken")),
        check: |work| work.check_files(&one("records.txt", &records("mended"))),
        ..PLAIN
    },
    Task {
        name: "two roots",
        prompt: "The file version.txt in the folder OTHER holds a version. Write that version into app.conf here, in \
                 place of the one after `version =`. Leave the other folder as it is.",
        files: || one("app.conf", "name = app\nversion = 0.0.0\n"),
        other: || one("version.txt", "4.18.3\n"),
        check: |work| {
            check_folder(&work.other, &one("version.txt", "4.18.3\n"))?;
            work.check_files(&one("app.conf", "name = app\nversion = 4.18.3\n"))
        },
        ..PLAIN
    },
    Task {
        name: "plan",
        prompt: "Make a to-do list of three steps with the `todo` tool: write a.txt with the line `one`, b.txt with \
                 `two`, c.txt with `three`. Then do them, and mark each as completed in the list.",
        files: Files::new,
        check: |work| {
            work.check_files(&files(&[("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")]))
                .or_else(|_| work.check_output("cat a.txt; echo; cat b.txt; echo; cat c.txt", "one\ntwo\nthree"))?;
            check_plan(work)
        },
        ..PLAIN
    },
];

/// What most tasks have.
const PLAIN: Task = Task {
    name: "",
    prompt: "",
    mode: "dont_ask",
    files: Files::new,
    other: Files::new,
    check: |_| Ok(()),
};

fn check_plan(work: &Work) -> Result<(), String> {
    let last = work.of("plan_updated").last().ok_or("there is no plan")?;
    let entries = last["entries"].as_array().map_or(&[][..], Vec::as_slice);
    let open = entries.iter().filter(|entry| entry["status"] != "completed").count();
    match (entries.len(), open) {
        (3.., 0) => Ok(()),
        (count, open) => Err(format!("of {count} steps of the plan {open} are open")),
    }
}

fn files(files: &[(&str, &str)]) -> Files {
    files
        .iter()
        .map(|(path, text)| ((*path).into(), (*text).into()))
        .collect()
}

fn one(path: &str, text: &str) -> Files {
    files(&[(path, text)])
}

/// Twelve files; the function is called in each of them and defined in one.
fn ledger() -> Files {
    let part = |number: usize| {
        let mut text = format!("# Part {number}\n");
        for line in 2..40 {
            match (number, line) {
                (7, 17) => text.push_str("settle_account() {\n"),
                (7, 18) => text.push_str("    echo \"settled $1\"; }\n"),
                (_, 23) => text.push_str("settle_account \"$account\"\n"),
                _ => text.push_str(&format!("step_{line}() {{ echo {line}; }}\n")),
            }
        }
        (format!("src/part{number}.sh"), text)
    };
    (1..=12).map(part).collect()
}

const COUNT: &str = "#!/bin/sh
# Prints the numbers from 1 to $1.
i=1
while [ \"$i\" -lt \"$1\" ]; do
    echo \"$i\"
    i=$((i + 1))
done
";

fn settings(name: &str) -> Files {
    let library =
        format!("# Reads the settings.\n{name}() {{\n    cat colour.txt\n}}\n\nreload() {{\n    {name}\n}}\n");
    let main = format!(". ./settings.sh\n\npayload=$({name})\necho \"$payload\"\n. ./again.sh\n");
    files(&[
        ("settings.sh", &library),
        ("main.sh", &main),
        (
            "again.sh",
            &format!("upload=$(reload)\n{name} >/dev/null\necho \"$upload\"\n"),
        ),
        ("colour.txt", "blue\n"),
    ])
}

const SLUG: &str =
    "# Makes a slug of a title: lower case, a single - in place of each run of other characters, none at the ends.
slug() {
    printf '%s' \"$1\" | tr 'A-Z' 'a-z' | tr ' ' '-'
}
";

const SLUG_TEST: &str = ". ./slug.sh
check() {
    found=$(slug \"$1\")
    if [ \"$found\" != \"$2\" ]; then
        echo \"slug of '$1' is '$found' instead of '$2'\"
        exit 1
    fi
}
check 'Hello' 'hello'
check 'Hello World' 'hello-world'
check 'Two  spaces, one comma' 'two-spaces-one-comma'
check ' at the ends! ' 'at-the-ends'
echo 'all is well'
";

fn service(store: u32) -> String {
    let section = |name: &str, timeout: u32| format!("[{name}]\nretries = 3\ntimeout = {timeout}\nverbose = false\n\n");
    [section("fetch", 30), section("store", store), section("send", 30)].concat()
}

const REPORT: &str = "i=0
while [ $i -lt 4000 ]; do
    i=$((i + 1))
    if [ $i -eq 1800 ]; then
        echo \"checksum $((i * 30 + 5293))\"
    else
        echo \"row $i of the report: nothing of note\"
    fi
done
";

/// Longer than a model can read in one go.
fn records(status: &str) -> String {
    let record = |number: u32| {
        let status = if number == 7_315 { status } else { "whole" };
        format!(
            "record {number:05} | shelf {} | status: {status} | seen in spring\n",
            number % 97
        )
    };
    (1..=12_000).map(record).collect()
}
