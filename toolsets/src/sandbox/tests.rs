//! What each wall of Linux holds, and what it does not: the table of the documentation.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::ffi::OsStr;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use agent_core::event::Event;
use tempfile::TempDir;

use super::found::{look_at_bubblewrap, look_at_kernel};
use super::*;
use crate::process::{Environment, Hidden, Processes};

/// A workspace with a repository, a folder beside it that holds a secret, and processes behind one wall.
struct Cell {
    folders: TempDir,
    processes: Processes,
}

/// Where the folders lie: `/tmp` is another one behind bubblewrap.
const PLACE: &str = "/var/tmp";

fn cell(wall: Result<Wall, String>, network: bool) -> Option<Cell> {
    let wall = match wall {
        Ok(wall) => wall,
        Err(why) => {
            eprintln!("skipped: {why}");
            return None;
        }
    };
    let folders = tempfile::tempdir_in(PLACE).unwrap();
    let base = folders.path().canonicalize().unwrap();
    for folder in ["ws/.git/hooks", "ws/.git/modules/m", "out/secret"] {
        fs::create_dir_all(base.join(folder)).unwrap();
    }
    for file in [
        "ws/.git/config",
        "ws/.git/modules/m/config",
        "out/file",
        "out/secret/key",
    ] {
        fs::write(base.join(file), "old\n").unwrap();
    }
    fs::hard_link(base.join("out/file"), base.join("ws/twin")).unwrap();
    std::os::unix::fs::symlink(base.join("out"), base.join("ws/link")).unwrap();
    let config = Config {
        sandbox: agent_core::config::SandboxConfig {
            network,
            ..Default::default()
        },
        ..Config::default()
    };
    let scope = scope(&base.join("ws"));
    let sandbox = Sandbox {
        given: Some(Found {
            wall: Some(wall),
            lacks: String::new(),
        }),
        ..Sandbox::new(&scope, &config, &[base.join("out/secret")])
    };
    let environment = Environment::new(scope.session, Hidden::default());
    Some(Cell {
        processes: Processes::new(environment, Arc::default(), sandbox),
        folders,
    })
}

impl Cell {
    fn path(&self, name: &str) -> PathBuf {
        self.folders.path().canonicalize().unwrap().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs a command; says whether it went well, and what it printed.
    fn run(&self, command: &str) -> (bool, String) {
        let state = self.processes.sandbox().around(Way::Inside).unwrap();
        let started = self.processes.start(command, &self.path("ws"), &state).unwrap();
        started.running.follow(Duration::from_secs(20), &Cancel::new(), || {});
        let went_well = started.running.exit().is_some_and(|exit| exit.code == Some(0));
        (went_well, started.running.output().since(0).text())
    }

    /// Checks whether a command can do what it tries.
    fn check(&self, command: &str, can: bool) {
        let (went_well, printed) = self.run(command);
        assert_eq!(went_well, can, "{command}: {printed}");
    }
}

/// Which of the two walls.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Bubblewrap,
    Kernel,
}

fn each(network: bool, check: impl Fn(&Cell, Kind)) {
    for (kind, wall) in [
        (Kind::Bubblewrap, look_at_bubblewrap()),
        (Kind::Kernel, look_at_kernel()),
    ] {
        if let Some(cell) = cell(wall, network) {
            check(&cell, kind);
        }
    }
}

#[test]
fn the_workspace_and_its_tmp_are_writable_and_tmp_lasts() {
    each(true, |cell, _| {
        cell.check("echo new > made && mkdir -p a/b && mv made a/b/c && cat a/b/c", true);
        assert_eq!(cell.text("ws/a/b/c"), "new\n");
        cell.check("echo kept > $TMPDIR/f && echo x > /dev/null", true);
        assert_eq!(cell.run("cat $TMPDIR/f"), (true, "kept\n".to_owned()));
        let tmp = cell.processes.sandbox().tmp().unwrap().to_owned();
        assert_eq!(fs::metadata(&tmp).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_to_string(tmp.join("f")).unwrap(), "kept\n");
    });
}

