//! The binary as a shell sees it: exit codes, streams, files. Every test has a home of its own and no network.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::{Value, json};
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::start::wait_until;

/// How long anything may take before a test gives up.
const LIMIT: Duration = Duration::from_secs(30);

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir(home.work()).unwrap();
        fs::write(home.work().join("a.txt"), "hello\n").unwrap();
        home
    }

    fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("talaria")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.0.path())
            .env("TALARIA_HOME", self.state())
            .current_dir(self.work())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn start(&self, args: &[&str]) -> Child {
        self.command(env!("CARGO_BIN_EXE_agent")).args(args).spawn().unwrap()
    }

    fn agent(&self, args: &[&str]) -> Output {
        end(self.start(args))
    }
}

/// Closes the child's stdin and waits for its end.
fn end(mut child: Child) -> Output {
    drop(child.stdin.take());
    let pid = Pid::from_child(&child);
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait_with_output()));
    end.recv_timeout(LIMIT)
        .unwrap_or_else(|_| {
            let _ = kill_process(pid, Signal::KILL);
            panic!("it did not end within {LIMIT:?}")
        })
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn the_exit_code_says_how_it_went() {
    let home = Home::new();
    let check = |args: &[&str], code: i32, said: &str| {
        let output = home.agent(args);
        let shown = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {shown}");
        assert!(shown.contains(said), "{args:?}: {shown}");
    };
    check(&["--version"], 0, "agent ");
    check(&["dance"], 2, "unrecognized");
    check(&["run", " "], 2, "the prompt is empty");
    check(
        &["run", "list", "files"],
        2,
        "in quotes, as in agent run \"list files\"",
    );
    check(&["run", "list", "--session", ""], 2, "--session");
    check(&["run", "list", "--cwd", "/nowhere"], 2, "--cwd /nowhere");
    check(&["run", "list", "--continue"], 4, "has no session yet");
    check(&["run", "list", "--session", "zz"], 4, "no session `zz`");
    check(&["sessions", "show", "zz"], 4, "no session `zz`");
    check(&["run", "list"], 0, "a.txt");
    check(&["run", "list", "--model", "openai/x"], 1, "OPENAI_API_KEY");
    check(
        &["run", "replace \"hello\" with \"x\" in a.txt"],
        5,
        "Edit a.txt: not done, as nobody can be asked (stderr is no terminal); --mode accept_edits",
    );
    check(&["permissions", "list"], 0, "no standing permissions");
    check(&["permissions", "list", "--json"], 0, "[]");
    check(&["permissions", "revoke", "7"], 1, "no permission 7");
    check(&["permissions", "revoke", "x"], 2, "is a number such as 3");
    check(&["run", "/mode \"Don't ask\""], 0, "`dont_ask` (now)");
    check(&["run", "list", "--mode", "Plan"], 0, "a.txt");
    check(&["setup"], 2, "--provider");
    check(&["acp", "--setup"], 2, "--provider");
    check(&["acp", "--check"], 0, "ok      store");
    check(&["models"], 0, "offline/offline  (default)");
    assert_eq!(fs::read_to_string(home.work().join("a.txt")).unwrap(), "hello\n");
}

#[test]
fn the_answer_is_on_stdout_and_the_rest_on_stderr() {
    let home = Home::new();
    let edit = "replace \"hello\" with \"bye\" in a.txt";
    let output = home.agent(&["run", edit, "--mode", "accept_edits"]);
    assert!(stdout(&output).contains("Changed `a.txt`"), "{}", stdout(&output));
    let side = stderr(&output);
    assert!(
        side.contains("-hello\n+bye\n") && side.contains("• Edit a.txt … done"),
        "{side}"
    );
    assert!(!side.contains('\u{1b}'), "a pipe got colours: {side}");

    let quiet = home.agent(&["run", "say hi", "--quiet"]);
    assert!(stdout(&quiet).ends_with("hi\n"), "{}", stdout(&quiet));
    assert_eq!(stderr(&quiet), "");
}

#[test]
fn the_prompt_may_come_from_stdin() {
    let home = Home::new();
    let mut child = home.start(&["run", "-", "--quiet"]);
    child.stdin.take().unwrap().write_all(b"say from a pipe\n").unwrap();
    let output = end(child);
    assert!(stdout(&output).ends_with("from a pipe\n"), "{}", stdout(&output));
}

