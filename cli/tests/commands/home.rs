//! A home and a folder to work in, and the program started there.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};

use rustix::process::{Pid, Signal, kill_process};

use crate::LIMIT;

pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir(home.work()).unwrap();
        fs::write(home.work().join("a.txt"), "hello\n").unwrap();
        home
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.path().join("talaria")
    }

    pub(crate) fn command(&self, program: &str) -> Command {
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

    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.command(env!("CARGO_BIN_EXE_agent")).args(args).spawn().unwrap()
    }

    pub(crate) fn agent(&self, args: &[&str]) -> Output {
        end(self.start(args))
    }
}

/// Closes the child's stdin and waits for its end.
pub(crate) fn end(mut child: Child) -> Output {
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

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The lines of the child's output as they come.
pub(crate) fn lines(child: &mut Child) -> Receiver<String> {
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
pub(crate) fn wait_for(lines: &Receiver<String>, wanted: &str) -> String {
    loop {
        let line = lines
            .recv_timeout(LIMIT)
            .unwrap_or_else(|why| panic!("`{wanted}` did not come: {why}"));
        if line.contains(wanted) {
            return line;
        }
    }
}
