//! Sessions as they are listed, named and gone on with.

use std::path::Path;

use serde_json::Value;

use crate::home::{Home, end, stderr, stdout};

#[test]
fn a_session_goes_on_and_is_found_by_the_beginning_of_its_id() {
    let home = Home::new();
    home.agent(&["run", "say one"]);
    home.agent(&["run", "say two", "--continue"]);
    let list: Value = serde_json::from_slice(&home.agent(&["sessions", "list", "--json"]).stdout).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    let id = list[0]["id"].as_str().unwrap();
    let third = home.agent(&["run", "say three", "--session", &id[..13]]);
    assert_eq!(third.status.code(), Some(0), "{}", stderr(&third));

    let show: Value = serde_json::from_slice(&home.agent(&["sessions", "show", &id[..13], "--json"]).stdout).unwrap();
    assert_eq!(show["session"]["id"], id);
    let prompts = show["events"].as_array().unwrap().iter();
    let prompts = prompts.filter(|event| event["event"]["event"] == "user_message");
    assert_eq!(prompts.count(), 3, "{show}");
    let transcript = stdout(&home.agent(&["sessions", "show", id]));
    assert!(transcript.contains("> say two\n"), "{transcript}");
}

#[test]
fn the_id_of_the_list_names_one_session_and_an_ambiguous_one_shows_which_there_are() {
    let home = Home::new();
    for prompt in ["say one", "say two", "say three"] {
        home.agent(&["run", prompt]);
    }
    let list = stdout(&home.agent(&["sessions", "list"]));
    let rows: Vec<&str> = list.lines().skip(1).collect();
    assert_eq!(rows.len(), 3, "{list}");
    for row in &rows {
        let id = row.split(' ').next().unwrap();
        let show = home.agent(&["sessions", "show", id]);
        let title = ["say one", "say two", "say three"]
            .into_iter()
            .find(|title| row.contains(title))
            .unwrap();
        assert!(stdout(&show).starts_with(title), "{id}: {}", stdout(&show));
    }
    // They were made within a day or so, which their ids begin with.
    let json: Value = serde_json::from_slice(&home.agent(&["sessions", "list", "--json"]).stdout).unwrap();
    let begin = &json[0]["id"].as_str().unwrap()[..3];
    let output = home.agent(&["run", "say four", "--session", begin]);
    assert_eq!(output.status.code(), Some(4));
    for (row, title) in rows.iter().zip(["say three", "say two", "say one"]) {
        let id = row.split(' ').next().unwrap();
        let line = format!("\n  {id}      just now  {title}");
        assert!(stderr(&output).contains(&line), "{}", stderr(&output));
    }
}

#[test]
fn times_are_those_of_the_users_time_zone() {
    let home = Home::new();
    home.agent(&["run", "say one"]);
    let list = |zone: &str| {
        let mut command = home.command(env!("CARGO_BIN_EXE_agent"));
        stdout(&end(command
            .args(["sessions", "list"])
            .env("TZ", zone)
            .spawn()
            .unwrap()))
    };
    let moment = |list: &str| list.lines().nth(1).unwrap()[10..26].to_owned();
    let (utc, east) = (list("UTC0"), list("EAST-11"));
    assert!(utc.contains("UPDATED (UTC)") && !east.contains("UTC"), "{utc}{east}");
    assert_ne!(moment(&utc), moment(&east));
    if Path::new("/usr/share/zoneinfo/Asia/Tokyo").exists() {
        assert_ne!(moment(&utc), moment(&list("Asia/Tokyo")));
    }
}

