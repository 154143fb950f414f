//! The shape of the project, held by a test: who may depend on whom, what the core does without, how text is kept.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const CRATES: [&str; 5] = ["agent_core", "providers", "toolsets", "acp_adapter", "cli"];

/// Folders that are no part of the project.
const LEFT_OUT: [&str; 4] = ["target", ".git", "corpus", "artifacts"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// All files that are part of the project, with their text; images and the like left out.
fn files() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, files: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !LEFT_OUT.contains(&name.as_str()) {
                walk(&path, files);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files.push((path, text));
            }
        }
    }
    let mut files = Vec::new();
    walk(&root(), &mut files);
    files.sort();
    files
}

fn sources(crate_name: &str) -> Vec<(PathBuf, String)> {
    let folder = root().join(crate_name).join("src");
    let is_source = |path: &Path| path.starts_with(&folder) && path.extension().is_some_and(|end| end == "rs");
    files().into_iter().filter(|(path, _)| is_source(path)).collect()
}

/// The sources of the fuzz targets and what they share.
fn fuzz_sources() -> Vec<(PathBuf, String)> {
    let is_source = |path: &Path| path.extension().is_some_and(|end| end == "rs");
    let below = |folder: &str| root().join("fuzz").join(folder);
    let is_fuzz = |path: &Path| path.starts_with(below("src")) || path.starts_with(below("targets"));
    files()
        .into_iter()
        .filter(|(path, _)| is_fuzz(path) && is_source(path))
        .collect()
}

/// The workspace's own crates that a crate builds with.
fn own_dependencies(crate_name: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == crate_name).unwrap();
    let dependencies = package["dependencies"].as_array().unwrap().iter();
    let built_with = dependencies.filter(|dependency| dependency["kind"].is_null());
    let names = built_with.map(|dependency| dependency["name"].as_str().unwrap().to_owned());
    let mut own: Vec<String> = names.filter(|name| CRATES.contains(&name.as_str())).collect();
    own.sort();
    own
}

#[test]
fn crates_depend_only_inward() {
    assert_eq!(own_dependencies("agent_core"), Vec::<String>::new());
    for edge in ["providers", "toolsets", "acp_adapter"] {
        assert_eq!(own_dependencies(edge), ["agent_core"], "{edge}");
    }
    assert_eq!(
        own_dependencies("cli"),
        ["acp_adapter", "agent_core", "providers", "toolsets"]
    );
}

#[test]
fn the_core_is_synchronous_and_alone() {
    let absent = [
        "async fn",
        "async move",
        "tokio",
        "reqwest",
        "agent_client_protocol",
        "println!",
        "eprintln!",
        "std::env::",
        "stdin()",
        "stdout()",
    ];
    for (path, text) in sources("agent_core") {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            let found = absent.iter().find(|word| line.contains(**word));
            assert_eq!(found, None, "{}: {line}", path.display());
        }
    }
}

#[test]
fn unsafe_code_is_in_one_file() {
    for crate_name in CRATES {
        for (path, text) in sources(crate_name) {
            let is_the_one = path.ends_with("toolsets/src/process/sys.rs");
            assert!(is_the_one || !text.contains("unsafe {"), "{}", path.display());
        }
    }
}

#[test]
fn every_module_says_what_it_is() {
    for sources in CRATES.map(sources).into_iter().chain([fuzz_sources()]) {
        for (path, text) in sources {
            let is_tests = path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests");
            assert!(is_tests || text.starts_with("//! "), "{} has no head", path.display());
        }
    }
}

#[test]
fn files_stay_small_enough_to_be_read() {
    // A file past this has usually taken in a second noun.
    const LONGEST: usize = 600;
    for sources in CRATES.map(sources).into_iter().chain([fuzz_sources()]) {
        for (path, text) in sources {
            let lines = text.lines().count();
            assert!(lines <= LONGEST, "{}: {lines} lines", path.display());
        }
    }
}

