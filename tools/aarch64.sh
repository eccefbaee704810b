#!/usr/bin/env bash
# Builds the tests of engine, ops and check for aarch64 and runs them under qemu-user. Installs missing
# packages (Debian's cross compiler and qemu). Skips tests tagged [process], which qemu-user does not support: they
# start themselves again, fork with threads, limit their address space, or inspect their frames.
#   tools/aarch64.sh [--yes] [-- CATCH2-OPTION…]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/setup.sh

yes=0
while [ $# -gt 0 ]; do
  case $1 in
    --yes | -y) yes=1 ;;
    --help | -h) sed -n '2,5s/^# //p' "$0"; exit 0 ;;
    --) shift; break ;;
    *) echo "aarch64.sh: unknown option '$1'. Use --yes, --help or -- …" >&2; exit 2 ;;
  esac
  shift
done

setup_needs g++ cmake ninja-build libcli11-dev nlohmann-json3-dev catch2 g++-aarch64-linux-gnu qemu-user
cmake --preset aarch64 >/dev/null
for component in engine ops check; do
  cmake --build --preset aarch64 --target "gradus_tests_$component" -j "$(setup_cores)"
done
for component in engine ops check; do
  echo "$component"
  qemu-aarch64 -L /usr/aarch64-linux-gnu "build/aarch64/tests/gradus_tests_$component" "~[process]~[.]" "$@"
done
