#!/usr/bin/env bash
# Runs one test of the debuggers' tools (see tests/tools/CMakeLists.txt).
#   run.sh gdb|lldb|step.sh TEST ROOT FIXTURE LIBRARY WORK [WALKER]     77: cannot run here
set -euo pipefail
debugger=$1 test=$2 root=$3 fixture=$4 library=$5 work=$6 walker=${7-}
export GRADUS_NUM_THREADS=1 TERM=dumb

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
need_gdb() {
  [ "$(gdb -nx -batch -ex 'python print(1)' 2>/dev/null)" = 1 ] ||
    skip "gdb with Python is not installed. Run apt-get install gdb"
}

# Debian 12's LLDB 14 expects its Python modules in a missing folder. LLDB takes the rest of Python
# from the first python3 in PATH, which may be another version.
lldb_works() {
  local folder
  PATH=/usr/bin:/bin:$PATH
  for folder in "" /usr/lib/llvm-*/lib/python3*/*-packages; do
    export PYTHONPATH=$folder
    [[ $(lldb -x -b -o 'script print(6 * 7)' 2>/dev/null) = *42* ]] && return
  done
  return 1
}

# refused MESSAGE ARGUMENT…: step.sh must print one line with the message and exit with 2.
refused() {
  local message=$1 code=0
  shift
  "$root/step.sh" "$@" </dev/null >"$work/out" 2>"$work/err" || code=$?
  [ "$code" = 2 ] || fail "step.sh $*: exit code $code"
  [ "$(wc -l <"$work/err")" = 1 ] || fail "step.sh $*: not one line: $(cat "$work/err")"
  grep -qF -e "$message" "$work/err" || fail "step.sh $*: $(cat "$work/err")"
}

step_sh() {
  refused "unknown program 'nerve'. Use 01_neuron, " nerve
  refused "or a path to an executable" nerve
  refused "$work/nothing is not an executable file" "$work/nothing"
  refused "--at needs an operation or the number of a node" 01 --at
  refused "unknown option '--break'." --break
  refused "give only one program, '01' or '02'" 01 02
  refused "derive needs the name of an operation, one of abs, " derive sofmax
  refused "derive needs the name of an operation" derive
  "$root/step.sh" derive softmax | cmp - "$root/docs/derivations/softmax.md" || fail "step.sh derive softmax"
  need_gdb
  refused "unknown operation 'sofmax'. Did you mean softmax" "$fixture" --at sofmax
  refused "unfold is not used in this program" "$fixture" --at unfold

  export HOME=$work
  printf 'bt\nprint y\ncontinue\nbt\nprint y\n' | "$root/step.sh" "$fixture" --at softmax \
    >"$work/out" 2>"$work/err" || fail "step.sh: exit code $?: $(cat "$work/err")"
  grep -q "not permitted" "$work/err" && skip "this machine does not let gdb run a program"
  cat "$work/out"
  grep -q '#0 .*gradus::op::Softmax::forward' "$work/out" || fail "no stop in forward"
  grep -q '#0 .*gradus::op::Softmax::backward' "$work/out" || fail "no stop in backward"
  grep -q '\$2 = f32 \[2, 2\] \[\[0.2689, 0.7311\], \[0.5000, 0.5000\]\]' "$work/out" ||
    fail "y is not shown"
  "$root/step.sh" "$fixture" </dev/null >"$work/out" 2>&1 || fail "exit code $?"
  grep -q 'Temporary breakpoint 1, main ()' "$work/out" || fail "no stop in main: $(cat "$work/out")"
}

case $debugger in
  gdb)
    need_gdb
    exec gdb -batch -nx -ex "python test, root = '$test', '$root'" \
      -ex "python fixture, library, work, walker = '$fixture', '$library', '$work', '$walker'" \
      -x "$root/tests/tools/gdb_tests.py"
    ;;
  lldb)
    command -v lldb >/dev/null || skip "LLDB is not installed. Run apt-get install lldb"
    lldb_works || skip "this LLDB has no Python"
    export GRADUS_TEST=$test GRADUS_ROOT=$root GRADUS_FIXTURE=$fixture GRADUS_LIBRARY=$library
    exec lldb -x -b -o "command script import $root/tests/tools/lldb_tests.py"
    ;;
  step.sh) step_sh ;;
esac
