#!/usr/bin/env bash
# Checks the format with clang-format 14. Skipped with other versions, which break lines
# differently.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for program in clang-format-14 clang-format; do
  command -v "$program" >/dev/null && "$program" --version | grep -q 'version 14\.' && break
  program=
done
if [ -z "$program" ] || ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  echo "skipped: clang-format 14 and a git checkout are needed"
  exit 77
fi
git ls-files '*.h' '*.cpp' | xargs "$program" --dry-run -Werror
