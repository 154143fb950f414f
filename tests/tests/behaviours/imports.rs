//! Sessions are written to files and read back, here and in another home.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, run};

use crate::history::{KEY, agent, done, json_of, stored, titles};
use crate::play::{calls, home, says, set_mode};

#[test]
fn an_exported_session_goes_on_in_another_home() {
    let from = home(&[
        calls(&[("write_file", json!({"path": "a.txt", "content": "a\n"}))]),
        says("written"),
    ]);
    let (mut client, session) = Client::with_session(&from);
    set_mode(&mut client, &session, "dont_ask");
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let prompt = json!([
        {"type": "text", "text": format!("write it with {KEY}")},
        {"type": "image", "mimeType": "image/png", "data": png},
    ]);
    let id = client.begin("session/prompt", json!({"sessionId": session, "prompt": prompt}));
    assert_eq!(client.stop_reason(id), "end_turn");
    assert!(client.close().success());
    let file = from.workspace().join("session.json");
    let file = file.to_str().unwrap();
    done(&from, &["sessions", "export", &session, "--output", file]);
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let (code, _, errors) = agent(&from, &["sessions", "export", &session, "--output", file]);
    assert!(code == Some(2) && errors.contains("--force"), "{errors}");
    let text = fs::read_to_string(file).unwrap();
    assert!(!text.contains(KEY) && text.contains(png), "{text}");
    assert!(!text.contains("files_kept"), "what files held stays: {text}");
    let exact = done(&from, &["sessions", "export", &session, "--exact"]);
    assert!(exact.contains(KEY));
    let lines = done(&from, &["sessions", "export", &session, "--format", "jsonl"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    let events = document["events"].as_array().unwrap();
    assert_eq!(lines.lines().count(), events.len());
    for (line, event) in lines.lines().zip(events) {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap(), *event);
    }
    // There already, with all of this.
    let (code, out, errors) = agent(&from, &["sessions", "import", file]);
    assert!(code == Some(0) && errors.contains("stored already"), "{errors}");
    assert_eq!(out.trim(), session);
    let copy = done(&from, &["sessions", "import", file, "--as-new"]);
    assert_ne!(copy.trim(), session);
    assert_eq!(
        titles(&from),
        ["write it with ghp_*** (2)", "write it with ghp_***"],
        "a title has no key, and is the session's own"
    );

    let to = home(&[says("again")]);
    done(&to, &["sessions", "import", file]);
    let back = json_of(&to, &["sessions", "show", &session, "--json"]);
    assert_eq!(back["events"], document["events"]);
    let (code, _, errors) = agent(&to, &["sessions", "search", "written", "--json"]);
    assert_eq!(code, Some(0), "{errors}");
    let mut client = Client::initialized(&to, json!({}));
    let params = json!({"sessionId": session, "cwd": to.workspace(), "mcpServers": []});
    let answer = client.request("session/load", params).unwrap();
    assert_eq!(answer["modes"]["currentModeId"], "default", "it asks again");
    assert_eq!(client.prompt(&session, "go on"), "end_turn");
}

#[test]
fn a_file_that_is_no_session_stores_nothing_and_says_why() {
    let home = Home::new();
    let session = stored(&home, "say pong");
    let folder = home.workspace();
    let document = done(&home, &["sessions", "export", &session]);
    let changed = |change: fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(&document).unwrap();
        value["session"]["id"] = "0123456789abcdef".into();
        for event in value["events"].as_array_mut().unwrap() {
            event["session"] = "0123456789abcdef".into();
        }
        change(&mut value);
        value.to_string()
    };
    let check = |text: &str, expect: &str| {
        let file = folder.join("in.json");
        fs::write(&file, text).unwrap();
        let (code, out, errors) = agent(&home, &["sessions", "import", file.to_str().unwrap()]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{errors}");
        assert!(errors.contains("can't import") && errors.contains(expect), "{errors}");
    };
    check("", "no session that was exported as JSON");
    check("{\"sessions\": []}", "no session that was exported as JSON");
    let lines = done(&home, &["sessions", "export", &session, "--format", "jsonl"]);
    check(&lines, "these are JSON lines");
    check(
        &changed(|value| value["session"]["rest"]["cwd"] = "/".into()),
        "it would work in /",
    );
    check(
        &changed(|value| value["session"]["id"] = "-rf".into()),
        "`session.id` is no id",
    );
    check(&"[".repeat(1_000_000), "no session that was exported as JSON");
    check(
        &changed(|value| value["session"]["format"] = 9.into()),
        "update this program",
    );
    check(&changed(|value| value["events"][2]["seq"] = 1.into()), "event 3 of it");
    check(&changed(|value| value["events"] = json!([])), "no events");
    let mut same: Value = serde_json::from_str(&document).unwrap();
    same["events"][0]["event"]["content"][0]["text"] = "say other".into();
    check(&same.to_string(), "with other content: add --as-new");
    for (path, why) in [
        ("none.json", "No such file"),
        (".", "no file"),
        ("/dev/zero", "no file"),
    ] {
        let path = folder.join(path);
        let (code, _, errors) = agent(&home, &["sessions", "import", path.to_str().unwrap()]);
        assert!(code == Some(1) && errors.contains(why), "{errors}");
    }
    assert_eq!(titles(&home).len(), 1);
    let (status, out, errors) = run(home.command(&["sessions", "import", "-"]), &changed(|_| {}));
    assert!(status.success(), "{errors}");
    assert_eq!(out.trim(), "0123456789abcdef");
}

#[test]
fn an_imported_session_works_in_no_folder_that_was_not_shown() {
    let home = Home::new();
    let session = stored(&home, "say pong");
    let file = home.workspace().join("in.json");
    let file = file.to_str().unwrap();
    let document = done(&home, &["sessions", "export", &session]);
    let mut wide: Value = serde_json::from_str(&document).unwrap();
    wide["session"]["rest"]["extra_roots"] = json!(["/", "/etc"]);
    fs::write(file, wide.to_string()).unwrap();
    let (code, out, errors) = agent(&home, &["sessions", "import", file, "--as-new"]);
    assert_eq!(code, Some(0), "{errors}");
    let works_in = format!("it works in {}", home.workspace().display());
    for expect in [works_in.as_str(), "the further folder /\n", "the further folder /etc\n"] {
        assert!(errors.contains(expect), "{expect}: {errors}");
    }
    let stored = json_of(&home, &["sessions", "show", out.trim(), "--json"]);
    assert_eq!(stored["session"]["rest"]["extra_roots"], json!([]));
    // Nobody can be asked, so what is outside is not read.
    let (code, _, errors) = agent(&home, &["run", "--session", out.trim(), "read /etc/hostname"]);
    assert!(code == Some(5) && errors.contains("outside the workspace"), "{errors}");

    wide["session"]["rest"]["cwd"] = "/".into();
    fs::write(file, wide.to_string()).unwrap();
    let (code, _, errors) = agent(&home, &["sessions", "import", file, "--as-new"]);
    assert!(code == Some(1) && errors.contains("--cwd DIR"), "{errors}");
    let elsewhere = home.workspace().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let elsewhere = elsewhere.to_str().unwrap();
    let (code, out, errors) = agent(&home, &["sessions", "import", file, "--as-new", "--cwd", elsewhere]);
    assert!(code == Some(0) && errors.contains(elsewhere), "{errors}");
    let stored = json_of(&home, &["sessions", "show", out.trim(), "--json"]);
    assert_eq!(stored["session"]["cwd"], elsewhere);
    let nowhere = format!("{elsewhere}/nowhere");
    let (code, _, errors) = agent(&home, &["sessions", "import", file, "--as-new", "--cwd", &nowhere]);
    assert!(code == Some(2) && errors.contains("--cwd"), "{errors}");
}
