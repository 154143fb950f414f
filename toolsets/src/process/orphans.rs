//! Processes whose parents have ended. On Linux they become the agent's own children: so even one that left its group
//! and cleared its environment is found and ended, and one that has ended by itself does not stay as a zombie. On
//! other systems they are not ours any more.

#[cfg(target_os = "linux")]
pub(super) use linux::{adopt, end_ownerless, reap, reap_from_now_on};

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::{adopt, end_ownerless, reap, reap_from_now_on};

#[cfg(target_os = "linux")]
mod linux {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, set_child_subreaper, waitid};

    use super::super::guard::{self, Own};

    /// A process that the kernel holds can't be killed now; it is not waited for any longer.
    const LIMIT: Duration = Duration::from_millis(250);
    /// The first and the longest pause before looking again when a child has ended whose exit its owner takes.
    const PAUSE: Duration = Duration::from_millis(5);
    const LONGEST_PAUSE: Duration = Duration::from_secs(1);

    static ADOPTS: AtomicBool = AtomicBool::new(false);
    static REAPING: AtomicBool = AtomicBool::new(false);

    /// Makes this process the parent of whatever its children leave behind. To be called before the first of them is
    /// started: a child that is there already was begun by who became this program, and neither it nor what it leaves
    /// behind is ours to end, so that nothing is adopted then.
    pub(in super::super) fn adopt() {
        if !children().is_empty() {
            tracing::info!("this program was begun with children: what leaves the group of a command is not followed");
            return;
        }
        ADOPTS.store(true, Ordering::Relaxed);
        if let Err(error) = set_child_subreaper(Some(getpid())) {
            tracing::warn!(%error, "processes that leave their group can't be followed");
        }
    }

    /// Takes the exits of the orphans that have ended. Says whether there was one.
    pub(in super::super) fn reap() -> bool {
        guard::with_own(|own| adopted(own).into_iter().filter(|pid| take_exit(*pid)).count() > 0)
    }

    /// Ends all orphans and what they started, if no session has any process: an orphan says nothing of whose it is, and
    /// then it can be nobody's.
    pub(in super::super) fn end_ownerless() {
        let deadline = Instant::now() + LIMIT;
        // The children of an orphan are orphans next: each round goes one generation down.
        while end_generation() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn end_generation() -> bool {
        guard::with_own(|own| {
            if own.has_sessions() {
                return false;
            }
            let orphans = adopted(own);
            for pid in &orphans {
                // Its number can't be somebody else's yet: nobody but us takes its exit.
                let _ended_already = kill_process(*pid, Signal::KILL);
                take_exit(*pid);
            }
            !orphans.is_empty()
        })
    }

    /// Keeps a thread that reaps as long as there are children. To be called after a start, with the guard's lock held.
    pub(in super::super) fn reap_from_now_on() {
        if REAPING.swap(true, Ordering::Relaxed) {
            return;
        }
        // Without it they are reaped when commands end.
        if let Err(error) = thread::Builder::new().name("reaper".into()).spawn(reap_while_children) {
            REAPING.store(false, Ordering::Relaxed);
            tracing::warn!(%error, "ended orphans stay for a while");
        }
    }

    /// Nobody joins this thread: it ends when the last child has.
    fn reap_while_children() {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let mut pause = PAUSE;
        loop {
            match waitid(WaitId::All, ended) {
                Ok(_) => {
                    pause = if reap() { PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
                    thread::sleep(pause);
                }
                Err(Errno::INTR) => {}
                // Looked at again under the lock, since one may have been started just now.
                Err(_) => {
                    let over = |_: &Own<'_>| {
                        let over = waitid(WaitId::All, ended | WaitIdOptions::NOHANG).is_err();
                        REAPING.store(!over, Ordering::Relaxed);
                        over
                    };
                    if guard::with_own(over) {
                        return;
                    }
                }
            }
        }
    }

    /// Our children that we have not started: all that we start for a command leads a session and is known as our own,
    /// and any other child of this program is in our own session.
    fn adopted(own: &Own<'_>) -> Vec<Pid> {
        if !ADOPTS.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let ours = session_of(getpid());
        let foreign = |pid: &Pid| session_of(*pid).is_some_and(|session| Some(session) != ours) && !own.has(*pid);
        children().into_iter().filter(foreign).collect()
    }

    /// The number of a process's session, 0 if that is outside our namespace of processes, where `getsid` has no
    /// answer that rustix could give. It is the fourth field after the name, which ends with the last `)`.
    fn session_of(pid: Pid) -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        fields.split(' ').nth(3)?.parse().ok()
    }

    fn children() -> Vec<Pid> {
        let threads = std::fs::read_dir(Path::new("/proc/self/task")).into_iter().flatten();
        let lists = threads
            .flatten()
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let numbers = lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        numbers
            .filter_map(|number| Pid::from_raw(number.parse().ok()?))
            .collect()
    }

    fn take_exit(pid: Pid) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        waitid(WaitId::Pid(pid), options).is_ok_and(|exit| exit.is_some())
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    pub(in super::super) fn adopt() {}

    pub(in super::super) fn reap() -> bool {
        false
    }

    pub(in super::super) fn end_ownerless() {}

    pub(in super::super) fn reap_from_now_on() {}
}
