//! The reading end of an agent's output, which a test can stop, go on with, and close.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use crossbeam_channel::{Receiver, unbounded};

use crate::walls::{Machine, has_any, here};

/// What the reader does before its next line. A line it waits for already is still taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Open,
    Shut,
    Closed,
}

/// Decides whether the output is read.
pub(crate) struct Tap {
    flow: Arc<(Mutex<Flow>, Condvar)>,
}

impl Tap {
    /// Begins to read lines on a thread of its own; their channel ends with the output.
    pub(crate) fn open(output: impl Read + Send + 'static) -> (Self, Receiver<String>) {
        let flow = Arc::new((Mutex::new(Flow::Open), Condvar::new()));
        let tap = Self { flow: flow.clone() };
        let (sender, lines) = unbounded();
        let machine = here();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for line in lines.filter(|line| !tells_of_no_wall(line, machine)) {
                if sender.send(line).is_err() || wait_while_shut(&flow) == Flow::Closed {
                    return;
                }
            }
        });
        (tap, lines)
    }

    /// Reads nothing more for now.
    pub(crate) fn shut(&self) {
        self.set(Flow::Shut);
    }

    /// Reads on.
    pub(crate) fn reopen(&self) {
        self.set(Flow::Open);
    }

    /// Closes the output after the line that comes next.
    pub(crate) fn close(&self) {
        self.set(Flow::Closed);
    }

    fn set(&self, next: Flow) {
        let (flow, changed) = &*self.flow;
        *flow.lock().unwrap_or_else(PoisonError::into_inner) = next;
        changed.notify_all();
    }
}

/// Whether it is what each session tells where a machine has no wall. If that is so of the real one, tests of other things
/// should not hear it.
fn tells_of_no_wall(line: &str, machine: Machine) -> bool {
    machine == Machine::Whole
        && line.contains("\"Note: commands and MCP servers run without a sandbox")
        && !has_any(machine)
}

fn wait_while_shut(flow: &(Mutex<Flow>, Condvar)) -> Flow {
    let (flow, changed) = flow;
    let flow = flow.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = changed.wait_while(flow, |flow| *flow == Flow::Shut);
    *waited.unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.close();
    }
}
