//! What other users of the machine could get at: files that they can read, sockets that they can connect to.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::processes::family;
use super::{Finding, with_plain_shell};
use crate::client::{Client, Home, run};
use crate::mock::{Mock, Reply};
use crate::start::{config_of, initialized, wait_until};

/// The binary with this home, where whatever is made is for everybody unless its maker says otherwise.
fn open_handed(home: &Home, arguments: &[&str], temporary: &Path) -> Command {
    let plain = home.command(arguments);
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "umask 000; exec \"$@\"", "sh"])
        .arg(plain.get_program());
    command.args(plain.get_args()).current_dir(home.workspace());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("TMPDIR", temporary).env("TALARIA_LOG", "debug");
    with_plain_shell(home, command)
}

/// Sets a home up, works in it, shows, exports, repairs and prunes what is there, all with `umask 000`.
pub fn readable_by_others() -> Finding {
    let mut finding = Finding::new("files of ours that another user can read", "0, with umask 000");
    let home = Home::new();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (temporary, exports) = (folder.path().join("tmp"), folder.path().join("exports"));
    for path in [&temporary, &exports] {
        fs::create_dir(path).expect("a folder can be made");
        // So that what is found in them are files of the agent's own.
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).expect("it is ours");
    }
    let agent = |arguments: &[&str], input: &str| {
        let (status, stdout, stderr) = run(open_handed(&home, arguments, &temporary), input);
        (status.success(), stdout, stderr)
    };
    let mock = Mock::answering(|_| Reply::text("Hello."));
    let url = mock.base_url();
    let setup = [
        "setup",
        "--provider",
        "mock",
        "--api",
        "openai-chat",
        "--base-url",
        &url,
        "--key-stdin",
        "--model",
        "m",
        "--no-check",
    ];
    let (done, _, stderr) = agent(&setup, "sk-something-secret\n");
    finding.expect(done, || format!("setup: {stderr}"));
    let mut client = initialized(open_handed(&home, &["acp"], &temporary));
    let session = client.new_session(&home.workspace());
    for (model, prompt) in [
        ("mock/m", "hello"),
        ("offline/offline", "create a.txt with a"),
        ("offline/offline", "run echo a"),
    ] {
        let option = json!({"sessionId": session, "configId": "model", "value": model});
        client
            .request("session/set_config_option", option)
            .expect("the model is there");
        client.prompt(&session, prompt);
    }
    client.prompt(&session, "/undo");
    // While the store and its log are open.
    look(&mut finding, &[&home.state(), &temporary]);
    finding.expect(client.close().success(), || "the agent did not end well".into());
    let export = |name: &str| exports.join(name).display().to_string();
    let outputs = [export("a.json"), export("a.jsonl"), export("a.md"), export("a.html")];
    let id = session.as_str();
    for arguments in [
        &["run", "say hi", "--json"][..],
        &["sessions", "export", id, "--output", &outputs[0]],
        &["sessions", "export", id, "--format", "jsonl", "--output", &outputs[1]],
        &["sessions", "export", id, "--format", "md", "--output", &outputs[2]],
        &["sessions", "show", id, "--html", "--output", &outputs[3]],
        &["sessions", "fork", id],
        &["sessions", "import", &outputs[0], "--as-new"],
        &["doctor", "--offline"],
        &["doctor", "--repair"],
    ] {
        let (done, stdout, stderr) = agent(arguments, "");
        let is_check = arguments[0] == "doctor";
        finding.expect(done || is_check, || format!("{arguments:?}: {stdout}{stderr}"));
    }
    for output in &outputs {
        finding.expect(Path::new(output).exists(), || format!("{output} was not written"));
    }
    let count = look(&mut finding, &[&home.state(), &temporary, &exports]);
    finding.found = format!("{} of {count} files and folders", finding.faults.len());
    finding
}

/// Notes each file and folder that somebody else may look into; how many there are in all.
fn look(finding: &mut Finding, roots: &[&PathBuf]) -> usize {
    let mut pending: Vec<PathBuf> = roots.iter().map(|root| (*root).clone()).collect();
    let mut count = 0;
    while let Some(path) = pending.pop() {
        // The agent's own may go meanwhile, as the log of the store does.
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        count += 1;
        let mode = metadata.permissions().mode() & 0o777;
        finding.expect(mode & 0o077 == 0, || format!("{mode:o} {}", path.display()));
        // Nobody else comes into a session's folder for temporary files, in which bubblewrap makes folders of its own.
        let is_tmp = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("talaria-tmp-"));
        if metadata.is_dir() && !(is_tmp && mode & 0o077 == 0) {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            pending.extend(entries.map(|entry| entry.path()));
        }
    }
    count
}

