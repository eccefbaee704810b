#!/usr/bin/env bash
# Builds a program and opens it in gdb, stopped where you choose.
#   ./step.sh [PROGRAM] [--at WHERE] [--yes] [-- ARGUMENT…]
#     PROGRAM        a lesson's number or name (06), gpt, or a path to your executable
#     --at softmax   stop in this op's forward and backward (default: at the start of main)
#     --at 17        stop where node 17 is created, and before its backward
#     --yes          install without asking
#     -- ARGUMENT…   arguments of the program
#   ./step.sh derive NAME   explains an op's backward line by line: derive softmax
#   In gdb: print x shows a tensor, bt the call stack, step continues. Commands may come from a pipe.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. tools/setup.sh

# Lists the programs in examples/, one per line. Omits template projects, which have their own
# build.
programs() {
  local each
  for each in examples/*.cpp examples/*/main.cpp examples/apps/*/main.cpp; do
    [ ! -e "${each%/main.cpp}/CMakeLists.txt" ] || continue
    each=${each%/main.cpp}
    each=${each##*/}
    echo "${each%.cpp}"
  done
}

# Prints the program with this number or part of a name, or nothing unless there is exactly one.
program_named() {
  local found
  found=$(programs | grep -x -e "$1" || programs | grep -E -e "^0*$1_|_$1$" || true)
  [ "$(wc -w <<<"$found")" = 1 ] && echo "$found"
}

derive() {
  local file=docs/derivations/${1-}.md
  if [ $# = 1 ] && [[ $1 != */* ]] && [ -f "$file" ]; then
    cat "$file"
    exit 0
  fi
  known=$(cd docs/derivations && ls -- *.md | sed 's/[.]md$//' | tr '\n' ' ' | sed 's/ $//; s/ /, /g')
  echo "step.sh: derive needs the name of an operation, one of $known" >&2
  exit 2
}
if [ "${1-}" = derive ]; then
  shift
  derive "$@"
fi

yes=0
at=
program=
started_in=$OLDPWD
run_in=$PWD
while [ $# -gt 0 ]; do
  case $1 in
    --yes | -y) yes=1 ;;
    --at)
      at=${2-}
      [ -n "$at" ] || { echo "step.sh: --at needs an operation or the number of a node" >&2; exit 2; }
      shift
      ;;
    --at=*) at=${1#*=} ;;
    --help | -h) sed -n '2,10s/^# //p' "$0"; exit 0 ;;
    --) shift; break ;;
    -*) echo "step.sh: unknown option '$1'. Use --at, --yes, --help or -- …" >&2; exit 2 ;;
    *)
      [ -z "$program" ] || { echo "step.sh: give only one program, '$program' or '$1'" >&2; exit 2; }
      program=$1
      ;;
  esac
  shift
done

program=${program:-10_attention}
if [[ $program = */* ]]; then
  [[ $program = /* ]] || program=$started_in/$program
  [ -f "$program" ] && [ -x "$program" ] || { echo "step.sh: $program is not an executable file" >&2; exit 2; }
  setup_needs gdb
  run_in=$started_in
else
  name=$(program_named "$program") || {
    known=$(programs | tr '\n' ' ' | sed 's/ $//; s/ /, /g')
    echo "step.sh: unknown program '$program'. Use $known, or a path to an executable" >&2
    exit 2
  }
  setup_needs g++ cmake ninja-build libcli11-dev nlohmann-json3-dev gdb
  echo "Building $name, in build/step"
  [ -e build/step/build.ninja ] || cmake --preset step -DGRADUS_BUILD_TESTS=OFF >/dev/null
  cmake --build --preset step --target "$name" -j "$(setup_cores)"
  program=build/step/$name
fi

[ "$program" != build/step/gpt ] || run_in=$started_in
export GRADUS_STEP_AT=$at
stop=(-ex start)
[ -z "$at" ] || stop=(-ex 'python at_or_quit(os.environ["GRADUS_STEP_AT"])' -ex run)
exec gdb -q -iex 'set debuginfod enabled off' -iex 'set confirm off' -x tools/gdb/gradus.py \
  -ex "set cwd $run_in" "${stop[@]}" --args "$program" "$@"
