//! What a service says it serves.

use std::time::Duration;

use agent_core::cancel::Cancel;
use agent_core::event::{ErrorClass, Failure};
use agent_core::provider::ProviderError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::client::Connection;
use crate::json::mended;
use crate::mask::without;
use crate::service::Service;
use crate::trouble::Trouble;
use crate::waiting::wait;

/// How long a list of models is waited for where nothing else waits for it.
pub const LIST_PATIENCE: Duration = Duration::from_secs(10);

/// The longest entry of a list that is read, in bytes.
const LONGEST_ENTRY: usize = 256 * 1024;

/// A model as its service lists it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ListedModel {
    /// The service's name for it.
    pub id: String,
    /// Tokens its context holds, where the service says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Tokens a reply may have, where the service says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Whether it takes pictures, where the service says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
}

/// Asks a service for its models, in its order; blocks no longer than `patience`.
///
/// # Errors
/// [`ProviderError::Failed`] when the service can't be used as set up, does not answer, or keeps no such list.
pub fn list_models(patience: Duration, service: &Service, handle: &Handle) -> Result<Vec<ListedModel>, ProviderError> {
    let connection = Connection::open(service).map_err(|error| {
        ProviderError::Failed(Box::new(Failure {
            provider: Some(service.name.clone()),
            ..Failure::new(ErrorClass::Config, error.to_string())
        }))
    })?;
    let codec = service.dialect.codec();
    let asking = async {
        let listing = async { connection.get(&codec.list_address()).await?.text().await };
        let body = timeout(patience, listing)
            .await
            .map_err(|_| Trouble::Stalled(patience))??;
        Ok(codec.listed(&mended(&body))?)
    };
    let mut listed = wait(handle, &Cancel::new(), asking).map_err(|stop| stop.into_error(service))?;
    let secrets: Vec<&str> = service.secrets().collect();
    listed
        .iter_mut()
        .for_each(|model| model.id = without(&model.id, &secrets));
    Ok(listed)
}

/// Reads the list that OpenAI has begun and others have added to, each in its own words.
pub(crate) fn data_list(body: &str) -> Result<Vec<ListedModel>, Trouble> {
    let list: List = serde_json::from_str(body).map_err(no_list)?;
    let listed = |model: Model| ListedModel {
        context_window: model
            .context_length
            .or(model.context_window)
            .or(model.max_model_len)
            .or(model.max_context_length)
            .or(model.max_input_tokens)
            .or(model.meta.pointer("/n_ctx").and_then(whole)),
        max_output: model.max_completion_tokens.or(model.max_tokens),
        images: takes_images(&model),
        id: model.id,
    };
    let models = entries(list.data.unwrap_or_default());
    Ok(models.map(listed).filter(|model| !model.id.is_empty()).collect())
}

/// The entries of a list that can be read: an odd one costs only itself.
pub(crate) fn entries<T: DeserializeOwned>(raw: Vec<&RawValue>) -> impl Iterator<Item = T> {
    let short = raw
        .into_iter()
        .map(RawValue::get)
        .filter(|raw| raw.len() <= LONGEST_ENTRY);
    short.filter_map(|raw| serde_json::from_str(raw).ok())
}

fn takes_images(model: &Model) -> Option<bool> {
    let inputs = model
        .architecture
        .pointer("/input_modalities")
        .and_then(Value::as_array);
    let is_listed = |inputs: &Vec<Value>| inputs.iter().any(|input| input == "image");
    let is_said = || model.capabilities.pointer("/vision").and_then(Value::as_bool);
    inputs.map(is_listed).or_else(is_said)
}

/// A list that can't be read.
pub(crate) fn no_list(error: serde_json::Error) -> Trouble {
    Trouble::Broke(format!("sent a list of models that makes no sense ({error})"))
}

/// A number of tokens however a service writes it; none where it makes no sense.
pub(crate) fn tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(whole(&Value::deserialize(deserializer)?))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked"
)]
fn whole(value: &Value) -> Option<u64> {
    let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    let rounded = || value.as_f64().filter(|number| (1.0..1e12).contains(number));
    let number = number.or_else(|| rounded().map(|number| number as u64));
    number.filter(|number| (1..1_000_000_000_000).contains(number))
}

#[derive(Deserialize)]
struct List<'a> {
    /// Ollama writes null for an empty one. A body without it is no list.
    #[serde(borrow, deserialize_with = "Option::deserialize")]
    data: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
    /// Of OpenRouter and others.
    #[serde(default, deserialize_with = "tokens")]
    context_length: Option<u64>,
    /// Of Groq.
    #[serde(default, deserialize_with = "tokens")]
    context_window: Option<u64>,
    /// Of vLLM.
    #[serde(default, deserialize_with = "tokens")]
    max_model_len: Option<u64>,
    /// Of Mistral and LM Studio.
    #[serde(default, deserialize_with = "tokens")]
    max_context_length: Option<u64>,
    /// Of Anthropic.
    #[serde(default, deserialize_with = "tokens")]
    max_input_tokens: Option<u64>,
    /// Of Groq.
    #[serde(default, deserialize_with = "tokens")]
    max_completion_tokens: Option<u64>,
    /// Of Anthropic.
    #[serde(default, deserialize_with = "tokens")]
    max_tokens: Option<u64>,
    /// Of llama.cpp: `n_ctx` is what the server was started with, while the model may have been trained for more.
    #[serde(default)]
    meta: Value,
    /// Of OpenRouter and llama.cpp.
    #[serde(default)]
    architecture: Value,
    /// Of Mistral. Elsewhere it is a list.
    #[serde(default)]
    capabilities: Value,
}
