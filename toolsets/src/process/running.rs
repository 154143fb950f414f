//! A command from its start to its end: the child, what it prints, and how it is stopped.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use crossbeam_channel::{Receiver, Sender, after, bounded, never, select};
use parking_lot::Mutex;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::environment::Mark;
use super::group::Group;
use super::guard::Guarded;
use super::orphans;
use super::output::Output;
use super::ready::Ready;
use super::stray;
use crate::runs::RunGuard;

/// After a command's end its pipes are read for this long, since a descendant may hold them for ever.
const DRAIN: Duration = Duration::from_millis(250);
/// The same for one that was killed: only what fled its group can hold the pipes, and somebody may wait for a cancel.
const LAST_DRAIN: Duration = Duration::from_millis(25);
/// New output is told at most this often.
const PACE: Duration = Duration::from_millis(100);
/// What is only tried is not waited for longer.
const PROBE: Duration = Duration::from_secs(3);
/// A reader that doesn't read is not waited for longer.
const WRITE_LIMIT: Duration = Duration::from_secs(2);

/// What a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing.
    Empty,
    /// What is written to it by [`Running::write`].
    Written,
}

/// What a program is spoken with over.
pub(crate) struct Spoken {
    /// What it reads.
    pub(crate) stdin: ChildStdin,
    /// What it says.
    pub(crate) stdout: ChildStdout,
}

/// How a command ended by itself or by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    /// Its exit code; none after a signal.
    pub(crate) code: Option<i32>,
    /// The signal that killed it.
    pub(crate) signal: Option<i32>,
}

/// Why a wait for a command is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The command has ended.
    Exited(Exit),
    /// It still runs, and the time is up.
    TimedOut,
    /// It still runs, and the turn is cancelled.
    Cancelled,
}

/// A command that was started. Dropping it kills what still runs of it.
pub(crate) struct Running {
    guarded: Arc<Guarded>,
    /// By which what has left the group is found; none where that is nobody's concern.
    mark: Option<Mark>,
    leader: Arc<Mutex<Leader>>,
    output: Arc<Output>,
    stdin: Mutex<Option<ChildStdin>>,
    /// Closes when the child has ended and its exit is known.
    exited: Receiver<()>,
    /// Closes when no process holds the output's pipe any more.
    silent: Receiver<()>,
    /// Ends with this.
    _run: Option<RunGuard>,
}

struct Leader {
    child: Child,
    exit: Option<Exit>,
    /// Others of its group were alive when it ended. If none were, the group's number may be somebody else's by now.
    left: bool,
}

impl Running {
    /// Starts `command`, whose processes carry `mark`; its stdout and stderr are heard in the order they come.
    ///
    /// # Errors
    /// What the operating system says about pipes or the start.
    pub(super) fn start(mut ready: Ready, mark: Option<Mark>, input: Input) -> io::Result<Self> {
        let command = ready.command();
        let (printed, writer) = io::pipe()?;
        command.stdin(match input {
            Input::Empty => Stdio::null(),
            Input::Written => Stdio::piped(),
        });
        command.stdout(writer.try_clone()?).stderr(writer);
        let life = ready.life.take();
        let (mut child, guarded) = Guarded::spawn(ready)?;
        let stdin = child.stdin.take();
        Self::watch((child, life), guarded, mark, stdin, printed)
    }

    /// Starts `command` to be spoken with over the two pipes that come back; what is heard as its output is its stderr.
    ///
    /// # Errors
    /// What the operating system says about pipes or the start.
    pub(super) fn start_spoken(mut ready: Ready, mark: Mark) -> io::Result<(Self, Spoken)> {
        let command = ready.command();
        let (printed, writer) = io::pipe()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(writer);
        let life = ready.life.take();
        let (mut child, guarded) = Guarded::spawn(ready)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or(ErrorKind::BrokenPipe)?;
        let running = Self::watch((child, life), guarded, Some(mark), None, printed)?;
        Ok((running, Spoken { stdin, stdout }))
    }

    fn watch(
        (child, life): (Child, Option<Arc<()>>),
        guarded: Guarded,
        mark: Option<Mark>,
        stdin: Option<ChildStdin>,
        printed: io::PipeReader,
    ) -> io::Result<Self> {
        let group = guarded.group();
        let leader = Arc::new(Mutex::new(Leader {
            child,
            exit: None,
            left: false,
        }));
        let output = Arc::new(Output::new());
        Ok(Self {
            exited: watch("exit", wait_for(group, Arc::clone(&leader), life)).inspect_err(|_| group.kill())?,
            silent: watch("output", read_all(printed, Arc::clone(&output))).inspect_err(|_| group.kill())?,
            guarded: Arc::new(guarded),
            mark,
            leader,
            output,
            stdin: Mutex::new(stdin),
            _run: None,
        })
    }

    /// The same, as a run that may change files until this drops.
    pub(super) fn during(mut self, run: RunGuard) -> Self {
        self._run = Some(run);
        self
    }

    /// What it has printed.
    pub(crate) fn output(&self) -> &Output {
        &self.output
    }

    /// Carries nothing and closes when the command has ended.
    pub(crate) fn exited(&self) -> &Receiver<()> {
        &self.exited
    }

