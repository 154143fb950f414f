//! `agent models`: which models there are, whether their services answer, and why not.

use std::io::{self, Write};

use agent_core::config::Config;
use agent_core::setup::Setup;
use agent_core::visible;

use crate::args::ModelsArgs;
use crate::credentials::Environment;
use crate::exit::{Exit, Fail};
use crate::paths::{NoHome, Paths};
use crate::setup_port::UserSetup;
use crate::survey::{self, Surveyed};
use crate::{local, terminal};

/// Asks for the models and lists them by provider; the exit code is 1 if the default model's provider can't be used, or
/// the one that was asked for.
pub(crate) fn models(args: &ModelsArgs, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let setup = UserSetup::new(paths.ok().cloned(), Environment::real());
    let config = setup.config()?;
    let (surveyed, exit) = match &args.provider {
        Some(name) => {
            let one = survey::named(&setup, &config, name)?;
            let exit = if one.state.is_ok() { Exit::Done } else { Exit::Failed };
            (vec![one], exit)
        }
        None => {
            let all = survey::all(&setup, &config, &local::usual_places());
            let exit = survey::exit(&all, &config);
            (all, exit)
        }
    };
    let mut out = terminal::stdout();
    for one in &surveyed {
        write_models(&mut out, one, &config)?;
    }
    Ok(exit)
}

fn write_models(out: &mut dyn Write, one: &Surveyed, config: &Config) -> io::Result<()> {
    let name = &one.name;
    let head = match (&one.state, &one.base_url) {
        (Ok(fine), Some(url)) => format!("{name}: {url} {fine}"),
        (Ok(fine), None) => format!("{name}: {fine}"),
        (Err(why), _) => format!("{name}: not usable: {why}"),
    };
    writeln!(out, "{}", visible::line(&head))?;
    let default = (config.model.provider == *name).then_some(&config.model.model);
    let unlisted = default.filter(|default| !one.models.contains(default));
    for model in unlisted.into_iter().chain(&one.models) {
        let mark = match default == Some(model) {
            true if unlisted.is_some() && !one.models.is_empty() => "  (default, not in its list)",
            true => "  (default)",
            false => "",
        };
        // A line end in a name would make two models of it.
        writeln!(out, "  {}{mark}", visible::line(&format!("{name}/{model}")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::survey::KeyFound;

    fn check(state: Result<&str, &str>, models: &[&str], expect: &str) {
        let config = Config {
            model: "local/a".parse().unwrap(),
            ..Config::default()
        };
        let one = Surveyed {
            name: "local".into(),
            api: Some("openai-chat"),
            base_url: Some("http://x/v1".into()),
            key: KeyFound::None,
            state: state.map(str::to_owned).map_err(str::to_owned),
            models: models.iter().map(|model| (*model).to_owned()).collect(),
        };
        let mut out = Vec::new();
        write_models(&mut out, &one, &config).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn the_default_is_marked_and_never_missing() {
        check(
            Ok("answers"),
            &["b", "a"],
            "local: http://x/v1 answers\n  local/b\n  local/a  (default)\n",
        );
        check(
            Ok("answers"),
            &["b"],
            "local: http://x/v1 answers\n  local/a  (default, not in its list)\n  local/b\n",
        );
        check(
            Err("refused"),
            &[],
            "local: not usable: refused\n  local/a  (default)\n",
        );
        check(
            Ok("answers\x1b[2J"),
            &["a", "b\n  local/c", "d\u{9b}31m\u{202e}"],
            "local: http://x/v1 answers\\u{1b}[2J\n  local/a  (default)\n  local/b   local/c\n  local/d\\u{9b}31m\\u{202e}\n",
        );
    }
}
