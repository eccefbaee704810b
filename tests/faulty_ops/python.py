#!/usr/bin/env python3
"""Runs gradus_check.torch and torch.autograd.gradcheck on the faulty ops.

  cmake --build build/release --target gradus_faulty_ops_server
  tests/faulty_ops/python.py [--server PROGRAM] [--every N] [--least N]

gradcheck runs with its defaults, slow and fast (one random projection), on float64 inputs. Prints a Markdown table by
cause, the median times and message lengths, and what each misses. Exit code 1 if gradus_check finds fewer than --least.
"""
import argparse
import collections
import os
import statistics
import sys
import time
import warnings

try:
    import torch
except ImportError:
    sys.exit(print("SKIPPED: torch is not installed. Run pip install torch"))

import gradus_check
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faulty_ops  # noqa: E402

WAYS = ("gradus_check", "gradcheck, slow", "gradcheck, fast")


def judged(way, f, inputs):
    """(detected, seconds, characters of the message)"""
    start = time.perf_counter()
    try:
        if way == "gradus_check":
            report = gradus_check.torch(f, *inputs)
            message = "" if report else str(report)
        else:
            message = ""
            torch.autograd.gradcheck(f, [x.double().requires_grad_() for x in inputs],
                                     fast_mode=way == "gradcheck, fast")
    except Exception as error:  # an exception counts as detected
        message = str(error)
    return bool(message), time.perf_counter() - start, len(message)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=faulty_ops.SERVER)
    parser.add_argument("--every", type=int, default=1, help="check every N-th faulty op (default: 1)")
    parser.add_argument("--least", type=int, default=0, help="faulty ops that gradus_check must detect")
    options = parser.parse_args()
    if not os.path.exists(options.server):
        return print(f"SKIPPED: {options.server} is missing. Run cmake --build … --target gradus_faulty_ops_server")
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    server = faulty_ops.Server(options.server)
    all_faulty_ops = [faulty for faulty in server.faulty_ops() if not faulty.second]
    table, times, sizes = collections.defaultdict(collections.Counter), collections.defaultdict(list), {}
    passed = collections.defaultdict(list)
    for faulty in all_faulty_ops[::options.every]:
        row = table[faulty.cause or "(no single cause)"]
        row["faults"] += 1
        for way in WAYS:
            noticed, seconds, size = judged(way, server.function(faulty), faulty.inputs)
            times[way].append(seconds)
            row[way] += noticed
            if noticed:
                sizes.setdefault(way, []).append(size)
            else:
                passed[way].append(f"{faulty.name} ({faulty.family}, {faulty.cause})")
                if way == "gradus_check":
                    print(f"not detected: {passed[way][-1]}", file=sys.stderr, flush=True)
    print("| cause | faults |", " | ".join(WAYS), "|\n|---|---|---|---|---|")
    for cause, row in sorted(table.items()):
        print("|", cause, "|", row["faults"], "|", " | ".join(str(row[way]) for way in WAYS), "|")
    total = sum(table.values(), collections.Counter())
    print("| all |", total["faults"], "|", " | ".join(str(total[way]) for way in WAYS), "|")
    print("| median time | |", " | ".join(f"{1e3 * statistics.median(times[way]):.1f} ms" for way in WAYS), "|")
    print("| median message | |", " | ".join(f"{statistics.median(sizes[way]):.0f} characters" for way in WAYS), "|")
    print("\nnot detected by gradus_check:", *passed["gradus_check"], sep="\n  ")
    print("not detected by gradcheck, slow:", len(passed["gradcheck, slow"]))
    sys.exit(total["gradus_check"] < options.least)


if __name__ == "__main__":
    main()
