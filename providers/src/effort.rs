//! How OpenAI's models, and the many served like them, are told how much to think.

use agent_core::provider::ThoughtLevel;

/// The word for a level. The least that a model takes differs from one to the next, and a service refuses the others.
pub(crate) fn effort(level: ThoughtLevel, model: &str) -> &'static str {
    match level {
        ThoughtLevel::Off => least(model),
        ThoughtLevel::Low => "low",
        ThoughtLevel::Medium => "medium",
        ThoughtLevel::High => "high",
    }
}

fn least(model: &str) -> &'static str {
    // A gateway puts the maker's name before it.
    let name = model.rsplit('/').next().unwrap_or(model);
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
            ("gpt-5-mini", "minimal"),
            ("openai/gpt-5", "minimal"),
            ("gpt-5.1", "none"),
            ("o3", "low"),
            ("openai/gpt-oss-120b", "low"),
            ("olmo", "none"),
            ("qwen3", "none"),
        ] {
            assert_eq!(effort(ThoughtLevel::Off, model), expect, "{model}");
        }
    }
}
