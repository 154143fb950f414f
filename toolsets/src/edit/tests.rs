//! Changes on real files, with others that write at the same time.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::held::sweep;
use crate::testing::Room;

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_is_written_where_its_plan_said(
        names in prop::collection::vec(prop::sample::select(vec!["a", "..", ".", "out", "in", "up", "dangling", ""]), 1..6),
    ) {
        let room = Room::new();
        let other = tempfile::tempdir().unwrap();
        let outside = other.path().canonicalize().unwrap();
        fs::create_dir(room.path("inside")).unwrap();
        for (target, name) in [(outside.as_path(), "out"), (Path::new("inside"), "in"), (Path::new("inside/.."), "up")] {
            symlink(target, room.path(name)).unwrap();
        }
        symlink(outside.join("new/file"), room.path("dangling")).unwrap();
        let name = names.join("/") + "/file";
        // A path that climbs out of the room would write into the test's own folder.
        let place = room.files.places.resolve(name.trim_start_matches('/')).unwrap();
        prop_assume!(place.real.starts_with(room.path("")) || place.real.starts_with(&outside));
        let mut edit = edit(&room, "x", Some("text"));
        edit.place = place.clone();
        prop_assume!(put(&room.files, &[edit], &Cancel::new()).is_ok());
        prop_assert_eq!(fs::canonicalize(&place.path).unwrap(), place.real.clone());
        prop_assert_eq!(fs::read_to_string(&place.real).unwrap(), "text");
    }
}

#[test]
fn what_a_process_left_that_died_while_it_wrote_goes() {
    let room = Room::new();
    // No process has a number beyond the system's greatest.
    let left = ["sub/.write-1073741825-0", "sub/.write-1073741826-17"];
    let others = [
        "sub/.write-1-0",
        "sub/.write-1073741825-x",
        "sub/.write-1073741825-",
        "sub/.write--1",
        "sub/.write-1073741825-0.txt",
    ];
    for name in left.iter().chain(&others) {
        room.write(name, "x");
    }
    // Not by a write: a folder that another test has swept and removed may have lent this one its number.
    let place = room.files.places.resolve("sub/a").unwrap();
    sweep(&Held::find(&place.real).unwrap()).unwrap();
    assert!(left.iter().all(|name| !room.path(name).exists()));
    assert!(others.iter().all(|name| room.path(name).exists()));
}

fn edit(room: &Room, name: &str, after: Option<&str>) -> Edit {
    try_edit(room, name, after).unwrap()
}

fn try_edit(room: &Room, name: &str, after: Option<&str>) -> Result<Edit, ToolError> {
    let place = room.files.places.resolve(name)?;
    Ok(Edit {
        before: room.files.load(&place)?,
        unsaved: None,
        after: after.map(|text| text.as_bytes().into()),
        known: true,
        mode: None,
        mode_now: None,
        shown: FileChange::new(place.clone(), None, after),
        place,
    })
}

/// The names of all files and folders below a folder that are not known.
fn others(folder: &Path, known: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for entry in ignore::WalkBuilder::new(folder).standard_filters(false).build() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.depth() > 0 && !known(&name) {
            found.push(name);
        }
    }
    found
}

/// Takes an edit's step, with something that happens right before the last look.
fn take(room: &Room, edit: &Edit, meanwhile: impl FnOnce()) -> Result<(), ToolError> {
    let step = edit.forth();
    let done = step.take(&mut Vec::new(), |held| {
        meanwhile();
        step.look(&room.files, held)
    });
    done.map_err(|fault| fault.told(&room.files, step.place))
}

#[test]
fn a_later_failure_takes_back_what_was_written() {
    let room = Room::new();
    room.write("a", "a1");
    room.write("gone", "g1");
    // A file where the last one needs a folder: its write fails after the others are done.
    let names = [
        ("a", Some("a2")),
        ("gone", None),
        ("new/deep/b", Some("b")),
        ("x", Some("x")),
        ("x/y", Some("y")),
    ];
    let edits = names.map(|(name, after)| edit(&room, name, after));
    let failed = put(&room.files, &edits, &Cancel::new()).unwrap_err();
    let error = failed.told(&room.files, &edits);
    assert!(error.message.contains("no file was changed"), "{error}");
    assert_eq!((room.text("a"), room.text("gone")), ("a1".to_owned(), "g1".to_owned()));
    assert!(!room.path("new").exists() && !room.path("x").exists());
}

