//! A model server on loopback with a model of four rules, for trying real ACP clients without a network or a key.
//!
//! ```text
//! cargo run --package talaria_tests --example chat_server
//! ```
//!
//! It prints the base URL for the configuration, and serves until it is killed. The rules look for words in the
//! user's last message: `sleep` runs `sleep 60`, `file` or `create` writes hello.txt, `pong` says pong, anything else
//! is answered with these rules. After a call it says one closing sentence.

use std::thread;

use serde_json::{Value, json};
use talaria_tests::mock::{Asked, Mock, Reply};

fn main() {
    let mock = Mock::answering(answer);
    #[expect(clippy::print_stdout, reason = "what whoever starts it waits for")]
    {
        println!("{}", mock.base_url());
    }
    loop {
        thread::park();
    }
}

fn answer(asked: &Asked) -> Reply {
    let Some(last) = asked.messages().last() else {
        return Reply::answer("HTTP/1.1 400 Bad Request", "there is no message");
    };
    if last["role"] == "tool" {
        return Reply::text(&format!("The call came to this: {}", first_line(text(last))));
    }
    let prompt = text(last).to_lowercase();
    let says = |word: &str| prompt.contains(word);
    // Calls of one conversation need ids of their own.
    let id = format!("call-{}", asked.messages().len());
    if says("sleep") {
        Reply::calls(&[(&id, "terminal", json!({"command": "sleep 60"}))])
    } else if says("file") || says("create") {
        Reply::calls(&[(&id, "write_file", json!({"path": "hello.txt", "content": "hello\n"}))])
    } else if says("pong") {
        Reply::text("pong")
    } else {
        Reply::text("Say `pong`, ask me to create a file, or to run `sleep`.")
    }
}

/// A message's text; a message with pictures has none.
fn text(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
