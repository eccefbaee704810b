#!/usr/bin/env python3
"""Lists the small faults on changed lines that no test detects: hints, not a gate.

    tools/mutate/run.py [REF]      lines that differ from REF, uncommitted edits included; by default
                                   from the commit where this branch left main
      --all                        every line of the library: hours
      --list                       print the mutants with their numbers and run none
      --mutant ID                  run one mutant
      --sample N                   run N of the mutants, evenly spaced
      --jobs N                     compile and run N at a time (default: one per core)

Each mutant differs from the source in one expression or statement. All mutants share one build in
build/mutants (the first build takes ten minutes or more). Each mutant runs in a separate process, against the
tests that reach its line. A survivor is printed as `file:line: kind: before ⇒ after`, and also written to
build/mutants/survivors.json. Some survivors are equivalent to the original. The exit code is always 0.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import changed
from build import Tree

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutants"
# Overwrites freed memory, to detect mutants that read it.
FREED_IS_OVERWRITTEN = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def misuse(text):
    print(f"run.py: {text}", file=sys.stderr)
    sys.exit(2)


def options():
    parser = argparse.ArgumentParser(prog="run.py", allow_abbrev=False, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ref", nargs="?", default="", metavar="REF")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--mutant", type=int, metavar="ID")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N")
    parser.error = misuse
    args = parser.parse_args()
    if args.all and args.ref:
        misuse("--all and REF exclude each other")
    for name in ("jobs", "sample"):
        if (value := getattr(args, name)) is not None and value < 1:
            misuse(f"--{name} must be at least 1, got {value}")
    return args


def compile_program(tree, jobs):
    say("building gradus_mutants")
    configure = ["cmake", "-G", "Ninja", "-S", str(ROOT / "tests/mutation"), "-B", str(BUILD / "build"),
                 f"-DGRADUS_MUTATED={BUILD}", f"-DGRADUS_ROOT={ROOT}"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    make = ["ninja", "-k", "0", "-C", str(BUILD / "build"), "-j", str(jobs)]
    while (done := subprocess.run(make, capture_output=True, text=True)).returncode:
        tree.leave_out(done.stdout)  # a template may fail at its first use


def run(mutants, jobs):
    """The ids of the survivors."""
    tasks, scratch = BUILD / "tasks.txt", BUILD / "scratch"
    tasks.write_text("".join(f"{i} {m.site} {m.path}\n" for i, m in sorted(mutants.items())))
    program = subprocess.Popen([str(BUILD / "build" / "gradus_mutants"), str(tasks), str(jobs), str(scratch)],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
                               env=os.environ | FREED_IS_OVERWRITTEN)
    survivors, left_out, done = [], [], 0
    for line in program.stdout:
        number, verdict, by = (line.rstrip("\n").split("\t", 2) + ["", ""])[:3]
        if verdict == "left out":
            left_out.append(by)
        elif verdict in ("survived", "killed"):
            done += 1
            survivors += [int(number)] if verdict == "survived" else []
            if done % 1000 == 0:
                say(f"{done} of {len(mutants)} done")
    if program.wait() or done < len(mutants):
        raise SystemExit(f"run.py: gradus_mutants ended with {program.returncode} after {done} mutants")
    shutil.rmtree(scratch, ignore_errors=True)
    if left_out:
        say("skipped, because they fail without a mutant: " + "; ".join(left_out))
    return sorted(survivors)


def sampled(mutants, count):
    """`count` of the mutants, evenly spaced; all of them if count is None."""
    ids = sorted(mutants)
    count = min(len(ids), count or len(ids))
    return {i: mutants[i] for i in (ids[len(ids) * k // count] for k in range(count))}


def main():
    args = options()
    touched = None if args.all else changed.since(ROOT, args.ref)
    if isinstance(touched, str):
        misuse(touched)
    tree = Tree(ROOT, BUILD, say, touched)
    for each in tree.unread:
        say(f"not mutated: {each}")
    mutants = tree.mutants()
    if args.mutant is not None and args.mutant not in mutants:
        misuse(f"unknown mutant {args.mutant}; --list shows all")
    if args.list:
        print("\n".join(f"{i:6} {m.shown()}" for i, m in mutants.items()))
        return 0
    if not mutants:
        print("the changed lines have no mutants")
        return 0
    tree.write(args.jobs)
    compile_program(tree, args.jobs)
    mutants = sampled({i: m for i, m in tree.mutants().items() if args.mutant in (None, i)}, args.sample)
    say(f"running {len(mutants)} mutants")
    survivors = [mutants[i] for i in run(mutants, args.jobs)]
    for mutant in survivors:
        print(mutant.shown())
    rows = [{"file": m.path, "line": m.line, "kind": m.kind, "before": m.before, "after": m.after} for m in survivors]
    (BUILD / "survivors.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    say(f"{len(survivors)} of {len(mutants)} mutants survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