#[test]
fn the_folder_for_temporary_files_goes_with_the_session() {
    each(true, |cell, _| cell.check("true", true));
    let Some(cell) = cell(look_at_kernel(), true) else {
        return;
    };
    cell.check("touch $TMPDIR/x", true);
    let tmp = cell.processes.sandbox().tmp().unwrap().to_owned();
    drop(cell);
    assert!(!tmp.exists());
}

#[test]
fn nothing_outside_is_written_by_any_name() {
    each(true, |cell, kind| {
        let out = cell.path("out");
        let out = out.display();
        for command in [
            format!("echo x > {out}/new"),
            format!("echo x > {out}/file"),
            "echo x > link/new".to_owned(),
            "echo x > link/file".to_owned(),
            "echo x > ../out/file".to_owned(),
            format!("truncate -s 0 {out}/file"),
            format!("rm {out}/file"),
            format!("mv {out}/file stolen"),
            format!("ln {out}/file second"),
            "mkdir link/sub".to_owned(),
        ] {
            cell.check(&command, false);
        }
        // No right of Landlock's.
        cell.check("chmod 600 link/file", kind == Kind::Kernel);
        cell.check("touch -d 2001-01-01 link/file", kind == Kind::Kernel);
        assert_eq!(cell.text("out/file"), "old\n");
        // A name that is inside already: neither wall can tell it from a file of the workspace.
        cell.check("echo changed > twin", true);
        assert_eq!(cell.text("out/file"), "changed\n");
    });
}

#[test]
fn what_is_protected_is_held_by_bubblewrap_alone() {
    for network in [true, false] {
        each(network, |cell, kind| {
            let can = kind == Kind::Kernel;
            let state = cell.processes.sandbox().around(Way::Inside).unwrap();
            assert!(matches!(state, State::Inside(wall) if wall.holds_protected != can));
            for command in [
                "echo x >> .git/config",
                "echo x > .git/new && mv .git/new .git/config",
                "echo x > .git/hooks/pre-commit",
                "mv .git/hooks .git/was && mv .git/was .git/hooks",
                "echo x >> .git/modules/m/config",
                "mv .git away && mv away .git",
            ] {
                cell.check(command, can);
            }
            // Where commands are asked about they may write history.
            cell.check("echo x > .git/index", can || network);
            cell.check("rm -r .git", can);
        });
    }
}

#[test]
fn what_steers_git_and_is_made_anew_is_told() {
    each(true, |cell, kind| {
        let state = cell.processes.sandbox().around(Way::Inside).unwrap();
        let command = "echo x > .git/commondir; mv .git/modules .git/was; mkdir -p .git/modules/m; echo x > .git/modules/m/config";
        let started = cell.processes.start(command, &cell.path("ws"), &state).unwrap();
        started.running.follow(Duration::from_secs(20), &Cancel::new(), || {});
        let made = cell.processes.made_by(&started);
        assert_eq!(
            made,
            [cell.path("ws/.git/commondir"), cell.path("ws/.git/modules/m/config")]
        );
        let can = kind == Kind::Kernel;
        cell.check("echo x > .git/commondir", can);
        cell.check("echo x > .git/modules/m/config", can);
    });
}

#[test]
fn history_that_a_running_process_may_still_exchange_for_a_link_is_not_lent() {
    let Some(cell) = cell(look_at_bubblewrap(), true) else {
        return;
    };
    fs::remove_dir_all(cell.path("ws/.git")).unwrap();
    let state = cell.processes.sandbox().around(Way::Inside).unwrap();
    let background = cell
        .processes
        .start_background("read line", &cell.path("ws"), &state)
        .unwrap();
    cell.check("mkdir .git", true);
    cell.check("touch .git/index", false);
    background.end(Duration::from_secs(2));
    wait_until(|| cell.run("touch .git/index").0);
}

