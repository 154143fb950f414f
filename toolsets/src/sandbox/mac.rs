//! The wall of macOS: `sandbox-exec` with a profile. Written by its documentation and by what others use, and NOT tested
//! on a Mac yet.

use std::fmt::Write;
use std::path::Path;

use agent_core::boundary::{PROTECTED_FILES, PROTECTED_FOLDERS};

use super::confinement::{Confinement, Layer};

/// The program.
pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The profile; of two rules the later one counts.
pub(super) fn profile(confinement: &Confinement) -> String {
    let mut profile = String::from(
        "(version 1)\n(allow default)\n(deny file-write*)\n(deny process-info* (target others))\n\
         (allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") \
         (literal \"/dev/ptmx\") (regex #\"^/dev/ttys\"))\n",
    );
    let mut rule = |text: String| profile.push_str(&text);
    rule(format!("(allow file-write* (subpath {}))\n", quoted(&confinement.tmp)));
    for (path, layer) in confinement.layers() {
        let place = quoted(path);
        match layer {
            Layer::Writable => {
                rule(format!("(allow file-read* file-write* (subpath {place}))\n"));
                rule(protected(path));
            }
            // Nothing is fixed here: all that is protected stays as it is.
            Layer::Fixed => {}
            Layer::ReadOnly => rule(format!("(deny file-write* (subpath {place}))\n")),
            Layer::Hidden => rule(format!("(deny file-read* file-write* (subpath {place}))\n")),
        }
    }
    if !confinement.network {
        // Sockets of other programs count as the network here.
        rule("(deny network*)\n".to_owned());
    }
    profile
}

/// Keeps what is protected from being written by its name, so that it can't be made either.
fn protected(folder: &Path) -> String {
    let folder = escaped(&folder.to_string_lossy());
    let folders = PROTECTED_FOLDERS.iter().map(|name| format!("{}(/|$)", cased(name)));
    let files = PROTECTED_FILES.iter().map(|name| format!("{}$", cased(name)));
    let pairs = [r"\.cargo/config", r"\.github/workflows"].map(str::to_owned);
    let mut text = String::new();
    for name in folders.chain(files).chain(pairs) {
        let _written = writeln!(text, "(deny file-write* (regex #\"^{folder}/(.*/)?{name}\"))");
    }
    text
}

/// A name in any case: the file system does not tell it apart.
fn cased(name: &str) -> String {
    let any = |c: char| match c {
        c if c.is_ascii_alphabetic() => format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase()),
        c => escaped(&c.to_string()),
    };
    name.chars().map(any).collect()
}

fn escaped(text: &str) -> String {
    let one = |c: char| match c {
        c if c.is_alphanumeric() || "/_- ".contains(c) => c.to_string(),
        // A quote would end the text that the pattern stands in.
        '"' => ".".to_owned(),
        c => format!("\\{c}"),
    };
    text.chars().map(one).collect()
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_allows_the_workspace_and_takes_back_what_is_protected() {
        let confinement = Confinement {
            writable: vec!["/w/a \"b".into()],
            hidden: vec!["/h/.ssh".into()],
            tmp: "/private/tmp/own".into(),
            ..Confinement::default()
        };
        let text = profile(&confinement);
        for line in [
            "(deny file-write*)",
            "(allow file-write* (subpath \"/private/tmp/own\"))",
            "(allow file-read* file-write* (subpath \"/w/a \\\"b\"))",
            "(deny file-write* (regex #\"^/w/a .b/(.*/)?\\.[gG][iI][tT](/|$)\"))",
            "(deny file-read* file-write* (subpath \"/h/.ssh\"))",
            "(deny network*)",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
    }
}
