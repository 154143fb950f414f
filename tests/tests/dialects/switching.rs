//! A session that goes from model to model: between dialects, and between contexts of different sizes.

use providers::Dialect;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::counting::tokens;
use talaria_tests::mock::{Asked, Mock};
use talaria_tests::spoken::{DIALECTS, Spoken};
use talaria_tests::start::times_told;

use crate::valid::judge;

// Named for the strictest rules of their services.
const LARGE: &str = "gemini-3-large";
const SMALL: &str = "gemini-3-small";

/// A session whose models are behind services of all dialects, two of each: a small one with a context of 8,000 tokens
/// and a large one of 200,000.
struct Stage {
    mocks: Vec<(Dialect, Mock)>,
    home: Home,
    client: Client,
    session: String,
}

impl Stage {
    /// Each service reads a file where it is asked to `read`, and says else which dialect it speaks.
    fn new() -> Self {
        Self::answering(|dialect, asked| {
            let name = dialect.name();
            let seal = format!("SEAL-{name}");
            if asked.raw.contains("Write a summary") {
                return Spoken::text("SUMMARY of all.").using(100);
            }
            match goes_on(asked) {
                false => Spoken::call("functions.read:0", "read_file", json!({"path": "a.txt"})).thinking(&seal),
                true => Spoken::text(&format!("Said by {name}.")).thinking(&seal),
            }
        })
    }

    fn answering(answer: fn(Dialect, &Asked) -> Spoken) -> Self {
        let mocks: Vec<(Dialect, Mock)> = DIALECTS
            .into_iter()
            .map(|dialect| {
                (
                    dialect,
                    Mock::answering(move |asked| answer(dialect, asked).reply(dialect)),
                )
            })
            .collect();
        let mut config = format!("model = \"{}/{LARGE}\"\n", DIALECTS[0].name());
        for (dialect, mock) in &mocks {
            let (name, url) = (dialect.name(), mock.base_url());
            config.push_str(&format!(
                "[providers.{name}]\napi = \"{name}\"\nbase_url = \"{url}\"\nmodels = [\
                 {{ id = \"{LARGE}\", context_window = 200000 }}, {{ id = \"{SMALL}\", context_window = 8000 }}]\n"
            ));
        }
        let home = Home::with_config(&config);
        std::fs::write(home.workspace().join("a.txt"), "alpha\n").unwrap();
        let mut client = Client::initialized(&home, json!({"session": {"notices": {}}}));
        let session = client.new_session(&home.workspace());
        Self {
            mocks,
            home,
            client,
            session,
        }
    }

    fn choose(&mut self, dialect: Dialect, size: &str) {
        let value = format!("{}/{size}", dialect.name());
        let params = json!({"sessionId": self.session, "configId": "model", "value": value});
        self.client.request("session/set_config_option", params).unwrap();
    }

    fn mock(&self, dialect: Dialect) -> &Mock {
        &self.mocks.iter().find(|(of, _)| *of == dialect).unwrap().1
    }

    /// What the service was asked last, if that is valid and holds nothing that another one sealed.
    fn last(&self, dialect: Dialect) -> Value {
        let asked = self.mock(dialect).requests().pop().unwrap();
        let verdict = judge(dialect, &asked.body);
        assert!(verdict.is_ok(), "{}", verdict.unwrap_err());
        for other in DIALECTS.into_iter().filter(|other| *other != dialect) {
            let seal = format!("SEAL-{}\"", other.name());
            assert!(
                !asked.raw.contains(&seal),
                "{} got {seal}: {}",
                dialect.name(),
                asked.raw
            );
        }
        asked.body
    }
}

/// Whether the model is asked to go on over what a tool gave.
fn goes_on(asked: &Asked) -> bool {
    let list = ["messages", "input", "contents"].map(|list| asked.body[list].as_array());
    let last = list.into_iter().flatten().next().and_then(|list| list.last());
    let last = last.map(Value::to_string).unwrap_or_default();
    ["\"tool\"", "function_call_output", "tool_result", "functionResponse"]
        .iter()
        .any(|result| last.contains(result))
}

#[test]
fn a_session_goes_from_dialect_to_dialect_and_keeps_what_was_said() {
    let mut stage = Stage::new();
    let mut told = Vec::new();
    // Twice, so that each gets back what it sealed itself.
    for dialect in DIALECTS.into_iter().chain(DIALECTS) {
        stage.choose(dialect, LARGE);
        let prompt = format!("prompt {}", told.len());
        assert_eq!(stage.client.prompt(&stage.session, &prompt), "end_turn");
        told.push(prompt);
        let body = stage.last(dialect).to_string();
        for prompt in &told {
            assert!(body.contains(prompt.as_str()), "{prompt} is lost: {body}");
        }
        assert_eq!(body.matches("alpha").count(), told.len(), "a result is lost: {body}");
        // Of the first of the two steps and, in the second round, of those before.
        let seals = body.matches(&format!("SEAL-{}", dialect.name())).count();
        assert!(
            seals >= told.len().div_ceil(4),
            "{} lost its own: {body}",
            dialect.name()
        );
        if told.len() == 6 {
            // What is stored says the same.
            let Stage {
                client, home, session, ..
            } = stage;
            client.kill();
            let mut client = Client::initialized(&home, json!({"session": {"notices": {}}}));
            talaria_tests::start::load(&mut client, &session, &home.workspace()).unwrap();
            stage = Stage {
                mocks: stage.mocks,
                home,
                client,
                session,
            };
        }
    }
}

#[test]
fn a_session_that_comes_to_a_smaller_context_makes_room_there() {
    for (from, to) in DIALECTS.into_iter().zip(DIALECTS.into_iter().cycle().skip(1)) {
        let mut stage = Stage::answering(|_, asked| {
            if asked.raw.contains("Write a summary") {
                return Spoken::text("SUMMARY of all.").using(tokens(&asked.raw));
            }
            // About 5,000 tokens a reply.
            let text = match asked.raw.contains("SUMMARY of all.") || asked.raw.contains("last prompt") {
                true => "Short.".to_owned(),
                false => "many words ".repeat(2_000),
            };
            Spoken::text(&text).using(tokens(&asked.raw))
        });
        stage.choose(from, LARGE);
        for prompt in ["first prompt", "second prompt", "third prompt"] {
            assert_eq!(stage.client.prompt(&stage.session, prompt), "end_turn");
        }
        stage.choose(to, SMALL);
        let start = stage.client.log.len();
        assert_eq!(stage.client.prompt(&stage.session, "last prompt"), "end_turn");
        assert_eq!(
            times_told(&stage.client, start, "summarised to make room"),
            1,
            "{from:?} to {to:?}"
        );
        let body = stage.last(to).to_string();
        assert!(
            body.contains("SUMMARY of all.") && body.contains("last prompt"),
            "{body}"
        );
        assert!(body.len() < 32_000, "{} bytes are more than 8,000 tokens", body.len());
        for asked in stage.mock(to).requests() {
            let verdict = judge(to, &asked.body);
            assert!(verdict.is_ok(), "{}", verdict.unwrap_err());
        }
        // All of it is still there for whoever goes back.
        stage.choose(from, LARGE);
        assert_eq!(stage.client.prompt(&stage.session, "last prompt of all"), "end_turn");
        assert!(stage.last(from).to_string().contains("SUMMARY of all."));
    }
}
