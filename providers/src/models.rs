//! What a service says it serves.

use std::time::Duration;

use agent_core::cancel::Cancel;
use agent_core::event::{ErrorClass, Failure};
use agent_core::provider::ProviderError;
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::client::Connection;
use crate::mask::without;
use crate::service::Service;
use crate::trouble::Trouble;
use crate::waiting::wait;

/// How long a list of models is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks a service for the names of its models, in its order; blocks at most 10 s.
///
/// # Errors
/// [`ProviderError::Failed`] when the service can't be used as set up, does not answer, or keeps no such list.
pub fn list_models(service: &Service, handle: &Handle) -> Result<Vec<String>, ProviderError> {
    let connection = Connection::open(service).map_err(|error| {
        ProviderError::Failed(Box::new(Failure {
            class: ErrorClass::Config,
            message: error.to_string(),
            provider: Some(service.name.clone()),
            status: None,
            retry_after_ms: None,
        }))
    })?;
    let asking = async {
        let listing = timeout(PATIENCE, list(&connection));
        Ok(listing.await.map_err(|_| Trouble::Stalled(PATIENCE))??)
    };
    let names = wait(handle, &Cancel::new(), asking).map_err(|stop| stop.into_error(service))?;
    Ok(match service.secret_key() {
        Some(key) => names.iter().map(|name| without(name, &[key])).collect(),
        None => names,
    })
}

async fn list(connection: &Connection) -> Result<Vec<String>, Trouble> {
    let body = connection.get(&["models"]).await?.text().await?;
    let list: List = serde_json::from_str(&body)
        .map_err(|error| Trouble::Broke(format!("sent a list of models that makes no sense ({error})")))?;
    Ok(list.data.into_iter().map(|model| model.id).collect())
}

#[derive(Deserialize)]
struct List {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
}
