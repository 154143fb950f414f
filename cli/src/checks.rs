//! What can be checked of an installation. Each check is a function that gives a [`Finding`]; which of them are made is
//! decided by `agent acp --check` and `agent doctor`.

mod answering;
mod configured;
mod home;
mod machine;
mod network;
mod servers;
mod stored;

use std::io::{self, Write};

use agent_core::visible;
use serde::Serialize;

use crate::exit::{Exit, Fail};
use crate::terminal;

pub(crate) use answering::{answers, fallback_answers, local_servers};
pub(crate) use configured::{configuration, credentials, keys_file};
pub(crate) use home::{Folders, log};
pub(crate) use machine::{platform, sandbox, tools, version};
pub(crate) use network::{certificates, proxies};
pub(crate) use servers::mcp_servers;
pub(crate) use stored::{opens, store_and_sessions};

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Finding {
    /// What was checked, in a word or two.
    pub(crate) check: &'static str,
    /// How it is.
    pub(crate) state: State,
    /// What was found; of a fault also how to mend it.
    pub(crate) message: String,
}

/// How something is that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// As it should be.
    Ok,
    /// Good enough to work with.
    Warning,
    /// Something will not work.
    Failed,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "FAILED",
        }
    }
}

impl Finding {
    fn new(check: &'static str, state: State, message: impl Into<String>) -> Self {
        Self {
            check,
            state,
            message: message.into(),
        }
    }

    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, State::Ok, message)
    }

    fn warning(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, State::Warning, message)
    }

    fn failed(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, State::Failed, message)
    }

    /// Whether something will not work.
    pub(crate) fn is_failure(&self) -> bool {
        self.state == State::Failed
    }
}

/// The findings as they come: each is a line at once, or all are one JSON array in the end.
pub(crate) struct Sheet {
    json: bool,
    findings: Vec<Finding>,
}

impl Sheet {
    /// Nothing was found yet.
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            findings: Vec::new(),
        }
    }

    /// Shows a finding.
    pub(crate) fn add(&mut self, finding: Finding) -> io::Result<()> {
        if !self.json {
            write_line(&mut terminal::stdout(), &finding)?;
        }
        self.findings.push(finding);
        Ok(())
    }

    /// Shows some findings.
    pub(crate) fn add_all(&mut self, findings: impl IntoIterator<Item = Finding>) -> io::Result<()> {
        findings.into_iter().try_for_each(|finding| self.add(finding))
    }

    /// Ends the sheet; the exit code is 1 if something has failed.
    pub(crate) fn end(self) -> Result<Exit, Fail> {
        if self.json {
            let mut text = serde_json::to_vec(&self.findings)?;
            text.push(b'\n');
            io::stdout().lock().write_all(&text)?;
        }
        let failed = self.findings.iter().any(Finding::is_failure);
        Ok(if failed { Exit::Failed } else { Exit::Done })
    }
}

fn write_line(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    let (state, check) = (finding.state.word(), finding.check);
    writeln!(out, "{state:<7} {check:<14} {}", visible::line(&finding.message))
}

/// Bytes as people say them.
fn size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    let (unit, name) = match bytes {
        ..KIB => return format!("{bytes} bytes"),
        KIB..0x10_0000 => (KIB, "KiB"),
        0x10_0000..0x4000_0000 => (KIB * KIB, "MiB"),
        0x4000_0000.. => (KIB * KIB * KIB, "GiB"),
    };
    let tenths = bytes.saturating_mul(10) / unit;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_finding_is_a_line_or_an_object() {
        let finding = Finding::failed("store", "it is\nbroken");
        let mut out = Vec::new();
        write_line(&mut out, &finding).unwrap();
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 1);
        assert_eq!(
            serde_json::to_string(&Finding::warning("git", "none")).unwrap(),
            r#"{"check":"git","state":"warning","message":"none"}"#
        );
    }

    #[test]
    fn sizes_are_short() {
        let check = |bytes, expect: &str| assert_eq!(size(bytes), expect);
        check(12, "12 bytes");
        check(1536, "1.5 KiB");
        check(5 * 1024 * 1024, "5.0 MiB");
        check(3_221_225_472, "3.0 GiB");
        check(u64::MAX, "1717986918.3 GiB");
    }
}
