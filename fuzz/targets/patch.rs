//! Changes of files. What must hold: a plan changes nothing; what it has shown is what is on disk afterwards, and no
//! other file differs; a change that fails leaves every file as it was; nothing panics.
//!
//! An input is parts that a line `%%` divides: the file `f`, then a patch; or the file, the text to replace, the one that
//! takes its place, and perhaps a fourth part for everywhere.

#![no_main]

use std::fs;
use std::path::Path;

use agent_core::cancel::Cancel;
use agent_core::change::FileChange;
use agent_core::plan::Plan;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use talaria_fuzz::room::{Contents, Room, Thing, run};

fuzz_target!(|bytes: &[u8]| {
    let parts = parts(bytes);
    let text = |index: usize| String::from_utf8_lossy(parts[index]);
    let input: Value = match parts.len() {
        0 | 1 => return,
        2 => json!({"patch": text(1)}),
        count => json!({"path": "f", "old_string": text(1), "new_string": text(2), "replace_all": count > 3}),
    };
    let room = Room::new();
    fs::write(room.work.join("f"), parts[0]).expect("a file can be written");
    fs::write(room.work.join("g"), "one\ntwo\nthree\n").expect("a file can be written");
    let before = room.contents();
    let planned = room.tool("patch").plan(&input, &Cancel::new());
    assert_eq!(room.contents(), before, "a plan has changed something");
    let Ok(planned) = planned else { return };
    let Plan::Change { changes } = planned.plan.clone() else {
        run(planned).expect_err("what is no change has failed");
        return assert_eq!(room.contents(), before, "a failure has changed something");
    };
    if !changes.iter().all(|change| change.place.real.starts_with(&room.work)) {
        // It would be asked about, and is nobody's to try.
        return;
    }
    check_old(&room, &before, &changes);
    match run(planned) {
        Ok(_) => check_new(&room, before, &changes),
        Err(error) => assert_eq!(room.contents(), before, "a failure has changed something: {error}"),
    }
});

/// The parts of an input.
fn parts(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(found) = bytes[at..].windows(4).position(|window| window == b"\n%%\n") {
        parts.push(&bytes[from..at + found]);
        from = at + found + 4;
        at = from;
    }
    parts.push(&bytes[from..]);
    parts
}

/// What is shown as old is what is there, where that is plain text.
fn check_old(room: &Room, before: &Contents, changes: &[FileChange]) {
    for change in changes {
        let found = before.get(name(room, change));
        if let (Some(Thing::File(bytes)), Some(old)) = (found, &change.old)
            && let Some(text) = plain(bytes)
            && !change.excerpt
        {
            assert_eq!(old, text, "the old text is another one");
        }
        assert_eq!(
            found.is_some(),
            change.old.is_some() || change.binary.is_some(),
            "a file that is not there"
        );
    }
}

/// What was shown as new is there, and all else is as before.
fn check_new(room: &Room, before: Contents, changes: &[FileChange]) {
    // A file that is moved keeps its encoding.
    let is_text = |thing: &Thing| !matches!(thing, Thing::File(bytes) if plain(bytes).is_none());
    let is_plain = before.values().all(is_text);
    let (mut expect, mut after) = (before, room.contents());
    for change in changes {
        let name = name(room, change);
        let found = after.remove(name);
        expect.remove(name);
        match (&found, &change.new) {
            (None, None) => {}
            (Some(Thing::File(bytes)), Some(new)) => {
                if is_plain && !change.excerpt {
                    assert_eq!(bytes, new.as_bytes(), "another text than was shown");
                }
            }
            _ => panic!("{} is {found:?}, and was shown as {:?}", name.display(), change.new),
        }
        // Folders come with the files in them.
        for folder in name.ancestors().skip(1) {
            after.remove(folder);
            expect.remove(folder);
        }
    }
    assert_eq!(after, expect, "something else has changed");
}

fn name<'a>(room: &Room, change: &'a FileChange) -> &'a Path {
    change.place.real.strip_prefix(&room.base).expect("it is in the room")
}

/// The text of a file that is in no encoding of its own.
fn plain(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes)
        .ok()
        .filter(|text| !text.starts_with('\u{feff}'))
}