#[test]
fn nothing_is_written_over_what_was_not_shown() {
    let room = Room::new();
    room.write("a", "a1");
    room.write("b", "b1");
    let edits = [
        edit(&room, "b", Some("b2")),
        edit(&room, "a", Some("a2")),
        edit(&room, "c", Some("c2")),
    ];
    for (name, content) in [("a", "other"), ("c", "other")] {
        room.write(name, content);
        let failed = put(&room.files, &edits, &Cancel::new()).unwrap_err();
        let error = failed.told(&room.files, &edits);
        assert!(error.message.contains("has changed since it was shown"), "{error}");
        assert_eq!((room.text(name), room.text("b")), ("other".to_owned(), "b1".to_owned()));
        room.write("a", "a1");
    }
}

#[test]
fn what_is_written_while_the_new_file_is_prepared_stays() {
    let room = Room::new();
    let check = |name: &str, after: Option<&str>, meanwhile: &dyn Fn(&Path), left: Option<&str>| {
        room.write("changed", "one\n");
        room.write("gone", "one\n");
        let edit = edit(&room, name, after);
        let error = take(&room, &edit, || meanwhile(&room.path(name))).unwrap_err();
        assert!(error.message.contains("has changed since it was shown"), "{error}");
        assert_eq!(fs::read_to_string(room.path(name)).ok().as_deref(), left, "{name}");
        assert_eq!(
            others(&room.path(""), |name| !name.starts_with(".write-")),
            Vec::<String>::new()
        );
    };
    let append = |path: &Path| {
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"two\n").unwrap();
    };
    check("changed", Some("new"), &append, Some("one\ntwo\n"));
    check("changed", None, &append, Some("one\ntwo\n"));
    check("gone", Some("new"), &|path| fs::remove_file(path).unwrap(), None);
    check(
        "new",
        Some("new"),
        &|path| fs::write(path, "other").unwrap(),
        Some("other"),
    );
}

#[test]
fn a_file_is_written_in_the_folder_that_was_looked_at() {
    for (name, after, expect) in [
        ("sub/file", Some("new"), Some("new")),
        ("sub/file", None, None),
        ("sub/new", Some("new"), Some("new")),
    ] {
        let room = Room::new();
        let other = tempfile::tempdir().unwrap();
        room.write("sub/file", "old");
        fs::write(other.path().join("file"), "old").unwrap();
        let edit = edit(&room, name, after);
        take(&room, &edit, || {
            fs::rename(room.path("sub"), room.path("moved")).unwrap();
            symlink(other.path(), room.path("sub")).unwrap();
        })
        .unwrap();
        let written = room.path(&name.replace("sub", "moved"));
        assert_eq!(fs::read_to_string(written).ok().as_deref(), expect);
        assert_eq!(fs::read_to_string(other.path().join("file")).unwrap(), "old");
        assert_eq!(others(other.path(), |name| name == "file"), Vec::<String>::new());
    }
}

