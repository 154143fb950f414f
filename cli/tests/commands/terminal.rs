//! A terminal that the program is started at, with somebody at its keys.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Child;
use std::sync::mpsc::{self, Receiver};

use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use talaria_tests::start::wait_until;

use crate::LIMIT;
use crate::home::Home;

/// A terminal that a program is started at; it is no controlling one.
pub(crate) struct Terminal {
    keys: File,
    theirs: Option<File>,
    came: Receiver<Vec<u8>>,
}

impl Terminal {
    pub(crate) fn new() -> Self {
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

    pub(crate) fn with_columns(columns: u16) -> Self {
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

    pub(crate) fn start(&mut self, home: &Home, args: &[&str]) -> Child {
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
    pub(crate) fn press(&mut self, key: &[u8]) {
        wait_until("it reads keys", || {
            !tcgetattr(&self.keys).unwrap().local_modes.contains(LocalModes::ICANON)
        });
        self.send(key);
    }

    /// Types a line once the program reads one that is not shown; it throws away what was typed before.
    pub(crate) fn enter_unseen(&mut self, text: &str) {
        wait_until("it reads a line unseen", || {
            let modes = tcgetattr(&self.keys).unwrap().local_modes;
            modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO)
        });
        self.send(format!("{text}\n").as_bytes());
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.keys.write_all(bytes).unwrap();
    }

    /// What comes up to `wanted`.
    pub(crate) fn read_until(&self, wanted: &str) -> String {
        let mut text = String::new();
        while !text.contains(wanted) {
            let chunk = self.came.recv_timeout(LIMIT);
            let chunk = chunk.unwrap_or_else(|why| panic!("`{wanted}` did not come ({why}): {text:?}"));
            text += &String::from_utf8_lossy(&chunk);
        }
        text
    }

    /// What comes up to the end of the program.
    pub(crate) fn rest(&self) -> String {
        self.came
            .iter()
            .map(|chunk| String::from_utf8_lossy(&chunk).into_owned())
            .collect()
    }
}
