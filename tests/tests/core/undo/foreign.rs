//! What someone else has done to a file since is never lost without a word.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use agent_core::approval::{OptionKind, UserAnswer};
use talaria_tests::stage::Stage;

use super::{again, patch, read, replace, says_of, stage, told, tree, write};
use crate::{answering, nothing, runs};

/// A turn that changes, makes and deletes a file.
fn worked() -> Stage {
    let mut stage = stage(vec![vec![
        replace("a", "old", "new"),
        write("made/b", "b"),
        patch(&["*** Delete File: c"]),
    ]]);
    stage.file("a", "old").file("c", "c");
    stage.turn("go", nothing);
    assert_eq!(
        (stage.read("a"), stage.read("made/b"), stage.read("c")),
        ("new".into(), "b".into(), String::new())
    );
    stage
}

/// After someone else has done this, `/undo` touches nothing and says this of it; `/undo keep` leaves it and puts back the
/// rest.
#[track_caller]
fn check(meddle: impl Fn(&Path), expect: &str, can_force: bool) {
    for manner in ["keep", "force"] {
        let mut stage = worked();
        let folder = stage.folder.path().to_owned();
        meddle(&folder);
        let before = tree(&folder);
        let said = told(&mut stage, "/undo");
        assert!(
            said.contains(expect) && said.contains("`/undo keep`"),
            "{expect}: {said}"
        );
        assert_eq!(said.contains("`/undo force`"), can_force, "{said}");
        assert_eq!(tree(&folder), before, "{expect}");
        assert!(
            stage.replay().contains("prompt: go") || stage.replay().contains("go"),
            "the turn stands"
        );
        let said = told(&mut stage, &format!("/undo {manner}"));
        if manner == "force" && can_force {
            assert_eq!(
                tree(&folder)
                    .into_iter()
                    .map(|(name, (_, bytes))| (name, bytes))
                    .collect::<Vec<_>>(),
                [("a".to_owned(), b"old".to_vec()), ("c".to_owned(), b"c".to_vec())]
            );
            told(&mut stage, "/redo");
            assert_eq!(tree(&folder), before, "{expect}: what was there comes back");
        } else if manner == "force" {
            assert_eq!(tree(&folder), before, "{said}");
        } else {
            assert!(said.contains("Left as they are") && said.contains(expect), "{said}");
            let rest = [("a", "old"), ("c", "c")]
                .iter()
                .filter(|(name, text)| stage.read(name) == *text);
            assert!(rest.count() >= 1, "the rest is put back: {said}");
            told(&mut stage, "/redo");
            assert_eq!(tree(&folder), before);
        }
    }
}

#[test]
fn a_file_that_changed_since_is_left_alone() {
    check(
        |folder| fs::write(folder.join("a"), "theirs").unwrap(),
        "`a` has changed since",
        true,
    );
    check(
        |folder| fs::write(folder.join("a"), "").unwrap(),
        "`a` has changed since",
        true,
    );
    check(
        |folder| fs::remove_file(folder.join("a")).unwrap(),
        "`a` is gone since",
        true,
    );
    check(
        |folder| fs::write(folder.join("made/b"), "theirs").unwrap(),
        "`made/b` has changed since",
        true,
    );
    check(
        |folder| fs::write(folder.join("c"), "theirs").unwrap(),
        "`c` is there again",
        true,
    );
}

#[test]
fn a_folder_or_a_link_in_the_place_of_a_file_stays() {
    let to_folder = |folder: &Path| {
        fs::remove_file(folder.join("a")).unwrap();
        fs::create_dir(folder.join("a")).unwrap();
    };
    check(to_folder, "is a folder", false);
    let to_link = |folder: &Path| {
        fs::rename(folder.join("a"), folder.join("elsewhere")).unwrap();
        symlink("elsewhere", folder.join("a")).unwrap();
    };
    check(to_link, "leads to another file now", false);
    check(
        |folder| symlink("made", folder.join("c")).unwrap(),
        "leads to another file now",
        false,
    );
}

#[test]
fn a_file_that_its_owner_has_made_read_only_is_left_alone() {
    let mut stage = worked();
    let path = stage.folder.path().join("a");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    says_of(&mut stage, "/undo", &["`a` is read-only by now"]);
    says_of(&mut stage, "/undo force", &["Files put back"]);
    assert_eq!(stage.read("a"), "old");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444);
}

#[test]
fn what_others_put_into_a_folder_stays_with_it() {
    let mut stage = worked();
    stage.file("made/theirs", "x");
    says_of(&mut stage, "/undo", &["`made/b` (it is gone)"]);
    assert_eq!(stage.read("made/theirs"), "x");
    let mut stage = worked();
    says_of(&mut stage, "/undo", &["`made/b` (it is gone)"]);
    assert!(!stage.folder.path().join("made").exists());
}

#[test]
fn a_file_that_someone_put_back_already_is_none_to_worry_about() {
    let mut stage = worked();
    stage.file("a", "old");
    says_of(&mut stage, "/undo", &["`a` (it held that already)"]);
    assert_eq!((stage.read("a"), stage.read("c")), ("old".into(), "c".into()));
}

