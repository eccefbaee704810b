#!/usr/bin/env bash
# Installs missing packages, builds, and runs the tests labeled unit and slow.
#   ./test.sh [--yes] [--all] [--preset NAME] [-- CTEST-OPTION…]
#     --yes            install without asking
#     --all            also install the tools for tests of the trace page: node, Chromium, axe
#     --preset NAME    release (default), debug, step, asan, tsan or coverage
#     --everything …   also nightly tests, and every vector width, thread count, compiler and sanitizer;
#                      takes hours and prints a table of results; --everything --help lists the parts
#     --release …      the checklist before a release; --release --help says more
#     -- -R softmax    options of ctest: here, only tests with softmax in their name
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. tools/setup.sh

yes=0
all=0
preset=release
while [ $# -gt 0 ]; do
  case $1 in
    --yes | -y) yes=1 ;;
    --all) all=1 ;;
    --preset) preset=${2:?--preset needs a name}; shift ;;
    --preset=*) preset=${1#*=} ;;
    --everything) shift; exec python3 tools/everything.py "$@" ;;
    --release) shift; exec python3 tools/release_checks.py "$@" ;;
    --help | -h) sed -n '2,10s/^# //p' "$0"; exit 0 ;;
    --) shift; break ;;
    *) echo "test.sh: unknown option '$1'. Use --yes, --all, --preset NAME, --everything, --release, --help or -- …" >&2; exit 2 ;;
  esac
  shift
done

packages="g++ cmake ninja-build pkg-config libopenblas-dev libcli11-dev nlohmann-json3-dev catch2"
case $preset in
  release | debug) packages="$packages gdb libopenmpi-dev openmpi-bin" ;;  # multi-process runs
  step | coverage) packages="$packages gdb" ;;                             # debugger sessions are tests too
  asan) ;;
  tsan) packages="$packages clang llvm libomp-dev" ;;
  *) echo "test.sh: unknown preset '$preset'. Use release, debug, step, asan, tsan or coverage." >&2; exit 2 ;;
esac
[ "$all" = 0 ] || packages="$packages nodejs chromium"
# shellcheck disable=SC2086  # the list is meant to be split
setup_needs $packages
[ "$all" = 0 ] || setup_axe

echo "Building everything, in build/$preset"
# Continuous integration sets CI. Warnings are then errors.
cmake --preset "$preset" -DGRADUS_BUILD_TESTS=ON -DGRADUS_BUILD_EXAMPLES=ON \
  ${CI:+-DCMAKE_COMPILE_WARNING_AS_ERROR=ON} >/dev/null
cmake --build --preset "$preset" -j "$(setup_cores)"

# One more job than cores, because some tests wait for a clock or for a stopped process.
exec ctest --preset "$preset" -LE nightly -j $(($(setup_cores) + 1)) "$@"
