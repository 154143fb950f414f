//! Whether a message is valid in the JSON schema that the official TypeScript SDK ships (`@agentclientprotocol/sdk`
//! 2.4.0, its `schema/v1/schema.json`). What that SDK does not take for stable yet is checked against its
//! `schema.unstable.json`: forks, plans by name, prompt usage.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde::Serialize;
use serde_json::{Value, json};

/// The value as JSON, once the schema has found no fault in it.
#[track_caller]
pub(crate) fn valid(kind: &str, value: impl Serialize) -> Value {
    let value = serde_json::to_value(value).unwrap();
    assert_eq!(faults(kind, &value), Vec::<String>::new(), "{kind}: {value}");
    value
}

/// Why a value is not of the schema's type; none if it is.
fn faults(kind: &str, value: &Value) -> Vec<String> {
    let first = usize::from(is_unstable(kind, value));
    let faults = (first..SCHEMAS.len()).flat_map(|schema| {
        let errors = validator(schema, kind);
        let errors = errors.iter_errors(value).map(|error| error.to_string());
        errors.collect::<Vec<_>>()
    });
    faults.collect()
}

/// Whether only the schema's other part knows this.
fn is_unstable(kind: &str, value: &Value) -> bool {
    let update = value["sessionUpdate"].as_str().unwrap_or_default();
    kind == "ForkSessionResponse" || ["plan_update", "plan_removed"].contains(&update)
}

fn validator(schema: usize, kind: &str) -> Arc<Validator> {
    let make = || {
        let all = &SCHEMAS[schema];
        let schema = json!({
            "$schema": all["$schema"],
            "$defs": all["$defs"],
            "$ref": format!("#/$defs/{kind}"),
        });
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    };
    let mut validators = VALIDATORS.lock().unwrap();
    validators.entry((schema, kind.to_owned())).or_insert_with(make).clone()
}

/// The schema's stable part, and the one with what is not stable yet.
static SCHEMAS: LazyLock<[Value; 2]> = LazyLock::new(|| {
    [
        include_str!("../../data/schema-v1.json"),
        include_str!("../../data/schema-v1-unstable.json"),
    ]
    .map(|text| serde_json::from_str(text).unwrap())
});

/// Validators by the schema and the type.
type Validators = BTreeMap<(usize, String), Arc<Validator>>;

/// Those that were made.
static VALIDATORS: LazyLock<Mutex<Validators>> = LazyLock::new(Mutex::default);

#[test]
fn the_schema_finds_faults() {
    let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" });
    assert_eq!(faults("SessionUpdate", &update), Vec::<String>::new());
    for wrong in [
        json!({ "sessionUpdate": "current_mode_update", "modeId": "plan" }),
        json!({ "sessionUpdate": "private_update" }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "c" }),
    ] {
        assert_ne!(faults("SessionUpdate", &wrong), Vec::<String>::new());
    }
}
