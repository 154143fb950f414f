//! Which commands a standing grant may cover: one plain command whose program says what it does, and whose words lead
//! nowhere that is asked about by itself.

use agent_core::plan::ExactCommand;

use super::Ground;
use super::plain::Step;
use super::runs::runs_others;

/// The command that a grant may cover, if the text is one such.
pub(super) fn command(steps: &[Step], ground: &Ground<'_>) -> Option<ExactCommand> {
    let [Step { words, .. }] = steps else {
        return None;
    };
    let (name, args) = words.split_first()?;
    let leads_out = |arg: &String| paths(arg).any(|path| !ground.is_usual(path));
    if name.contains('/') || runs_others(name, args) || args.iter().any(leads_out) {
        return None;
    }
    let program = ground.program(name)?;
    // A program inside a root is what the last edit made of it.
    let kept = !ground.in_roots(&super::real(&program)) && !ground.in_roots(&program);
    kept.then(|| ExactCommand {
        program,
        args: args.to_vec(),
    })
}

/// What of a word may be a path: all of it, what is behind a `=`, and what is glued to an option of one letter. Nobody
/// knows which words a program opens; one that is none costs a question and nothing more.
fn paths(word: &str) -> impl Iterator<Item = &str> {
    let value = word.split_once('=').map(|(_, value)| value);
    let glued = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let glued = glued.and_then(|rest| rest.get(1..));
    std::iter::once(word).chain(value).chain(glued)
}
