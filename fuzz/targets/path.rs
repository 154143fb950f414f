//! The places that paths lead to. What must hold: every tool means the same place by the same path; a place that is said
//! to be inside the session's folder really is, by the system's own word, and a file that is written there changes
//! nothing outside; nothing panics.
//!
//! An input is lines: `NAME > TARGET` makes a link in the session's folder, any other line is a path; `%W` and `%O` stand
//! for the session's folder and one outside.

#![no_main]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use agent_core::cancel::Cancel;
use agent_core::plan::{Place, Plan};
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use talaria_fuzz::room::{Contents, Room, run};

/// More of them would only take longer.
const MOST: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    let room = Room::new();
    let outside = room.base.join("outside");
    for folder in [outside.clone(), room.work.join("a/b"), room.work.join("c")] {
        fs::create_dir_all(folder).expect("a folder can be made");
    }
    for file in [outside.join("secret"), room.work.join("f"), room.work.join("a/b/g")] {
        fs::write(file, "text\n").expect("a file can be written");
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.replace("%W", &room.work.display().to_string());
    let text = text.replace("%O", &outside.display().to_string());
    let (links, paths): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.contains(" > "));
    for (name, target) in links.iter().take(MOST).filter_map(|line| line.split_once(" > ")) {
        link(&room, name, target);
    }
    for path in paths.into_iter().take(MOST) {
        check(&room, path);
    }
});

/// Makes a link in the session's folder, or nothing where it would be anywhere else.
fn link(room: &Room, name: &str, target: &str) {
    let name = Path::new(name);
    let is_inside = name.components().all(|part| matches!(part, Component::Normal(_)));
    let parent = room
        .work
        .join(name)
        .parent()
        .and_then(|parent| parent.canonicalize().ok());
    if is_inside && parent.is_some_and(|parent| parent.starts_with(&room.work)) {
        // A name that is taken, or none, makes no link.
        let _ = symlink(target, room.work.join(name));
    }
}

fn check(room: &Room, path: &str) {
    let write = room
        .tool("write_file")
        .plan(&json!({"path": path, "content": "written\n"}), &Cancel::new());
    let read = room.tool("read_file").plan(&json!({"path": path}), &Cancel::new());
    let search = room
        .tool("search_files")
        .plan(&json!({"path": path, "pattern": "x"}), &Cancel::new());
    let named = [&read, &search, &write].into_iter().flatten();
    let places: Vec<Place> = named.flat_map(|planned| places(&planned.plan)).collect();
    for place in &places {
        assert_eq!(place, &places[0], "one path is two places");
        check_place(room, place, path);
    }
    let Ok(planned) = write else { return };
    let Some(place) = places.last().filter(|place| place.real.starts_with(&room.work)) else {
        return;
    };
    let before = beside(room);
    // The system can't follow every link that is resolved here: not one to a file as if it were a folder.
    if run(planned).is_ok()
        && let Ok(found) = place.path.canonicalize()
    {
        assert_eq!(found, place.real, "it was written elsewhere");
    }
    assert_eq!(beside(room), before, "something outside has changed");
}

fn places(plan: &Plan) -> Vec<Place> {
    match plan {
        Plan::Read { places } => places.clone(),
        Plan::Change { changes } => changes.iter().map(|change| change.place.clone()).collect(),
        Plan::Inward | Plan::Command(_) | Plan::Fetch { .. } | Plan::Input { .. } | Plan::Foreign(_) => Vec::new(),
    }
}

/// The place is what the path says, and its real path is the system's.
fn check_place(room: &Room, place: &Place, path: &str) {
    assert_eq!(
        place.path,
        lexical(&room.work.join(path)),
        "another place than was named"
    );
    if let Ok(real) = place.path.canonicalize() {
        return assert_eq!(place.real, real, "not where it is");
    }
    let is_plain = place
        .real
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    assert!(is_plain, "a real path has steps back: {}", place.real.display());
    for folder in place
        .real
        .ancestors()
        .filter(|folder| folder.symlink_metadata().is_ok())
    {
        assert_eq!(
            folder.canonicalize().ok().as_deref(),
            Some(folder),
            "a link is in a real path"
        );
    }
}

/// A path without `.` and `..`, by its text alone.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// All that is beside the session's folder.
fn beside(room: &Room) -> Contents {
    let mut contents = room.contents();
    contents.retain(|name, _| !name.starts_with("work"));
    contents
}