#[test]
fn each_fuzz_target_says_what_holds_and_has_seeds() {
    let fuzz = root().join("fuzz");
    let names = |folder: &str, end: &str| -> BTreeSet<String> {
        let entries = std::fs::read_dir(fuzz.join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.map(|name| name.strip_suffix(end).unwrap().to_owned()).collect()
    };
    let targets = names("targets", ".rs");
    assert_eq!(names("seeds", ""), targets);
    assert_eq!(names("dictionaries", ".txt"), targets);
    let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    let document = std::fs::read_to_string(root().join("docs/testing.md")).unwrap();
    let mut bytes = 0;
    for target in &targets {
        let text = std::fs::read_to_string(fuzz.join(format!("targets/{target}.rs"))).unwrap();
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        assert!(
            head.join(" ").contains("What must hold"),
            "{target} does not say what must hold"
        );
        assert!(
            manifest.contains(&format!("name = \"{target}\"")),
            "{target} is not built"
        );
        assert!(
            document.contains(&format!("| `{target}` |")),
            "{target} is in no document"
        );
        let seeds = std::fs::read_dir(fuzz.join("seeds").join(target)).unwrap();
        bytes += seeds.map(|seed| seed.unwrap().metadata().unwrap().len()).sum::<u64>();
    }
    assert!(bytes < 300 * 1024, "{bytes} bytes of seeds");
}

#[test]
fn nothing_is_left_open() {
    // Put together at run time, so that this file does not find itself.
    let marks = ["TODO", "FIXME", "XXX"].map(|mark| format!("{mark}:"));
    for (path, text) in files() {
        for mark in &marks {
            assert!(!text.contains(mark.as_str()), "{}: {mark}", path.display());
        }
    }
}

#[test]
fn the_architecture_names_each_thread() {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, table) = text.split_once("| thread | how many |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let named = rows.flat_map(|row| quoted(row.split('|').nth(1).unwrap()).collect::<Vec<_>>());
    let told: BTreeSet<&str> = named.filter(|name| *name != "main").collect();

    let sources = CRATES.map(sources).concat();
    // Where a name is given, by itself or through a function that takes one.
    let given = [
        ".name(\"",
        ".name(format!(\"",
        ".thread_name(\"",
        " watch(\"",
        " Pool::new(\"",
        "Background::new(\"",
    ];
    let mut found = BTreeSet::new();
    for (_, text) in &sources {
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for before in given {
            found.extend(text.split(before).skip(1).filter_map(|rest| rest.split('"').next()));
        }
    }
    assert_eq!(found, told);
}

#[test]
fn the_tests_that_the_protocols_document_names_exist() {
    let inside: String = sources("acp_adapter").into_iter().map(|(_, text)| text).collect();
    let suite_of = |folder: &str| -> String {
        let inside = |path: &Path| path.starts_with(root().join(folder));
        let files = files().into_iter().filter(|(path, _)| inside(path));
        files.map(|(_, text)| text).collect()
    };
    let wire = suite_of("acp_adapter/tests/wire");
    let [translation, behaviours, on_the_wire, mcp] =
        ["translation", "behaviours", "wire", "mcp"].map(|suite| suite_of(&format!("tests/tests/{suite}")));
    let document = std::fs::read_to_string(root().join("docs/protocol.md")).unwrap();
    let pieces: Vec<&str> = document.split('`').collect();
    let (mut usual, mut suite, mut found) = ("none", "none", 0);
    for pair in pieces.chunks_exact(2) {
        let (before, name) = (pair[0], pair[1]);
        if before.contains("(all in A)") {
            usual = "A";
        } else if before.contains("(in T,") {
            usual = "T";
        } else if before.contains("(in B)") {
            usual = "B";
        } else if before.contains("(all in M)") {
            usual = "M";
        }
        suite = match before.split_whitespace().next_back() {
            Some("A" | "(A") => "A",
            Some("T" | "(T") => "T",
            Some("W" | "(W") => "W",
            Some("B" | "(B") => "B",
            Some("X" | "(X") => "X",
            Some("M" | "(M") => "M",
            Some(",") => suite,
            Some(_) | None => usual,
        };
        let is_test = name.matches('_').count() >= 3 && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
        if is_test {
            let text = match suite {
                "A" => &inside,
                "T" => &translation,
                "W" => &wire,
                "B" => &behaviours,
                "X" => &on_the_wire,
                "M" => &mcp,
                _ => panic!("{name} is in no suite"),
            };
            assert!(text.contains(&format!("fn {name}()")), "{name} is not in {suite}");
            found += 1;
        }
    }
    assert!(found > 50, "{found}");
}

#[test]
fn each_row_of_the_protocols_document_names_what_proves_it() {
    let document = std::fs::read_to_string(root().join("docs/protocol.md")).unwrap();
    let (mut has_tests, mut rows) = (false, 0);
    for line in document.lines() {
        let Some(row) = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) else {
            has_tests = false;
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let tests = cells[cells.len() - 1];
        if tests.starts_with("test") && !has_tests {
            has_tests = true;
            continue;
        }
        let is_rule = tests.chars().all(|c| c == '-');
        if is_rule && !tests.is_empty() || cells.contains(&"not yet") {
            continue;
        }
        assert!(has_tests, "a table without tests: {line}");
        assert!(quoted(tests).any(|name| name.matches('_').count() >= 3), "{line}");
        rows += 1;
    }
    assert!(rows > 50, "{rows}");
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn links_between_documents_lead_somewhere() {
    for (path, text) in files() {
        if path.extension().is_none_or(|end| end != "md") || path.starts_with(root().join("tests/data")) {
            continue;
        }
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next())
        {
            let is_local = !target.is_empty() && !target.contains(':') && !target.contains(char::is_whitespace);
            let file = path.parent().unwrap().join(target);
            assert!(!is_local || file.exists(), "{} links to {target}", path.display());
        }
    }
}
