//! Where the bytes of our own keys end up: in the header of a request to their service, and nowhere else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{Finding, agent_of, with_plain_shell};
use crate::client::{Client, Home, run};
use crate::mock::{Asked, Mock, Reply};
use crate::start::{initialized, load};

/// A key in the environment, one in the file of keys, and the header of an MCP server in the configuration.
const KEYS: [(&str, &str); 3] = [
    ("the key in the environment", "canary-environment-5d1f0c77a1"),
    ("the key in the file", "canary-file-9be2740c63d8"),
    ("the header of an MCP server", "canary-header-41c7e0927f"),
];

/// Has agents work, fail, show, export and check with these keys while their service repeats them wherever it can, and
/// then looks into all that is there. `server` is a program that speaks MCP.
pub fn canaries(server: &Path, arguments: &[&str]) -> Finding {
    let mut finding = Finding::new("places in which our own keys stand", "0 beside the request's header");
    let [(_, environment), (_, file), (_, header)] = KEYS;
    // It repeats what it was sent as soon as it can.
    let mock = Mock::answering(move |asked| answer(asked, environment)).with_list();
    let other = Mock::answering(move |asked| refuse(asked, file)).with_list();
    let remote = Mock::answering(|_| Reply::answer("HTTP/1.1 401 Unauthorized", format!("no: {}", KEYS[2].1)));
    let home = Home::with_config(&format!(
        "model = \"one/m\"\nfallback_models = [\"two/m\"]\n\
         [agent]\nmode = \"dont_ask\"\n\
         [providers.one]\napi = \"openai-chat\"\nbase_url = \"{}\"\napi_key_env = \"CANARY_API_KEY\"\n\
         [providers.two]\napi = \"openai-chat\"\nbase_url = \"{}\"\napi_key_env = \"OTHER_SECRET\"\n\
         [mcp_servers.remote]\nurl = \"{}\"\nheaders = {{ Authorization = \"Bearer {header}\" }}\n",
        mock.base_url(),
        other.base_url(),
        remote.base_url(),
    ));
    let keys = home.state().join(".env");
    fs::write(&keys, format!("OTHER_SECRET={file}\n")).expect("a file can be written");
    let with_key = |mut command: Command| {
        command.env("CANARY_API_KEY", environment).env("TALARIA_LOG", "trace");
        command
    };
    let servers = json!([{"name": "t", "command": server, "args": arguments, "env": []}]);
    let log = home.workspace().with_file_name("stderr");
    let mut places = Places::default();

    let stderr = fs::File::create(&log).expect("a file can be made");
    let mut client = Client::spawn_logging(with_key(agent_of(&home)), stderr);
    let greeting = json!({"protocolVersion": 1, "clientCapabilities": {"session": {"notices": {}}}});
    client.request("initialize", greeting).expect("initialize is answered");
    let params = json!({"cwd": home.workspace(), "mcpServers": servers});
    let session = client.request("session/new", params).expect("a session begins");
    let session = session["sessionId"].as_str().expect("a session has an id").to_owned();
    for prompt in [
        "look at the environment",
        "ask the server",
        "write it down",
        "say it",
        "/mcp",
        "/status",
        "/undo",
        "fail",
    ] {
        let id = client.begin_prompt(&session, prompt);
        // One that fails says why, which is looked through as well.
        let _stop_reason_or_error = client.response(id);
    }
    let called = client
        .log
        .iter()
        .any(|message| message.to_string().contains("t: where"));
    finding.expect(called, || "the MCP server was not called".into());
    places.add("what the editor got", Value::from(client.log.clone()).to_string());
    places.add_environments(&client);
    client.close();
    places.add("stderr", fs::read(&log).unwrap_or_default());
    let mut client = initialized(with_key(agent_of(&home)));
    load(&mut client, &session, &home.workspace()).expect("the session is loaded");
    places.add("a load", Value::from(client.log.clone()).to_string());
    client.close();

    let page = home.workspace().join("page.html").display().to_string();
    for arguments in [
        &["run", "say it", "--json"][..],
        &["run", "look at the environment"],
        &["run", "--model", "two/m", "hello"],
        &["sessions", "export", &session, "--exact"],
        &["sessions", "export", &session, "--format", "md"],
        &["sessions", "show", &session],
        &["sessions", "show", &session, "--html", "--output", &page],
        &["sessions", "search", "canary"],
        &["acp", "--check"],
        &["doctor"],
        &["providers", "--json"],
        &["models"],
        &["permissions", "list"],
    ] {
        let (_, stdout, stderr) = run(with_key(with_plain_shell(&home, home.command(arguments))), "");
        places.add(&format!("stdout of {arguments:?}"), stdout);
        places.add(&format!("stderr of {arguments:?}"), stderr);
    }
    places.add_files(&home.state(), &[&keys, &home.state().join("config.toml")]);
    places.add_files(&home.workspace(), &[]);
    check_requests(&mut finding, &mock, environment);
    check_requests(&mut finding, &other, file);
    for (name, key) in KEYS {
        for (place, bytes) in &places.0 {
            finding.expect(!has(bytes, key), || format!("{name} stands in {place}"));
        }
    }
    let bytes: usize = places.0.values().map(Vec::len).sum();
    finding.expect(places.0.keys().any(|place| place.contains("state.db")), || {
        "no store was looked into".into()
    });
    finding.expect(places.0.keys().any(|place| place.contains("logs")), || {
        "no log was looked into".into()
    });
    finding.found = format!(
        "{} of {} places, {} KiB",
        finding.faults.len(),
        places.0.len(),
        bytes / 1024
    );
    finding
}

