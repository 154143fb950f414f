//! Files of `/proc` that no tool may read: the environments and memories of processes, which hold keys. They are told
//! by their names alone. What keeps this process's own closed is the kernel; see `docs/architecture.md`.

use std::path::Path;

/// The files of a process that may hold keys.
const FILES: [&str; 2] = ["environ", "mem"];

/// How a command names its own process, which holds no key.
const ITSELF: [&str; 6] = ["self", "thread-self", "$$", "${$}", "$BASHPID", "${BASHPID}"];

/// Why none of them is read.
pub(crate) const REASON: &str =
    "the environment and the memory of another process may hold keys, which no tool may read";

/// Whether a path names such a file, or whatever else of this process.
pub(crate) fn is_private(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix("/proc") else {
        return false;
    };
    let process = below.iter().next().and_then(|name| name.to_str()?.parse().ok());
    process.is_some_and(|process: u32| {
        is_ours(process)
            || FILES
                .iter()
                .any(|file| below.file_name().is_some_and(|name| name == *file))
    })
}

/// Whether a number is this process's or one of its threads', under which the same files are found.
fn is_ours(process: u32) -> bool {
    process == std::process::id() || Path::new(&format!("/proc/self/task/{process}")).exists()
}

/// Whether a command's text spells such a file of any process but its own, also of one that only the shell can tell.
pub(crate) fn is_spelled(text: &str) -> bool {
    text.match_indices("/proc/").any(|(at, proc)| {
        let rest = &text[at + proc.len()..];
        let end = rest.find(|c: char| c.is_whitespace() || "`;|&<>)".contains(c));
        let word: String = rest[..end.unwrap_or(rest.len())].replace(['\'', '"'], "");
        let mut names = word.split('/');
        let foreign = names.next().is_none_or(|process| !ITSELF.contains(&process));
        let names: Vec<&str> = names.collect();
        names.iter().any(|name| FILES.contains(name)) && (foreign || names.contains(&".."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_keys_are_told_by_their_names() {
        let check = |path: &str, expect: bool| assert_eq!(is_private(Path::new(path)), expect, "{path}");
        check("/proc/1/environ", true);
        check("/proc/1/task/1/mem", true);
        check("/proc/1/status", false);
        check("/proc/meminfo", false);
        check("/proc/sys/environ", false);
        check("/home/proc/1/environ", false);
        let own = std::process::id();
        check(&format!("/proc/{own}/status"), cfg!(unix));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_threads_of_this_process_are_this_process() {
        let thread = std::fs::read_link("/proc/thread-self").expect("a thread has a folder");
        let number = thread
            .file_name()
            .expect("it has a name")
            .to_str()
            .expect("it is a number");
        assert!(is_private(&Path::new("/proc").join(number).join("maps")));
    }

    #[test]
    fn a_text_spells_them_of_other_processes() {
        let check = |text: &str, expect: bool| assert_eq!(is_spelled(text), expect, "{text}");
        check("cat /proc/$PPID/environ", true);
        check("cat /proc/*/environ", true);
        check("cat /proc/self/../$PPID/environ", true);
        check("xargs -0 </proc/1/task/1/environ", true);
        check("python3 -c \"open('/proc/1/mem')\"", true);
        check("cat /proc/{1,2}/environ", true);
        check("cat \"/proc/\"1/environ '/proc/1'/mem", true);
        check("cat /proc/self/environ", false);
        check("tr '\\0' '\\n' < /proc/$$/environ", false);
        check("cat /proc/$PPID/status", false);
        check("cat /proc/meminfo", false);
        check("ls /proc/", false);
    }
}
