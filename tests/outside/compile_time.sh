#!/usr/bin/env bash
# tests/outside/compile_time.sh [COMPILER] prints the CPU seconds to compile the raw checker's
# header and two checks (plain.cpp) at -O0, the minimum of five.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$(cd ../.. && pwd)" "$work/gradus"
echo '#include <gradus/check/raw/check.h>' >"$work/include.cpp"

least() {  # least FLAG…: minimum of five compilations
  for _ in 1 2 3 4 5; do
    TIMEFORMAT=%U
    { time "${compiler}" -std=c++20 -O0 -I "$work" -c -o "$work/out.o" "$@" >/dev/null; } 2>&1
  done | sort -n | head -1
}

compiler=${1:-c++}
echo "| | headers only | check_quick |"
echo "|---|---|---|"
echo "| include | $(least "$work/include.cpp") | $(least -DGRADUS_CHECK_COMPILED "$work/include.cpp") |"
echo "| two checks | $(least plain.cpp) | $(least -DGRADUS_CHECK_COMPILED plain.cpp) |"
