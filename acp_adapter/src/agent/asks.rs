//! What tools ask of the editor: the core's requests as the protocol's, and the editor's answers as the core's.

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, CreateTerminalRequest, CreateTerminalResponse, ElicitationFormMode, ElicitationSchema,
    ElicitationSessionScope, EnvVariable, KillTerminalRequest, ReadTextFileRequest, ReadTextFileResponse,
    ReleaseTerminalRequest, RequestId, StringPropertySchema, TerminalExitStatus, TerminalOutputRequest,
    TerminalOutputResponse, WaitForTerminalExitRequest, WriteTextFileRequest,
};
use agent_core::id::TerminalId;
use agent_core::surface::{Ask, Form, FormAnswer, NewTerminal, Reply, Request, TerminalExit, TerminalOutput};
use agent_core::visible;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::envelope;

/// The field of a form for one of its choices.
const CHOICE: &str = "choice";
/// The field of a form for an answer in the user's own words.
const ANSWER: &str = "answer";

/// What an answer is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    Text,
    Done,
    Terminal,
    Output,
    Exit,
    Form,
}

impl Awaited {
    /// What answers a request; none where nobody waits for an answer.
    pub(crate) fn by(request: &Request) -> Option<Self> {
        match request {
            Request::ReadFile { .. } => Some(Self::Text),
            Request::WriteFile { .. } => Some(Self::Done),
            Request::CreateTerminal(_) => Some(Self::Terminal),
            Request::TerminalOutput(_) => Some(Self::Output),
            Request::WaitForExit(_) => Some(Self::Exit),
            Request::Form(_) => Some(Self::Form),
            Request::KillTerminal(_) | Request::ReleaseTerminal(_) => None,
        }
    }

    /// Reads an answer: a result, or an error in the editor's words.
    pub(crate) fn read(self, result: Result<Value, String>) -> Result<Reply, String> {
        let result = result?;
        match self {
            Self::Text => parse::<ReadTextFileResponse>(result).map(|read| Reply::Text(read.content)),
            // An empty object, null and anything else mean the same.
            Self::Done => Ok(Reply::Done),
            Self::Terminal => parse::<CreateTerminalResponse>(result)
                .map(|created| Reply::Terminal(TerminalId::from(&*created.terminal_id.0))),
            Self::Output => parse::<TerminalOutputResponse>(result).map(|output| {
                Reply::Output(TerminalOutput {
                    text: output.output,
                    cut: output.truncated,
                    exit: output.exit_status.map(exit),
                })
            }),
            Self::Exit => parse::<TerminalExitStatus>(result).map(|status| Reply::Exit(exit(status))),
            Self::Form => form_answer(&result).map(Reply::Form),
        }
    }
}

/// A request of a session's tool, as a line. `id` is the number it has on this connection.
pub fn line(id: i64, ask: Ask) -> Vec<u8> {
    let id = &RequestId::Number(id);
    let session = ask.session.as_str().to_owned();
    let terminal = |terminal: TerminalId| terminal.as_str().to_owned();
    match ask.request {
        Request::ReadFile { path } => {
            envelope::request(id, "fs/read_text_file", ReadTextFileRequest::new(session, path))
        }
        Request::WriteFile { path, content } => envelope::request(
            id,
            "fs/write_text_file",
            WriteTextFileRequest::new(session, path, content),
        ),
        Request::CreateTerminal(new) => envelope::request(id, "terminal/create", create(session, new)),
        Request::TerminalOutput(of) => {
            envelope::request(id, "terminal/output", TerminalOutputRequest::new(session, terminal(of)))
        }
        Request::WaitForExit(of) => envelope::request(
            id,
            "terminal/wait_for_exit",
            WaitForTerminalExitRequest::new(session, terminal(of)),
        ),
        Request::KillTerminal(of) => {
            envelope::request(id, "terminal/kill", KillTerminalRequest::new(session, terminal(of)))
        }
        Request::ReleaseTerminal(of) => envelope::request(
            id,
            "terminal/release",
            ReleaseTerminalRequest::new(session, terminal(of)),
        ),
        Request::Form(form) => envelope::request(id, "elicitation/create", elicitation(session, &form)),
    }
}

fn create(session: String, new: NewTerminal) -> CreateTerminalRequest {
    let env = new.env.into_iter().map(|(name, value)| EnvVariable::new(name, value));
    CreateTerminalRequest::new(session, new.command)
        .args(new.args)
        .env(env.collect::<Vec<_>>())
        .cwd(new.cwd)
        .output_byte_limit(new.output_limit)
}

