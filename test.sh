#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
#   ./test.sh [--yes] [--all] [--preset NAME] [-- CTEST-OPTION…]
#     --yes            install without asking
#     --all            install what the tests of the trace page need, too: node, Chromium, axe
#     --preset NAME    release (default), debug, step, asan, tsan or coverage
#     --everything …   every width of vectors, number of threads, compiler, sanitizer …: hours, and a table of
#                      what passed; --everything --help says more
#     -- -R softmax    whatever follows goes to ctest: here, tests with softmax in their name
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
    --preset) preset=${2:?--preset wants a name}; shift ;;
    --preset=*) preset=${1#*=} ;;
    --everything) shift; exec python3 tools/everything.py "$@" ;;
    --help | -h) sed -n '2,9s/^# //p' "$0"; exit 0 ;;
    --) shift; break ;;
    *) echo "test.sh: what is '$1'? It knows --yes, --all, --preset NAME, --help and -- …" >&2; exit 2 ;;
  esac
  shift
done

packages="g++ cmake ninja-build pkg-config libopenblas-dev libcli11-dev nlohmann-json3-dev catch2"
case $preset in
  release | debug) packages="$packages gdb libopenmpi-dev openmpi-bin" ;;  # runs of several processes
  step | coverage) packages="$packages gdb" ;;                             # what it shows is tested too
  asan) ;;
  tsan) packages="$packages clang llvm libomp-dev" ;;
  *) echo "test.sh: no preset '$preset': release, debug, step, asan, tsan, coverage" >&2; exit 2 ;;
esac
[ "$all" = 0 ] || packages="$packages nodejs chromium"
# shellcheck disable=SC2086  # the list is meant to be split
setup_needs $packages
[ "$all" = 0 ] || setup_axe

echo "Building everything, in build/$preset"
cmake --preset "$preset" -DGRADUS_BUILD_TESTS=ON -DGRADUS_BUILD_EXAMPLES=ON -DGRADUS_TEST_EVERYTHING=OFF \
  >/dev/null
cmake --build --preset "$preset" -j "$(setup_cores)"

left=$(setup_missing nodejs chromium)
[ -z "$left" ] || echo "Left out: tests of the trace page that need ${left% }; ./test.sh --all installs them."
# One more than there are cores: some tests wait for a clock or for a process that they stopped.
exec ctest --preset "$preset" -j $(($(setup_cores) + 1)) "$@"
