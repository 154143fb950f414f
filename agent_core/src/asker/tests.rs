//! Asking a surface that this test plays.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::thread;

use crossbeam_channel::Receiver;

use super::*;
use crate::outward::{Parcel, outlet};

const ALL: Abilities = Abilities {
    reads_files: true,
    writes_files: true,
    has_terminals: true,
    shows_forms: true,
};

/// A desk with what it sends.
fn desk() -> (Arc<Desk>, Receiver<Parcel>) {
    let (outlet, inlet) = outlet();
    let desk = Desk::new(outlet);
    desk.set_abilities(ALL);
    (desk, inlet)
}

fn next(inlet: &Receiver<Parcel>) -> Outward {
    inlet.recv_timeout(Duration::from_secs(20)).unwrap().take().unwrap()
}

fn asked(inlet: &Receiver<Parcel>) -> (AskId, Request) {
    let Outward::Ask(Ask { id, request, session }) = next(inlet) else {
        panic!("something else instead of a request")
    };
    assert_eq!(session, "s".into());
    (id, request)
}

fn new_terminal() -> NewTerminal {
    NewTerminal {
        command: "sh".into(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: "/".into(),
        output_limit: 1,
    }
}

/// What comes of reading a file while the surface does this.
fn read(surface: impl FnOnce(&Desk, &Receiver<Parcel>, &Cancel)) -> Result<String, AskError> {
    let (desk, inlet) = desk();
    let (asker, cancel) = (desk.asker("s".into()), Cancel::new());
    let reader = {
        let cancel = cancel.clone();
        thread::spawn(move || asker.read_file("/a".into(), &cancel))
    };
    surface(&desk, &inlet, &cancel);
    let read = reader.join().unwrap();
    assert!(desk.state.lock().waiting.is_empty());
    read
}

#[test]
fn an_answer_goes_to_whoever_waits_for_it() {
    let answered = |reply: Result<Reply, String>| {
        read(|desk, inlet, _| {
            let (id, request) = asked(inlet);
            assert_eq!(request, Request::ReadFile { path: "/a".into() });
            desk.reply(&"s".into(), AskId(id.0 + 1), Ok(Reply::Text("not this one".into())));
            desk.reply(&"s".into(), id, reply);
            desk.reply(&"s".into(), id, Ok(Reply::Text("too late".into())));
        })
    };
    assert_eq!(answered(Ok(Reply::Text("text".into()))), Ok("text".into()));
    assert_eq!(
        answered(Err("no such file".into())),
        Err(AskError::Refused("no such file".into()))
    );
    assert_eq!(answered(Ok(Reply::Done)), Err(AskError::Senseless));
}

#[test]
fn nobody_waits_for_a_surface_that_does_not_answer() {
    let cancelled = read(|_, inlet, cancel| {
        let (id, _) = asked(inlet);
        cancel.set();
        assert_eq!(next(inlet), Outward::TakeBack(id));
    });
    assert_eq!(cancelled, Err(AskError::Cancelled));
    let late = read(|_, inlet, _| {
        let (id, _) = asked(inlet);
        assert_eq!(next(inlet), Outward::TakeBack(id));
    });
    assert_eq!(late, Err(AskError::TimedOut));
    let gone = read(|desk, inlet, _| {
        asked(inlet);
        desk.close();
    });
    assert_eq!(gone, Err(AskError::Gone));
}

#[test]
fn what_the_surface_can_not_do_is_not_asked() {
    let (desk, inlet) = desk();
    desk.set_abilities(Abilities::default());
    let (asker, cancel) = (desk.asker("s".into()), Cancel::new());
    let form = Form {
        question: "?".into(),
        choices: Vec::new(),
    };
    assert_eq!(asker.read_file("/a".into(), &cancel), Err(AskError::Unable));
    assert_eq!(
        asker.write_file("/a".into(), String::new(), &cancel),
        Err(AskError::Unable)
    );
    assert_eq!(asker.open_terminal(new_terminal(), &cancel), Err(AskError::Unable));
    assert_eq!(asker.show_form(form, None, &cancel), Err(AskError::Unable));
    desk.set_abilities(ALL);
    cancel.set();
    assert_eq!(asker.read_file("/a".into(), &cancel), Err(AskError::Cancelled));
    desk.close();
    assert_eq!(asker.read_file("/a".into(), &Cancel::new()), Err(AskError::Gone));
    assert!(inlet.try_recv().is_err());
}

#[test]
fn a_terminal_goes_back_when_its_last_handle_drops() {
    let (desk, inlet) = desk();
    let asker = desk.asker("s".into());
    let opener = thread::spawn(move || asker.open_terminal(new_terminal(), &Cancel::new()));
    let (id, _) = asked(&inlet);
    desk.reply(&"s".into(), id, Ok(Reply::Terminal("t".into())));
    let terminal = opener.join().unwrap().unwrap();
    drop(terminal.clone());
    terminal.kill();
    drop(terminal);
    assert_eq!(asked(&inlet).1, Request::KillTerminal("t".into()));
    assert_eq!(asked(&inlet).1, Request::ReleaseTerminal("t".into()));
    assert!(inlet.try_recv().is_err());
}

#[test]
fn a_terminal_that_comes_too_late_goes_back() {
    let (desk, inlet) = desk();
    let (asker, cancel) = (desk.asker("s".into()), Cancel::new());
    let opener = {
        let cancel = cancel.clone();
        thread::spawn(move || asker.open_terminal(new_terminal(), &cancel))
    };
    let (id, _) = asked(&inlet);
    cancel.set();
    assert_eq!(opener.join().unwrap(), Err(AskError::Cancelled));
    assert_eq!(next(&inlet), Outward::TakeBack(id));
    desk.reply(&"s".into(), id, Ok(Reply::Terminal("t".into())));
    assert_eq!(asked(&inlet).1, Request::ReleaseTerminal("t".into()));
    desk.reply(&"s".into(), id, Err("cancelled".into()));
    assert!(inlet.try_recv().is_err());
}
