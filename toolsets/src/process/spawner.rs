//! Threads that spawn. A parent-death signal fires when the *thread* that spawned ends, so children must come from a
//! thread that lives as long as they may, never from a worker: one for the whole program, and one for whatever shares
//! a wall that a thread puts around itself.

use std::io;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::orphans;
use super::sys::{self, Fate};

/// Starts children from one thread. When the last handle is dropped the thread ends, and what it has started with it.
#[derive(Clone)]
pub(crate) struct Spawner(Sender<Order>);

struct Order {
    command: Command,
    answer: Sender<io::Result<Child>>,
}

impl Spawner {
    /// The one of the whole program, behind no wall.
    pub(crate) fn of_all() -> Self {
        static OF_ALL: OnceLock<Spawner> = OnceLock::new();
        let spawner = OF_ALL.get_or_init(|| {
            Self::start(thread::Builder::new().name("spawner".into()), || {
                sys::seal_inherited_descriptors();
                orphans::adopt();
                Ok(())
            })
            .expect("a thread can be started at the first command")
        });
        spawner.clone()
    }

    /// One whose thread goes through `confine` first; what that does to the thread holds for all that it starts.
    ///
    /// # Errors
    /// What `confine` says, or that there is no thread. Nothing can be started then.
    #[cfg(target_os = "linux")]
    pub(crate) fn confined(confine: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        // Before any child, since it decides whose orphans are ours.
        drop(Self::of_all());
        Self::start(thread::Builder::new().name("walled spawner".into()), confine)
    }

    fn start(thread: thread::Builder, prepare: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        // Workers send, the spawner receives; each sender waits for its answer, so it holds at most one order a worker.
        let (sender, receiver) = unbounded::<Order>();
        let (prepared, is_ready) = bounded(1);
        // Nobody joins this thread: it ends with its last handle.
        thread.spawn(move || {
            let ready = prepare();
            let goes_on = ready.is_ok();
            let _caller_waits = prepared.send(ready);
            if goes_on {
                serve(&receiver);
            }
        })?;
        is_ready.recv().expect("the spawner says whether it is ready")?;
        Ok(Self(sender))
    }

    /// Starts a child detached from the agent: own session and group, no inherited descriptor, dead when the agent is.
    /// Its stdin, stdout and stderr are what the caller has set; the default for stdin, inheriting, is never right.
    ///
    /// # Errors
    /// What the operating system says about the start, such as a program or a folder that doesn't exist.
    pub(super) fn spawn(&self, mut command: Command) -> io::Result<Child> {
        sys::detach(&mut command, Fate::Shared);
        self.ordered(command)
    }

    /// Starts a child as [`Self::spawn`] does, that goes on when the agent is dead.
    pub(super) fn spawn_lasting(&self, mut command: Command) -> io::Result<Child> {
        sys::detach(&mut command, Fate::Own);
        self.ordered(command)
    }

    fn ordered(&self, command: Command) -> io::Result<Child> {
        let (answer, answered) = bounded(1);
        self.0
            .send(Order { command, answer })
            .expect("the spawner lives as long as its handles");
        answered.recv().expect("the spawner answers each order")
    }
}

fn serve(orders: &Receiver<Order>) {
    for Order { mut command, answer } in orders {
        let child = command.spawn();
        // The command holds the parent's copies of the child's pipe ends: a reader would never see the end.
        drop(command);
        let _caller_gone = answer.send(child);
    }
}
