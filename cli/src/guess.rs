//! How much well-known models hold, by their names alone, for services whose lists don't say it. It is a guess, and the
//! last word: what the user or the service says comes before it.

use crate::known::{Known, known};
use crate::service::Remote;

/// A service whose list doesn't say it, a model's name, and the tokens its context holds. A name also stands for its
/// dated and latest forms, and for no other that begins with it.
const WINDOWS: [(&str, &str, u64); 24] = [
    ("openai", "gpt-4-turbo", 128_000),
    ("openai", "gpt-4o", 128_000),
    ("openai", "gpt-4o-mini", 128_000),
    ("openai", "chatgpt-4o", 128_000),
    ("openai", "gpt-4.1", 1_047_576),
    ("openai", "gpt-4.1-mini", 1_047_576),
    ("openai", "gpt-4.1-nano", 1_047_576),
    ("openai", "o1", 200_000),
    ("openai", "o1-pro", 200_000),
    ("openai", "o3", 200_000),
    ("openai", "o3-mini", 200_000),
    ("openai", "o3-pro", 200_000),
    ("openai", "o4-mini", 200_000),
    ("openai", "gpt-5", 400_000),
    ("openai", "gpt-5-mini", 400_000),
    ("openai", "gpt-5-nano", 400_000),
    ("openai", "gpt-5-pro", 400_000),
    ("openai", "gpt-5-codex", 400_000),
    ("openai", "gpt-5-chat", 128_000),
    ("deepseek", "deepseek-chat", 128_000),
    ("deepseek", "deepseek-reasoner", 128_000),
    ("xai", "grok-3", 131_072),
    ("xai", "grok-3-mini", 131_072),
    ("xai", "grok-4", 256_000),
];

/// Tokens that the context of a model probably holds, if it is a well-known one at its own service.
pub(crate) fn context_window(remote: &Remote, model: &str) -> Option<u64> {
    let is_there = |service: &str| known(service).is_some_and(|known: &Known| remote.is_under(known.base_url));
    let fits = WINDOWS
        .iter()
        .find(|(service, name, _)| is_form_of(model, name) && is_there(service));
    fits.map(|(.., window)| *window)
}

/// Whether a name is another one, or that with a date or `latest` behind it.
fn is_form_of(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else {
        return false;
    };
    let is_date = |rest: &str| rest.len() >= 4 && rest.chars().all(|char| char.is_ascii_digit() || char == '-');
    rest.is_empty()
        || rest
            .strip_prefix('-')
            .is_some_and(|rest| rest == "latest" || is_date(rest))
}

#[cfg(test)]
mod tests {
    use agent_core::config::{Config, ProviderConfig};

    use super::*;
    use crate::service::{Backend, resolve};

    fn guess(provider: &str, base_url: Option<&str>, model: &str) -> Option<u64> {
        let mut config = Config::default();
        let entry = ProviderConfig {
            api: known(provider)
                .map(|known| known.api)
                .or(Some(agent_core::config::Api::OpenaiChat)),
            base_url: base_url.map(str::to_owned),
            ..ProviderConfig::default()
        };
        config.providers.insert(provider.to_owned(), entry);
        match resolve(provider, &config) {
            Ok(Backend::Remote(remote)) => context_window(&remote, model),
            other => panic!("{provider} is no service: {other:?}"),
        }
    }

    #[test]
    fn a_well_known_name_is_a_guess_at_its_own_service() {
        let check = |provider: &str, model: &str, expect: Option<u64>| {
            assert_eq!(guess(provider, None, model), expect, "{provider}/{model}");
        };
        check("openai", "gpt-4o", Some(128_000));
        check("openai", "gpt-4o-2024-11-20", Some(128_000));
        check("openai", "gpt-4.1-mini", Some(1_047_576));
        check("openai", "gpt-5", Some(400_000));
        check("openai", "gpt-5-2025-08-07", Some(400_000));
        check("openai", "gpt-5-chat-latest", Some(128_000));
        check("openai", "o3-2025-04-16", Some(200_000));
        check("deepseek", "deepseek-reasoner", Some(128_000));
        check("xai", "grok-4-0709", Some(256_000));
        check("xai", "grok-3-latest", Some(131_072));
        for (provider, model) in [
            ("openai", "gpt-4"),
            ("openai", "o1-mini"),
            ("openai", "gpt-4o-audio-preview"),
            ("openai", "gpt-6"),
            ("xai", "grok-4-fast"),
            ("xai", "gpt-4o"),
            ("openrouter", "gpt-4o"),
        ] {
            check(provider, model, None);
        }
    }

    #[test]
    fn elsewhere_the_same_name_may_hold_anything() {
        let here = Some("http://127.0.0.1:8080/v1");
        assert_eq!(guess("openai", here, "gpt-4o"), None);
        assert_eq!(guess("mine", here, "gpt-4o"), None);
        let own_name = Some("https://api.openai.com/v1");
        assert_eq!(guess("mine", own_name, "gpt-4o"), Some(128_000));
    }
}
