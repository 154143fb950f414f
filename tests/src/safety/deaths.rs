//! What is left of an agent's processes when it ends, however that is, and whatever they did to stay.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::processes::{can_be_listed, wait_none, with_text};
use super::{Finding, agent_of};
use crate::client::{Client, Home};
use crate::measure::{Times, time};
use crate::process::signal;
use crate::start::{initialized, wait_until};

/// What is left counts after so long.
const LIMIT: Duration = Duration::from_secs(5);

/// How an agent ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// Its input ends.
    EndOfInput,
    /// It is asked to.
    Term,
    /// It is killed.
    Kill,
}

impl Death {
    fn name(self) -> &'static str {
        match self {
            Self::EndOfInput => "the end of stdin",
            Self::Term => "SIGTERM",
            Self::Kill => "SIGKILL",
        }
    }

    fn of(self, client: &mut Client) {
        match self {
            Self::EndOfInput => client.end_input(),
            Self::Term => signal(client.pid(), "TERM"),
            Self::Kill => signal(client.pid(), "KILL"),
        }
    }
}

/// Ends so many agents in this way, each in the middle of a command, with others in the background and with what ended
/// commands have left: of its own session, orphaned twice, deaf to signals, holding pipes. What clears its environment
/// as well is a finding of its own: nothing tells whose it was once the agent is killed.
pub fn deaths(death: Death, rounds: u32) -> [Finding; 2] {
    let name = death.name();
    let mut marked = Finding::new(format!("processes left 5 s after {name}"), "0");
    let mut bare = Finding::new(
        format!("the same, of those that cleared their environment, {name}"),
        if death == Death::Kill { "told as it is" } else { "0" },
    );
    if !can_be_listed() {
        marked.found = "not looked at: no /proc".into();
        bare.found = marked.found.clone();
        return [marked, bare];
    }
    let (mut longest, mut processes, mut of_cleared, mut left_bare) = (Duration::ZERO, 0, 0, 0);
    for round in 0..rounds {
        // A number that no other process has among its arguments.
        let tag = format!("9{:07}.{}{round:04}", std::process::id(), death as u8);
        let (kept, cleared) = (format!("{tag}1"), format!("{tag}2"));
        let home = home(&kept, &cleared);
        let mut client = initialized(agent_of(&home));
        let session = client.new_session(&home.workspace());
        client.begin_prompt(&session, "go");
        wait_until("all processes", || sleeps(&kept) == KEPT && sleeps(&cleared) >= CLEARED);
        processes += with_text(&kept).len();
        let own = with_text(&cleared)
            .into_iter()
            .filter(|(_, line)| !line.contains(&kept));
        of_cleared += own.count();
        death.of(&mut client);
        let began = Instant::now();
        let (left, _) = wait_none(&kept, LIMIT);
        longest = longest.max(began.elapsed());
        for (pid, line) in &left {
            marked.fault(format!("round {round}: {line}"));
            signal(*pid, "KILL");
        }
        let patience = if death == Death::Kill { Duration::ZERO } else { LIMIT };
        let (left, _) = wait_none(&cleared, patience);
        left_bare += left.len();
        for (pid, line) in &left {
            if death != Death::Kill {
                bare.fault(format!("round {round}: {line}"));
            }
            signal(*pid, "KILL");
        }
        client.wait();
    }
    marked.found = format!(
        "{} of {} processes in {rounds} ends, the last gone after {}",
        marked.faults.len(),
        processes,
        time(longest)
    );
    bare.found = format!("{left_bare} of {of_cleared}");
    [marked, bare]
}

/// How many processes of the running commands of [`home`] keep their environment, and how many clear it at least. What
/// an ended command left is there as well, where nothing ends it with the command.
const KEPT: u32 = 8;
const CLEARED: u32 = 2;

fn sleeps(tag: &str) -> u32 {
    let line = format!("sleep {tag}");
    let sleeps = with_text(tag).into_iter().filter(|(_, shown)| *shown == line);
    u32::try_from(sleeps.count()).expect("a handful of processes")
}

/// A home whose model starts all of them.
fn home(kept: &str, cleared: &str) -> Home {
    let leaves = |kept: &str| {
        format!(
            "sleep {kept} & setsid sleep {kept} & nohup sleep {kept} & (setsid nohup sleep {kept} >/dev/null 2>&1 &)\n\
             (trap '' TERM HUP INT; exec sleep {kept}) & setsid sh -c \"trap '' TERM HUP; sleep {kept}; :\" &\n\
             env -i setsid sleep {cleared} & (env -i setsid nohup sleep {cleared} >/dev/null 2>&1 &)\n"
        )
    };
    // Its number holds that of the others.
    let ended = format!("{} echo ok", leaves(&format!("{kept}5")));
    let stays = format!("{} trap '' TERM; sleep {kept}; echo woken", leaves(kept));
    let call = |input: Value| json!({"steps": [{"call": {"name": "terminal", "input": input}}]});
    let home = Home::with_script(&json!({"replies": [
        call(json!({"command": ended})),
        call(json!({"command": format!("sleep {kept} | cat"), "background": true})),
        call(json!({"command": stays})),
        {"steps": [{"text": "done"}]},
    ]}));
    home.add_config("[agent]\nmode = \"dont_ask\"\n");
    home
}

/// How long a call takes whose command leaves something behind that holds its pipes.
pub fn holders(rounds: usize) -> Finding {
    let mut finding = Finding::new(
        "a call's end when something holds its pipes",
        "within 1 s of the shell's",
    );
    let home = Home::with_script(&json!({
        "replies": [
            {"steps": [{"call": {"name": "terminal", "input": {"command": "sleep 300 & setsid sleep 300 & echo done"}}}]},
            {"steps": [{"text": "done"}]},
        ],
        "after": "repeat",
    }));
    home.add_config("[agent]\nmode = \"dont_ask\"\n");
    let mut client = initialized(agent_of(&home));
    let session = client.new_session(&home.workspace());
    let took: Vec<Duration> = (0..rounds)
        .map(|_| {
            let from = client.log.len();
            let began = Instant::now();
            client.begin_prompt(&session, "go");
            let end = client.wait_for(|message| {
                let status = &message["params"]["update"]["status"];
                status == "completed" || status == "failed"
            });
            let took = began.elapsed();
            client.wait_for(|message| message["result"]["stopReason"] == "end_turn");
            finding.expect(end.to_string().contains("done"), || format!("no output: {end}"));
            finding.expect(client.log.len() > from, || "nothing was said".into());
            took
        })
        .collect();
    let times = Times::of(took);
    finding.is_late = times.longest() > Duration::from_secs(1);
    finding.found = format!(
        "prompt to end of call: half within {}, longest {}, of {rounds}",
        time(times.median()),
        time(times.longest())
    );
    finding.expect(client.close().success(), || "the agent did not end well".into());
    finding
}