#[test]
fn a_folder_that_became_a_link_is_not_gone_through() {
    let room = Room::new();
    let other = tempfile::tempdir().unwrap();
    room.write("sub/file", "old");
    let edits = [
        edit(&room, "sub/file", Some("new")),
        edit(&room, "sub/deep/new", Some("new")),
    ];
    fs::rename(room.path("sub"), room.path("moved")).unwrap();
    symlink(other.path(), room.path("sub")).unwrap();
    for edit in &edits {
        let error = take(&room, edit, || {}).unwrap_err();
        assert!(error.message.contains("leads to another file now"), "{error}");
    }
    assert_eq!(others(other.path(), |_| false), Vec::<String>::new());
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn folders_that_change_places_all_the_time_lead_nowhere_else() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    const ROUNDS: usize = 2000;
    let room = Room::new();
    let other = tempfile::tempdir().unwrap();
    let outside = other.path().canonicalize().unwrap();
    fs::write(outside.join("file"), "old").unwrap();
    room.write("sub/file", "old");
    symlink(&outside, room.path("link")).unwrap();
    let (sub, link) = (room.path("sub"), room.path("link"));
    let stop = AtomicBool::new(false);
    let mut done = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &sub, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for round in 0..ROUNDS {
            let (name, after) = match round % 4 {
                0 => ("sub/file".to_owned(), Some(round.to_string())),
                1 => (format!("sub/made{round}"), Some("new".to_owned())),
                2 => (format!("sub/made-folder{round}/made"), Some("new".to_owned())),
                _ => (format!("sub/made{}", round - 2), None),
            };
            // A path that leads out when it is planned would be asked about.
            let edit = try_edit(&room, &name, after.as_deref());
            let inside = edit.ok().filter(|edit| edit.place.real.starts_with(room.path("")));
            let some = inside.filter(|edit| edit.before != edit.after);
            done += usize::from(some.is_some_and(|edit| put(&room.files, &[edit], &Cancel::new()).is_ok()));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(done > 0, "no edit came through");
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "old");
    assert_eq!(others(&outside, |name| name == "file"), Vec::<String>::new());
    let known = |name: &str| ["sub", "link", "file"].contains(&name) || name.starts_with("made");
    assert_eq!(others(&room.path(""), known), Vec::<String>::new());
}

#[test]
fn what_others_wrote_over_a_part_of_a_failed_change_stays() {
    let room = Room::new();
    for name in ["a", "b", "gone"] {
        room.write(name, "old");
    }
    let edits = [
        ("a", Some("new")),
        ("b", Some("new")),
        ("gone", None),
        ("made", Some("new")),
    ]
    .map(|(name, after)| edit(&room, name, after));
    put(&room.files, &edits, &Cancel::new()).unwrap();
    for name in ["a", "gone", "made"] {
        room.write(name, "newer");
    }
    let way_back = WayBack {
        done: edits.iter().collect(),
        folders: Vec::new(),
    };
    let error = way_back.run(&room.files).behind("a fault");
    assert_eq!(
        error.message,
        "a fault; these files were changed by this call and then by someone else, and stay so: made, gone, a"
    );
    let now = ["a", "gone", "made", "b"].map(|name| room.text(name));
    assert_eq!(now, ["newer", "newer", "newer", "old"]);
}

#[test]
fn each_file_that_cannot_be_put_back_says_why() {
    let room = Room::new();
    for name in ["a", "sub/b"] {
        room.write(name, "old");
    }
    let edits = [("a", Some("new")), ("sub/b", Some("new"))].map(|(name, after)| edit(&room, name, after));
    put(&room.files, &edits, &Cancel::new()).unwrap();
    // The folder has become a file.
    fs::rename(room.path("sub"), room.path("moved")).unwrap();
    room.write("sub", "other");
    let way_back = WayBack {
        done: edits.iter().collect(),
        folders: Vec::new(),
    };
    let error = way_back.run(&room.files).behind("a fault");
    assert_eq!(
        error.message,
        "a fault; these files could not be put back: sub/b (cannot write sub/b: Not a directory (os error 20))"
    );
    assert_eq!(room.text("a"), "old");
}

#[test]
fn no_folders_are_made_deeper_than_a_path_can_name() {
    let room = Room::new();
    let place = room.files.places.resolve(&"x/".repeat(5000)).unwrap();
    let mut deep = edit(&room, "x", Some("text"));
    deep.place = place;
    let edits = [deep];
    let failed = put(&room.files, &edits, &Cancel::new()).unwrap_err();
    let error = failed.told(&room.files, &edits);
    assert!(error.message.contains("too long"), "{error}");
    assert!(!room.path("x").exists());
}

#[test]
fn a_cancel_between_two_files_takes_back_the_first() {
    let room = Room::new();
    room.write("a", "old");
    let edits = [("a", Some("new")), ("b", Some("new"))].map(|(name, after)| edit(&room, name, after));
    let cancel = Cancel::new();
    cancel.set();
    let starts = starts(&room.files, &edits, &Cancel::new()).unwrap();
    let stopped = make_all(&room.files, &edits, starts, &cancel).err().unwrap();
    let failed = stopped.take_back(&room.files);
    assert_eq!((failed.edit, failed.rest()), (1, None));
    assert!(room.text("a") == "old" && !room.path("b").exists());
}