#[test]
fn what_was_not_there_can_be_made_and_is_told() {
    each(true, |cell, _| {
        let state = cell.processes.sandbox().around(Way::Inside).unwrap();
        let started = cell
            .processes
            .start("mkdir -p a/.vscode && touch AGENTS.md plain", &cell.path("ws"), &state)
            .unwrap();
        started.running.follow(Duration::from_secs(20), &Cancel::new(), || {});
        let made = cell.processes.made_by(&started);
        assert_eq!(made, [cell.path("ws/AGENTS.md"), cell.path("ws/a/.vscode")]);
        cell.check("echo x > plain", true);
    });
}

#[test]
fn what_is_hidden_is_not_read_and_all_else_is() {
    each(true, |cell, kind| {
        cell.check("cat link/file /etc/hostname", true);
        cell.check("cat link/secret/key", false);
        // Landlock hides what is in it, not that it is there.
        cell.check("ls link/secret/key", kind == Kind::Kernel);
        cell.check("echo x > link/secret/key2", false);
        assert!(!cell.path("out/secret/key2").exists());
    });
}

#[test]
fn other_processes_are_out_of_reach() {
    each(true, |cell, kind| {
        let own = std::process::id();
        cell.check(&format!("kill -0 {own}"), false);
        cell.check(&format!("kill -0 {}", rustix::process::getppid().unwrap()), false);
        // Root has a right of its own to look into others (`CAP_PERFMON`), which Landlock does not take.
        if kind == Kind::Bubblewrap || !rustix::process::geteuid().is_root() {
            cell.check(&format!("cat /proc/{own}/environ"), false);
        }
        cell.check("sleep 60 & kill $!", true);
    });
}

#[test]
fn what_a_command_leaves_behind_ends_with_it_behind_bubblewrap_and_with_the_session_behind_the_kernel() {
    each(true, |cell, kind| {
        let token = format!("60.{}", SessionId::new().as_str().len() + std::process::id() as usize);
        let token = format!("{token}{}", if kind == Kind::Kernel { 1 } else { 2 });
        cell.check(&format!("setsid sleep {token} > /dev/null 2>&1 & sleep 0.05"), true);
        match kind {
            Kind::Bubblewrap => wait_until(|| !runs(&token)),
            Kind::Kernel => assert!(runs(&token)),
        }
    });
}

/// Whether a process has this word on its command line.
fn runs(word: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes()))
}

fn wait_until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came to be so");
        std::thread::yield_now();
    }
}

#[test]
fn a_command_that_is_stopped_gets_its_grace() {
    each(true, |cell, _| {
        let state = cell.processes.sandbox().around(Way::Inside).unwrap();
        let command = "trap 'echo put away > away; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
        let started = cell.processes.start(command, &cell.path("ws"), &state).unwrap();
        started
            .running
            .output()
            .news()
            .recv_timeout(Duration::from_secs(10))
            .unwrap();
        started.running.end(Duration::from_secs(5));
        assert_eq!(cell.text("ws/away"), "put away\n");
        assert_eq!(started.running.exit().unwrap().code, Some(3));
    });
}

#[test]
fn a_background_command_lives_on_and_ends_with_the_session() {
    each(true, |cell, kind| {
        let state = cell.processes.sandbox().around(Way::Inside).unwrap();
        let token = format!("61.{}{}", std::process::id(), kind as u8);
        let command = format!("read line; echo got $line; exec sleep {token}");
        let background = cell
            .processes
            .start_background(&command, &cell.path("ws"), &state)
            .unwrap();
        cell.check("true", true);
        background.write("word\n", &Cancel::new()).unwrap();
        wait_until(|| runs(&token));
        wait_until(|| background.progress().tail == "got word\n");
        background.end(Duration::from_secs(2));
        wait_until(|| !runs(&token));
    });
}

