//! The tools that a server lists, as a session has them.

use std::sync::Arc;

use agent_core::nearest::nearest;
use agent_core::plan::ForeignTool;
use agent_core::provider::ToolSpec;
use agent_core::visible;
use rmcp::model;
use serde_json::Value;

use super::connection::{PAGES, Told};
use super::{fingerprint, names, schema};

/// The most tools of one server that a model is told of.
const MOST: usize = 128;
/// The most bytes of them: each request to the model has them all.
const ROOM: usize = 256 << 10;
/// The most characters of a tool's description that a model is told.
const DESCRIPTION: usize = 8_000;
/// The most characters of a tool's own name that the user is told.
const NAME: usize = 80;
/// The most names of tools with the same fault that the user is told.
const SHOWN: usize = 3;

/// What a session has of the tools that its server lists.
pub(super) struct Listing {
    /// By their names.
    pub(super) tools: Vec<Arc<Listed>>,
    /// What the user should know of it.
    pub(super) faults: Vec<Fault>,
}

/// Something that is not as it should be.
pub(super) struct Fault {
    /// What, to be read after the server's name.
    pub(super) what: String,
    pub(super) detail: String,
}

impl Listing {
    /// Those of what the server has told that are `wanted`, or all; as many as there is room for.
    pub(super) fn of(told: &Told, server: &str, identity: &str, wanted: Option<&[String]>) -> Self {
        let listed = &told.tools;
        let missing = wanted.into_iter().flatten();
        let missing = missing.filter(|name| listed.iter().all(|tool| tool.name != name.as_str()));
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_ref()).collect();
        let mut faults: Vec<Fault> = Fault::lacking(&missing, &names, server).into_iter().collect();
        if told.goes_on {
            faults.push(Fault {
                what: format!("lists its tools on more than {PAGES} pages; those on the first {PAGES} count"),
                detail: format!(
                    "These hold {}. What comes after them was not asked for.",
                    count(listed.len())
                ),
            });
        }
        let is_wanted =
            |tool: &&model::Tool| wanted.is_none_or(|wanted| wanted.iter().any(|name| tool.name == name.as_str()));
        let (mut tools, mut useless) = (Vec::new(), Vec::new());
        for tool in listed.iter().filter(is_wanted) {
            match schema::of(tool) {
                Ok(schema) => tools.push(Arc::new(Listed::new(server, identity, tool, schema))),
                Err(why) => useless.push((tool.name.as_ref(), why)),
            }
        }
        faults.extend(Fault::useless(&useless));
        tools.sort_by(|a, b| a.spec.name.cmp(&b.spec.name));
        let mut repeated = Vec::new();
        tools.dedup_by(|again, first| {
            let is_same = again.spec.name == first.spec.name;
            if is_same {
                repeated.push(Arc::clone(again));
            }
            is_same
        });
        let mut repeated: Vec<&str> = repeated.iter().map(|again| again.foreign.tool.as_str()).collect();
        repeated.dedup();
        faults.extend(Fault::repeated(&repeated));
        let all = tools.len();
        tools.truncate(fitting(&tools));
        if tools.len() < all {
            faults.push(Fault {
                what: format!("has {all} tools, which is too much for a model; {} are left out", all - tools.len()),
                detail: format!(
                    "At most {MOST} tools and {} KiB of what they say of themselves are used of one server. Name those you \
                     want by `tools` in its section of the configuration.",
                    ROOM >> 10
                ),
            });
        }
        Self { tools, faults }
    }
}

impl Fault {
    /// The configuration names tools that are not among those listed.
    fn lacking(names: &[&str], listed: &[&str], server: &str) -> Option<Self> {
        let tools = some(names.len(), "a tool", "tools")?;
        // What compares names takes memory by their lengths.
        let short = || listed.iter().copied().filter(|name| name.len() <= NAME);
        let near = names
            .first()
            .filter(|_| names.len() == 1)
            .and_then(|name| nearest(name, short()));
        let has = match (near, listed) {
            (Some(near), _) => format!("the nearest that it has is {}", shown(&[near])),
            (None, []) => "it has none".to_owned(),
            (None, listed) => format!("it has {}", shown(listed)),
        };
        Some(Self {
            what: format!("lacks {tools} that the configuration names ({}); {has}", shown(names)),
            detail: format!("`tools` of [mcp_servers.{server}] in config.toml names what it does not list."),
        })
    }

    /// Tools can't be used, each for a reason.
    fn useless(tools: &[(&str, &str)]) -> Option<Self> {
        let names: Vec<&str> = tools.iter().map(|(name, _)| *name).collect();
        let some = some(tools.len(), "a tool", "tools")?;
        let mut reasons: Vec<&str> = tools.iter().map(|(_, why)| *why).collect();
        reasons.sort_unstable();
        reasons.dedup();
        Some(Self {
            what: format!("has {some} that can't be used: {}", shown(&names)),
            detail: reasons.join("\n"),
        })
    }

    /// Tools are listed more than once.
    fn repeated(names: &[&str]) -> Option<Self> {
        let tools = some(names.len(), "a tool", "tools")?;
        Some(Self {
            what: format!("lists {tools} more than once ({})", shown(names)),
            detail: "The first of each counts.".to_owned(),
        })
    }
}

/// So many of something; nothing where there are none.
fn some(count: usize, one: &str, many: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(one.to_owned()),
        count => Some(format!("{count} {many}")),
    }
}