/// The key has to be in the header of each request that asks for something, and in nothing else of it.
fn check_requests(finding: &mut Finding, mock: &Mock, key: &str) {
    let requests = mock.requests();
    finding.expect(!requests.is_empty(), || "a service was not asked".into());
    for asked in requests {
        let with_key: Vec<_> = asked.headers.iter().filter(|(_, value)| value.contains(key)).collect();
        let is_right = matches!(&with_key[..], [(name, _)] if name == "authorization");
        finding.expect(is_right, || {
            format!("{}: the key is in the headers {with_key:?}", asked.line)
        });
        let elsewhere = asked.raw.contains(key) || asked.line.contains(key);
        finding.expect(!elsewhere, || format!("{}: the key is in the request", asked.line));
    }
}

/// Whether a key stands in it, plain or as base64 or in hexadecimal digits would write it.
fn has(bytes: &[u8], key: &str) -> bool {
    let contains = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    let hexadecimal: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    contains(key.as_bytes())
        || contains(hexadecimal.as_bytes())
        || (0..3).any(|skipped| contains(&inner_base64(&key.as_bytes()[skipped..])))
}

/// What base64 makes of whole groups of these bytes, whatever stands before and behind them.
fn inner_base64(bytes: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.chunks_exact(3);
    groups
        .flat_map(|group| {
            let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
            [18, 12, 6, 0].map(|shift| LETTERS[(bits >> shift & 63) as usize])
        })
        .collect()
}

/// Everything that is looked through, by what it is.
#[derive(Default)]
struct Places(BTreeMap<String, Vec<u8>>);

impl Places {
    fn add(&mut self, place: &str, bytes: impl Into<Vec<u8>>) {
        self.0.insert(place.to_owned(), bytes.into());
    }

    /// All files in a folder but these.
    fn add_files(&mut self, folder: &Path, except: &[&PathBuf]) {
        let mut pending = vec![folder.to_owned()];
        while let Some(path) = pending.pop() {
            if path.is_dir() {
                pending.extend(
                    fs::read_dir(&path)
                        .into_iter()
                        .flatten()
                        .flatten()
                        .map(|entry| entry.path()),
                );
            } else if !except.contains(&&path) {
                self.add(&path.display().to_string(), fs::read(&path).unwrap_or_default());
            }
        }
    }

    /// The environments and arguments of what the agent has started.
    fn add_environments(&mut self, client: &Client) {
        let family = super::processes::family(client.pid());
        for pid in family.into_iter().filter(|pid| *pid != client.pid()) {
            for file in ["environ", "cmdline"] {
                let path = format!("/proc/{pid}/{file}");
                self.add(&path, fs::read(&path).unwrap_or_default());
            }
        }
    }
}

/// A model that has the environment shown in every way, writes what it was told and repeats its key.
fn answer(asked: &Asked, key: &str) -> Reply {
    let Some(last) = asked.messages().last() else {
        return Reply::json(json!({"data": [{"id": "m"}, {"id": format!("m-{key}")}]}).to_string());
    };
    if last["role"] == "tool" {
        return Reply::text("done");
    }
    let said = last["content"].to_string();
    let calls = |calls: &[(&str, Value)]| {
        let calls: Vec<(&str, &str, Value)> = calls
            .iter()
            .zip(["a", "b", "c"])
            .map(|((name, input), id)| (id, *name, input.clone()))
            .collect();
        Reply::calls(&calls)
    };
    if said.contains("look at") {
        calls(&[
            (
                "terminal",
                json!({"command": "env; printenv; set; export -p; cat /proc/self/environ; env > env.txt"}),
            ),
            (
                "terminal",
                json!({"command": "sleep 30; env > late.txt", "background": true}),
            ),
            (
                "terminal",
                json!({"command": "cat \"$TALARIA_HOME\"/.env ~/.env ../home/logs/* | head -c 1000"}),
            ),
        ])
    } else if said.contains("ask the server") {
        calls(&[(
            "mcp__t__where",
            json!({"names": ["CANARY_API_KEY", "OTHER_SECRET", "PATH"]}),
        )])
    } else if said.contains("write it") {
        calls(&[(
            "write_file",
            json!({"path": "key.txt", "content": format!("key = {key}\n")}),
        )])
    } else if said.contains("say it") {
        Reply::text(&format!("Your key is {key}."))
    } else {
        let body = json!({"error": {"message": format!("Incorrect API key provided: {key}")}});
        Reply::answer(
            "HTTP/1.1 401 Unauthorized\ncontent-type: application/json",
            body.to_string(),
        )
    }
}

/// A service that takes no key, and says which one it got.
fn refuse(asked: &Asked, key: &str) -> Reply {
    let sent = asked.header("authorization").unwrap_or_default().to_owned();
    Reply::answer(
        &format!("HTTP/1.1 403 Forbidden\nx-request-id: {sent}"),
        format!("{sent} may not do this, nor may {key}"),
    )
}

#[cfg(test)]
mod tests {
    use super::{has, inner_base64};

    #[test]
    fn a_key_is_seen_plain_and_written_otherwise() {
        let key = "canary-4711-and-on";
        for text in [
            "it is canary-4711-and-on.",
            "63616e6172792d343731312d616e642d6f6e",
            "xxY2FuYXJ5LTQ3MTEtYW5kLW9uxx",
        ] {
            assert!(has(text.as_bytes(), key), "{text}");
        }
        assert!(!has(b"canary-4711-and-off", key));
        assert_eq!(inner_base64(b"canary"), b"Y2FuYXJ5");
    }
}