#[test]
fn the_network_is_there_unless_it_is_off() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    for network in [true, false] {
        each(network, |cell, _| {
            cell.check(&format!("exec 3<> /dev/tcp/127.0.0.1/{tcp_port}"), network);
        });
    }
    udp.set_nonblocking(true).unwrap();
    each(false, |cell, _| {
        // A datagram to a network that is not there may be said to have gone.
        cell.run(&format!("echo x > /dev/udp/127.0.0.1/{udp_port}"));
        assert!(udp.recv(&mut [0; 8]).is_err());
    });
}

#[test]
fn sockets_of_services_are_out_of_reach_where_a_wall_can_do_that() {
    let sockets = tempfile::tempdir_in("/tmp").unwrap();
    let in_tmp = sockets.path().join("socket");
    let _listener = UnixListener::bind(&in_tmp).unwrap();
    // What was built in `/tmp` is not seen either.
    let built = tempfile::tempdir_in(PLACE).unwrap();
    let program = built.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let program = program.display();
    for network in [true, false] {
        each(network, |cell, kind| {
            let reach = |socket: &Path| {
                let socket = socket.display();
                format!("TALARIA_SOCKET={socket} {program} --exact sandbox::tests::reaches_a_socket --ignored")
            };
            // Another /tmp, and with the network off no sockets: but Landlock itself does not know of them.
            cell.check(&reach(&in_tmp), kind == Kind::Kernel && network);
            let elsewhere = cell.path("out/socket");
            let _listener = UnixListener::bind(&elsewhere).unwrap();
            cell.check(&reach(&elsewhere), kind == Kind::Bubblewrap || network);
        });
    }
}

/// What a command of the test above runs.
#[test]
#[ignore = "it is a command of another test"]
fn reaches_a_socket() {
    UnixStream::connect(std::env::var_os("TALARIA_SOCKET").unwrap()).unwrap();
}

#[test]
fn a_wall_that_can_not_be_put_up_is_an_error_and_nothing_runs() {
    let Some(cell) = cell(Ok(Wall::Bubblewrap("/nowhere/bwrap".into())), true) else {
        return;
    };
    let state = cell.processes.sandbox().around(Way::Inside).unwrap();
    assert!(cell.processes.start("touch ran", &cell.path("ws"), &state).is_err());
    assert!(!cell.path("ws/ran").exists());
}

#[test]
fn without_a_wall_a_required_one_is_an_error_and_another_is_told() {
    let lacking = |mode, network| {
        let mut config = Config::default();
        (config.sandbox.mode, config.sandbox.network) = (mode, network);
        Sandbox {
            given: Some(Found {
                wall: None,
                lacks: "nothing is there".to_owned(),
            }),
            ..Sandbox::new(&scope(Path::new("/")), &config, &[])
        }
    };
    let titled = |sandbox: &Sandbox| match sandbox.notice() {
        Some(Event::Notice { title, .. }) => title,
        other => format!("{other:?}"),
    };
    let required = lacking(SandboxMode::Required, true);
    assert!(required.around(Way::Inside).unwrap_err().contains("nothing is there"));
    assert_eq!(titled(&required), "no command and no MCP server can be started");
    assert!(!required.may_be_left());
    let state = State::None { why: String::new() };
    let ready = required.server_ready("s", OsStr::new("true"), &[], Path::new("/"));
    assert!(ready.is_err_and(|error| error.to_string().contains("required")));
    let auto = lacking(SandboxMode::Auto, true);
    assert!(matches!(auto.around(Way::Left).unwrap(), State::None { why } if why == "nothing is there"));
    assert_eq!(titled(&auto), "commands and MCP servers run without a sandbox");
    assert!(auto.ready(&state, OsStr::new("true"), &[], Path::new("/")).is_ok());
    assert!(titled(&lacking(SandboxMode::Auto, false)).contains("holds for web_fetch only"));
    assert!(titled(&lacking(SandboxMode::Off, false)).contains("holds for web_fetch only"));
    assert_eq!(lacking(SandboxMode::Off, true).notice(), None);
}
