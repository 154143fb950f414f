//! A session that grows until its model's context is full, against services that count tokens as real ones do. What
//! must hold is said by their counts and never by the agent's own.

use providers::Dialect;
use serde_json::json;
use talaria_tests::client::{Client, Home};
use talaria_tests::counting::{answer, reply_limit, text_of, tokens};
use talaria_tests::mock::{Asked, Mock};
use talaria_tests::spoken::DIALECTS;
use talaria_tests::start::{config_in, load, times_told};

use crate::valid::judge;

/// A model, and what is said to it.
#[derive(Clone, Copy)]
struct Model {
    window: u64,
    max_output: u64,
    /// The least that a reply may be limited to.
    least: u64,
    /// Tokens of a prompt, and how many there are.
    prompt: u64,
    prompts: usize,
}

const SMALL: Model = Model {
    window: 32_768,
    max_output: 16_384,
    least: 2_048,
    prompt: 500,
    prompts: 20,
};
const LARGE: Model = Model {
    window: 200_000,
    max_output: 64_000,
    least: 12_500,
    prompt: 10_000,
    prompts: 12,
};

impl Model {
    fn config(self, dialect: Dialect, mock: &Mock) -> String {
        let Self { window, max_output, .. } = self;
        let models = format!("models = [{{ id = \"m\", context_window = {window}, max_output = {max_output} }}]\n");
        config_in(dialect, &mock.base_url(), &models)
    }
}

fn wants_summary(asked: &Asked) -> bool {
    asked.raw.contains("Write a summary")
}

/// A service with a context of so many tokens, each of whose replies has `length` tokens.
fn service(dialect: Dialect, window: u64, length: u64) -> Mock {
    Mock::answering(move |asked| {
        let text = match wants_summary(asked) {
            true => format!("SUMMARY {}", text_of(1_000)),
            false => text_of(length),
        };
        answer(dialect, window, asked, &text)
    })
}

/// Each request is valid, and has room for its reply by the service's count.
fn check(dialect: Dialect, model: Model, requests: &[Asked]) {
    for asked in requests {
        let verdict = judge(dialect, &asked.body);
        assert!(verdict.is_ok(), "{}", verdict.unwrap_err());
        let (input, limit) = (tokens(&asked.raw), reply_limit(asked).unwrap());
        let said = format!("{dialect:?}: {input} and {limit} in {}", model.window);
        assert!(input + limit <= model.window, "too much: {said}");
        assert!(limit >= model.least, "too little: {said}");
    }
}

fn start(home: &Home) -> Client {
    Client::initialized(home, json!({"session": {"notices": {}}}))
}

#[test]
fn a_session_that_grows_never_asks_for_too_much_nor_gets_too_little() {
    for (dialect, model) in DIALECTS
        .into_iter()
        .flat_map(|dialect| [(dialect, SMALL), (dialect, LARGE)])
    {
        let mock = service(dialect, model.window, model.least);
        let home = Home::with_config(&model.config(dialect, &mock));
        let mut client = start(&home);
        let session = client.new_session(&home.workspace());
        for number in 0..model.prompts {
            let prompt = format!("{number} {}", text_of(model.prompt));
            assert_eq!(client.prompt(&session, &prompt), "end_turn", "{dialect:?}, {number}");
        }
        let requests = mock.requests();
        check(dialect, model, &requests);
        let made = times_told(&client, 0, "summarised to make room");
        assert!((1..=2).contains(&made), "{dialect:?}: {made} times");
        assert_eq!(requests.len(), model.prompts + made, "{dialect:?}: one request each");
        let fullest = requests.iter().map(|asked| tokens(&asked.raw)).max().unwrap();
        assert!(
            fullest > model.window * 7 / 10,
            "{dialect:?}: {fullest} is no full context"
        );
        let mut gauges = client.updates(0).into_iter();
        let gauge = gauges
            .rfind(|update| update["sessionUpdate"] == "usage_update")
            .unwrap();
        let used = tokens(&requests.last().unwrap().raw) + tokens(&text_of(model.least));
        assert_eq!(gauge["used"], used, "{dialect:?}");
    }
}

#[test]
fn a_session_that_is_full_when_it_is_loaded_goes_on() {
    // Up to just below and to far above what the smaller context holds.
    for (dialect, turns) in DIALECTS.into_iter().flat_map(|dialect| [(dialect, 6), (dialect, 16)]) {
        let large = service(dialect, LARGE.window, 4_000);
        let home = Home::with_config(&LARGE.config(dialect, &large));
        let mut client = start(&home);
        let session = client.new_session(&home.workspace());
        for number in 0..turns {
            assert_eq!(client.prompt(&session, &format!("question {number}")), "end_turn");
        }
        client.kill();
        let small = service(dialect, SMALL.window, SMALL.least);
        home.write_config(&SMALL.config(dialect, &small));
        let mut client = start(&home);
        load(&mut client, &session, &home.workspace()).unwrap();
        let from = client.log.len();
        for prompt in ["go on", "and on"] {
            assert_eq!(client.prompt(&session, prompt), "end_turn", "{dialect:?}, {turns}");
        }
        let requests = small.requests();
        check(dialect, SMALL, &requests);
        assert_eq!(
            times_told(&client, from, "summarised to make room"),
            1,
            "{dialect:?}, {turns}"
        );
        assert_eq!(requests.len(), 3, "{dialect:?}, {turns}");
        assert!(
            wants_summary(&requests[0]) && requests[1].raw.contains("SUMMARY"),
            "{}",
            requests[1].raw
        );
    }
}

#[test]
fn a_session_that_comes_to_a_tiny_context_goes_on() {
    const TINY: u64 = 8_000;
    for dialect in DIALECTS {
        let mock = Mock::answering(move |asked| {
            let is_tiny = asked.body["model"] == "tiny" || asked.line.contains("/tiny:");
            let (window, length) = if is_tiny { (TINY, 300) } else { (SMALL.window, 3_000) };
            let text = match wants_summary(asked) {
                true => format!("SUMMARY {}", text_of(500)),
                false => text_of(length),
            };
            answer(dialect, window, asked, &text)
        });
        let models = format!(
            "models = [{{ id = \"m\", context_window = {}, max_output = 16384 }}, \
             {{ id = \"tiny\", context_window = {TINY}, max_output = 4000 }}]\n",
            SMALL.window
        );
        let home = Home::with_config(&config_in(dialect, &mock.base_url(), &models));
        let mut client = start(&home);
        let session = client.new_session(&home.workspace());
        for number in 0..5 {
            assert_eq!(client.prompt(&session, &format!("question {number}")), "end_turn");
        }
        let before = mock.requests().len();
        let params = json!({"sessionId": session, "configId": "model", "value": "mock/tiny"});
        client.request("session/set_config_option", params).unwrap();
        for number in 0..6 {
            let prompt = format!("small question {number}");
            assert_eq!(client.prompt(&session, &prompt), "end_turn", "{dialect:?}, {number}");
        }
        let tiny = Model {
            window: TINY,
            max_output: 4_000,
            least: 1_024,
            ..SMALL
        };
        check(dialect, tiny, &mock.requests()[before..]);
        assert!(mock.requests()[before + 1].raw.contains("SUMMARY"), "{dialect:?}");
    }
}
