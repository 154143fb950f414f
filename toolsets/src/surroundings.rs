//! What a session's system prompt tells of the machine and the project. Reads only, and runs nothing of the project's.

use std::env;
use std::fs;
use std::path::PathBuf;

use agent_core::workspace::Surroundings;

use crate::git;
use crate::place::Places;
use crate::process::bash;

/// Looks around in the session's folder.
pub(crate) fn look(places: &Places) -> Surroundings {
    Surroundings {
        os: os(),
        shell: shell(),
        date: jiff::ZonedDateTime::now().date().to_string(),
        git: git::state(places.cwd()),
    }
}

/// The system and its version: `Linux 6.8.0 (Debian GNU/Linux 12)`, `macOS 15.1`.
pub fn os() -> String {
    let (name, version, system) = match env::consts::OS {
        "macos" => ("macOS", mac_version(), None),
        "linux" => ("Linux", first_line("/proc/sys/kernel/osrelease"), linux_system()),
        other => (other, None, None),
    };
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    let system = system.map_or_else(String::new, |system| format!(" ({system})"));
    format!("{name}{version}{system}")
}

fn first_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}

fn linux_system() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn mac_version() -> Option<String> {
    let text = fs::read_to_string("/System/Library/CoreServices/SystemVersion.plist").ok()?;
    let (_, behind) = text.split_once("<key>ProductVersion</key>")?;
    let (_, value) = behind.split_once("<string>")?;
    value.split_once("</string>").map(|(version, _)| version.to_owned())
}

/// The shell that commands run in: bash where there is one.
fn shell() -> String {
    if bash().is_some() { "bash" } else { "sh" }.to_owned()
}

/// A program's file as the tools find it, by an absolute path: what a relative entry of PATH names depends on the
/// folder, which is the project's.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    ["/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin"]
        .into_iter()
        .map(PathBuf::from)
        .chain(env::split_paths(&path))
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Room;

    #[test]
    fn the_machine_is_told() {
        let room = Room::new();
        let surroundings = look(&room.files.places);
        assert!(
            surroundings.os.starts_with("Linux ") || surroundings.os.starts_with("macOS "),
            "{}",
            surroundings.os
        );
        assert!(["bash", "sh"].contains(&surroundings.shell.as_str()));
        assert!(
            surroundings.date.parse::<jiff::civil::Date>().is_ok(),
            "{}",
            surroundings.date
        );
        assert_eq!(surroundings.git, None);
    }
}
