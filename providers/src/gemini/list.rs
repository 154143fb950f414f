//! The list of models as Gemini gives it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bare;
use crate::models::{ListedModel, entries, no_list, tokens};
use crate::trouble::Trouble;

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    models: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Model {
    name: String,
    #[serde(default, deserialize_with = "tokens")]
    input_token_limit: Option<u64>,
    #[serde(default, deserialize_with = "tokens")]
    output_token_limit: Option<u64>,
    supported_generation_methods: Option<Vec<String>>,
}

/// The models that answer: the list has those too that only embed or draw.
pub(super) fn listed(body: &str) -> Result<Vec<ListedModel>, Trouble> {
    let list: List = serde_json::from_str(body).map_err(no_list)?;
    let answers = |model: &Model| {
        let methods = model.supported_generation_methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
    };
    let listed = |model: Model| ListedModel {
        id: bare(&model.name).to_owned(),
        context_window: model.input_token_limit,
        max_output: model.output_token_limit,
        images: None,
    };
    let models = entries(list.models).filter(answers).map(listed);
    Ok(models.filter(|model| !model.id.is_empty()).collect())
}
