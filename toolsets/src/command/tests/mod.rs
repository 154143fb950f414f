#![allow(clippy::unwrap_used, reason = "tests")]

mod bash;
mod behind;
mod deep;
mod floor;
mod glued;
mod grants;
mod hostile;
mod ordinary;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// A workspace, a home with our own folder in it, and a folder of programs; nothing in there is ever run.
struct World {
    _folder: tempfile::TempDir,
    top: PathBuf,
    roots: Vec<PathBuf>,
    forbidden: Vec<PathBuf>,
    deny: Vec<String>,
    programs: PathBuf,
}

/// Beside those of the tables: what the lists use.
const PROGRAMS: &str = "ack ag apt ar aws bash busybox chmod cp cpio crontab curl dash dd dpkg ed emacs env ex expect fd gawk gdb \
gh git go gzip hg java kill kubectl ldd less ln lsof lua make man mawk mkdir more mv netstat nice nm nohup npm npx openssl \
parallel perl php pip printenv psql pytest rm rsync ruby scp script setsid sh shred split sqlite3 ssh strace strings su sudo \
svn tar tee timeout tmux touch truncate unzip vim watch wget xargs xxd zip zsh";

fn world() -> World {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    for folder in [
        "home/ws/src/deep",
        "home/ws/.git/hooks",
        "home/ws/keys/.ssh",
        "home/.config/talaria",
        "bin",
        "outside",
    ] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    for file in [
        "home/ws/f",
        "home/ws/src/a.rs",
        "home/ws/src/b c.rs",
        "home/ws/keys/.env",
        "home/ws/Cargo.toml",
        "home/ws/README.md",
        "home/ws/package.json",
        "outside/o",
    ] {
        fs::write(top.join(file), "text\n").unwrap();
    }
    symlink(top.join("outside"), top.join("home/ws/out")).unwrap();
    symlink("src/deep", top.join("home/ws/deep")).unwrap();
    for (link, target) in [
        ("dangling", "nowhere"),
        ("circle", "circle"),
        ("me", "/proc/self/cwd"),
        ("plain", "keys/.env"),
    ] {
        symlink(target, top.join("home/ws").join(link)).unwrap();
    }
    let world = World {
        roots: vec![top.join("home/ws")],
        forbidden: vec![top.join("home/.config/talaria")],
        deny: vec!["docker *".into(), "git push *".into(), "npm publish".into()],
        programs: top.join("bin"),
        top,
        _folder: folder,
    };
    world.add_programs(PROGRAMS.split_whitespace().chain(super::reads::names()));
    world
}

impl World {
    fn add_programs<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        for name in names {
            let file = self.programs.join(name);
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// `@/` in a command is the folder above all.
    fn classify(&self, command: &str) -> CommandFacts {
        self.classify_in(command, "home/ws")
    }

    fn classify_in(&self, command: &str, cwd: &str) -> CommandFacts {
        let command = command.replace("@/", &format!("{}/", self.top.display()));
        classify(
            &command,
            &Ground {
                cwd: &self.top.join(cwd),
                roots: &self.roots,
                forbidden: &self.forbidden,
                deny: &self.deny,
                home: Some(&self.top.join("home")),
                search_path: self.programs.as_os_str(),
            },
        )
    }
}

#[test]
fn a_program_from_the_workspace_is_asked_for() {
    let mut world = world();
    world.programs = world.top.join("home/ws/bin");
    fs::create_dir(&world.programs).unwrap();
    fs::copy(world.top.join("bin/ls"), world.programs.join("ls")).unwrap();
    assert!(!world.classify("ls").read_only);
    world.programs = "bin:".into();
    assert!(
        !world.classify("ls").read_only,
        "a relative folder of the PATH is the workspace's too"
    );
}

#[test]
fn a_toolchain_file_makes_the_version_a_question() {
    let world = world();
    fs::write(world.top.join("home/ws/rust-toolchain.toml"), "").unwrap();
    assert!(!world.classify("cargo --version").read_only);
    assert!(!world.classify_in("cargo --version", "home/ws/src").read_only);
}

#[test]
fn a_shim_of_a_version_manager_is_asked_for() {
    let mut world = world();
    let (shims, volta) = (world.top.join("home/.pyenv/shims"), world.top.join("home/.volta/bin"));
    for folder in [&shims, &volta] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::copy(world.top.join("bin/python3"), shims.join("python3")).unwrap();
    fs::copy(world.top.join("bin/node"), volta.join("volta-shim")).unwrap();
    fs::remove_file(world.programs.join("node")).unwrap();
    symlink(volta.join("volta-shim"), world.programs.join("node")).unwrap();
    assert!(!world.classify("node --version").read_only);
    assert!(world.classify("python3 --version").read_only);
    world.programs = shims;
    assert!(!world.classify("python3 --version").read_only);
}

#[test]
fn secrets_are_the_same_as_for_the_file_tools() {
    let world = world();
    for (file, expect) in [
        (".envrc", true),
        ("src/id_map.rs", true),
        (".env.d/notes", true),
        (".env.local", false),
        ("id_rsa", false),
        ("id_rsa.pub", false),
        ("certs/x.pem", false),
        (".ssh/config", false),
    ] {
        let path = world.top.join("home/ws").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
        assert_eq!(world.classify(&format!("cat {file}")).read_only, expect, "{file}");
    }
}

#[test]
fn reading_from_outside_the_roots_is_asked_for() {
    assert!(!world().classify_in("ls", "outside").read_only);
    assert!(!world().classify_in("pwd", "home").read_only);
}

#[test]
fn a_text_without_end_is_no_fault() {
    let world = world();
    for command in [
        "(".repeat(50_000),
        "ls && ".repeat(20_000) + "ls",
        "$(".repeat(50_000),
        "a".repeat(1_000_000),
        "rm a; ".repeat(5_000),
        "sudo -a ".repeat(10_000),
        "env ".repeat(10_000),
        "find . -exec ".repeat(5_000),
        "cd a && ".repeat(2_000) + "ls",
        "bash -c '".repeat(5_000),
    ] {
        assert!(!world.classify(&command).read_only);
    }
}

#[test]
fn rules_of_the_user_hold_in_every_position() {
    let world = world();
    for (command, expect) in [
        ("docker ps", true),
        ("docker", true),
        ("/usr/bin/docker ps", true),
        ("ls && docker ps", true),
        ("cat f | ls\n\n\ndocker ps 2>/dev/null", true),
        ("sudo docker ps", true),
        ("env A=1 docker ps", true),
        ("xargs -I {} docker rm {}", true),
        ("echo $(docker ps)", true),
        ("bash -c 'docker ps'", true),
        ("find . -exec docker cp {} x ;", true),
        ("do'ck'er ps", true),
        ("dockerd", false),
        ("echo docker", false),
        ("git push origin main", true),
        ("git push", true),
        ("git pull", false),
        ("npm publish", true),
        ("npm publish --dry-run", false),
        ("npm test", false),
    ] {
        assert_eq!(world.classify(command).forbidden.is_some(), expect, "{command}");
    }
}
