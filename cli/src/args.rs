//! The command line, as data. What a flag means is decided by the command that has it.

mod sessions;
pub(crate) mod words;

use std::path::PathBuf;

use agent_core::approval::Mode;
use agent_core::provider::ModelRef;
use clap::builder::NonEmptyStringValueParser;
use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use sessions::{ExportFormat, SessionsCommand};

/// An agent for editors and terminals.
#[derive(Debug, Parser)]
#[command(name = "agent", version, propagate_version = true, after_help = TOP_EXAMPLE)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const TOP_EXAMPLE: &str = "Example:
  agent setup
  agent run \"explain src/main.rs\"";

/// What can be done.
// The flags of a command are made up only when it is chosen, since an editor waits for `agent acp`. Its help begins with
// what is said here; a doc comment on the type of its flags would take that place, so those have none.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Serve the Agent Client Protocol on stdin and stdout, for an editor
    Acp(AcpArgs),
    /// Work on one prompt in the terminal
    Run(RunArgs),
    /// Choose a provider and a model, and store the key
    Setup(SetupArgs),
    /// Look at the stored sessions, name them, export them, let them go
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Show and take back the standing permissions
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// Show which models there are, and whether their providers answer
    Models(ModelsArgs),
    /// Show the providers: where they are, which key they get, whether they answer
    Providers(ProvidersArgs),
    /// Check the installation, and say of each fault how to mend it
    Doctor(DoctorArgs),
}

// `agent acp`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  agent acp --check
  agent acp --model ollama/qwen3 --mode accept_edits")]
pub(crate) struct AcpArgs {
    /// Check configuration, key, model and store, and say each in a line; asks the model one word, serves nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// The same as `agent setup`
    #[arg(long, conflicts_with = "check")]
    pub(crate) setup: bool,
    #[command(flatten)]
    pub(crate) prefer: PreferArgs,
    /// The folder to start in
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<PathBuf>,
}

// What a process prefers over the configuration.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PreferArgs {
    /// The model of new sessions: provider/model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<ModelRef>,
    /// How much is asked: plan, default, accept_edits or dont_ask
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
}

// `agent run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  agent run \"add a test for the parser\" --mode accept_edits
  git diff | agent run - --quiet
  agent run \"and now the docs\" --continue

Exit codes: 0 the model ended the turn by its own word, whatever became of its calls; 1 failed; 2 usage;
3 the model service timed out; 4 no such session; 5 the last call was not allowed and the model tried
nothing more; 130 interrupted. The JSON lines are described in docs/run.md.")]
pub(crate) struct RunArgs {
    /// What to do; `-` reads it from stdin
    pub(crate) prompt: String,
    /// Words of a prompt that the shell has taken apart.
    #[arg(hide = true)]
    pub(crate) more: Vec<String>,
    /// Print the events as JSON lines and nothing else
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print the final text only
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) prefer: PreferArgs,
    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<PathBuf>,
    /// A further folder to work in; may be given again
    #[arg(long, value_name = "FOLDER")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Go on with the newest session of this folder
    #[arg(long, conflicts_with = "session")]
    pub(crate) r#continue: bool,
    /// Go on with this session; the beginning or the end of its id is enough
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: Option<String>,
}

// `agent setup`.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "Example:
  agent setup
  agent setup --provider ollama --model qwen3
  echo $KEY | agent setup --provider openai --key-stdin --model gpt-5")]
pub(crate) struct SetupArgs {
    /// The model service: a well-known name such as openai or ollama, or a name of your own
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) provider: Option<String>,
    /// The dialect it speaks [default: that of a well-known name, else openai-chat]
    #[arg(long, value_name = "API")]
    pub(crate) api: Option<ApiArg>,
    /// Where it is; well-known names have a default
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) base_url: Option<String>,
    /// Take the key from this environment variable and store none
    #[arg(long, value_name = "NAME", conflicts_with = "key_stdin")]
    pub(crate) key_env: Option<String>,
    /// Read the key from stdin and store it
    #[arg(long)]
    pub(crate) key_stdin: bool,
    /// The model of new sessions, by the service's name for it
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,
    /// Save without asking the model whether it answers
    #[arg(long)]
    pub(crate) no_check: bool,
}

/// A dialect on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApiArg {
    /// OpenAI Chat Completions and the many servers that speak it
    OpenaiChat,
    /// OpenAI Responses
    OpenaiResponses,
    /// Anthropic Messages
    Anthropic,
    /// Gemini
    Gemini,
    /// The built-in model that needs no key and no network
    Offline,
    /// Plays a file of replies
    Script,
}

impl From<ApiArg> for agent_core::config::Api {
    fn from(api: ApiArg) -> Self {
        match api {
            ApiArg::OpenaiChat => Self::OpenaiChat,
            ApiArg::OpenaiResponses => Self::OpenaiResponses,
            ApiArg::Anthropic => Self::Anthropic,
            ApiArg::Gemini => Self::Gemini,
            ApiArg::Offline => Self::Offline,
            ApiArg::Script => Self::Script,
        }
    }
}

