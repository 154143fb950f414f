//! What a command's text says about it. What must hold: it is judged in time and always the same way; what would run
//! unasked is made of simple commands with literal words, as told by rules that know no grammar; no text runs unasked
//! with a command behind it that writes; what is asked about has a reason; nothing panics.

#![no_main]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, LazyLock};

use agent_core::cancel::Cancel;
use agent_core::plan::{CommandFacts, Plan};
use agent_core::tool::Tool;
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use talaria_fuzz::room::Room;

/// What is put behind a text.
const BEHIND: [&str; 6] = [
    "; touch x",
    "\ntouch x",
    " && touch x",
    "\n\n  rm f\n",
    ";touch x;",
    " | tee x",
];

/// A folder with what commands name; no command is ever run in it.
static ROOM: LazyLock<(Room, Arc<dyn Tool>)> = LazyLock::new(|| {
    let room = Room::new();
    for folder in ["src/deep", ".git/hooks", "keys/.ssh"] {
        fs::create_dir_all(room.work.join(folder)).expect("a folder can be made");
    }
    for file in ["f", "src/a.rs", "src/b c.rs", "keys/.env", "Cargo.toml", "README.md"] {
        fs::write(room.work.join(file), "text\n").expect("a file can be written");
    }
    symlink("/", room.work.join("out")).expect("a link can be made");
    symlink("nowhere", room.work.join("dangling")).expect("a link can be made");
    let terminal = room.tool("terminal");
    // The login shell is asked for its PATH once, and not as a part of any input.
    terminal.get_ready(&Cancel::new(), &mut |_| {});
    (room, terminal)
});

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Some(facts) = judge(&text) else { return };
    assert_eq!(judge(&text).as_ref(), Some(&facts), "judged in two ways");
    let input = json!({"command": text});
    let (_, terminal) = &*ROOM;
    assert!(terminal.title(&input).chars().count() < 200);
    assert_eq!(terminal.only_reads(&input), facts.read_only);
    if facts.read_only {
        assert!(facts.forbidden.is_none() && facts.doubt.is_none(), "{facts:?}");
        assert!(is_simple(&text), "{text:?} would run unasked");
    } else {
        assert!(
            facts.forbidden.is_some() || facts.doubt.is_some(),
            "{text:?} has no reason"
        );
    }
    if facts.exact.is_some() {
        assert!(is_simple(&text), "{text:?} would be granted: {facts:?}");
    }
    for behind in BEHIND {
        let longer = format!("{text}{behind}");
        let runs = judge(&longer).is_some_and(|facts| facts.read_only);
        assert!(!runs, "{longer:?} would run unasked");
    }
});

/// What is read from a text; none of one that is no command at all.
fn judge(text: &str) -> Option<CommandFacts> {
    let (_, terminal) = &*ROOM;
    let planned = terminal.plan(&json!({"command": text}), &Cancel::new()).ok()?;
    match planned.plan {
        Plan::Command(plan) => Some(plan.facts),
        other => panic!("a command is planned as {other:?}"),
    }
}

/// Whether nothing in a text can be anything but words, blanks, what joins commands, and redirections to nowhere.
fn is_simple(text: &str) -> bool {
    if text
        .chars()
        .any(|char| char.is_control() && char != '\n' && char != '\t')
    {
        return false;
    }
    let (mut bare, mut rest) = (String::new(), text.chars());
    while let Some(char) = rest.next() {
        match char {
            '\'' => match rest.as_str().split_once('\'') {
                Some((_, behind)) => rest = behind.chars(),
                None => return false,
            },
            '"' => match rest.as_str().split_once('"') {
                Some((inside, _)) if inside.contains(['$', '`']) || inside.ends_with('\\') => return false,
                Some((_, behind)) => rest = behind.chars(),
                None => return false,
            },
            char => bare.push(char),
        }
    }
    let joins = |char: char| "-_./,:=+@%^ \t\n;|&<>".contains(char);
    bare.chars().all(|char| char.is_ascii_alphanumeric() || joins(char)) && only_to_nowhere(&bare)
}

/// Whether each redirection leads to nothing or to another output, and nothing is put in the background.
fn only_to_nowhere(bare: &str) -> bool {
    let mut rest = bare;
    while let Some(at) = rest.find(['<', '>']) {
        let behind = rest[at + 1..].trim_start_matches(['>', ' ', '\t']);
        let target = ["/dev/null", "&1", "&2", "& 1", "& 2"]
            .into_iter()
            .find(|target| behind.starts_with(target));
        let Some(target) = target else { return false };
        if rest[..at].replace("&&", "").trim_end_matches('&').contains('&') {
            return false;
        }
        rest = &behind[target.len()..];
    }
    !rest.replace("&&", "").contains('&')
}
