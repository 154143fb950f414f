//! The document of scripts: what it shows is played as it says.

use serde_json::Value;
use talaria_tests::client::{Home, run};

#[test]
fn the_script_of_the_document_is_played() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/script.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (_, rest) = document.split_once("```json\n").unwrap();
    let (script, _) = rest.split_once("\n```\n").unwrap();
    let home = Home::with_script(&serde_json::from_str::<Value>(script).unwrap());
    std::fs::write(home.workspace().join("a.txt"), "hello\n").unwrap();
    let (status, answer, side) = run(home.command(&["run", "go"]), "");
    assert!(status.success(), "{side}");
    assert_eq!(answer, "Let me look.\nIt says hahaha.\n");
    for part in ["The file comes first.", "• Read a.txt … done", "busy"] {
        assert!(side.contains(part), "{part}: {side}");
    }
}

#[test]
fn setup_saves_no_script_that_can_not_be_played() {
    let home = Home::new();
    let path = home.workspace().join("demo.json");
    let setup = |more: &[&str]| {
        let mut command = home.command(&["setup", "--provider", "demo", "--api", "script", "--base-url"]);
        command.arg(&path).args(more);
        run(command, "")
    };
    for (script, why) in [
        (None, "can't read the script"),
        (Some("{\"replies\": [{\"step\": []}]}"), "at `replies[0].step`"),
        (Some("hello"), "makes no sense"),
    ] {
        if let Some(script) = script {
            std::fs::write(&path, script).unwrap();
        }
        let (status, _, side) = setup(&[]);
        assert_eq!(status.code(), Some(1), "{side}");
        assert!(
            side.contains(why) && side.contains("nothing was saved"),
            "{why}: {side}"
        );
        let (_, model, _) = run(home.command(&["models"]), "");
        assert!(!model.contains("demo"), "{model}");
    }
    assert!(setup(&["--no-check"]).0.success(), "it is not to be looked at");
    std::fs::write(&path, "{\"replies\": []}").unwrap();
    let (status, _, side) = setup(&[]);
    assert!(status.success(), "{side}");
}
