#!/bin/sh
# Opens the page that `agent sessions show --html` writes in Debian's headless Chromium: its search works, nothing of a
# session runs in it, it asks nobody for anything, and the console stays empty. No part of the usual test run: it installs
# a browser if there is none, which needs root and a network.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! command -v chromium >/dev/null; then
    echo "installing chromium" >&2
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
fi

fail() {
    echo "FAILED: $1" >&2
    exit 1
}

# A session with all that could run.
agent=${AGENT:-}
if [ -z "$agent" ]; then
    (cd "$here" && cargo build --quiet --locked -p cli)
    agent=$here/target/debug/agent
fi
mkdir "$work/home" "$work/folder"
TALARIA_HOME=$work/home
export TALARIA_HOME
cd "$work/folder"
"$agent" run --quiet --mode accept_edits 'say </script><script>document.title="ran"</script><img src=x onerror="document.title=1">
create page.txt with </pre></script><script>document.title="ran"</script><svg onload="document.title=1"> quince
say a medlar' >/dev/null
"$agent" run --quiet --continue 'say <a href="javascript:document.title=1">go</a> <link rel=stylesheet href=http://example.invalid/a.css>' >/dev/null
session=$("$agent" sessions list | tail -n 1 | cut -d ' ' -f 1)
"$agent" sessions show "$session" --html --output "$work/page.html" 2>/dev/null

# The same page with a script behind it that uses it as a person would, and writes down what it sees.
sed '/<\/body>/d; /<\/html>/d' "$work/page.html" > "$work/test.html"
cat >> "$work/test.html" <<'EOF'
<script>
(() => {
  const seen = (selector) => [...document.querySelectorAll(selector)].filter((one) => !one.closest("[hidden]")).length;
  const box = document.getElementById("find");
  const find = (text) => {
    box.value = text;
    box.dispatchEvent(new Event("input"));
    return `${seen(".part")}/${seen("section")}`;
  };
  const results = {
    all: find(""), one: find("MEDLAR say"), diff: find("quince"), none: find("no such word"), again: find(""),
    told: (find("medlar"), document.getElementById("told").value),
    scripts: document.scripts.length, images: document.images.length, links: document.links.length,
    frames: document.querySelectorAll("iframe, object, embed, svg").length,
    diffs: document.querySelectorAll(".diff .add").length, title: document.title,
    loaded: performance.getEntriesByType("resource").length,
  };
  const out = document.createElement("pre");
  out.id = "results";
  out.textContent = Object.entries(results).map(([name, value]) => `@${name}=${value}@`).join("\n");
  document.body.append(out);
})();
</script>
</body>
</html>
EOF

chromium --headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update \
    --no-first-run --user-data-dir="$work/profile" --enable-logging=stderr --v=0 \
    --log-net-log="$work/net.json" --virtual-time-budget=3000 --dump-dom "file://$work/test.html" \
    > "$work/dom.html" 2> "$work/stderr.txt" || fail "chromium did not open the page: $(tail -n 5 "$work/stderr.txt")"

result() {
    sed -n "s/.*@$1=\([^@]*\)@.*/\1/p" "$work/dom.html" | tail -n 1
}
expect() {
    got=$(result "$1")
    [ "$got" = "$2" ] || fail "$1 is \`$got\`, and should be \`$2\`"
}
differs() {
    got=$(result "$1")
    [ -n "$got" ] && [ "$got" != "$2" ] && [ "$got" != "0/0" ] || fail "$1 is \`$got\`"
}

all=$(result all)
[ -n "$all" ] && [ "$all" != "0/0" ] || fail "the page shows nothing: \`$all\`"
expect again "$all"
expect none 0/0
differs one "$all"
differs diff "$all"
expect scripts 2
expect images 0
expect links 0
expect frames 0
expect loaded 0
differs diffs 0
case $(result told) in *" found") ;; *) fail "the count of hits is \`$(result told)\`" ;; esac
case $(result title) in ran | 1) fail "a script of the session has run" ;; esac
if grep -E 'CONSOLE' "$work/stderr.txt"; then fail "the console has the lines above"; fi
if grep -oE '"url": ?"(https?|wss?)://[^"]*example\.invalid[^"]*"' "$work/net.json"; then
    fail "the page asks the network"
fi
echo "the page is sound: $all parts/turns, search, no request, no script of the session"
