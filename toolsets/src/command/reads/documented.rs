//! `docs/permissions.md` lists exactly the commands that run unasked.

use super::special::{LANGUAGES, VERSIONED};
use super::table::{Operands, Program, TABLE};

const DOCUMENT: &str = include_str!("../../../../docs/permissions.md");
const BEGIN: &str = "| program | reads | options |\n| --- | --- | --- |\n";

fn operands(operands: Operands) -> &'static str {
    match operands {
        Operands::Text => "nothing: its words are text",
        Operands::None => "nothing",
        Operands::Paths => "files and folders",
        Operands::Files => "files",
        Operands::OnePath => "one file",
        Operands::Filter => "files; its filter names no `env`, `import`, `include` or `modulemeta`",
        Operands::Pattern { always_deep: false } => "files; with `-r` folders that hold no secrets",
        Operands::Pattern { always_deep: true } => "files, and folders that hold no secrets",
    }
}

fn options(program: &Program) -> String {
    let flags = (!program.flags.is_empty()).then(|| format!("`-{}`", program.flags));
    let values = program.values.chars().map(|letter| format!("`-{letter} …`"));
    let number = program.number.then(|| "`-20`".to_owned());
    let long = program
        .long
        .iter()
        .map(|long| match (long.strip_suffix('='), long.strip_suffix('?')) {
            (Some(name), _) => format!("`--{name}=…`"),
            (None, Some(name)) => format!("`--{name}[=…]`"),
            (None, None) => format!("`--{long}`"),
        });
    let all: Vec<String> = flags.into_iter().chain(values).chain(number).chain(long).collect();
    all.join(" ")
}

fn row(program: &Program) -> String {
    let row = format!(
        "| `{}` | {} | {} |",
        program.name,
        operands(program.operands),
        options(program)
    );
    row.replace("|  |", "| |")
}

#[test]
fn the_documents_table_is_the_programs_table() {
    let expect: Vec<String> = TABLE.iter().map(row).collect();
    let (_, from) = DOCUMENT.split_once(BEGIN).expect("the document has the table");
    let found: Vec<&str> = from.lines().take_while(|line| line.starts_with('|')).collect();
    assert!(
        found == expect,
        "docs/permissions.md should hold:\n{}",
        expect.join("\n")
    );
}

#[test]
fn the_document_names_the_programs_with_a_language_of_their_own() {
    let list = |begin: &str| {
        let (_, from) = DOCUMENT.split_once(begin).expect("the document has the list");
        let (list, _) = from.split_once("\n\n").expect("a list ends with an empty line");
        list.to_owned()
    };
    let rows = list("These have rules of their own:\n\n| program | runs unasked |\n| --- | --- |\n");
    let mut found: Vec<&str> = rows.lines().filter_map(|row| row.split('`').nth(1)).collect();
    found.retain(|name| *name != "cd");
    assert_eq!(found, LANGUAGES);
    let versions = list("`--version` or `-V` alone: ");
    let found: Vec<&str> = versions.split('`').skip(1).step_by(2).take(VERSIONED.len()).collect();
    assert_eq!(found, VERSIONED);
}
