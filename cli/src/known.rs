//! The well-known model services: what a name stands for when the configuration doesn't say.

use agent_core::config::Api;

/// A service that needs no configuration beyond its key.
#[derive(Debug, PartialEq)]
pub(crate) struct Known {
    /// Its name in the configuration.
    pub(crate) name: &'static str,
    /// Its name for people.
    pub(crate) title: &'static str,
    /// Its dialect.
    pub(crate) api: Api,
    /// Where it is.
    pub(crate) base_url: &'static str,
    /// The environment variable that holds its key; none for servers on this machine.
    pub(crate) key_env: Option<&'static str>,
    /// Its models take pictures unless the configuration says otherwise. Only where that holds for all of them: a
    /// model that can't see refuses the whole request.
    pub(crate) images: bool,
}

/// All of them, in the order they are offered.
pub(crate) const KNOWN: [Known; 14] = [
    Known {
        images: true,
        ..remote("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY")
    },
    Known {
        api: Api::Anthropic,
        images: true,
        ..remote(
            "anthropic",
            "Anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
        )
    },
    Known {
        api: Api::Gemini,
        images: true,
        ..remote(
            "gemini",
            "Google Gemini",
            "https://generativelanguage.googleapis.com/v1beta",
            "GEMINI_API_KEY",
        )
    },
    remote(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
    ),
    remote("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    remote(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
    ),
    remote("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    remote("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
    remote("moonshot", "Moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    remote(
        "nous",
        "Nous Research",
        "https://inference-api.nousresearch.com/v1",
        "NOUS_API_KEY",
    ),
    local("ollama", "Ollama", "http://127.0.0.1:11434/v1"),
    local("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
    local("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    local("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
];

/// Most speak Chat Completions, and not all of their models see.
const fn remote(name: &'static str, title: &'static str, base_url: &'static str, key_env: &'static str) -> Known {
    Known {
        name,
        title,
        api: Api::OpenaiChat,
        base_url,
        key_env: Some(key_env),
        images: false,
    }
}

const fn local(name: &'static str, title: &'static str, base_url: &'static str) -> Known {
    Known {
        name,
        title,
        api: Api::OpenaiChat,
        base_url,
        key_env: None,
        images: false,
    }
}

/// The well-known service of this name.
pub(crate) fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// Another variable that may hold the same key, for where the first one is not set.
pub(crate) fn other_variable(variable: &str) -> Option<&'static str> {
    (variable == "GEMINI_API_KEY").then_some("GOOGLE_API_KEY")
}
