//! The wall of the kernel alone: Landlock for files and signals, seccomp for the network. Both hold for the thread that
//! puts them up and for whatever it starts, for good. Weaker than bubblewrap: what is inside a writable folder can't be
//! kept from writing.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::confinement::Confinement;

/// What is asked of the kernel; one that knows less is told apart by [`LEAST`].
const WISHED: ABI = ABI::V6;
/// Without this an outside file could be emptied.
pub(super) const LEAST: u8 = 3;

/// Devices that programs write.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Puts the wall around this thread. What comes back is the version of Landlock that it is built with.
///
/// # Errors
/// What is missing or was refused; part of the wall may be up then.
pub(super) fn confine(confinement: &Confinement) -> io::Result<u8> {
    let abi = confine_files(confinement).map_err(|error| failed("Landlock", &error))?;
    let filter = filter(confinement.network).map_err(|error| failed("seccomp", &error))?;
    seccompiler::apply_filter(&filter).map_err(|error| failed("seccomp", &error))?;
    Ok(abi)
}

fn failed(what: &str, error: &dyn std::error::Error) -> io::Error {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    io::Error::other(format!("{what}: {text}"))
}

#[derive(Debug, thiserror::Error)]
enum NoFiles {
    #[error(transparent)]
    Ruleset(#[from] landlock::RulesetError),
    #[error(transparent)]
    Path(#[from] landlock::PathFdError),
    #[error("the kernel has none, or it is switched off")]
    Absent,
    #[error("the kernel's is of version {0}, and {LEAST} is needed (Linux 6.2)")]
    Old(u8),
}

fn confine_files(confinement: &Confinement) -> Result<u8, NoFiles> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WISHED))?
        .scope(Scope::from_all(WISHED))?;
    let ruleset = match confinement.network {
        true => ruleset,
        // No port is allowed.
        false => ruleset.handle_access(AccessNet::from_all(WISHED))?,
    };
    let mut ruleset = ruleset.create()?;
    ruleset = allow(ruleset, Path::new("/"), AccessFs::ReadDir.into())?;
    for path in readable(Path::new("/"), confinement) {
        // It may be gone by now, or another's.
        if path.exists() {
            ruleset = allow_if_there(ruleset, &path, AccessFs::from_read(WISHED))?;
        }
    }
    for folder in confinement.writable.iter().chain([&confinement.tmp]) {
        ruleset = allow(ruleset, folder, AccessFs::from_all(WISHED))?;
    }
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::ReadDir;
    for path in DEVICES {
        ruleset = allow_if_there(ruleset, Path::new(path), device)?;
    }
    let status = ruleset.restrict_self()?;
    let LandlockStatus::Available { effective_abi, .. } = status.landlock else {
        return Err(NoFiles::Absent);
    };
    match effective_abi as u8 {
        _ if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs => Err(NoFiles::Absent),
        abi if abi < LEAST => Err(NoFiles::Old(abi)),
        abi => Ok(abi),
    }
}

fn allow(ruleset: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, NoFiles> {
    let access = match path.is_dir() {
        true => access,
        false => access & AccessFs::from_file(WISHED),
    };
    Ok(ruleset.add_rule(PathBeneath::new(PathFd::new(path)?, access))?)
}

fn allow_if_there(ruleset: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, NoFiles> {
    match PathFd::new(path) {
        Ok(_) => allow(ruleset, path, access),
        Err(_) => Ok(ruleset),
    }
}

/// What may be read below a folder: it itself where nothing in it is hidden, else all in it that is neither hidden nor
/// leads there. What comes into such a folder later can't be read.
fn readable(folder: &Path, confinement: &Confinement) -> Vec<PathBuf> {
    let hidden = &confinement.hidden;
    if hidden.iter().any(|place| place == folder) {
        return Vec::new();
    }
    if !hidden.iter().any(|place| place.starts_with(folder)) {
        return vec![folder.to_owned()];
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // A link is where it leads to.
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    entries.flat_map(|entry| readable(&entry.path(), confinement)).collect()
}

/// Calls that could do for a process what it may not, past all other walls.
const NEVER: [i64; 7] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
];

/// The same calls under the numbers of the x32 interface.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: i64 = 0x4000_0000;

fn filter(network: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = NEVER.map(|call| (call, Vec::new())).into();
    if !network {
        // Sockets of other programs, such as that of an SSH agent, are reached by this too.
        rules.insert(libc::SYS_socket, Vec::new());
        rules.insert(libc::SYS_socketpair, vec![not_local()?, datagrams()?]);
    }
    #[cfg(target_arch = "x86_64")]
    {
        let again: Vec<_> = rules
            .iter()
            .map(|(call, rules)| (call | OTHER_NUMBERS, rules.clone()))
            .collect();
        rules.extend(again);
    }
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}

fn not_local() -> Result<SeccompRule, seccompiler::BackendError> {
    let domain = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?;
    SeccompRule::new(vec![domain])
}

/// A pair of these can still be sent from to any other socket.
fn datagrams() -> Result<SeccompRule, seccompiler::BackendError> {
    let of_kind = SeccompCmpOp::MaskedEq(0xf);
    let kind = SeccompCondition::new(1, SeccompCmpArgLen::Dword, of_kind, libc::SOCK_DGRAM as u64)?;
    SeccompRule::new(vec![kind])
}
