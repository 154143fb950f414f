//! Setting up by questions and menus.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use talaria_tests::mock::{Asked, Mock, Reply};

use crate::home::Home;
use crate::terminal::Terminal;

#[test]
fn a_menu_of_setup_can_be_left_and_leaves_the_terminal_as_it_was() {
    let home = Home::new();
    for key in [b"\x03", b"\x1b", b"q"].repeat(3) {
        let mut terminal = Terminal::new();
        let mut child = terminal.start(&home, &["setup"]);
        let menu = terminal.read_until("OpenRouter");
        assert!(menu.contains("Esc leaves"), "{menu}");
        terminal.press(key);
        let rest = menu + &terminal.read_until("nothing was saved");
        assert_eq!(child.wait().unwrap().code(), Some(130), "{key:?}: {rest:?}");
        assert!(rest.rfind("\x1b[?25h") > rest.rfind("\x1b[?25l"), "{key:?}: {rest:?}");
        assert_eq!(terminal.rest().trim(), "", "{key:?}: said twice");
    }
}

#[test]
fn setup_offers_first_what_has_a_key_and_finds_a_model_by_a_part_of_its_name() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    let env = home.state().join(".env");
    fs::write(&env, "MISTRAL_API_KEY=k\nGROQ_API_KEY=k\n").unwrap();
    fs::set_permissions(&env, fs::Permissions::from_mode(0o600)).unwrap();
    let mut terminal = Terminal::new();
    let mut child = terminal.start(&home, &["setup"]);
    let menu = terminal.read_until("Another one");
    let place = |part: &str| menu.find(part).unwrap_or_else(|| panic!("no {part}: {menu:?}"));
    assert!(
        place("> Groq (GROQ_API_KEY from .env)") < place("Mistral (MISTRAL_API_KEY from .env)"),
        "{menu:?}"
    );
    assert!(place("Mistral (") < place("OpenAI"), "{menu:?}");
    terminal.press(b"\x1b");
    terminal.read_until("nothing was saved");
    child.wait().unwrap();

    let names = (0..200).map(|n| format!("family/model-{n}"));
    let names = names.chain(["other/needle-7b".to_owned()]);
    let models: Vec<Value> = names.map(|name| json!({ "id": name })).collect();
    let list = json!({ "data": models }).to_string();
    let mock = Mock::answering(move |asked: &Asked| match asked.line.as_str() {
        "GET /v1/models" => Reply::answer("HTTP/1.1 200 OK", list.clone()),
        _ => Reply::text("ok"),
    })
    .with_list();
    let mut terminal = Terminal::new();
    let url = mock.base_url();
    let mut child = terminal.start(&home, &["setup", "--provider", "mine", "--base-url", &url]);
    let menu = terminal.read_until("family/model-9");
    assert!(menu.contains("typing searches"), "{menu}");
    for key in "need".chars() {
        terminal.press(key.to_string().as_bytes());
    }
    // What is found is drawn with its letters marked, so that its name is not in one piece.
    terminal.read_until("-7b");
    terminal.press(b"\r");
    terminal.read_until("Model: other/needle-7b");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{:?}", terminal.rest());
    let config = fs::read_to_string(home.state().join("config.toml")).unwrap();
    assert!(config.contains("model = \"mine/other/needle-7b\""), "{config}");
}

#[test]
fn a_menu_fits_into_a_narrow_terminal() {
    const COLUMNS: u16 = 40;
    let names =
        (0..30).map(|n| json!({ "id": format!("a-family-with-a-long-name/and-a-model-with-a-longer-one-{n}") }));
    let list = json!({ "data": names.collect::<Vec<_>>() }).to_string();
    let mock = Mock::answering(move |_| Reply::answer("HTTP/1.1 200 OK", list.clone())).with_list();
    let home = Home::new();
    let url = mock.base_url();
    let mut terminal = Terminal::with_columns(COLUMNS);
    let mut child = terminal.start(&home, &["setup", "--provider", "mine", "--base-url", &url]);
    let mut drawn = terminal.read_until("…\r\n");
    for key in [b"a", b"-"] {
        terminal.press(key);
        drawn += &terminal.read_until("…\r\n");
    }
    terminal.press(b"\x1b");
    drawn += &terminal.read_until("nothing was saved");
    child.wait().unwrap();
    // What is said before the menu may break; what is drawn anew with each key may not.
    let menu = drawn.split("Esc leaves)").nth(1).unwrap();
    for line in anstream::adapter::strip_str(menu).to_string().lines() {
        assert!(line.trim_end().chars().count() < usize::from(COLUMNS), "{line:?}");
    }
}

#[test]
fn a_stored_key_that_is_not_kept_is_neither_sent_nor_left() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    let env = home.state().join(".env");
    fs::write(&env, "OTHER=1\nMINE_API_KEY=k-old\n").unwrap();
    fs::set_permissions(&env, fs::Permissions::from_mode(0o600)).unwrap();
    let mock = Mock::answering(|_| Reply::text("ok"));
    let config = format!(
        "[providers.mine]\napi = \"openai-chat\"\nbase_url = \"{}\"\napi_key_env = \"MINE_API_KEY\"\n",
        mock.base_url()
    );
    fs::write(home.state().join("config.toml"), config).unwrap();
    let mut terminal = Terminal::new();
    let mut child = terminal.start(&home, &["setup", "--provider", "mine", "--model", "m"]);
    terminal.read_until("Keep the stored MINE_API_KEY?");
    terminal.press(b"n");
    terminal.read_until("or Enter for none");
    terminal.enter_unseen("");
    terminal.read_until("removed MINE_API_KEY");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let requests = mock.requests();
    let keys = requests.iter().map(|asked| asked.header("authorization"));
    let keys: Vec<_> = keys.collect();
    assert!(!keys.is_empty() && keys.iter().all(Option::is_none), "{keys:?}");
    assert_eq!(fs::read_to_string(&env).unwrap(), "OTHER=1\n");
}

#[test]
fn a_provider_of_the_configuration_is_offered_again() {
    let home = Home::new();
    fs::create_dir(home.state()).unwrap();
    let config = "model = \"mine/m\"\n[providers.mine]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    fs::write(home.state().join("config.toml"), config).unwrap();
    let mut terminal = Terminal::new();
    let mut child = terminal.start(&home, &["setup"]);
    terminal.read_until("> mine (127.0.0.1:1, the default now)");
    terminal.press(b"\r");
    let said = terminal.read_until("or Enter to try http://127.0.0.1:1/v1 again: ");
    assert!(!said.contains("agent setup"), "{said}");
    // The end of the input.
    terminal.send(b"\x04");
    let said = terminal.read_until("nothing was saved");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
}
