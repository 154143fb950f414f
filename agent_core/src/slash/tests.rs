#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::content::Blob;

#[test]
fn every_offered_command_is_known_and_takes_its_argument_verbatim() {
    for info in COMMANDS {
        let command = parse(&[Content::text(format!("/{}  a  \"b\" ", info.name))]);
        assert_eq!(command.unwrap().argument, "a  \"b\"", "{}", info.name);
    }
}

#[test]
fn other_slash_text_is_for_the_model() {
    let image = Content::Image {
        mime_type: "image/png".into(),
        data: Blob::Inline([1].into()),
        uri: None,
    };
    assert_eq!(parse(&[Content::text("/etc/passwd what is it?")]), None);
    assert_eq!(parse(&[Content::text("/helpme")]), None);
    assert_eq!(parse(&[Content::text("see /help")]), None);
    assert_eq!(parse(&[Content::text("/help"), image]), None);
}

#[test]
fn only_a_name_that_is_very_near_is_taken_for_a_slip() {
    let check = |text: &str, expect| assert_eq!(slip(&[Content::text(text)]), expect, "{:.20}", text);
    check("/modle a/b", Some(("modle", "model")));
    check("  /Help", Some(("Help", "help")));
    check("/serach old words", Some(("serach", "search")));
    check("/models", Some(("models", "model")));
    for other in [
        "/model",
        "/models/x",
        "/tmp",
        "/etc/hosts",
        "/helpme",
        "modle",
        "see /modle",
        "/",
        "/mod-el",
    ] {
        check(other, None);
    }
    check(&format!("/{}", "m".repeat(64 << 20)), None);
}
