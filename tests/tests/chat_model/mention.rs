//! What comes along with a prompt: pictures, mentioned files and folders.

use std::fs;

use serde_json::{Value, json};
use talaria_tests::client::Home;
use talaria_tests::mock::Reply;

use crate::{Stage, last_of};

/// The smallest picture: one point.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

fn answers(count: usize) -> Vec<Reply> {
    (0..count).map(|_| Reply::text("I see.")).collect()
}

fn picture() -> Value {
    json!([
        {"type": "text", "text": "what is this?"},
        {"type": "image", "mimeType": "image/png", "data": PNG},
    ])
}

#[test]
fn a_picture_goes_to_a_model_that_sees() {
    let config = "models = [{ id = \"m\", images = true }]\n";
    let mut stage = Stage::with_config(answers(2), config);
    assert_eq!(stage.prompt_blocks(picture()), "end_turn");
    let sent = |stage: &Stage| stage.last_request().messages()[1]["content"].clone();
    let url = format!("data:image/png;base64,{PNG}");
    let expect = json!([
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]);
    assert_eq!(sent(&stage), expect);
    let mut stage = stage.reload();
    assert_eq!(stage.prompt("and its colour?"), "end_turn");
    assert_eq!(sent(&stage), expect, "the picture is there after a reload");
}

#[test]
fn a_picture_for_a_model_that_does_not_see_is_told_to_model_and_user() {
    let config = "models = [{ id = \"m\", images = false }]\n";
    let mut stage = Stage::with_config(answers(1), config);
    assert_eq!(stage.prompt_blocks(picture()), "end_turn");
    let asked = stage.last_request();
    assert!(!asked.raw.contains(PNG));
    let told = last_of(&asked, "user");
    assert!(told.contains("picture") && told.contains("not shown"), "{told}");
    let said = stage.client.said(0);
    assert!(said.contains("picture") && said.contains("mock/m"), "{said}");
}

fn link(uri: &str) -> Value {
    json!([
        {"type": "text", "text": "look at "},
        {"type": "resource_link", "uri": uri, "name": "it"},
    ])
}

/// What the model is told of a link, beside the words of the user.
fn told(stage: &mut Stage, uri: &str) -> String {
    let from = stage.client.log.len();
    assert_eq!(stage.prompt_blocks(link(uri)), "end_turn");
    assert_eq!(stage.client.said(from), "I see.");
    last_of(&stage.last_request(), "user").to_owned()
}

#[test]
fn a_mentioned_file_is_put_in_with_its_range() {
    let mut stage = Stage::new(answers(8));
    let outside = Home::new();
    let path = stage.home.workspace().join("a b.txt");
    fs::write(&path, "one\ntwo\nthree\nfour\n").unwrap();
    let far = outside.workspace().join("far.txt");
    fs::write(&far, "from far\n").unwrap();
    let uri = format!("file://{}", path.display().to_string().replace(' ', "%20"));
    let whole = told(&mut stage, &uri);
    assert!(whole.contains("one\ntwo\nthree\nfour\n"), "{whole}");
    let range = told(&mut stage, &format!("{uri}#L2-3"));
    assert!(range.contains("two\nthree\n") && !range.contains("four"), "{range}");
    let far = told(&mut stage, &format!("file://{}", far.display()));
    assert!(far.contains("from far"), "{far}");
    let missing = told(&mut stage, "file:///nowhere/x.txt");
    assert!(missing.contains("was not put in"), "{missing}");
    let web = told(&mut stage, "https://example.com/x");
    assert!(web.contains("only links to files"), "{web}");
}

#[test]
fn a_mentioned_folder_is_listed() {
    let mut stage = Stage::new(answers(1));
    let folder = stage.home.workspace().join("sub");
    fs::create_dir_all(folder.join("deeper")).unwrap();
    fs::write(folder.join("a.txt"), "text").unwrap();
    let listed = told(&mut stage, &format!("file://{}/", folder.display()));
    assert!(listed.contains("a.txt\ndeeper/\n"), "{listed}");
}

#[test]
fn our_own_files_are_never_put_in() {
    let mut stage = Stage::new(answers(4));
    fs::write(stage.home.state().join(".env"), "MOCK_KEY=k-secret\n").unwrap();
    let state = stage.home.state().canonicalize().unwrap();
    std::os::unix::fs::symlink(state.join(".env"), stage.home.workspace().join("innocent.txt")).unwrap();
    for path in [
        state.join(".env"),
        state.join("state.db"),
        state,
        stage.home.workspace().join("innocent.txt"),
    ] {
        let refused = told(&mut stage, &format!("file://{}", path.display()));
        assert!(
            refused.contains("was not put in") && !refused.contains("k-secret"),
            "{refused}"
        );
        assert!(!refused.contains("config.toml"), "{refused}");
    }
}