#[test]
fn json_is_envelopes_and_nothing_else() {
    let home = Home::new();
    let output = home.agent(&["run", "list", "--json"]);
    let events: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let name = |event: &Value| event["event"]["event"].as_str().unwrap().to_owned();
    assert_eq!(name(&events[0]), "user_message");
    assert_eq!(name(events.last().unwrap()), "turn_finished");
    assert!(events.iter().all(|event| event["session"] == events[0]["session"]));
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_session_goes_on_and_is_found_by_the_beginning_of_its_id() {
    let home = Home::new();
    home.agent(&["run", "say one"]);
    home.agent(&["run", "say two", "--continue"]);
    let list: Value = serde_json::from_slice(&home.agent(&["sessions", "list", "--json"]).stdout).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    let id = list[0]["id"].as_str().unwrap();
    let third = home.agent(&["run", "say three", "--session", &id[..13]]);
    assert_eq!(third.status.code(), Some(0), "{}", stderr(&third));

    let show: Value = serde_json::from_slice(&home.agent(&["sessions", "show", &id[..13], "--json"]).stdout).unwrap();
    assert_eq!(show["session"]["id"], id);
    let prompts = show["events"].as_array().unwrap().iter();
    let prompts = prompts.filter(|event| event["event"]["event"] == "user_message");
    assert_eq!(prompts.count(), 3, "{show}");
    let transcript = stdout(&home.agent(&["sessions", "show", id]));
    assert!(transcript.contains("> say two\n"), "{transcript}");
}

#[test]
fn the_id_of_the_list_names_one_session_and_an_ambiguous_one_shows_which_there_are() {
    let home = Home::new();
    for prompt in ["say one", "say two", "say three"] {
        home.agent(&["run", prompt]);
    }
    let list = stdout(&home.agent(&["sessions", "list"]));
    let rows: Vec<&str> = list.lines().skip(1).collect();
    assert_eq!(rows.len(), 3, "{list}");
    for row in &rows {
        let id = row.split(' ').next().unwrap();
        let show = home.agent(&["sessions", "show", id]);
        let title = ["say one", "say two", "say three"]
            .into_iter()
            .find(|title| row.contains(title))
            .unwrap();
        assert!(stdout(&show).starts_with(title), "{id}: {}", stdout(&show));
    }
    // They were made within a day or so, which their ids begin with.
    let json: Value = serde_json::from_slice(&home.agent(&["sessions", "list", "--json"]).stdout).unwrap();
    let begin = &json[0]["id"].as_str().unwrap()[..3];
    let output = home.agent(&["run", "say four", "--session", begin]);
    assert_eq!(output.status.code(), Some(4));
    for (row, title) in rows.iter().zip(["say three", "say two", "say one"]) {
        let id = row.split(' ').next().unwrap();
        let line = format!("\n  {id}      just now  {title}");
        assert!(stderr(&output).contains(&line), "{}", stderr(&output));
    }
}

#[test]
fn times_are_those_of_the_users_time_zone() {
    let home = Home::new();
    home.agent(&["run", "say one"]);
    let list = |zone: &str| {
        let mut command = home.command(env!("CARGO_BIN_EXE_agent"));
        stdout(&end(command
            .args(["sessions", "list"])
            .env("TZ", zone)
            .spawn()
            .unwrap()))
    };
    let moment = |list: &str| list.lines().nth(1).unwrap()[10..26].to_owned();
    let (utc, east) = (list("UTC0"), list("EAST-11"));
    assert!(utc.contains("UPDATED (UTC)") && !east.contains("UTC"), "{utc}{east}");
    assert_ne!(moment(&utc), moment(&east));
    if Path::new("/usr/share/zoneinfo/Asia/Tokyo").exists() {
        assert_ne!(moment(&utc), moment(&list("Asia/Tokyo")));
    }
}

#[test]
fn files_are_private_whatever_the_umask() {
    let home = Home::new();
    let script = "umask 000; \"$0\" setup --provider openai --key-stdin --model gpt-5 --no-check && \"$0\" run 'say hi' --model offline/offline";
    let mut child = home
        .command("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_agent")])
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"sk-1\n").unwrap();
    let output = end(child);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        fs::read_to_string(home.state().join(".env")).unwrap(),
        "OPENAI_API_KEY=\"sk-1\"\n"
    );
    assert_eq!(mode(&home.state()), 0o700);
    for entry in fs::read_dir(home.state()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
    assert!(!stderr(&output).contains("sk-1"), "{}", stderr(&output));
}

