"""The mutation run: generate, build, run, judge. mutate.sh starts it and explains the options."""
import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import changed
import drivers
from build import Tree
from verdicts import Results

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutants"
CHANGED = ROOT / "build" / "mutants_changed"  # where all that is not touched stays compiled


def options():
    parser = argparse.ArgumentParser(prog="mutate.sh", allow_abbrev=False)
    parser.add_argument("--only", default="", metavar="PART,…",
                        help="mutants of files with one of these in their path")
    parser.add_argument("--fault", default="", metavar="KIND", help="of this kind, as --list names it")
    parser.add_argument("--strict", action="store_true", help="those alone that bear derivatives")
    parser.add_argument("--list", action="store_true", help="list the mutants and run none")
    parser.add_argument("--mutant", type=int, default=0, metavar="ID", help="this one alone")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N of them, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="those that survived the last run")
    parser.add_argument("--changed", nargs="?", const="", metavar="REF",
                        help="those on lines that differ from REF, or from where this branch left main")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def chosen(mutants, args, build):
    parts = args.only.split(",")
    picked = [i for i, m in sorted(mutants.items())
              if any(part in m.path for part in parts) and (m.strict or not args.strict)
              and args.fault in ("", m.fault)]
    if args.mutant:
        picked = [i for i in picked if i == args.mutant]
    if args.again:
        last = json.loads((build / "mutation.json").read_text())["mutants"]
        alive = {(m["file"], m["text"], m["before"], m["after"]) for m in last
                 if m["verdict"] in ("survived", "unreached")}
        picked = [i for i in picked if (mutants[i].path, mutants[i].text, mutants[i].before,
                                        mutants[i].after) in alive]
    if args.sample:
        picked = sorted(random.Random(args.seed).sample(picked, min(args.sample, len(picked))))
    if not picked:
        raise SystemExit("mutate.sh: no mutant is meant by that; --list shows all")
    return {i: mutants[i] for i in picked}


def compile_program(tree, build, jobs):
    drivers.say("building gradus_mutants")
    configure = ["cmake", "-G", "Ninja", "-S", str(ROOT / "tests/mutation"), "-B", str(build / "build"),
                 f"-DGRADUS_MUTATED={build}", f"-DGRADUS_ROOT={ROOT}"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    make = ["ninja", "-k", "0", "-C", str(build / "build"), "-j", str(jobs)]
    while (done := subprocess.run(make, capture_output=True, text=True)).returncode:
        tree.leave_out(done.stdout)  # a template may be refused where it is used for the first time


def main():
    args, start = options(), time.time()
    touched = None if args.changed is None else changed.since(ROOT, args.changed)
    build = BUILD if touched is None else CHANGED
    build.mkdir(parents=True, exist_ok=True)
    tree = Tree(ROOT, build, drivers.say, changed=touched)
    if not tree.sources and touched is not None:
        print("no mutant is on a line that was touched")
        return 0
    tree.write(args.jobs)
    if not args.list:
        compile_program(tree, build, args.jobs)
    every = tree.mutants()
    made = sum(len(source.mutants) for source in tree.sources.values())
    mutants = chosen(every, args, build)
    if args.list:
        print("\n".join(f"{i:6} {m.shown()}" for i, m in mutants.items()))
        return 0
    drivers.say(f"{made} mutants written, {len(every)} compile, {len(mutants)} run")
    results = Results(mutants, *drivers.run(mutants, args.jobs, build / "build" / "gradus_mutants", build))
    results.judge()
    minutes = (time.time() - start) / 60
    whole = touched is None and len(mutants) == len(every)
    results.write(build / "mutation.json", {"written": made, "compiled": len(every), "run": len(mutants),
                                            "minutes": round(minutes, 2), "unread": tree.unread})
    return report(results, tree.excuses() if whole else [], f"{minutes:.1f} minutes; {build.relative_to(ROOT)}")


def report(results, excuses, about):
    for title, kind in (("file", lambda m: m.path), ("fault", lambda m: m.fault),
                        ("component", lambda m: m.path.split("/")[0]),
                        ("where", lambda m: "bears derivatives" if m.strict else "the rest")):
        print(results.table(title, kind) + "\n")
    for i in results.survivors():
        print("survived:", results.mutants[i].shown())
    needless = [excuse for excuse in excuses if not excuse.used]
    for excuse in needless:
        print(f"{excuse.path}:{excuse.line}: nothing that survives needs this excuse")
    print(f"\n{about}/mutation.json has every mutant and what killed it")
    return 1 if results.too_many() or needless else 0


if __name__ == "__main__":
    sys.exit(main())