/// The first of these names, for people.
fn shown(names: &[&str]) -> String {
    let first = names.iter().take(SHOWN).map(|name| visible::title(name, NAME));
    let first = first.collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => first,
        Some(more) => format!("{first} and {more} more"),
    }
}

fn count(tools: usize) -> String {
    match tools {
        1 => "1 tool".to_owned(),
        tools => format!("{tools} tools"),
    }
}

/// How many of them there is room for.
fn fitting(tools: &[Arc<Listed>]) -> usize {
    let sizes = tools.iter().map(|tool| tool.spec.size());
    let sums = sizes.scan(0, |sum, size| {
        *sum += size;
        Some(*sum)
    });
    sums.take(MOST).take_while(|sum| *sum <= ROOM).count()
}

/// What a server says of a tool, as this session has it.
pub(super) struct Listed {
    pub(super) spec: ToolSpec,
    pub(super) foreign: ForeignTool,
    pub(super) only_reads: bool,
}

impl Listed {
    /// A tool of a server.
    fn new(server: &str, identity: &str, tool: &model::Tool, schema: Value) -> Self {
        Self {
            foreign: ForeignTool {
                server: server.to_owned(),
                identity: identity.to_owned(),
                tool: tool.name.to_string(),
                schema: fingerprint::of_tool(tool),
            },
            spec: ToolSpec {
                name: names::of_tool(server, &tool.name),
                description: description(tool),
                schema,
            },
            only_reads: tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true),
        }
    }
}

/// The description as its user could see it: nothing in it is hidden from people and told to models.
fn description(tool: &model::Tool) -> String {
    let text = visible::text(tool.description.as_deref().unwrap_or_default());
    match text.char_indices().nth(DESCRIPTION) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(count: usize, description: &str) -> Vec<model::Tool> {
        let tool = |n| model::Tool::new(format!("t{n:04}"), description.to_owned(), model::JsonObject::new());
        (0..count).map(tool).collect()
    }

    /// How many tools a model is told of, and what the user is.
    fn check(listed: &[model::Tool], wanted: Option<&[String]>, used: usize, told: &[&str]) {
        let list = Told {
            tools: listed.to_vec(),
            goes_on: false,
        };
        let listing = Listing::of(&list, "s", "id", wanted);
        let faults: Vec<&str> = listing.faults.iter().map(|fault| fault.what.as_str()).collect();
        assert_eq!((listing.tools.len(), faults.as_slice()), (used, told));
        assert!(
            listing
                .faults
                .iter()
                .all(|fault| !fault.detail.contains(visible::hides))
        );
    }

    #[test]
    fn a_model_is_told_of_as_many_tools_as_it_can_bear_and_the_user_of_the_rest() {
        let too_many = "has 300 tools, which is too much for a model; 172 are left out";
        check(&tools(MOST, ""), None, MOST, &[]);
        check(&tools(300, ""), None, MOST, &[too_many]);
        let too_long = "has 100 tools, which is too much for a model; 68 are left out";
        check(&tools(100, &"x".repeat(8_000)), None, 32, &[too_long]);
        check(&tools(1, &"x".repeat(1 << 20)), None, 1, &[]);
    }

    #[test]
    fn tools_that_are_listed_again_and_again_are_told_once() {
        let twice = [tools(2, "first"), tools(1, "second")].concat();
        check(&twice, None, 2, &["lists a tool more than once (t0000)"]);
        let often = (0..9).flat_map(|_| tools(5, "")).collect::<Vec<_>>();
        let told = "lists 5 tools more than once (t0000, t0001, t0002 and 2 more)";
        check(&often, None, 5, &[told]);
    }

    #[test]
    fn what_is_told_of_tools_hides_nothing() {
        let odd = |name: &'static str, schema: Value| {
            let Value::Object(schema) = schema else {
                panic!("a schema is an object")
            };
            model::Tool::new(name, "", schema)
        };
        let raw = "a\u{1b}[31m\nb\u{202e}c\0";
        let seen = r"a\u{1b}[31m\nb\u{202e}c\u{0}";
        let good = odd(raw, json!({}));
        check(
            &[good.clone(), good],
            None,
            1,
            &[&format!("lists a tool more than once ({seen})")],
        );
        let bad = odd(raw, json!({"type": "string"}));
        check(&[bad], None, 0, &[&format!("has a tool that can't be used: {seen}")]);
        check(
            &[],
            Some(&[raw.to_owned()]),
            0,
            &[&format!(
                "lacks a tool that the configuration names ({seen}); it has none"
            )],
        );
    }

    #[test]
    fn the_configuration_chooses_among_many() {
        let wanted = ["t0299".to_owned(), "other".to_owned()];
        let lacks = "lacks a tool that the configuration names (other); it has t0000, t0001, t0002 and 297 more";
        check(&tools(300, ""), Some(&wanted), 1, &[lacks]);
        let near = "lacks a tool that the configuration names (t0O03); the nearest that it has is t0003";
        check(&tools(4, ""), Some(&["t0O03".to_owned()]), 0, &[near]);
        let two = "lacks 2 tools that the configuration names (a, b); it has t0000, t0001";
        check(&tools(2, ""), Some(&["a".to_owned(), "b".to_owned()]), 0, &[two]);
    }
}
