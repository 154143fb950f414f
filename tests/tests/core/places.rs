//! Ways to spell a place outside the workspace: no file tool touches one without a question, nor tells what is in it.
//! In the mode that lets edits in the workspace pass each question is refused; the disk is looked at afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::approval::{Mode, OptionKind, UserAnswer};
use agent_core::config::Config;
use agent_core::script::{Script, ScriptReply, ScriptStep};
use agent_core::store::Store;
use serde_json::json;
use talaria_tests::stage::Stage;

use crate::{answering, says};

/// What is in the files outside.
const SECRET: &str = "outside-secret";

/// A folder outside with something in it.
struct Outside {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Outside {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        fs::create_dir_all(path.join("d/empty")).unwrap();
        for file in ["o", "d/o"] {
            fs::write(path.join(file), format!("{SECRET}\n")).unwrap();
        }
        Self { _folder: folder, path }
    }

    fn name(&self) -> String {
        self.path.file_name().unwrap().to_string_lossy().into_owned()
    }

    /// All in it: what it is, its rights, what it holds.
    fn seen(&self) -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
        let (mut seen, mut pending) = (BTreeMap::new(), vec![self.path.clone()]);
        while let Some(path) = pending.pop() {
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
            let content = fs::read(&path).unwrap_or_default();
            seen.insert(path, (metadata.mode(), metadata.mtime_nsec(), content));
        }
        seen
    }
}

/// Links of all kinds to the outside, and what else a way out may lead through.
fn furnish(workspace: &Path, outside: &Outside, with_hard_link: bool) {
    fs::create_dir_all(workspace.join("src/deep")).unwrap();
    fs::write(workspace.join("f"), "inside\n").unwrap();
    let name = outside.name();
    for (link, target) in [
        ("out", outside.path.clone()),
        ("relative", Path::new("..").join(&name)),
        ("file", outside.path.join("o")),
        ("dangling", outside.path.join("new")),
        ("dangling-deep", outside.path.join("new/deep")),
        ("chain", "chain2".into()),
        ("chain2", "src/../out".into()),
        ("circle", "circle2".into()),
        ("circle2", "circle".into()),
        ("self", ".".into()),
        ("up", "..".into()),
        ("root", "/".into()),
        ("process", "/proc/self/root".into()),
        ("folder", "/proc/self/cwd".into()),
        ("files", "/dev/fd".into()),
        ("src/back", "../out".into()),
        ("é", outside.path.clone()),
        (".hidden", outside.path.clone()),
        ("~", outside.path.clone()),
        ("with blank", outside.path.clone()),
    ] {
        symlink(target, workspace.join(link)).unwrap();
    }
    if with_hard_link {
        fs::hard_link(outside.path.join("o"), workspace.join("hard")).unwrap();
    }
}

/// Ways to the outside folder, to which the name of a file in it is added.
fn ways(outside: &Outside) -> Vec<String> {
    let (whole, name) = (outside.path.display().to_string(), outside.name());
    let links = [
        "out",
        "./out",
        "out/.",
        "out//",
        "src/../out",
        "self/out",
        "self/self/out",
        "relative",
        "chain",
        "src/back",
        "src/deep/../back",
        ".hidden",
        "~",
        "é",
        "with blank",
        "up/out/../X",
        "nosuch/../out",
        "f/../out",
        "out/d/..",
        "out/d/empty/../..",
    ];
    let up = |way: &str| format!("{way}/{name}");
    let roots = [
        "",
        "/",
        "/.",
        "/..",
        "/tmp/..",
        "root",
        "root/",
        "process",
        "/proc/self/root",
        "/proc/thread-self/root",
    ];
    let many = "src/../".repeat(500);
    links
        .iter()
        .map(|link| link.replace('X', &name))
        .chain(roots.map(|root| format!("{root}{whole}")))
        .chain(
            [
                "..",
                "../.",
                ".//..",
                "./..",
                "src/../..",
                "src/deep/../../..",
                "nosuch/../..",
                "f/../..",
                "up",
                "self/..",
            ]
            .map(up),
        )
        .chain(["/proc/self/cwd/..", "folder/..", "self/up"].map(up))
        .chain([up(&format!("{many}..")), up(&format!("{}..", "./".repeat(1_000)))])
        .chain([
            whole.replace('/', "//"),
            whole.replace('/', "/./"),
            format!("{whole}/d/.."),
        ])
        .collect()
}

