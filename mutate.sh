#!/usr/bin/env bash
# Plants faults in the whole library, one at a time, and sees whether the tests notice.
#   ./mutate.sh                          all of them; fails if one survives in what bears derivatives and is not
#                                        excused, if less than 97 % of the rest die, or if an excuse excuses nothing
#     --only PART,…                      mutants of files with one of these in their path: softmax,engine/
#     --fault KIND                       those of one kind, as --list names it: "not handed on"
#     --strict                           those alone that bear derivatives
#     --list                             show them, run none
#     --sample N --seed S                N of them
#     --mutant ID                        this one alone
#     --again                            those that survived the last time
#     --changed [REF]                    those on lines that differ from REF (default: where this branch
#                                        left main), edits not yet committed among them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. tools/setup.sh

case " $* " in
  *" --help "* | *" -h "*) sed -n '2,13s/^# //p' "$0"; exit 0 ;;
esac
yes=0
setup_needs g++ cmake ninja-build python3 catch2
exec python3 tools/mutate/run.py "$@"
