#!/bin/sh
# Fuzzes each target for so many seconds, or one of them, from its seeds and from what earlier runs have found.
# usage: fuzz/run.sh SECONDS [TARGET]
# needs: cargo install cargo-fuzz --locked, and a nightly toolchain
# Ends with another status than 0 if any target has failed; the input that did it is in fuzz/artifacts.
set -eu
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    sed -n '2,6s/^# //p' "$0" >&2
    exit 2
fi
seconds=$1
cd "$(dirname "$0")"
targets=${2:-$(ls seeds)}

# The folders that targets make are many and short-lived.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ]; then
    export TMPDIR=/dev/shm
fi
# Threads that wait for the end of the process are no leak.
export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}"

cargo +nightly fuzz build --fuzz-dir .
failed=
for target in $targets; do
    mkdir -p "corpus/$target"
    echo "$target: $seconds s" >&2
    cargo +nightly fuzz run --fuzz-dir . "$target" "corpus/$target" "seeds/$target" -- \
        -dict="dictionaries/$target.txt" -max_total_time="$seconds" -max_len=4096 -timeout=300 -rss_limit_mb=1500 \
        -malloc_limit_mb=256 -print_final_stats=1 || failed="$failed $target"
done
if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    exit 1
fi
