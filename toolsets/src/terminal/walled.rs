//! What is said of a command that ran behind a wall.

use std::path::PathBuf;

use agent_core::plan::CommandPlan;
use agent_core::tool::ToolError;
use agent_core::visible;
use agent_core::wall::Sandbox;

use crate::process::Exit;

/// What programs print where a wall has stopped them, and hardly ever else.
const SURELY: [&str; 4] = [
    "Read-only file system",
    "EROFS",
    "Host key verification failed",
    "could not write config file",
];

/// The same where they speak with a service of this machine.
const SERVICES: [&str; 6] = [
    "Cannot connect to the Docker daemon",
    "failed to connect to the docker API",
    "docker.sock",
    "podman.sock",
    "Cannot connect to Podman",
    "Failed to connect to bus",
];

/// What they print then, too.
const LIKELY: [&str; 9] = [
    "Permission denied",
    "Operation not permitted",
    "Network is unreachable",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Cross-device link",
    "Device or resource busy",
    "EACCES",
    "could not write index",
];

/// So many files are named.
const NAMED: usize = 5;

/// The error of a command that was never run, since bubblewrap, which says so itself, could not put up its wall.
pub(super) fn not_put_up(sandbox: &Sandbox, exit: Exit, printed: &str) -> Option<ToolError> {
    let is_behind = matches!(sandbox, Sandbox::Inside(wall) if wall.by == "bubblewrap");
    let says_so = !printed.is_empty() && printed.lines().all(|line| line.starts_with("bwrap: "));
    (is_behind && exit.code == Some(1) && says_so).then(|| {
        let said = visible::title(printed.trim(), 300);
        ToolError::new(format!(
            "the command was not run, since its sandbox could not be put up ({said}): `agent doctor` looks at the \
             sandbox, and a call that may run outside asks the user"
        ))
    })
}

/// What a model should know of a failure that the wall may have caused. A command that ends in `| tail` ends well.
pub(super) fn hint(plan: &CommandPlan, exit: Exit, printed: &str, may_be_left: bool) -> Option<String> {
    let Sandbox::Inside(wall) = &plan.sandbox else {
        return None;
    };
    let prints = |texts: &[&str]| texts.iter().any(|text| printed.contains(text));
    let failed = exit.code != Some(0);
    // The file tools see another `/tmp`.
    let misses_tmp = failed && plan.command.contains("/tmp/") && prints(&["No such file or directory"]);
    let misses_service = prints(&SERVICES);
    (prints(&SURELY) || misses_service || misses_tmp || (failed && prints(&LIKELY))).then(|| {
        let reason = match misses_service {
            true => "services of this machine, such as Docker, can't be reached in the sandbox",
            false => "the sandbox may be why it failed",
        };
        let way_out = match may_be_left {
            true => "`outside_sandbox` asks the user to run it without",
            false => "the user's configuration lets nothing run without",
        };
        format!("{reason}; {way_out}\n{}", wall.sentence())
    })
}

/// What the user and the model should know of files that a command has made.
pub(crate) fn made(files: &[PathBuf]) -> Option<String> {
    let names: Vec<String> = files
        .iter()
        .take(NAMED)
        .map(|file| file.display().to_string())
        .collect();
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!files.is_empty()).then(|| {
        format!(
            "it made or replaced {}{more}, which steers tools that run on their own. The sandbox holds only what is there when a command \
             starts, so look at this before you use it",
            visible::line(&names.join(", "))
        )
    })
}

#[cfg(test)]
mod tests {
    use agent_core::plan::{CommandFacts, Place};
    use agent_core::wall::Wall;

    use super::*;

    /// Checks what is said of a command that has printed this, if anything is.
    fn check(sandbox: Sandbox, code: i32, printed: &str, expect: Option<&str>) {
        let plan = CommandPlan {
            command: "c".into(),
            cwd: Place {
                path: "/w".into(),
                real: "/w".into(),
            },
            background: false,
            sandbox,
            facts: CommandFacts::default(),
        };
        let exit = Exit {
            code: Some(code),
            signal: None,
        };
        let said = hint(&plan, exit, printed, true);
        let first = said.as_deref().and_then(|said| said.lines().next());
        let reason = first.map(|line| {
            line.split_once("; `outside_sandbox` asks")
                .map_or(line, |(reason, _)| reason)
        });
        assert_eq!(reason, expect, "{printed}");
    }

    fn behind() -> Sandbox {
        Sandbox::Inside(Wall {
            by: "w".into(),
            writes: "/w".into(),
            holds_protected: true,
            network: true,
        })
    }

    #[test]
    fn what_a_wall_may_have_stopped_names_the_way_out() {
        let service = Some("services of this machine, such as Docker, can't be reached in the sandbox");
        let any = Some("the sandbox may be why it failed");
        check(behind(), 1, "Cannot connect to the Docker daemon at unix:///…", service);
        check(
            behind(),
            0,
            "dial unix /run/podman/podman.sock: connect: no such file",
            service,
        );
        check(behind(), 0, "touch: cannot touch 'x': Read-only file system", any);
        check(
            behind(),
            255,
            "error: could not write config file .git/config: Device or resource busy",
            any,
        );
        check(behind(), 1, "Permission denied", any);
        check(behind(), 0, "Permission denied", None);
        check(behind(), 1, "assertion failed", None);
        check(Sandbox::Left, 1, "Read-only file system", None);
    }
}
