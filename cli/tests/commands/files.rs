//! The program's own files, and the folder it works in.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::home::{Home, end, stderr, stdout};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn files_are_private_whatever_the_umask() {
    let home = Home::new();
    let script = "umask 000; \"$0\" setup --provider openai --key-stdin --model gpt-5 --no-check && \"$0\" run 'say hi' --model offline/offline";
    let mut child = home
        .command("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_agent")])
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"sk-1\n").unwrap();
    let output = end(child);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        fs::read_to_string(home.state().join(".env")).unwrap(),
        "OPENAI_API_KEY=\"sk-1\"\n"
    );
    assert_eq!(mode(&home.state()), 0o700);
    for entry in fs::read_dir(home.state()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
    assert!(!stderr(&output).contains("sk-1"), "{}", stderr(&output));
}

#[test]
fn a_broken_configuration_is_told_by_line() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    fs::write(home.state().join("config.toml"), "# mine\nmodle = \"a/b\"\n").unwrap();
    let output = home.agent(&["acp", "--check"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stdout(&output);
    assert!(
        said.contains("config.toml:2: unknown key `modle`: did you mean `model`?"),
        "{said}"
    );
}

#[test]
fn without_a_place_for_files_it_works_and_says_so() {
    let home = Home::new();
    fs::write(home.state(), "a file in the way").unwrap();
    let output = home.agent(&["run", "say hi", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).ends_with("hi\n"), "{}", stdout(&output));
    let told = |output: &Output| (stdout(output) + &stderr(output)).matches("is not a folder").count();
    assert_eq!(told(&output), 1, "{}", stderr(&output));
    let output = home.agent(&["run", "say hi"]);
    assert_eq!(told(&output), 1, "{}", stderr(&output));
    assert_eq!(
        stderr(&output).to_lowercase().matches("nothing is saved").count(),
        1,
        "{}",
        stderr(&output)
    );
    assert_eq!(told(&home.agent(&["run", "say hi", "--json"])), 1);
    assert_eq!(told(&home.agent(&["run", "say hi", "--continue"])), 1);
}

#[test]
fn a_home_that_is_in_other_use_is_told_and_left_as_it_is() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    fs::write(home.state().join("passwd"), "x").unwrap();
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(home.state(), open).unwrap();
    let output = home.agent(&["run", "say hi"]);
    assert!(stdout(&output).ends_with("hi\n"), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("holds other files and none of this program's"),
        "{}",
        stderr(&output)
    );
    let setup = home.agent(&["setup", "--provider", "ollama", "--model", "m", "--no-check"]);
    assert_eq!(setup.status.code(), Some(1), "{}", stderr(&setup));
    assert_eq!(fs::metadata(home.state()).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(
        fs::read_dir(home.state()).unwrap().count(),
        1,
        "nothing was put into it"
    );
}

#[test]
fn a_relative_home_is_refused() {
    let home = Home::new();
    for args in [["run", "say hi"], ["acp", "--check"]] {
        let child = home
            .command(env!("CARGO_BIN_EXE_agent"))
            .args(args)
            .env("TALARIA_HOME", "state")
            .spawn()
            .unwrap();
        let output = end(child);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            stderr(&output).contains("TALARIA_HOME is `state`"),
            "{}",
            stderr(&output)
        );
    }
    assert!(!home.work().join("state").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_whose_name_is_no_text_is_worked_in() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let home = Home::new();
    let folder = home.work().join(OsStr::from_bytes(b"d\xff\xfe"));
    fs::create_dir(&folder).unwrap();
    let run = |args: &[&str]| {
        let mut command = home.command(env!("CARGO_BIN_EXE_agent"));
        end(command.args(args).current_dir(&folder).spawn().unwrap())
    };
    let output = run(&["run", "list", "--json"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let last: Value = serde_json::from_str(stdout(&output).lines().last().unwrap()).unwrap();
    assert_eq!(last["event"]["event"], "turn_finished");
    let again = run(&["run", "list", "--continue"]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(!stderr(&again).contains("lost"), "{}", stderr(&again));
}
