//! Which commands a standing grant covers.

use super::world;

#[test]
fn a_grant_covers_one_plain_command_that_says_what_it_does() {
    let world = world();
    for (command, expect) in [
        ("cargo test", Some(&["test"][..])),
        ("cargo test --lib 'a b'", Some(&["test", "--lib", "a b"])),
        ("make", Some(&[])),
        ("npm test", Some(&["test"])),
        ("cargo test 2>&1", Some(&["test"])),
        ("cargo test; touch M", None),
        ("cargo test && rm -rf x", None),
        ("git status && rm -rf build", None),
        ("cargo test > ../o", None),
        ("echo x > ../o", None),
        ("cargo test $X", None),
        ("cargo test *", None),
        ("A=1 cargo test", None),
        ("cargo test &", None),
        ("cargo test | head", None),
        ("python3 x.py", None),
        ("bash x.sh", None),
        ("sh x.sh", None),
        ("node x.js", None),
        ("perl x.pl", None),
        ("awk 1 f", None),
        ("npx x", None),
        ("npm exec x", None),
        ("sudo ls", None),
        ("env ls", None),
        ("timeout 5 make", None),
        ("xargs rm", None),
        ("./run.sh", None),
        ("@/bin/cargo test", None),
        ("nosuchprogram", None),
    ] {
        let exact = world.classify(command).exact;
        let args: Option<Vec<&str>> = exact
            .as_ref()
            .map(|exact| exact.args.iter().map(String::as_str).collect());
        assert_eq!(args.as_deref(), expect, "{command}");
        let program = command.split(' ').next().unwrap();
        assert!(
            exact.is_none_or(|exact| exact.program == world.programs.join(program)),
            "{command}"
        );
    }
}

#[test]
fn a_grant_covers_nothing_that_is_asked_about_by_itself() {
    let world = world();
    for (command, expect) in [
        ("touch f src/new.rs", true),
        ("touch @/home/ws/f", true),
        ("cargo test --manifest-path=src/Cargo.toml", true),
        ("git commit -m 'a: b/c, as in d'", true),
        ("tee -a f", true),
        ("tar -xf f -Csrc", true),
        ("curl https://example.org/a", true),
        ("touch .git/hooks/x", false),
        ("rm -r .git", false),
        ("touch AGENTS.md", false),
        ("touch src/agents.md", false),
        ("cp f .envrc", false),
        ("cat .env", false),
        ("tee -a keys/.env", false),
        ("cp keys/.ssh/config f", false),
        ("touch ../outside", false),
        ("touch src/../../o", false),
        ("touch out/o", false),
        ("touch dangling", false),
        ("cat /etc/shadow", false),
        ("rm -r @/outside", false),
        ("dd if=f of=.git/config", false),
        ("cargo test --manifest-path=../Cargo.toml", false),
        ("tar -xf f -C..", false),
        ("tar -xf f -C/etc", false),
    ] {
        assert_eq!(world.classify(command).exact.is_some(), expect, "{command}");
    }
}

#[test]
fn what_is_usual_depends_on_where_a_command_starts() {
    let world = world();
    assert!(world.classify_in("touch ../f", "home/ws/src").exact.is_some());
    assert!(world.classify_in("touch hooks/x", "home/ws/.git").exact.is_none());
}
