//! What servers and their tools are called here: `mcp__server__tool`, of letters that every model service takes, at most
//! 64 of them. No two are the same, and none depends on which other servers happen to be there yet.

use std::collections::BTreeSet;

use super::fingerprint;

/// The longest name that model services take.
const LONGEST: usize = 64;
/// The longest name of a server within it.
const LONGEST_SERVER: usize = 24;
/// Digits of a hash that stand for what a name could not hold.
const MARK: usize = 8;

/// The names of servers in a session, one for each of those that they were given. They hold no `__` and neither begin
/// nor end with `_`, so that the first `__` behind one always ends it.
pub(super) fn of_servers<'a>(given: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let names = given.map(|given| {
        let plain = plain_server(given);
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let mut names = std::iter::once(plain.clone()).chain(numbered);
        let free = names.find(|name| taken.insert(name.clone()));
        free.expect("there is always another number")
    });
    names.collect()
}

fn plain_server(given: &str) -> String {
    let mut plain = String::new();
    for character in plain_letters(given).chars() {
        if !(character == '_' && plain.ends_with('_')) {
            plain.push(character);
        }
    }
    let plain = plain.trim_matches('_');
    if plain.is_empty() {
        "server".to_owned()
    } else {
        shortened(plain, given, LONGEST_SERVER)
    }
}

/// The name of a server's tool in a session, by the names of both.
pub(super) fn of_tool(server: &str, tool: &str) -> String {
    let room = LONGEST - "mcp____".len() - server.len();
    let plain = plain_letters(tool);
    let tool = if plain == tool && !tool.is_empty() {
        shortened(&plain, tool, room)
    } else {
        // What was changed could be the same as another's own name.
        marked(&plain, tool, room)
    };
    format!("mcp__{server}__{tool}")
}

fn plain_letters(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(plain).collect()
}

fn shortened(plain: &str, whole: &str, room: usize) -> String {
    if plain.len() <= room {
        plain.to_owned()
    } else {
        marked(plain, whole, room)
    }
}

/// The beginning of a name, and a mark of all of it.
fn marked(plain: &str, whole: &str, room: usize) -> String {
    let mark = &fingerprint::of_text(whole)[..MARK];
    let begin = &plain[..plain.len().min(room - MARK - 1)];
    let begin = begin.trim_matches('_');
    if begin.is_empty() {
        mark.to_owned()
    } else {
        format!("{begin}_{mark}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_one_name_are_numbered_in_their_order() {
        let given = [
            "git",
            "git",
            "my server",
            "my_server",
            "",
            "__a__b__",
            "é",
            "x".repeat(40).leak(),
        ];
        let names = of_servers(given.into_iter());
        assert_eq!(
            names[..7],
            ["git", "git_2", "my_server", "my_server_2", "server", "a_b", "server_2"]
        );
        assert!(names[7].len() <= LONGEST_SERVER + 1, "{}", names[7]);
    }

    #[test]
    fn a_tools_name_is_its_own_where_services_take_it() {
        assert_eq!(of_tool("git", "status"), "mcp__git__status");
        assert_eq!(of_tool("git", "a__b-C_"), "mcp__git__a__b-C_");
    }

    #[test]
    fn other_names_are_marked_so_that_no_two_are_the_same() {
        let long = "y".repeat(100);
        let given = [
            "a.b",
            "a/b",
            "a_b",
            "",
            "é",
            "ü",
            long.as_str(),
            &long[1..],
            "a b",
            " a b",
        ];
        let names: BTreeSet<String> = given.iter().map(|tool| of_tool("git", tool)).collect();
        assert_eq!(names.len(), given.len(), "{names:?}");
        for name in &names {
            assert!(name.len() <= LONGEST, "{name}");
            assert!(
                name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)),
                "{name}"
            );
        }
        assert_eq!(of_tool("git", "a.b"), of_tool("git", "a.b"));
    }

    #[test]
    fn the_longest_server_leaves_room_for_its_tools() {
        let server = &of_servers(std::iter::repeat_n("s".repeat(64).leak() as &str, 12))[11];
        assert_eq!(of_tool(server, &"t".repeat(64)).len(), LONGEST);
    }
}
