//! The table of modes, by plans of each kind.

use super::*;
use crate::plan::CommandFacts;
use crate::wall::Wall;

fn place(path: &str) -> Place {
    Place {
        path: path.into(),
        real: path.into(),
    }
}

fn read(path: &str) -> Plan {
    Plan::Read {
        places: vec![place(path)],
    }
}

fn edit(path: &str) -> Plan {
    Plan::Change {
        changes: vec![FileChange::new(place(path), None, Some("x"))],
    }
}

fn command(facts: CommandFacts, cwd: &str) -> Plan {
    command_in(Sandbox::default(), facts, cwd)
}

fn command_in(sandbox: Sandbox, facts: CommandFacts, cwd: &str) -> Plan {
    Plan::Command(CommandPlan {
        command: "c".into(),
        cwd: place(cwd),
        background: false,
        sandbox,
        facts,
    })
}

fn input(forbidden: Option<&str>) -> Plan {
    Plan::Input {
        process: "p1".into(),
        command: "sh".into(),
        text: "x".into(),
        forbidden: forbidden.map(str::to_owned),
    }
}

fn foreign(tool: &str) -> Plan {
    Plan::Foreign(ForeignTool {
        server: "s".into(),
        identity: "i".into(),
        tool: tool.into(),
        schema: "d".into(),
    })
}

/// The verdict in each mode, in the order of [`Mode::ALL`]; `always` where that is offered.
fn check(plan: &Plan, edits_granted: bool, expect: [&str; 4]) {
    let roots = [PathBuf::from("/w")];
    let forbidden = [PathBuf::from("/state")];
    let verdicts = Mode::ALL.map(|mode| {
        let policy = Policy {
            mode,
            boundary: Boundary {
                roots: &roots,
                forbidden: &forbidden,
            },
            edits_granted,
            hosts_granted: &BTreeSet::from(["known.org".to_owned()]),
            network: true,
            is_granted: &|grant| match grant {
                Grant::Command { command, .. } => command.args == ["granted"],
                Grant::Tool { tool } => tool.tool == "granted",
                Grant::EditsThisSession | Grant::HostThisSession { .. } => false,
            },
        };
        match policy.judge(plan) {
            Verdict::Allow => "run",
            Verdict::Refuse(_) => "refuse",
            Verdict::Ask { options, .. } if options.len() == 3 => "always",
            Verdict::Ask { .. } => "ask",
        }
    });
    assert_eq!(verdicts, expect, "{plan:?}");
}

#[test]
fn the_table_of_modes_holds() {
    let exact = |arg: &str| CommandFacts {
        exact: Some(ExactCommand {
            program: "/bin/c".into(),
            args: vec![arg.into()],
        }),
        ..CommandFacts::default()
    };
    let read_only = CommandFacts {
        read_only: true,
        ..CommandFacts::default()
    };
    let floor = CommandFacts {
        forbidden: Some("it removes everything".into()),
        ..CommandFacts::default()
    };
    check(&Plan::Inward, false, ["run"; 4]);
    check(&read("/w/a"), false, ["run"; 4]);
    check(&read("/etc/passwd"), false, ["ask"; 4]);
    check(&read("/w/.env"), false, ["ask"; 4]);
    check(&read("/w/.git/config"), false, ["run"; 4]);
    check(&read("/state/state.db"), true, ["refuse"; 4]);
    check(&edit("/w/a"), false, ["refuse", "always", "run", "run"]);
    check(&edit("/w/a"), true, ["refuse", "run", "run", "run"]);
    check(&edit("/w/.git/config"), true, ["refuse", "ask", "ask", "ask"]);
    check(&edit("/etc/x"), true, ["refuse", "ask", "ask", "ask"]);
    check(&edit("/state/x"), true, ["refuse"; 4]);
    check(
        &command(CommandFacts::default(), "/w"),
        false,
        ["refuse", "ask", "ask", "run"],
    );
    check(&command(exact("a"), "/w"), false, ["refuse", "always", "always", "run"]);
    check(&command(exact("granted"), "/w"), false, ["refuse", "run", "run", "run"]);
    check(
        &command(exact("granted"), "/tmp"),
        false,
        ["refuse", "ask", "ask", "ask"],
    );
    check(&command(read_only.clone(), "/w"), false, ["run"; 4]);
    check(&command(read_only, "/tmp"), false, ["refuse", "ask", "ask", "ask"]);
    check(&command(floor, "/w"), true, ["refuse"; 4]);
    let fetch = |host: &str| Plan::Fetch {
        url: format!("https://{host}/x"),
        host: host.into(),
    };
    check(&fetch("a.org"), true, ["always", "always", "always", "run"]);
    check(&fetch("known.org"), false, ["run"; 4]);
    check(&input(None), false, ["refuse", "ask", "ask", "run"]);
    check(&input(Some("it removes everything")), false, ["refuse"; 4]);
    check(&foreign("a"), true, ["always", "always", "always", "run"]);
    check(&foreign("granted"), false, ["run"; 4]);
}

#[test]
fn a_wall_decides_in_accept_edits_only_and_only_a_closed_one() {
    let plain = || CommandFacts {
        exact: Some(ExactCommand {
            program: "/bin/c".into(),
            args: vec!["granted".into()],
        }),
        ..CommandFacts::default()
    };
    let floor = CommandFacts {
        forbidden: Some("it removes everything".into()),
        ..CommandFacts::default()
    };
    let read_only = CommandFacts {
        read_only: true,
        ..CommandFacts::default()
    };
    let wall = |holds_protected, network| {
        Sandbox::Inside(Wall {
            by: "w".into(),
            writes: "/w".into(),
            holds_protected,
            network,
        })
    };
    let any = CommandFacts::default;
    let inside = |sandbox, facts| command_in(sandbox, facts, "/w");
    check(
        &inside(wall(true, false), any()),
        false,
        ["refuse", "ask", "run", "run"],
    );
    check(&inside(wall(true, true), any()), false, ["refuse", "ask", "ask", "run"]);
    check(
        &inside(wall(false, false), any()),
        false,
        ["refuse", "ask", "ask", "run"],
    );
    check(&inside(wall(true, false), floor), false, ["refuse"; 4]);
    check(
        &command_in(wall(true, false), any(), "/tmp"),
        false,
        ["refuse", "ask", "ask", "ask"],
    );
    check(&inside(Sandbox::Left, plain()), false, ["refuse", "ask", "ask", "run"]);
    check(
        &inside(Sandbox::Left, read_only),
        false,
        ["refuse", "ask", "ask", "run"],
    );
    check(
        &inside(wall(true, true), plain()),
        false,
        ["refuse", "run", "run", "run"],
    );
}

#[test]
fn the_always_option_says_exactly_what_it_stores() {
    let exact = ExactCommand {
        program: "/bin/echo".into(),
        args: vec!["a b".into(), String::new(), "c".into()],
    };
    let roots = [PathBuf::from("/w")];
    let policy = Policy {
        mode: Mode::Default,
        boundary: Boundary {
            roots: &roots,
            forbidden: &[],
        },
        edits_granted: false,
        hosts_granted: &BTreeSet::new(),
        network: true,
        is_granted: &|_| false,
    };
    let option = policy.always(&exact).unwrap();
    assert_eq!(
        option.name,
        r#"Always allow exactly `/bin/echo "a b" "" c` in /w, until revoked"#
    );
    assert_eq!(
        option.grant,
        Some(Grant::Command {
            command: exact,
            root: "/w".into()
        })
    );
}
