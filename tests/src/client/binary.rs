//! The built binary: where it is, and how it is run to its end.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;

use serde_json::Value;

/// The built binary, built once for each program of tests; or the one that `TALARIA_TEST_BINARY` names.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| std::env::var_os("TALARIA_TEST_BINARY").map_or_else(build, PathBuf::from))
}

fn build() -> PathBuf {
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "build",
        "--package",
        "cli",
        "--bin",
        "agent",
        "--message-format",
        "json",
        "--quiet",
    ]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let executable = messages
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back();
    executable.expect("cargo names the binary it built")
}

/// Runs the binary to its end; status, stdout and stderr.
pub fn run(mut command: Command, input: &str) -> (ExitStatus, String, String) {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the agent starts");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    // An agent that does not read its input closes it, which is no fault.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let mut stderr = child.stderr.take().expect("stderr is a pipe");
    let errors = thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    let mut stdout = String::new();
    child
        .stdout
        .take()
        .expect("stdout is a pipe")
        .read_to_string(&mut stdout)
        .expect("stdout is UTF-8");
    let status = child.wait().expect("the agent ends");
    let stderr = errors
        .join()
        .expect("the reader does not panic")
        .expect("stderr is UTF-8");
    (status, stdout, stderr)
}
