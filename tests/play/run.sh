#!/usr/bin/env bash
# run.sh build|bits|page|firefox BUILD-DIRECTORY: builds the playground, or tests it. Skips without emscripten.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if ! command -v em++ >/dev/null; then
  echo "SKIPPED: emscripten is not installed; run tools/play.sh, which installs it"
  exit 77
fi
case $1 in
  build) exec "$root/tools/play.sh" ;;
  bits) exec node --no-experimental-fetch "$root/tests/play/test_bits.js" "$2/play" "$root/build/wasm" ;;
  page) exec node "$root/tests/play/test_page.js" "$root/build/play/play.html" ;;
  firefox) exec node "$root/tests/play/test_firefox.js" "$root/build/play/play.html" ;;
  *) echo "run.sh: unknown part '$1'. Use build, bits, page or firefox." >&2; exit 2 ;;
esac
