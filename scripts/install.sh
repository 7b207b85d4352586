#!/bin/sh
# Makes .venv and installs this project into it with one extra (cpu or dev): scripts/install.sh EXTRA
# Does nothing when that was done before and pyproject.toml is the same, so that a second run needs no network.
set -eu
cd "$(dirname "$0")/.."
extra=$1
stamp=.venv/.installed-$extra
wanted="$(pwd -P): $(cksum <pyproject.toml)"

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 2
}

# A name on the path may be a shim that runs nothing, and some systems ship Python without its venv module.
can_make_venv() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

newest_python() {
    for name in python3.14 python3.13 python3.12 python3.11 python3 python; do
        if can_make_venv "$name"; then
            command -v "$name"
            return
        fi
    done
    fail "no Python 3.11 or newer with its venv module was found" \
        "install one (Debian: apt install python3 python3-venv; macOS: brew install python), then run make again"
}

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi
# What an interrupted run or a Python that is gone left behind is no environment.
if ! .venv/bin/python -c 'import pip' >/dev/null 2>&1; then
    python=$(newest_python)
    echo "making .venv with $("$python" -V 2>&1)"
    rm -rf .venv
    "$python" -m venv .venv || fail "$python could not make .venv in $(pwd)" "make that folder writable, or free some disk"
fi
echo "installing mjolnir with its [$extra] packages into .venv"
rm -f .venv/.installed-*
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$extra]" ||
    fail "pip could not install the packages of pyproject.toml" "read pip's lines above; is the package index reachable?"
printf '%s' "$wanted" >"$stamp"
# dev holds everything that cpu asks for.
[ "$extra" != dev ] || cp "$stamp" .venv/.installed-cpu
