//! A change of files in colour.

use std::io::{self, Write};

use agent_core::change::FileChange;
use agent_core::visible;
use anstyle::{AnsiColor, Style};

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const HUNK: Style = AnsiColor::Cyan.on_default();
const HEADER: Style = Style::new().bold();

/// Writes the unified diff of each change.
pub(super) fn write(out: &mut dyn Write, changes: &[FileChange]) -> io::Result<()> {
    for change in changes {
        if let Some(unshown) = change.unshown() {
            let line = format!("{}: {unshown}", change.place.path.display());
            writeln!(out, "{REMOVED}{}{REMOVED:#}", visible::line(&line))?;
        }
        write_unified(out, &change.unified())?;
    }
    Ok(())
}

/// Writes one unified diff.
pub(crate) fn write_unified(out: &mut dyn Write, diff: &str) -> io::Result<()> {
    for (index, line) in diff.lines().enumerate() {
        let style = style(index, line);
        writeln!(out, "{style}{}{style:#}", visible::text(line))?;
    }
    Ok(())
}

/// The first two lines are the header, whatever they begin with; a removed line may begin with `--`.
fn style(index: usize, line: &str) -> Style {
    match line.as_bytes().first() {
        _ if index < 2 => HEADER,
        Some(b'+') => ADDED,
        Some(b'-') => REMOVED,
        Some(b'@') => HUNK,
        Some(_) | None => Style::new(),
    }
}
