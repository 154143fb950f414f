//! `/undo`, `/redo` and `/rewind`: what becomes of files and of the conversation.

mod bounds;
mod conversation;
mod crashes;
mod files;
mod foreign;
mod unkept;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use agent_core::script::{ScriptReply, ScriptStep};
use serde_json::json;
use talaria_tests::stage::Stage;

use crate::{nothing, says};

/// A session that asks nothing, whose model makes these calls, a turn each.
fn stage(turns: Vec<Vec<ScriptStep>>) -> Stage {
    let reply = |calls| [ScriptReply::new(calls), says("done")];
    let mut stage = Stage::stored(turns.into_iter().flat_map(reply).collect());
    stage.turn("/mode dont_ask", nothing);
    stage
}

fn write(path: &str, content: &str) -> ScriptStep {
    ScriptStep::call("write_file", json!({"path": path, "content": content}))
}

fn read(path: &str) -> ScriptStep {
    ScriptStep::call("read_file", json!({ "path": path }))
}

fn replace(path: &str, old: &str, new: &str) -> ScriptStep {
    ScriptStep::call("patch", json!({"path": path, "old_string": old, "new_string": new}))
}

fn patch(lines: &[&str]) -> ScriptStep {
    let patch = format!("*** Begin Patch\n{}\n*** End Patch", lines.join("\n"));
    ScriptStep::call("patch", json!({ "patch": patch }))
}

/// The same session in a new process.
fn again(stage: Stage, replies: Vec<ScriptReply>) -> Stage {
    let mut stage = stage.restart(replies);
    stage.replay();
    stage
}

/// The answer to a command.
fn told(stage: &mut Stage, command: &str) -> String {
    let lines = stage.turn(command, nothing);
    let told = lines.lines().filter_map(|line| line.strip_prefix("text "));
    told.map(|line| line.split_once(": ").unwrap().1.replace("\\n", "\n"))
        .collect()
}

/// Gives a command, whose answer holds this.
#[track_caller]
fn says_of(stage: &mut Stage, command: &str, expect: &[&str]) {
    let told = told(stage, command);
    for expect in expect {
        assert!(told.contains(expect), "{command}\nexpected: {expect}\nwas: {told}");
    }
}

/// All that is in a folder: permissions, and what files hold.
fn tree(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
            let bytes = if path.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            all.insert(name, (mode, bytes));
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    all
}
