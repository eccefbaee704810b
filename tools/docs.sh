#!/usr/bin/env bash
# Builds the documentation as a site that works without a network: build/site/index.html. Installs Doxygen, and Sphinx
# with its extensions into build/docs/venv. Embeds the traces of the lessons if ./test.sh has built them, and the
# playground after tools/play.sh.
#   tools/docs.sh [--yes]
#     --yes    install without asking
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/setup.sh

yes=0
case ${1:-} in
  '') ;;
  --yes | -y) yes=1 ;;
  --help | -h) sed -n '2,6s/^# //p' "$0"; exit 0 ;;
  *) echo "docs.sh: unknown option '$1'. Use --yes or --help." >&2; exit 2 ;;
esac

setup_needs g++ cmake ninja-build doxygen python3 python3-venv
venv=build/docs/venv
if ! cmp -s docs/requirements.txt $venv/requirements.txt; then
  python3 -m venv --clear $venv
  $venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r docs/requirements.txt
  cp docs/requirements.txt $venv
fi
if [ -e build/release/build.ninja ]; then
  rm -rf docs/traces
  cmake --build build/release --target traces -j "$(setup_cores)" >/dev/null
fi

{
  cat tools/docs/Doxyfile
  echo "OUTPUT_DIRECTORY = build/docs/doxygen"
  echo "INPUT_FILTER = \"python3 tools/docs/doxygen_filter.py\""
} >build/docs/Doxyfile
doxygen build/docs/Doxyfile
python3 tools/docs/fix_xml.py build/docs/doxygen/xml
rm -rf build/docs/extra
mkdir -p build/docs/extra/docs
[ ! -d docs/traces ] || cp -r docs/traces build/docs/extra/docs
[ ! -e build/play/play.html ] || cp build/play/play.html build/docs/extra
rm -rf build/site
$venv/bin/sphinx-build -q -W --keep-going -d build/docs/doctrees -c docs -b html . build/site
python3 tools/docs/check_links.py build/site
echo "build/site/index.html"