#[test]
fn a_broken_configuration_is_told_by_line() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    fs::write(home.state().join("config.toml"), "# mine\nmodle = \"a/b\"\n").unwrap();
    let output = home.agent(&["acp", "--check"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stdout(&output);
    assert!(
        said.contains("config.toml:2: unknown key `modle`: did you mean `model`?"),
        "{said}"
    );
}

#[test]
fn without_a_place_for_files_it_works_and_says_so() {
    let home = Home::new();
    fs::write(home.state(), "a file in the way").unwrap();
    let output = home.agent(&["run", "say hi", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).ends_with("hi\n"), "{}", stdout(&output));
    let told = |output: &Output| (stdout(output) + &stderr(output)).matches("is not a folder").count();
    assert_eq!(told(&output), 1, "{}", stderr(&output));
    let output = home.agent(&["run", "say hi"]);
    assert_eq!(told(&output), 1, "{}", stderr(&output));
    assert_eq!(
        stderr(&output).to_lowercase().matches("nothing is saved").count(),
        1,
        "{}",
        stderr(&output)
    );
    assert_eq!(told(&home.agent(&["run", "say hi", "--json"])), 1);
    assert_eq!(told(&home.agent(&["run", "say hi", "--continue"])), 1);
}

#[test]
fn a_home_that_is_in_other_use_is_told_and_left_as_it_is() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    fs::write(home.state().join("passwd"), "x").unwrap();
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(home.state(), open).unwrap();
    let output = home.agent(&["run", "say hi"]);
    assert!(stdout(&output).ends_with("hi\n"), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("holds other files and none of this program's"),
        "{}",
        stderr(&output)
    );
    let setup = home.agent(&["setup", "--provider", "ollama", "--model", "m", "--no-check"]);
    assert_eq!(setup.status.code(), Some(1), "{}", stderr(&setup));
    assert_eq!(fs::metadata(home.state()).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(
        fs::read_dir(home.state()).unwrap().count(),
        1,
        "nothing was put into it"
    );
}

#[test]
fn a_relative_home_is_refused() {
    let home = Home::new();
    for args in [["run", "say hi"], ["acp", "--check"]] {
        let child = home
            .command(env!("CARGO_BIN_EXE_agent"))
            .args(args)
            .env("TALARIA_HOME", "state")
            .spawn()
            .unwrap();
        let output = end(child);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            stderr(&output).contains("TALARIA_HOME is `state`"),
            "{}",
            stderr(&output)
        );
    }
    assert!(!home.work().join("state").exists());
}

#[test]
fn a_signal_cancels_the_turn_and_all_its_ends_are_told() {
    let home = Home::new();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut child = home.start(&["run", "run sleep 60", "--mode", "dont_ask", "--json"]);
        let lines = lines(&mut child);
        wait_for(&lines, "tool_started");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let call = wait_for(&lines, "tool_finished");
        assert!(call.contains("\"cancelled\""), "{signal:?}: {call}");
        let turn = wait_for(&lines, "turn_finished");
        assert!(turn.contains("\"cancelled\""), "{signal:?}: {turn}");
        assert_eq!(end(child).status.code(), Some(130), "{signal:?}");
        assert_eq!(lines.iter().next(), None, "{signal:?}");
    }
}

#[test]
fn live_output_is_whole_lines_and_says_what_is_missing() {
    let home = Home::new();
    let prompt = "run for i in $(seq 1 4000); do echo \"test module_$i ... ok\"; done";
    let side = stderr(&home.agent(&["run", prompt, "--mode", "dont_ask"]));
    let output: Vec<&str> = side.lines().filter(|line| !line.starts_with("• ")).collect();
    let mut next = 1;
    for line in &output {
        match line.strip_prefix("… ") {
            Some(gap) => next += gap.split(' ').next().unwrap().parse::<u32>().unwrap(),
            None => {
                assert_eq!(*line, format!("test module_{next} ... ok"));
                next += 1;
            }
        }
    }
    assert_eq!(next, 4001, "{side}");
}

