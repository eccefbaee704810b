#!/usr/bin/env bash
# Installs missing packages, builds, and trains a small GPT on this project's own prose.
#   ./demo.sh [--yes]      --yes: install without asking
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. tools/setup.sh

yes=0
for argument in "$@"; do
  case $argument in
    --yes | -y) yes=1 ;;
    --help | -h) sed -n '2,3s/^# //p' "$0"; exit 0 ;;
    *) echo "demo.sh: unknown option '$argument'. Use --yes or --help." >&2; exit 2 ;;
  esac
done

setup_needs g++ cmake ninja-build libopenblas-dev libcli11-dev nlohmann-json3-dev

echo "Building the library and gpt, in build/release"
[ -e build/release/build.ninja ] || cmake --preset release -DGRADUS_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release --target gpt -j "$(setup_cores)"

exec build/release/gpt demo