#[test]
fn a_fork_of_nothing_is_refused_with_the_first_row_that_would_do() {
    let home = Home::new();
    home.agent(&["run", "say one"]);
    home.agent(&["run", "say two", "--continue"]);
    let list: Value = serde_json::from_slice(&home.agent(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = list[0]["id"].as_str().unwrap();
    let show: Value = serde_json::from_slice(&home.agent(&["sessions", "show", id, "--json"]).stdout).unwrap();
    let mut events = show["events"].as_array().unwrap().iter();
    let end = events.find(|event| event["event"]["event"] == "turn_finished").unwrap();
    let first = end["seq"].as_u64().unwrap();
    let fork = |at: u64| home.agent(&["sessions", "fork", id, "--json", "--at", &at.to_string()]);
    for at in [0, first - 1] {
        let refused = fork(at);
        assert_eq!(refused.status.code(), Some(2), "{at}");
        let expect = format!("by row {at}: the first one ends at row {first}, so --at takes {first} or more");
        assert!(stderr(&refused).contains(&expect), "{}", stderr(&refused));
    }
    let forked: Value = serde_json::from_slice(&fork(first).stdout).unwrap();
    assert_eq!(forked["messages"], 2, "{forked}");
}

#[test]
fn what_a_search_took_otherwise_than_it_may_be_meant_is_told() {
    let home = Home::new();
    home.agent(&["run", "say quince"]);
    let search = |rest: &[&str]| home.agent(&[&["sessions", "search"], rest].concat());
    let odd = search(&["quince role:assistant since:yesterdayy", "--json"]);
    assert_eq!((odd.status.code(), stdout(&odd).as_str()), (Some(0), "[]\n"));
    let told = stderr(&odd);
    assert!(
        told.contains("role:assistant was searched for as text; role: takes user, agent, tool")
            && told.contains("since:yesterdayy was searched for as text; since: takes a day"),
        "{told}"
    );
    assert_eq!(stderr(&search(&["quince role:user since:1d"])), "");
    let none = search(&["quince", "--limit", "0"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(
        stderr(&none).contains("a limit is a whole number from 1 up"),
        "{}",
        stderr(&none)
    );
}

#[test]
fn a_folder_whose_sessions_are_archived_says_so_and_how_to_go_on() {
    let home = Home::new();
    let go_on = || home.agent(&["run", "say two", "--continue"]);
    let none = go_on();
    assert_eq!(none.status.code(), Some(4));
    assert!(stderr(&none).contains("has no session yet"), "{}", stderr(&none));
    home.agent(&["run", "say one"]);
    let list: Value = serde_json::from_slice(&home.agent(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = list[0]["id"].as_str().unwrap();
    home.agent(&["sessions", "archive", id]);
    let one = go_on();
    assert_eq!(one.status.code(), Some(4));
    for part in [
        "the only session of ",
        &format!("is archived: say one ({id})"),
        &format!("agent run --session {id}"),
        &format!("agent sessions unarchive {id}"),
    ] {
        assert!(stderr(&one).contains(part), "{part}: {}", stderr(&one));
    }
    home.agent(&["run", "say two", "--session", id]);
    home.agent(&["run", "say three"]);
    let list: Value = serde_json::from_slice(&home.agent(&["sessions", "list", "--json"]).stdout).unwrap();
    home.agent(&["sessions", "archive", list[0]["id"].as_str().unwrap()]);
    let all = go_on();
    assert!(
        stderr(&all).contains("are archived; the newest is say three ("),
        "{}",
        stderr(&all)
    );
}

#[test]
fn a_prune_shows_what_a_list_shows_and_counts_what_holds_only_commands() {
    let home = Home::new();
    home.agent(&["run", "/version"]);
    home.agent(&["run", "say one"]);
    home.agent(&["run", "/help"]);
    let list = stdout(&home.agent(&["sessions", "list"]));
    assert_eq!(list.lines().count(), 2, "{list}");
    let prune = |rest: &[&str]| home.agent(&[&["sessions", "prune", "--older-than", "0d"], rest].concat());
    let preview = prune(&["--dry-run"]);
    let rows = stdout(&preview);
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows[0].contains("say one") && list.contains(&rows[0][..8]), "{rows:?}");
    assert!(
        rows[1].starts_with("and 2 sessions that hold only slash commands, which no list shows ("),
        "{rows:?}"
    );
    assert!(
        stderr(&preview).contains("3 sessions would be deleted"),
        "{}",
        stderr(&preview)
    );
    let json: Value = serde_json::from_slice(&prune(&["--dry-run", "--json"]).stdout).unwrap();
    let messages = json
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["messages"].as_u64().unwrap());
    assert_eq!(messages.collect::<Vec<_>>(), [0, 2, 0], "{json}");
    assert!(stderr(&prune(&["--yes"])).contains("3 sessions deleted"));
    assert_eq!(stdout(&prune(&["--dry-run"])), "");
}

#[test]
fn the_first_letters_of_what_the_list_shows_name_a_session() {
    let home = Home::new();
    home.agent(&["run", "say one"]);
    home.agent(&["run", "say two"]);
    let list = stdout(&home.agent(&["sessions", "list"]));
    let shown: Vec<&str> = list.lines().skip(1).map(|row| row.split(' ').next().unwrap()).collect();
    let common = shown[0]
        .bytes()
        .zip(shown[1].bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let [two, one] = [shown[0], shown[1]].map(|id| &id[..(common + 1).max(5)]);
    for (part, title) in [(one, "say one"), (two, "say two")] {
        let show = home.agent(&["sessions", "show", part]);
        assert!(stdout(&show).starts_with(title), "{part}: {}", stderr(&show));
    }
    assert!(stdout(&home.agent(&["run", "say three", "--session", one])).contains("three"));
    let found = home.agent(&["sessions", "search", "say", &format!("session:{two}")]);
    assert!(
        stdout(&found).contains("say two") && !stdout(&found).contains("say one"),
        "{}",
        stdout(&found)
    );
    assert_eq!(home.agent(&["sessions", "delete", two]).status.code(), Some(0));
    let gone = home.agent(&["sessions", "show", two]);
    assert_eq!(gone.status.code(), Some(4));
}