#[test]
fn a_run_whose_output_nobody_reads_still_ends_at_a_signal() {
    let home = Home::new();
    let mut child = home.start(&["run", "-", "--quiet"]);
    let prompt = format!("say {}\n", "x".repeat(500_000));
    child.stdin.take().unwrap().write_all(prompt.as_bytes()).unwrap();
    let mut output = child.stdout.take().unwrap();
    // It prints, and fills the pipe.
    output.read_exact(&mut [0]).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(end(child).status.code(), Some(130));
    drop(output);
}

#[test]
fn a_server_ends_cleanly_at_a_signal_and_at_the_end_of_its_input() {
    let home = Home::new();
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP), Some(Signal::INT)] {
        let mut child = home.start(&["acp"]);
        let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n";
        child.stdin.as_mut().unwrap().write_all(request.as_bytes()).unwrap();
        let lines = lines(&mut child);
        wait_for(&lines, "protocolVersion");
        if let Some(signal) = signal {
            // Its stdin stays open: the signal alone ends it.
            let stdin = child.stdin.take();
            kill_process(Pid::from_child(&child), signal).unwrap();
            assert_eq!(end(child).status.code(), Some(0), "{signal:?}");
            drop(stdin);
        } else {
            assert_eq!(end(child).status.code(), Some(0));
        }
    }
}

#[test]
fn a_menu_of_setup_can_be_left_and_leaves_the_terminal_as_it_was() {
    let home = Home::new();
    for key in [b"\x03", b"\x1b", b"q"].repeat(3) {
        let mut terminal = Terminal::new();
        let mut child = terminal.start(&home, &["setup"]);
        let menu = terminal.read_until("OpenRouter");
        assert!(menu.contains("Esc leaves"), "{menu}");
        terminal.press(key);
        let rest = menu + &terminal.read_until("nothing was saved");
        assert_eq!(child.wait().unwrap().code(), Some(130), "{key:?}: {rest:?}");
        assert!(rest.rfind("\x1b[?25h") > rest.rfind("\x1b[?25l"), "{key:?}: {rest:?}");
        assert_eq!(terminal.rest().trim(), "", "{key:?}: said twice");
    }
}

#[test]
fn setup_offers_first_what_has_a_key_and_finds_a_model_by_a_part_of_its_name() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    let env = home.state().join(".env");
    fs::write(&env, "MISTRAL_API_KEY=k\nGROQ_API_KEY=k\n").unwrap();
    fs::set_permissions(&env, fs::Permissions::from_mode(0o600)).unwrap();
    let mut terminal = Terminal::new();
    let mut child = terminal.start(&home, &["setup"]);
    let menu = terminal.read_until("Another one");
    let place = |part: &str| menu.find(part).unwrap_or_else(|| panic!("no {part}: {menu:?}"));
    assert!(
        place("> Groq (GROQ_API_KEY from .env)") < place("Mistral (MISTRAL_API_KEY from .env)"),
        "{menu:?}"
    );
    assert!(place("Mistral (") < place("OpenAI"), "{menu:?}");
    terminal.press(b"\x1b");
    terminal.read_until("nothing was saved");
    child.wait().unwrap();

    let names = (0..200).map(|n| format!("family/model-{n}"));
    let names = names.chain(["other/needle-7b".to_owned()]);
    let models: Vec<Value> = names.map(|name| json!({ "id": name })).collect();
    let list = json!({ "data": models }).to_string();
    let mock = Mock::answering(move |asked: &Asked| match asked.line.as_str() {
        "GET /v1/models" => Reply::answer("HTTP/1.1 200 OK", list.clone()),
        _ => Reply::text("ok"),
    })
    .with_list();
    let mut terminal = Terminal::new();
    let url = mock.base_url();
    let mut child = terminal.start(&home, &["setup", "--provider", "mine", "--base-url", &url]);
    let menu = terminal.read_until("family/model-9");
    assert!(menu.contains("typing searches"), "{menu}");
    for key in "need".chars() {
        terminal.press(key.to_string().as_bytes());
    }
    // What is found is drawn with its letters marked, so that its name is not in one piece.
    terminal.read_until("-7b");
    terminal.press(b"\r");
    terminal.read_until("Model: other/needle-7b");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{:?}", terminal.rest());
    let config = fs::read_to_string(home.state().join("config.toml")).unwrap();
    assert!(config.contains("model = \"mine/other/needle-7b\""), "{config}");
}