// `agent permissions`.
#[derive(Debug, Subcommand)]
#[command(after_help = "Example:
  agent permissions list
  agent permissions revoke 3")]
pub(crate) enum PermissionsCommand {
    /// List the commands that run without a question, oldest first
    #[command(after_help = "Example:
  agent permissions list --json")]
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Take permissions back
    #[command(after_help = "Example:
  agent permissions revoke 3 4")]
    Revoke {
        /// Their numbers, as the list shows them
        #[arg(required = true, value_name = "ID", value_parser = permission)]
        ids: Vec<i64>,
    },
}

fn permission(id: &str) -> Result<i64, String> {
    id.parse()
        .map_err(|_| "the id of a permission is a number such as 3, as `agent permissions list` shows it".to_owned())
}

// `agent models`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  agent models
  agent models openrouter

The exit code is 1 if the default model's provider, or the one you name, can't be used.")]
pub(crate) struct ModelsArgs {
    /// Only those of this provider
    #[arg(value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
}

// `agent providers`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  agent providers
  agent providers --json

Shown are the providers of the configuration, well-known ones whose key is there, the built-in one, and model
servers found on this machine. The exit code is 1 if the default model's provider can't be used.")]
pub(crate) struct ProvidersArgs {
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

// `agent doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  agent doctor
  agent doctor --offline --json

Each check is a line with ok, warning or FAILED; the exit code is 1 if one has failed. The default model and its
fallback models are asked one word.")]
pub(crate) struct DoctorArgs {
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask no model and look for no model server
    #[arg(long)]
    pub(crate) offline: bool,
    /// Check nothing but the session database, and save what can be read if it is damaged; the old file is kept
    #[arg(long, conflicts_with_all = ["json", "offline"])]
    pub(crate) repair: bool,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example:"), "{} has no example", command.get_name());
            let ours = command.get_subcommands().filter(|command| command.get_name() != "help");
            ours.for_each(check);
        }
        let mut command = Args::command();
        command.build();
        check(&command);
    }

    #[test]
    fn the_help_of_a_command_begins_with_what_the_list_of_commands_says() {
        let listed = Args::command();
        let mut built = listed.clone();
        built.build();
        for command in listed.get_subcommands() {
            let name = command.get_name();
            let told = built.find_subcommand(name).and_then(clap::Command::get_about);
            assert_eq!(
                told.map(ToString::to_string),
                command.get_about().map(ToString::to_string),
                "{name}"
            );
        }
    }

    #[test]
    fn what_makes_no_sense_is_a_usage_error() {
        for line in [
            "agent",
            "agent dance",
            "agent run",
            "agent run hi --json --quiet",
            "agent run hi --continue --session 1",
            "agent run hi --session=",
            "agent sessions show --",
            "agent permissions revoke x",
            "agent run hi --mode yolo",
            "agent run hi --model gpt-5",
            "agent acp --check --setup",
            "agent setup --key-env A --key-stdin",
            "agent setup --model=",
            "agent setup --provider=",
            "agent sessions show",
            "agent sessions show 1 --json --html",
            "agent sessions prune",
            "agent sessions prune --older-than soon",
            "agent sessions prune --older-than -1d",
            "agent sessions prune --larger-than 10",
            "agent sessions prune --older-than 9d --quiet",
            "agent sessions rename 1",
            "agent sessions archive",
            "agent sessions export 1 --format pdf",
            "agent sessions search",
            "agent sessions search --jsn x",
        ] {
            let error = Args::try_parse_from(words::apart(line.split(' ').map(Into::into))).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn a_query_may_begin_with_a_dash() {
        for line in [
            "agent sessions search -draft -foo --limit 3 --json",
            "agent sessions search --json --limit 3 -draft -foo",
            "agent sessions search -draft --json --limit=3 -- -foo",
        ] {
            let args = Args::try_parse_from(words::apart(line.split(' ').map(Into::into))).unwrap();
            let Command::Sessions(SessionsCommand::Search { query, limit, json, .. }) = args.command else {
                panic!("{line} is no search");
            };
            assert_eq!(
                (query.join(" "), limit, json),
                ("-draft -foo".to_owned(), 3, true),
                "{line}"
            );
        }
    }

    #[test]
    fn each_flag_of_a_search_that_takes_a_value_is_known() {
        let mut command = Args::command();
        command.build();
        let search = command
            .find_subcommand("sessions")
            .unwrap()
            .find_subcommand("search")
            .unwrap();
        let flags = search.get_opts().filter_map(|flag| flag.get_long());
        let flags: Vec<String> = flags.map(|flag| format!("--{flag}")).collect();
        assert_eq!(flags, words::WITH_VALUE);
    }

    #[test]
    fn each_command_knows_the_version() {
        for line in ["agent --version", "agent acp --version"] {
            let error = Args::try_parse_from(line.split(' ')).unwrap_err();
            assert_eq!(error.exit_code(), 0, "{line}");
            assert!(error.to_string().contains(env!("CARGO_PKG_VERSION")), "{line}");
        }
    }
}