/// A form with a field for an answer of the user's own, and one before it where there is something to choose.
fn elicitation(session: String, form: &Form) -> CreateElicitationRequest {
    let own = StringPropertySchema::new();
    let schema = if form.choices.is_empty() {
        ElicitationSchema::new().property(ANSWER, own.title("Answer".to_owned()), true)
    } else {
        let choices: Vec<String> = form.choices.iter().map(|choice| visible::line(choice)).collect();
        let choice = StringPropertySchema::new()
            .title("Choice".to_owned())
            .enum_values(choices);
        ElicitationSchema::new().property(CHOICE, choice, false).property(
            ANSWER,
            own.title("Something else".to_owned()),
            false,
        )
    };
    let scope = ElicitationSessionScope::new(session);
    CreateElicitationRequest::new(ElicitationFormMode::new(scope, schema), visible::text(&form.question))
}

fn form_answer(result: &Value) -> Result<FormAnswer, String> {
    let field = |name: &str| {
        let text = result["content"][name].as_str().map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    match result["action"].as_str() {
        Some("accept") => Ok(FormAnswer::Sent {
            choice: field(CHOICE),
            text: field(ANSWER),
        }),
        Some("decline") => Ok(FormAnswer::Declined),
        Some("cancel") => Ok(FormAnswer::Closed),
        _ => Err(SENSELESS.to_owned()),
    }
}

fn exit(status: TerminalExitStatus) -> TerminalExit {
    TerminalExit {
        code: status.exit_code,
        signal: status.signal,
    }
}

fn parse<T: DeserializeOwned>(result: Value) -> Result<T, String> {
    serde_json::from_value(result).map_err(|error| {
        tracing::debug!(%error, "an answer that can't be read");
        SENSELESS.to_owned()
    })
}

const SENSELESS: &str = "the editor's answer can't be read";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::json;

    fn read(awaited: Awaited, result: Value) -> Option<Reply> {
        awaited.read(Ok(result)).ok()
    }

    #[test]
    fn answers_are_read_leniently_and_never_guessed() {
        let exit = |code, signal: Option<&str>| TerminalExit {
            code,
            signal: signal.map(str::to_owned),
        };
        let check = |awaited, result: Value, expect: Option<Reply>| {
            assert_eq!(read(awaited, result.clone()), expect, "{result}");
        };
        check(
            Awaited::Text,
            json!({"content": "a\n"}),
            Some(Reply::Text("a\n".into())),
        );
        for odd in [json!({}), json!(null), json!({"content": 5}), json!([])] {
            check(Awaited::Text, odd, None);
        }
        for done in [json!({}), json!(null)] {
            check(Awaited::Done, done, Some(Reply::Done));
        }
        check(
            Awaited::Terminal,
            json!({"terminalId": "t"}),
            Some(Reply::Terminal("t".into())),
        );
        check(Awaited::Terminal, json!({}), None);
        let output = TerminalOutput {
            text: "x".into(),
            cut: true,
            exit: Some(exit(Some(1), None)),
        };
        let sent = json!({"output": "x", "truncated": true, "exitStatus": {"exitCode": 1, "signal": null}});
        check(Awaited::Output, sent, Some(Reply::Output(output)));
        check(
            Awaited::Exit,
            json!({"exitCode": null, "signal": "SIGKILL"}),
            Some(Reply::Exit(exit(None, Some("SIGKILL")))),
        );
        check(Awaited::Exit, json!({}), Some(Reply::Exit(exit(None, None))));
        assert_eq!(Awaited::Done.read(Err("no".into())), Err("no".into()));
    }

    #[test]
    fn a_form_is_sent_declined_or_closed_and_nothing_else() {
        let sent = |choice: Option<&str>, text: Option<&str>| {
            let (choice, text) = (choice.map(str::to_owned), text.map(str::to_owned));
            Some(Reply::Form(FormAnswer::Sent { choice, text }))
        };
        let check =
            |result: Value, expect: Option<Reply>| assert_eq!(read(Awaited::Form, result.clone()), expect, "{result}");
        check(
            json!({"action": "accept", "content": {"choice": "a", "answer": " "}}),
            sent(Some("a"), None),
        );
        check(
            json!({"action": "accept", "content": {"answer": " b "}}),
            sent(None, Some("b")),
        );
        check(json!({"action": "accept", "content": {"answer": 5}}), sent(None, None));
        check(json!({"action": "accept"}), sent(None, None));
        check(json!({"action": "decline"}), Some(Reply::Form(FormAnswer::Declined)));
        check(json!({"action": "cancel"}), Some(Reply::Form(FormAnswer::Closed)));
        for odd in [
            json!({}),
            json!(null),
            json!({"action": "yes"}),
            json!({"action": {"action": "accept"}}),
        ] {
            check(odd, None);
        }
    }
}