#[test]
fn a_menu_fits_into_a_narrow_terminal() {
    const COLUMNS: u16 = 40;
    let names =
        (0..30).map(|n| json!({ "id": format!("a-family-with-a-long-name/and-a-model-with-a-longer-one-{n}") }));
    let list = json!({ "data": names.collect::<Vec<_>>() }).to_string();
    let mock = Mock::answering(move |_| Reply::answer("HTTP/1.1 200 OK", list.clone())).with_list();
    let home = Home::new();
    let url = mock.base_url();
    let mut terminal = Terminal::with_columns(COLUMNS);
    let mut child = terminal.start(&home, &["setup", "--provider", "mine", "--base-url", &url]);
    let mut drawn = terminal.read_until("…\r\n");
    for key in [b"a", b"-"] {
        terminal.press(key);
        drawn += &terminal.read_until("…\r\n");
    }
    terminal.press(b"\x1b");
    drawn += &terminal.read_until("nothing was saved");
    child.wait().unwrap();
    // What is said before the menu may break; what is drawn anew with each key may not.
    let menu = drawn.split("Esc leaves)").nth(1).unwrap();
    for line in anstream::adapter::strip_str(menu).to_string().lines() {
        assert!(line.trim_end().chars().count() < usize::from(COLUMNS), "{line:?}");
    }
}

#[test]
fn a_stored_key_that_is_not_kept_is_neither_sent_nor_left() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    let env = home.state().join(".env");
    fs::write(&env, "OTHER=1\nMINE_API_KEY=k-old\n").unwrap();
    fs::set_permissions(&env, fs::Permissions::from_mode(0o600)).unwrap();
    let mock = Mock::answering(|_| Reply::text("ok"));
    let config = format!(
        "[providers.mine]\napi = \"openai-chat\"\nbase_url = \"{}\"\napi_key_env = \"MINE_API_KEY\"\n",
        mock.base_url()
    );
    fs::write(home.state().join("config.toml"), config).unwrap();
    let mut terminal = Terminal::new();
    let mut child = terminal.start(&home, &["setup", "--provider", "mine", "--model", "m"]);
    terminal.read_until("Keep the stored MINE_API_KEY?");
    terminal.press(b"n");
    terminal.read_until("or Enter for none");
    terminal.enter("");
    terminal.read_until("removed MINE_API_KEY");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let requests = mock.requests();
    let keys = requests.iter().map(|asked| asked.header("authorization"));
    let keys: Vec<_> = keys.collect();
    assert!(!keys.is_empty() && keys.iter().all(Option::is_none), "{keys:?}");
    assert_eq!(fs::read_to_string(&env).unwrap(), "OTHER=1\n");
}

#[test]
fn a_provider_of_the_configuration_is_offered_again() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    let config = "model = \"mine/m\"\n[providers.mine]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    fs::write(home.state().join("config.toml"), config).unwrap();
    let mut terminal = Terminal::new();
    let mut child = terminal.start(&home, &["setup"]);
    terminal.read_until("> mine (127.0.0.1:1, the default now)");
    terminal.press(b"\r");
    let said = terminal.read_until("or Enter to try http://127.0.0.1:1/v1 again: ");
    assert!(!said.contains("agent setup"), "{said}");
    // The end of the input.
    terminal.send(b"\x04");
    let said = terminal.read_until("nothing was saved");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
}

/// A terminal that a program is started at; it is no controlling one.
struct Terminal {
    keys: File,
    theirs: Option<File>,
    came: Receiver<Vec<u8>>,
}