    /// How it ended; none while it runs.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.leader.lock().exit
    }

    /// Waits for its end, for `limit` at most, and calls `news` when something was printed: at once at first, then at a
    /// bounded rate, and a last time for the last state.
    pub(crate) fn follow(&self, limit: Duration, cancel: &Cancel, mut news: impl FnMut()) -> End {
        let deadline = after(limit);
        let (mut pause, mut paused) = (never(), false);
        let quiet = never();
        let end = loop {
            let printed = if paused { &quiet } else { self.output.news() };
            select! {
                recv(self.exited) -> _ => break End::Exited(self.exit().expect("the exit is noted before the channel closes")),
                recv(cancel.closed()) -> _ => break End::Cancelled,
                recv(deadline) -> _ => break End::TimedOut,
                recv(printed) -> _ => {
                    news();
                    (pause, paused) = (after(PACE), true);
                }
                recv(pause) -> _ => (pause, paused) = (never(), false),
            }
        };
        if let End::Exited(_) = end {
            self.drain();
        }
        if self.output.news().try_recv().is_ok() {
            news();
        }
        end
    }

    /// Takes what is still in the pipe of an ended command, and after that nothing more. The pipe itself is read on:
    /// a descendant that was left running would die at its next line otherwise.
    pub(crate) fn drain(&self) {
        self.drain_for(DRAIN);
    }

    fn drain_for(&self, limit: Duration) {
        select! {
            recv(self.silent) -> _ => {}
            recv(after(limit)) -> _ => {}
        }
        self.output.seal();
    }

    /// Ends the command, its group and what has left it: asks, waits for `grace` at most, then kills. Waits for the exit
    /// to be known.
    pub(crate) fn end(&self, grace: Duration) {
        let deadline = Instant::now() + grace + LAST_DRAIN;
        let keeper = self.guarded.group().keeper();
        let strays = self.mark.clone().map(|mark| stray::end_aside(mark, keeper, grace));
        if let Some(guarded) = self.alive() {
            guarded.group().end(grace);
        }
        select! {
            recv(self.exited) -> _ => {}
            // A process that the kernel holds can't be killed now; it is not waited for.
            recv(after(DRAIN)) -> _ => {}
        }
        if let Some(strays) = strays {
            // With many processes to look through they end behind our back, and soon.
            let _gone_or_late = strays.recv_deadline(deadline);
        }
        self.drain_for(LAST_DRAIN);
    }

    /// Writes to the command's input.
    ///
    /// # Errors
    /// `BrokenPipe` when it has ended or reads nothing any more, `TimedOut` when it doesn't take the text in time.
    pub(crate) fn write(&self, text: &str, cancel: &Cancel) -> io::Result<()> {
        let mut stdin = self.stdin.lock();
        let stdin = stdin.as_mut().ok_or(ErrorKind::BrokenPipe)?;
        fcntl_setfl(&*stdin, fcntl_getfl(&*stdin)? | OFlags::NONBLOCK)?;
        let deadline = Instant::now() + WRITE_LIMIT;
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match stdin.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                Err(_) if cancel.is_set() || Instant::now() > deadline => return Err(ErrorKind::TimedOut.into()),
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
        Ok(())
    }

    /// The group, while it is surely the command's: it runs, or has left something running.
    pub(super) fn alive(&self) -> Option<&Arc<Guarded>> {
        let leader = self.leader.lock();
        let known = leader.exit.is_none() || leader.left;
        (known && self.guarded.group().exists()).then_some(&self.guarded)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.exit().is_none() {
            self.guarded.group().kill();
        }
    }
}

/// Runs a command that should end well and soon.
///
/// # Errors
/// That it could not be started, or how it ended and what it said.
pub(crate) fn last_words(mut ready: Ready) -> io::Result<()> {
    ready.command().current_dir("/");
    // What it has started ends with it.
    let _spawner = ready.spawner.clone();
    let running = Running::start(ready, None, Input::Empty)?;
    let end = running.follow(PROBE, &Cancel::new(), || {});
    if end
        == End::Exited(Exit {
            code: Some(0),
            signal: None,
        })
    {
        return Ok(());
    }
    running.end(Duration::ZERO);
    let said = running.output().since(0).text();
    let said = said.lines().next_back().unwrap_or_default();
    Err(io::Error::other(match end {
        End::TimedOut | End::Cancelled => "it does not come to its end".to_owned(),
        End::Exited(_) if said.is_empty() => "it ended badly and said nothing".to_owned(),
        End::Exited(_) => said.to_owned(),
    }))
}

/// Runs `work` on a thread of its own; what is returned closes when it is done. Nobody joins these threads: they end
/// with the process they watch, and what they hold is theirs.
fn watch(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Receiver<()>> {
    let (done, closed): (Sender<()>, _) = bounded(0);
    thread::Builder::new().name(name.into()).spawn(move || {
        work();
        drop(done);
    })?;
    Ok(closed)
}

/// Waits for the child without taking its exit, so that its number stays its own until the lock is held.
fn wait_for(group: Group, leader: Arc<Mutex<Leader>>, life: Option<Arc<()>>) -> impl FnOnce() {
    move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(group.leader()), options).is_err_and(|error| error == Errno::INTR) {}
        drop(life);
        let mut leader = leader.lock();
        let status = leader.child.wait().ok();
        // A group of zombies exists too.
        orphans::reap();
        // What is behind a keeper ends with it, if not in the same moment.
        leader.left = group.keeper().is_none() && group.exists();
        leader.exit = Some(Exit {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
        });
    }
}

fn read_all(mut printed: io::PipeReader, output: Arc<Output>) -> impl FnOnce() {
    move || {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            match printed.read(&mut chunk) {
                Ok(0) => return,
                Ok(length) => output.push(&chunk[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}
