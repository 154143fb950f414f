//! Models behind mock services, asked inside the test's own process.

use std::sync::OnceLock;

use agent_core::provider::{ModelInfo, Origin};
use providers::{Dialect, RemoteModel, Service};
use tokio::runtime::{Handle, Runtime};

use crate::mock::Mock;
use crate::stage::LIMIT;

/// Opens a service's model that takes pictures, under the name that `model` is for its service.
pub fn open(dialect: Dialect, mock: &Mock, model: &str) -> RemoteModel {
    let mut service = Service::new("mock", mock.base_url());
    service.dialect = dialect;
    service.stall = LIMIT;
    RemoteModel::new(service, info(dialect, &mock.base_url(), model), handle()).expect("a model on loopback opens")
}

/// What is known of such a model.
pub fn info(dialect: Dialect, base_url: &str, model: &str) -> ModelInfo {
    ModelInfo {
        name: format!("mock/{model}").parse().expect("it has a provider"),
        origin: Origin {
            api: dialect.name().into(),
            base_url: base_url.into(),
            model: model.into(),
        },
        context_window: None,
        max_output: None,
        images: true,
        tools: true,
        price: None,
    }
}

/// One runtime for all tests, as the connections of one process live on one.
pub fn handle() -> Handle {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let build = || {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
    };
    let runtime = RUNTIME.get_or_init(|| build().expect("a machine that runs tests has threads"));
    runtime.handle().clone()
}