#[test]
fn a_redo_is_as_careful() {
    let mut stage = worked();
    told(&mut stage, "/undo");
    stage.file("a", "theirs");
    says_of(
        &mut stage,
        "/redo",
        &["`a` has changed since", "`/redo keep`", "`/redo force`"],
    );
    assert_eq!((stage.read("a"), stage.read("c")), ("theirs".into(), "c".into()));
    says_of(&mut stage, "/redo keep", &["Left as they are"]);
    assert_eq!((stage.read("a"), stage.read("made/b")), ("theirs".into(), "b".into()));
}

#[test]
fn what_a_forced_redo_overwrites_comes_back_with_the_next_undo() {
    let mut stage = worked();
    told(&mut stage, "/undo");
    stage.file("a", "theirs").file("c", "theirs as well");
    says_of(&mut stage, "/redo", &["`/undo` then brings back what they hold now"]);
    says_of(&mut stage, "/redo force", &["Files put back"]);
    assert_eq!((stage.read("a"), stage.read("made/b")), ("new".into(), "b".into()));
    let mut stage = again(stage, vec![]);
    for _ in 0..2 {
        says_of(&mut stage, "/undo", &["Taken back: `go`"]);
        let now = ["a", "made/b", "c"].map(|name| stage.read(name));
        assert_eq!(now, ["theirs", "", "theirs as well"]);
        says_of(&mut stage, "/redo", &["There again: `go`"]);
        let now = ["a", "made/b", "c"].map(|name| stage.read(name));
        assert_eq!(now, ["new", "b", ""]);
    }
}

#[test]
fn a_file_outside_of_the_folders_wants_a_word_of_its_own() {
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().canonicalize().unwrap().join("a");
    fs::write(&path, "old").unwrap();
    let name = path.display().to_string();
    let mut stage = stage(vec![vec![replace(&name, "old", "new")]]);
    stage.turn("go", answering(UserAnswer::Chose(OptionKind::AllowOnce)));
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    says_of(&mut stage, "/undo", &["lies outside this session's folders"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    says_of(&mut stage, "/undo force", &["Files put back"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
}

#[test]
fn what_someone_wrote_between_two_changes_is_not_overwritten_without_a_word() {
    let one = || replace("a", "0", "1");
    let two = || vec![read("a"), replace("a", "1", "2")];
    let mut between = stage(vec![vec![one()], two()]);
    between.file("a", "0");
    between.turn("one", nothing);
    between.file("a", "1 theirs");
    between.turn("two", nothing);
    let calls = [vec![one(), runs("echo theirs >> a")], two()].concat();
    let mut within = stage(vec![calls]);
    within.file("a", "0\n");
    within.turn("one", nothing);
    for (mut stage, command) in [(between, "/rewind 2"), (within, "/undo")] {
        let holds = stage.read("a");
        assert!(holds.starts_with('2') && holds.contains("theirs"), "{holds}");
        says_of(
            &mut stage,
            command,
            &["`a` was changed in between by something else", "keep`", "force`"],
        );
        assert_eq!(stage.read("a"), holds, "{command}");
        says_of(&mut stage, &format!("{command} force"), &["Files put back"]);
        assert_eq!(stage.read("a").trim(), "0");
        says_of(&mut stage, "/redo", &["Files put back"]);
        assert_eq!(stage.read("a"), holds);
        says_of(&mut stage, &format!("{command} keep"), &["Left as they are"]);
        assert_eq!(stage.read("a"), holds);
    }
}

#[test]
fn a_file_and_what_lies_in_its_place_are_left_together() {
    let mut stage = stage(vec![vec![
        patch(&["*** Delete File: d"]),
        write("d/x", "x"),
        write("e", "e"),
    ]]);
    stage.file("d", "d");
    stage.turn("go", nothing);
    let after = tree(stage.folder.path());
    let says = ["`d` is a folder by now", "`d/x` is where `d` would be"];
    says_of(&mut stage, "/undo", &says);
    says_of(&mut stage, "/undo force", &says);
    assert_eq!(tree(stage.folder.path()), after);
    says_of(&mut stage, "/undo keep", &says);
    assert_eq!((stage.read("d/x"), stage.read("e")), ("x".into(), String::new()));
}

#[test]
fn a_command_of_the_turn_may_have_changed_its_file() {
    let mut stage = stage(vec![vec![write("a", "a"), runs("echo more >> a")]]);
    stage.turn("go", nothing);
    says_of(
        &mut stage,
        "/undo",
        &[
            "`a` has changed since, perhaps by a command of the turn",
            "`/undo force`",
        ],
    );
    let holds = stage.read("a");
    says_of(&mut stage, "/undo force", &["`a` (it is gone)"]);
    told(&mut stage, "/redo");
    assert_eq!(stage.read("a"), holds);
}

#[test]
fn a_name_in_the_answer_hides_nothing() {
    let name = "b\u{1b}[1m\u{202e}";
    let mut stage = stage(vec![vec![write(name, "x")]]);
    stage.turn("go", nothing);
    let path = stage.folder.path().join(name);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    for command in ["/undo", "/undo keep"] {
        let said = told(&mut stage, command);
        assert!(said.contains("`b\\u{1b}[1m\\u{202e}` is a folder by now"), "{said}");
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said}");
    }
}
