#!/usr/bin/env bash
# Builds the playground: the engine as WebAssembly and the page around it, in one file that works offline:
# build/play/play.html.
#   tools/play.sh [--yes]
#     --yes    install without asking
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/setup.sh

yes=0
case ${1:-} in
  '') ;;
  --yes | -y) yes=1 ;;
  --help | -h) sed -n '2,5s/^# //p' "$0"; exit 0 ;;
  *) echo "play.sh: unknown option '$1'. Use --yes or --help." >&2; exit 2 ;;
esac

setup_needs cmake ninja-build python3 nlohmann-json3-dev emscripten
# Debian's emscripten needs its own node modules, even if node comes from elsewhere.
[ ! -d /usr/share/nodejs ] || export NODE_PATH=/usr/share/nodejs${NODE_PATH:+:$NODE_PATH}
emcmake cmake --preset wasm >/dev/null
cmake --build --preset wasm --target play -j "$(setup_cores)"
python3 tools/play.py build/wasm build/play/play.html
