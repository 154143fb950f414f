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
