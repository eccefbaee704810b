#!/usr/bin/env bash
# run.sh PART [BUILD-DIRECTORY]: runs test_PART.js in node.
set -euo pipefail
node=$(command -v node || command -v nodejs || true)
if [ -z "$node" ]; then
  echo "SKIPPED: node is not installed: apt-get install nodejs (./test.sh --all does)"
  exit 77
fi
exec "$node" "$(dirname "${BASH_SOURCE[0]}")/test_$1.js" "${@:2}"
