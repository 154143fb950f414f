//! How OpenAI's models, and the many served like them, are told how much to think.

use agent_core::provider::ThoughtLevel;

/// Families that don't think. Their services refuse a request that says how much they should.
const DO_NOT_THINK: [&str; 17] = [
    "gpt-3",
    "gpt-4",
    "chatgpt-",
    "mistral-",
    "ministral-",
    "open-mistral",
    "codestral",
    "devstral",
    "pixtral",
    "llama",
    "meta-llama",
    "codellama",
    "gemma-2",
    "gemma2",
    "gemma3",
    "command-",
    "kimi-k2-0",
];

/// The word for a level; none for a model that doesn't think. The least that a model takes differs from one to the
/// next, and a service refuses the others.
pub(crate) fn effort(level: ThoughtLevel, model: &str) -> Option<&'static str> {
    thinks(model).then(|| match level {
        ThoughtLevel::Off => least(bare(model)),
        ThoughtLevel::Low => "low",
        ThoughtLevel::Medium => "medium",
        ThoughtLevel::High => "high",
    })
}

/// Whether a model may think, as far as its name tells.
pub(crate) fn thinks(model: &str) -> bool {
    let name = bare(model);
    !DO_NOT_THINK.iter().any(|family| name.starts_with(family)) && !name.ends_with("-chat-latest")
}

/// A model's name without its maker's, which a gateway puts before it.
fn bare(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

fn least(name: &str) -> &'static str {
    let is_o_series = name
        .strip_prefix('o')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if name == "gpt-5" || name.starts_with("gpt-5-") {
        "minimal"
    } else if is_o_series || name.starts_with("gpt-oss") {
        "low"
    } else {
        "none"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_what_the_model_takes() {
        for (model, expect) in [
            ("gpt-5-mini", Some("minimal")),
            ("openai/gpt-5", Some("minimal")),
            ("gpt-5.1", Some("none")),
            ("o3", Some("low")),
            ("openai/gpt-oss-120b", Some("low")),
            ("olmo", Some("none")),
            ("qwen3", Some("none")),
            ("gpt-4o", None),
            ("openai/gpt-4.1-mini", None),
            ("gpt-5-chat-latest", None),
            ("mistralai/mistral-large-2512", None),
            ("magistral-medium-latest", Some("none")),
        ] {
            assert_eq!(effort(ThoughtLevel::Off, model), expect, "{model}");
        }
    }
}