/// Looks at the sockets of an agent and of all that it has started, while a session has an MCP server, commands run and a
/// model answers. `server` speaks MCP.
pub fn listening(server: &Path, arguments: &[&str]) -> Finding {
    let mut finding = Finding::new("listening sockets in a session", "0");
    let mock = Mock::serve(vec![
        Reply::calls(&[("c1", "terminal", json!({"command": "sleep 60", "background": true}))]),
        Reply::calls(&[("c2", "mcp__t__echo", json!({"text": "hi"}))]),
        Reply::text("begun").stalling(),
    ]);
    let home = Home::with_config(&config_of(&mock, "[agent]\nmode = \"dont_ask\"\n"));
    let mut client = initialized(super::agent_of(&home));
    if fs::read_dir(format!("/proc/{}/fd", client.pid())).is_err() {
        finding.found = "not looked at: only root sees the agent's sockets".into();
        return finding;
    }
    let servers = json!([{"name": "t", "command": server, "args": arguments, "env": []}]);
    let mut looks = 0;
    let mut sockets = BTreeSet::new();
    let mut look = |client: &Client| {
        looks += 1;
        for pid in family(client.pid()) {
            sockets.extend(listening_of(pid));
        }
    };
    look(&client);
    let params = json!({"cwd": home.workspace(), "mcpServers": servers});
    let session = client.request("session/new", params).expect("a session begins")["sessionId"].clone();
    look(&client);
    let prompt = json!([{"type": "text", "text": "go"}]);
    client.begin("session/prompt", json!({"sessionId": session, "prompt": prompt}));
    wait_until("the model's last reply", || {
        look(&client);
        mock.requests().len() == 3
    });
    client.wait_for_update("agent_message_chunk");
    look(&client);
    let family = family(client.pid()).len();
    let called = client.log.iter().any(|message| message.to_string().contains("t: echo"));
    finding.expect(called && family >= 3, || {
        format!("{family} processes, the server called: {called}")
    });
    finding.found = format!("{} in {looks} looks at up to {family} processes", sockets.len());
    sockets.into_iter().for_each(|socket| finding.fault(socket));
    finding
}

/// The sockets of a process on which it waits for others: TCP that listens, UDP that anybody can send to, Unix that
/// accepts.
fn listening_of(pid: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let inodes: BTreeSet<String> = entries
        .filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some(inode.to_owned())
        })
        .collect();
    let mut found = Vec::new();
    for (table, place, is_open) in TABLES {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields.get(place).is_some_and(|inode| inodes.contains(*inode)) && is_open(&fields) {
                found.push(format!("{pid} {table}: {line}"));
            }
        }
    }
    found
}

type IsOpen = fn(&[&str]) -> bool;

/// The tables of sockets, where the inode stands in each, and which rows wait for others.
const TABLES: [(&str, usize, IsOpen); 5] = [
    ("tcp", 9, |fields| fields[3] == "0A"),
    ("tcp6", 9, |fields| fields[3] == "0A"),
    // One that has sent to somebody alone is connected.
    ("udp", 9, |fields| fields[3] != "01"),
    ("udp6", 9, |fields| fields[3] != "01"),
    ("unix", 6, |fields| fields[3] == "00010000"),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_listens_is_seen_and_what_is_connected_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let connected = TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
        let _unix = UnixListener::bind(&path).unwrap();
        let sockets = super::listening_of(std::process::id());
        let sees = |text: &str| sockets.iter().any(|socket| socket.contains(text));
        let port = |address: std::io::Result<SocketAddr>| format!("0100007F:{:04X} ", address.unwrap().port());
        assert!(
            sees(&port(tcp.local_addr())) && sees(&port(udp.local_addr())),
            "{sockets:?}"
        );
        assert!(sees(path.to_str().unwrap()), "{sockets:?}");
        assert!(!sees(&port(connected.local_addr())), "{sockets:?}");
    }

    #[test]
    fn what_somebody_may_read_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        for name in ["open", "closed"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        for (path, mode) in [
            (root.clone(), 0o700),
            (root.join("open"), 0o604),
            (root.join("closed"), 0o600),
        ] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut finding = super::Finding::new("", "");
        assert_eq!(super::look(&mut finding, &[&root]), 3);
        assert_eq!(finding.faults.len(), 1, "{:?}", finding.faults);
    }
}
