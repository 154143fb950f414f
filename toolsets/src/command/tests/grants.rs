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
fn a_grant_covers_nothing_that_can_run_others_by_its_arguments() {
    let world = world();
    let commands = [
        ("git commit -m 'a change'", true),
        ("git pull origin main", true),
        ("git status", true),
        ("git diff --stat", true),
        ("cargo build --release", true),
        ("cargo test -p x --lib", true),
        ("make check", true),
        ("npm test", true),
        ("npm run build", true),
        ("go test ./...", true),
        ("tar -czf f.tgz src", true),
        ("tar xf f", true),
        ("rsync -av src/ deep/", true),
        ("rustc --edition 2024 f", true),
        ("git config core.pager x", false),
        ("git -c core.pager=x log", false),
        ("git clone ext::x d", false),
        ("git clone -u x . d", false),
        ("git bisect run x", false),
        ("git rebase --exec x HEAD", false),
        ("git submodule foreach x", false),
        ("git fetch --upload-pack=x origin", false),
        ("git fetch --upload-pa x origin", false),
        ("git grep -Ox y", false),
        ("git diff --ext-diff", false),
        ("git difftool", false),
        ("tar xf f --to-command=x", false),
        ("tar xf f --to-c x", false),
        ("tar cf x --use-compress-program=x f", false),
        ("tar cf x --use-comp=x f", false),
        ("tar cf x --checkpoint=1 --checkpoint-action=exec=x f", false),
        ("tar -I x -cf y f", false),
        ("tar cIf x y f", false),
        ("vim f", false),
        ("vi f", false),
        ("emacs --batch f", false),
        ("ed f", false),
        ("less f", false),
        ("man ls", false),
        ("rsync -e x f d", false),
        ("rsync -ave x f d", false),
        ("rsync --rsh=x f d", false),
        ("zip x f -TT y", false),
        ("find . -exec x", false),
        ("find . -okdir x", false),
        ("rg --pre x y", false),
        ("sort --compress-program=x f", false),
        ("sort --compress-p x f", false),
        ("make SHELL=x", false),
        ("make --eval=x", false),
        ("cargo test --config x", false),
        ("npm test --script-shell x", false),
        ("npm config set x y", false),
        ("go test -exec x", false),
        ("go test -toolexec=x ./...", false),
        ("go run x", false),
        ("gcc -wrapper x f", false),
        ("gcc -fplugin=x f", false),
        ("ssh h", false),
        ("scp f h:", false),
        ("docker exec x y", false),
        ("sqlite3 f", false),
        ("gdb f", false),
        ("java -jar f", false),
        ("parallel x", false),
        ("wget --use-askpass=x y", false),
        ("curl -K x", false),
        ("openssl req -engine x", false),
        ("python3.11 x", false),
        ("php8.2 x", false),
    ];
    world.add_programs(commands.iter().filter_map(|(command, _)| command.split(' ').next()));
    for (command, expect) in commands {
        assert_eq!(world.classify(command).exact.is_some(), expect, "{command}");
    }
}

#[test]
fn a_grant_covers_nothing_that_is_asked_about_by_itself() {
    let world = world();
    world.add_programs(["tee", "curl"]);
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