impl Terminal {
    fn new() -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap();
        let theirs = File::options().read(true).write(true).open(name.to_str().unwrap());
        let keys = File::from(keys);
        let mut screen = keys.try_clone().unwrap();
        let (sender, came) = mpsc::channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(length) = screen.read(&mut chunk) {
                if length == 0 || sender.send(chunk[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            keys,
            theirs: Some(theirs.unwrap()),
            came,
        }
    }

    fn with_columns(columns: u16) -> Self {
        let terminal = Self::new();
        let size = Winsize {
            ws_col: columns,
            ws_row: 24,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&terminal.keys, size).unwrap();
        terminal
    }

    fn start(&mut self, home: &Home, args: &[&str]) -> Child {
        let theirs = self.theirs.take().unwrap();
        let mut command = home.command(env!("CARGO_BIN_EXE_agent"));
        command
            .args(args)
            .env("TERM", "xterm")
            .stdin(theirs.try_clone().unwrap())
            .stdout(theirs.try_clone().unwrap())
            .stderr(theirs);
        command.spawn().unwrap()
    }

    /// Presses a key once the program reads keys and not lines.
    fn press(&mut self, key: &[u8]) {
        wait_until("it reads keys", || {
            !tcgetattr(&self.keys).unwrap().local_modes.contains(LocalModes::ICANON)
        });
        self.send(key);
    }

    /// Types a line once the program reads lines and not keys.
    fn enter(&mut self, text: &str) {
        wait_until("it reads lines", || {
            tcgetattr(&self.keys).unwrap().local_modes.contains(LocalModes::ICANON)
        });
        self.send(format!("{text}\n").as_bytes());
    }

    fn send(&mut self, bytes: &[u8]) {
        self.keys.write_all(bytes).unwrap();
    }

    /// What comes up to `wanted`.
    fn read_until(&self, wanted: &str) -> String {
        let mut text = String::new();
        while !text.contains(wanted) {
            let chunk = self.came.recv_timeout(LIMIT);
            let chunk = chunk.unwrap_or_else(|why| panic!("`{wanted}` did not come ({why}): {text:?}"));
            text += &String::from_utf8_lossy(&chunk);
        }
        text
    }

    /// What comes up to the end of the program.
    fn rest(&self) -> String {
        self.came
            .iter()
            .map(|chunk| String::from_utf8_lossy(&chunk).into_owned())
            .collect()
    }
}

/// The lines of the child's output as they come.
fn lines(child: &mut Child) -> Receiver<String> {
    let output = BufReader::new(child.stdout.take().unwrap());
    let (came, lines) = mpsc::channel();
    std::thread::spawn(move || {
        output
            .lines()
            .map_while(Result::ok)
            .try_for_each(|line| came.send(line))
    });
    lines
}

/// The next line that holds `wanted`.
fn wait_for(lines: &Receiver<String>, wanted: &str) -> String {
    loop {
        let line = lines
            .recv_timeout(LIMIT)
            .unwrap_or_else(|why| panic!("`{wanted}` did not come: {why}"));
        if line.contains(wanted) {
            return line;
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_can_not_be_written_is_told_and_no_success() {
    let home = Home::new();
    let greeting = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    for (args, input) in [
        (&["--help"][..], ""),
        (&["run", "--help"], ""),
        (&["--version"], ""),
        (&["acp"], greeting),
    ] {
        let mut command = home.command(env!("CARGO_BIN_EXE_agent"));
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut child = command.args(args).stdout(full).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{input}").unwrap();
        drop(stdin);
        let output = end(child);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(
            stderr(&output).contains("error: can't write"),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_whose_name_is_no_text_is_worked_in() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let home = Home::new();
    let folder = home.work().join(OsStr::from_bytes(b"d\xff\xfe"));
    fs::create_dir(&folder).unwrap();
    let run = |args: &[&str]| {
        let mut command = home.command(env!("CARGO_BIN_EXE_agent"));
        end(command.args(args).current_dir(&folder).spawn().unwrap())
    };
    let output = run(&["run", "list", "--json"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let last: Value = serde_json::from_str(stdout(&output).lines().last().unwrap()).unwrap();
    assert_eq!(last["event"]["event"], "turn_finished");
    let again = run(&["run", "list", "--continue"]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(!stderr(&again).contains("lost"), "{}", stderr(&again));
}
