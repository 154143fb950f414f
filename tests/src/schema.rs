//! Whether a message is valid in the JSON schema that the official TypeScript SDK ships (`@agentclientprotocol/sdk`
//! 2.4.0, its `schema/v1/schema.json`). What that SDK does not take for stable yet is checked against its
//! `schema.unstable.json`: forks, plans by name, prompt usage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// What a method is sent as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sent {
    /// The agent asks the client.
    Request,
    /// The agent tells the client.
    Notification,
    /// The agent answers the client.
    Response,
}

/// The value as JSON, once the schema has found no fault in it.
///
/// # Panics
/// When it has.
#[track_caller]
pub fn valid(kind: &str, value: impl Serialize) -> Value {
    let value = serde_json::to_value(value).expect("a message is JSON");
    assert_eq!(faults(kind, &value), Vec::<String>::new(), "{kind}: {value}");
    value
}

/// Why a value is not of the schema's type; none if it is.
pub fn faults(kind: &str, value: &Value) -> Vec<String> {
    let first = usize::from(is_unstable(kind, value));
    let faults = (first..SCHEMAS.len()).flat_map(|schema| {
        let validator = validator(schema, kind);
        // To say whether is much quicker than to say why not.
        if validator.is_valid(value) {
            return Vec::new();
        }
        validator.iter_errors(value).map(|error| error.to_string()).collect()
    });
    faults.collect()
}

/// The schema's type of what the agent sends by a method; none where the schema does not know it.
pub fn kind(method: &str, sent: Sent) -> Option<&'static str> {
    KINDS.get(&(method, sent)).copied()
}

/// The capabilities that a client can have, each as a path from their root: all that are not made of others.
pub fn capabilities() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for schema in &*SCHEMAS {
        collect(
            &schema["$defs"],
            &json!({ "$ref": "#/$defs/ClientCapabilities" }),
            "",
            &mut all,
        );
    }
    all
}

fn collect(definitions: &Value, schema: &Value, path: &str, all: &mut BTreeSet<String>) {
    let properties = properties(definitions, schema);
    let inner: Vec<_> = properties.iter().filter(|(name, _)| *name != "_meta").collect();
    if inner.is_empty() {
        all.insert(path.trim_start_matches('/').to_owned());
    }
    for (name, schema) in inner {
        collect(definitions, schema, &format!("{path}/{name}"), all);
    }
}

/// The properties of a type, which may be one of another name, and may be left out.
fn properties(definitions: &Value, schema: &Value) -> Map<String, Value> {
    let mut all = schema["properties"].as_object().cloned().unwrap_or_default();
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix(PREFIX)) {
        all.extend(properties(definitions, &definitions[name]));
    }
    for part in ["allOf", "anyOf"] {
        for schema in schema[part].as_array().into_iter().flatten() {
            all.extend(properties(definitions, schema));
        }
    }
    all
}

/// Whether only the schema's other part knows this.
fn is_unstable(kind: &str, value: &Value) -> bool {
    let update = if kind == "SessionNotification" {
        &value["update"]
    } else {
        value
    };
    let update = update["sessionUpdate"].as_str().unwrap_or_default();
    kind == "ForkSessionResponse" || ["plan_update", "plan_removed"].contains(&update)
}

fn validator(schema: usize, kind: &str) -> Arc<Validator> {
    let make = || {
        let all = &SCHEMAS[schema];
        let root = json!({ "$ref": format!("{PREFIX}{kind}") });
        let mut used = Map::new();
        gather(&all["$defs"], &root, &mut used);
        let schema = json!({ "$schema": all["$schema"], "$defs": used, "$ref": root["$ref"] });
        Arc::new(jsonschema::validator_for(&schema).expect("the schema is one"))
    };
    // A poisoned lock is that of a test that failed; what it had made is whole.
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    validators.entry((schema, kind.to_owned())).or_insert_with(make).clone()
}

/// Gathers the types that a schema is made of: a validator of the few that it needs is made much sooner.
fn gather(definitions: &Value, schema: &Value, used: &mut Map<String, Value>) {
    match schema {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str);
            if let Some(name) = name.and_then(|name| name.strip_prefix(PREFIX))
                && !used.contains_key(name)
            {
                used.insert(name.to_owned(), definitions[name].clone());
                gather(definitions, &definitions[name], used);
            }
            fields.values().for_each(|field| gather(definitions, field, used));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(definitions, item, used)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

/// How a type names another.
const PREFIX: &str = "#/$defs/";

/// The schema's stable part, and the one with what is not stable yet.
static SCHEMAS: LazyLock<[Value; 2]> = LazyLock::new(|| {
    [
        include_str!("../data/schema-v1.json"),
        include_str!("../data/schema-v1-unstable.json"),
    ]
    .map(|text| serde_json::from_str(text).expect("the schema is JSON"))
});

/// The types of what an agent sends, by their methods.
static KINDS: LazyLock<BTreeMap<(&str, Sent), &str>> = LazyLock::new(|| {
    let types = SCHEMAS
        .iter()
        .flat_map(|schema| schema["$defs"].as_object().into_iter().flatten());
    let named = types.filter_map(|(name, schema)| {
        let (method, side) = (schema["x-method"].as_str()?, schema["x-side"].as_str()?);
        let answers = name.ends_with("Response");
        let sent = match side {
            "agent" if answers => Sent::Response,
            "client" if name.ends_with("Request") => Sent::Request,
            "client" | "protocol" if name.ends_with("Notification") => Sent::Notification,
            _ => return None,
        };
        Some(((method, sent), name.as_str()))
    });
    named.collect()
});

/// Validators by the schema and the type.
type Validators = BTreeMap<(usize, String), Arc<Validator>>;

/// Those that were made.
static VALIDATORS: LazyLock<Mutex<Validators>> = LazyLock::new(Mutex::default);
