//! Machines with fewer walls than this one, made with a filter for the calls of the system: whatever is started on such a
//! machine has the same ones. Linux only; elsewhere every machine is the one there is.

use std::cell::Cell;

/// The walls that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// This one, as it is.
    Whole,
    /// No user namespaces, so that bubblewrap can't work.
    WithoutNamespaces,
    /// Neither these nor Landlock.
    Bare,
}

thread_local! {
    static HERE: Cell<Machine> = const { Cell::new(Machine::Whole) };
}

/// The machine that this thread is on.
pub(crate) fn here() -> Machine {
    HERE.get()
}

/// Whether bubblewrap works on this machine. Says so where it does not, for whoever reads why a test did nothing.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub fn has_bubblewrap() -> bool {
    let words = "--unshare-user --unshare-net --unshare-pid --ro-bind / / --dev /dev --proc /proc true";
    let tried = std::process::Command::new("bwrap").args(words.split(' ')).output();
    let works = tried.is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("skipped: bubblewrap is not there, or does not work here");
    }
    works
}

/// Whether a machine has any wall, on the machine that this is. Says so where it has none.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub fn has_any(machine: Machine) -> bool {
    let has = match machine {
        Machine::Whole => filter::has_landlock() || has_bubblewrap(),
        Machine::WithoutNamespaces => filter::has_landlock(),
        Machine::Bare => false,
    };
    if !has {
        eprintln!("skipped: there is no wall on {machine:?}");
    }
    has
}

/// Does something on such a machine.
pub fn on<T: Send>(machine: Machine, act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let acting = scope.spawn(move || {
            HERE.set(machine);
            filter::take_away(machine);
            act()
        });
        acting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(target_os = "linux")]
mod filter {
    use std::collections::BTreeMap;

    use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };

    use super::Machine;

    /// Whether the kernel has what the agent needs of it.
    pub(super) fn has_landlock() -> bool {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let wished = ruleset.handle_access(AccessFs::from_all(ABI::V3));
        wished.and_then(Ruleset::create).is_ok()
    }

    /// Takes the walls from this thread and all that it starts.
    pub(super) fn take_away(machine: Machine) {
        if machine == Machine::Whole {
            return;
        }
        let namespaces = libc::CLONE_NEWUSER as u64;
        let flag = SeccompCmpOp::MaskedEq(namespaces);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, flag, namespaces).expect("a first argument");
        let rule = SeccompRule::new(vec![condition]).expect("one condition");
        let calls = [libc::SYS_clone, libc::SYS_unshare].map(|call| (call, vec![rule.clone()]));
        deny(calls.into(), libc::EPERM);
        if machine == Machine::Bare {
            deny([(libc::SYS_landlock_create_ruleset, Vec::new())].into(), libc::ENOSYS);
        }
    }

    fn deny(calls: BTreeMap<i64, Vec<SeccompRule>>, error: i32) {
        let error = SeccompAction::Errno(error.unsigned_abs());
        let here = std::env::consts::ARCH.try_into().expect("seccomp knows this processor");
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, error, here).expect("a filter");
        let filter: BpfProgram = filter.try_into().expect("a small filter");
        seccompiler::apply_filter(&filter).expect("the kernel takes filters");
    }
}

#[cfg(not(target_os = "linux"))]
mod filter {
    pub(super) fn take_away(_machine: super::Machine) {}

    pub(super) fn has_landlock() -> bool {
        false
    }
}
