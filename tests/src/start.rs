//! Ways to start the built binary other than plainly: through a shell, with mounts of its own. And what such a test
//! waits for that no message tells.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use providers::Dialect;
use serde_json::{Value, json};

use crate::client::{Client, Home};
use crate::mock::Mock;
use crate::stage::LIMIT;

/// `agent acp` with this home, begun by a script of a shell that runs it as `"$@"`.
pub fn through_shell(home: &Home, script: &str) -> Command {
    wrapped(home, &["sh", "-c", script, "sh"])
}

/// As [`through_shell`], with mounts that nobody else sees and that end with the process. None, with the reason
/// printed, where this machine does not allow that.
pub fn with_mounts(home: &Home, script: &str) -> Option<Command> {
    unshared(home, &["-rm"], "mount -t tmpfs tmpfs /mnt", script)
}

/// As [`through_shell`], among processes of its own, of which the shell is the first: its group and its session are
/// outside, as with bubblewrap. None, with the reason printed, where this machine does not allow that.
pub fn in_a_box(home: &Home, script: &str) -> Option<Command> {
    unshared(
        home,
        &["-r", "--pid", "--fork", "--mount-proc", "--kill-child"],
        ":",
        script,
    )
}

/// A shell that has things of its own, if a trial of the same works.
fn unshared(home: &Home, options: &[&str], trial: &str, script: &str) -> Option<Command> {
    let unshare = |script| [&["unshare"], options, &["sh", "-c", script, "sh"]].concat();
    let trial = unshare(trial);
    let why = match Command::new(trial[0]).args(&trial[1..]).output() {
        Ok(output) if output.status.success() => return Some(wrapped(home, &unshare(script))),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    skip(&format!("unshare {} fails here: {}", options.join(" "), why.trim()));
    None
}

/// Says that a test can't be made here.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
pub fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

fn wrapped(home: &Home, before: &[&str]) -> Command {
    let plain = home.command(&["acp"]);
    let mut command = Command::new(before[0]);
    command
        .args(&before[1..])
        .arg(plain.get_program())
        .args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(home.workspace());
    command
}

/// Starts an agent by this command and initializes it.
pub fn initialized(command: Command) -> Client {
    let mut client = Client::spawn(command);
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    client.request("initialize", params).expect("initialize is answered");
    client
}

/// Loads a session; what it replays is the log from the number that comes back on.
pub fn load(client: &mut Client, session: &str, cwd: &Path) -> Result<usize, Value> {
    let from = client.log.len();
    let params = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    client.request("session/load", params).map(|_| from)
}

/// What the user said in the messages of the log from its `from`th on, message by message.
pub fn asked(client: &Client, from: usize) -> Vec<String> {
    let updates = client.updates(from).into_iter();
    let chunks = updates.filter(|update| update["sessionUpdate"] == "user_message_chunk");
    chunks
        .filter_map(|update| update["content"]["text"].as_str().map(str::to_owned))
        .collect()
}

/// How often the user was told this in the messages of the log from its `from`th on.
pub fn times_told(client: &Client, from: usize, what: &str) -> usize {
    let updates = client.updates(from).into_iter();
    updates.filter(|update| update.to_string().contains(what)).count()
}

/// A configuration whose one model is the mock; `more` follows the provider's lines.
pub fn config_of(mock: &Mock, more: &str) -> String {
    config_in(Dialect::OpenaiChat, &mock.base_url(), more)
}

/// A configuration whose one model is behind a service that speaks this dialect.
pub fn config_in(dialect: Dialect, base_url: &str, more: &str) -> String {
    let api = dialect.name();
    format!("model = \"mock/m\"\n[providers.mock]\napi = \"{api}\"\nbase_url = \"{base_url}\"\n{more}")
}

/// Waits for something outside the agent that no message tells.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} has not come to be within the limit");
        thread::sleep(Duration::from_millis(10));
    }
}