/// Single spellings that mean the outside to somebody: a shell, an editor, another system, an eye.
fn odd(outside: &Outside) -> Vec<String> {
    let (whole, name) = (outside.path.display().to_string(), outside.name());
    let mut odd: Vec<String> = [
        "file",
        "file/",
        "file/.",
        "dangling",
        "dangling/",
        "dangling-deep",
        "hard",
        "./hard",
        "self/hard",
        "circle",
        "circle/o",
        "/",
        "//",
        "..",
        "../",
        "../..",
        ".",
        "",
        " ",
        "up",
        "root",
        "files/0",
        "/dev/fd/0",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/null",
        "/dev/full",
        "/proc/self/fd/0",
        "/proc/self/mem",
        "/proc/self/environ",
        "/proc/self/cmdline",
        "/proc/1/environ",
        "/sys/kernel/notes",
        "~root/o",
        "$HOME/o",
        "${HOME}/o",
        "$(pwd)/../o",
        "`pwd`/../o",
        "%HOME%/o",
        "C:\\o",
        "\\\\host\\share\\o",
        "out*/o",
        "[o]ut/o",
        "{out,x}/o",
        "ou?/o",
        "OUT/o",
        "Out/O",
        "e\u{301}/o",
        "\u{e9}/o",
        "..\u{2044}o",
        "\u{ff0e}\u{ff0e}/o",
        "\u{2025}/o",
        "%2e%2e/o",
        "..%2fo",
        "..\\o",
        "..;/o",
        "....//o",
        ".../o",
        "out\0/o",
        "out/o\0",
        "\u{202e}tuo/o",
        "out/\u{200b}o",
        "out/o\n",
        "\nout/o",
        " out/o",
        "out/o ",
        "out/o.",
        "out/o/",
        "out/o/.",
        "out/o//",
        "out/d",
        "out/d/",
        "with blank",
        "'out'/o",
        "\"out\"/o",
        "\u{fffd}/o",
    ]
    .map(str::to_owned)
    .into();
    odd.extend([
        format!("file://{whole}/o"),
        format!("file:{whole}/o"),
        format!("file://localhost{whole}/o"),
        format!("@{whole}/o"),
        format!("{whole}/o:1"),
        format!("{whole}/o#L1"),
        format!("{whole}\\o"),
        format!("../{name}/\u{ff0f}o"),
        format!("..\u{2215}{name}/o"),
        format!("{}out/o", "x/".repeat(2_000)),
        format!("out/{}", "y".repeat(300)),
        format!("out/{}o", "./".repeat(3_000)),
        format!(" {whole}/o"),
        format!("{whole}/o "),
        format!("\t{whole}/o"),
        format!("/tmp/{name}-beside"),
        format!("/var/tmp/{name}-beside"),
        format!("/dev/shm/{name}-beside"),
        format!("/etc/{name}-beside"),
    ]);
    odd
}

fn spellings(outside: &Outside) -> Vec<String> {
    let ends = ["o", "new", "d/o", "d/new/deep", "d/./o", "d/../new", "o/"];
    let joined = ways(outside)
        .into_iter()
        .flat_map(|way| ends.map(|end| format!("{way}/{end}")));
    let mut all: Vec<String> = joined.chain(odd(outside)).collect();
    all.sort();
    all.dedup();
    all
}

/// Each file tool with the path, in each of its ways.
fn tried(path: &str) -> Vec<ScriptStep> {
    let patch = |text: String| {
        ScriptStep::call(
            "patch",
            json!({ "patch": format!("*** Begin Patch\n{text}*** End Patch\n") }),
        )
    };
    vec![
        ScriptStep::call("read_file", json!({ "path": path })),
        ScriptStep::call("search_files", json!({ "pattern": "outside-s.cret", "path": path })),
        ScriptStep::call("write_file", json!({ "path": path, "content": "written\n" })),
        ScriptStep::call(
            "patch",
            json!({ "path": path, "old_string": SECRET, "new_string": "written" }),
        ),
        patch(format!("*** Add File: {path}\n+written\n")),
        patch(format!("*** Update File: {path}\n@@\n-{SECRET}\n+written\n")),
        patch(format!(
            "*** Update File: f\n*** Move to: {path}\n@@\n-inside\n+moved\n"
        )),
        patch(format!("*** Delete File: {path}\n")),
    ]
}

#[test]
fn no_file_tool_leaves_the_workspace_unasked_however_the_place_is_spelled() {
    let outside = Outside::new();
    let spellings = spellings(&outside);
    assert!(spellings.len() >= 300, "{}", spellings.len());
    let replies = spellings
        .iter()
        .flat_map(|path| [ScriptReply::new(tried(path)), says("done")])
        .collect();
    let mut config = Config::default();
    config.agent.mode = Mode::AcceptEdits;
    let mut stage = Stage::with(Arc::new(Script::from_replies(replies)), config, Store::memory());
    let workspace = stage.folder.path().to_path_buf();
    let beside = |path: &str| path.ends_with("-beside") && Path::new(path).exists();
    for path in &spellings {
        // What the path before did inside is made good, so that each finds the same.
        fs::remove_dir_all(&workspace).unwrap();
        fs::create_dir(&workspace).unwrap();
        // Such a link is a file of the workspace: what is in it may be told.
        let hard = path.contains("hard");
        furnish(&workspace, &outside, hard);
        let before = outside.seen();
        let lines = stage.turn("go", answering(UserAnswer::Chose(OptionKind::RejectOnce)));
        assert!(before == outside.seen(), "{path:?} changed what is outside:\n{lines}");
        assert!(!beside(path), "{path:?} was made:\n{lines}");
        // A question may show it, to the user.
        let mut ends = lines.lines().filter(|line| line.starts_with("end "));
        let told = ends.any(|end| end.contains(SECRET)) && !hard;
        assert!(!told, "{path:?} told what is outside:\n{lines}");
    }
}
