//! The one thread that spawns. A parent-death signal fires when the *thread* that spawned ends, so children must come
//! from a thread that lives as long as the program, never from a worker.

use std::io;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::thread;

use crossbeam_channel::{Sender, bounded, unbounded};

use super::orphans;
use super::sys::{self, Fate};

struct Order {
    command: Command,
    answer: Sender<io::Result<Child>>,
}

/// Starts a child detached from the agent: own session and group, no inherited descriptor, dead when the agent is.
/// Its stdin, stdout and stderr are what the caller has set; the default for stdin, inheriting, is never right.
///
/// # Errors
/// What the operating system says about the start, such as a program or a folder that doesn't exist.
pub(crate) fn spawn(mut command: Command) -> io::Result<Child> {
    sys::detach(&mut command, Fate::Shared);
    ordered(command)
}

/// Starts a child as [`spawn`] does, that goes on when the agent is dead.
pub(super) fn spawn_lasting(mut command: Command) -> io::Result<Child> {
    sys::detach(&mut command, Fate::Own);
    ordered(command)
}

fn ordered(command: Command) -> io::Result<Child> {
    let (answer, answered) = bounded(1);
    orders()
        .send(Order { command, answer })
        .expect("the spawner never ends while the program runs");
    answered.recv().expect("the spawner answers each order")
}

/// Workers send, the spawner receives; each sender waits for its answer, so it holds at most one order a worker.
fn orders() -> &'static Sender<Order> {
    static ORDERS: OnceLock<Sender<Order>> = OnceLock::new();
    ORDERS.get_or_init(|| {
        let (sender, receiver) = unbounded::<Order>();
        thread::Builder::new()
            .name("spawner".into())
            .spawn(move || {
                sys::seal_inherited_descriptors();
                orphans::adopt();
                for Order { mut command, answer } in receiver {
                    let child = command.spawn();
                    // The command holds the parent's copies of the child's pipe ends: a reader would never see the end.
                    drop(command);
                    let _caller_gone = answer.send(child);
                }
            })
            .expect("a thread can be started at the first command");
        sender
    })
}
