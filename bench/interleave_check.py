#!/usr/bin/env python3
"""Times gradient checks in two engines, interleaved, so that drift of the machine affects both equally.

  interleave_check.py BENCH_CHECK [--rounds N] --peer pytorch

Prints one JSON object per case: the medians of the rounds' medians for the peer, for Gradus with all conditions, and
for Gradus without conditions, and the medians of the rounds' ratios.
"""
import argparse
import json
import os
import sys

from interleave import Engine, median

CASES = {"softmax": "[3,5,7]", "layer_norm": "[3,5,7] with weight and bias", "attention": "[2,2,5,3]",
         "multi_head": "[2,5,8], width 8, 2 heads, all parameters"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--peer", choices=["pytorch"], required=True)
    parser.add_argument("--rounds", type=int, default=9)
    flags = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    peer = Engine([sys.executable, os.path.join(here, f"{flags.peer}_check.py"), "--serve"])
    ours = Engine([flags.bench, "--serve"])
    for case, sizes in CASES.items():
        turns = [(peer, "slow"), (ours, "default"), (ours, "bare")]
        times = {kind: [] for _, kind in turns}
        for turn in range(flags.rounds + 1):  # the first round is a warm-up
            for engine, kind in turns if turn % 2 == 0 else reversed(turns):
                ms = engine.run(f"{case} {kind} 3")
                if turn > 0:
                    times[kind].append(ms)
        ratio = {kind: median([b / a for a, b in zip(times[kind], times["slow"])]) for kind in ("default", "bare")}
        print(json.dumps({
            "case": case, "sizes": sizes, "threads": 1, "rounds": flags.rounds,
            "peer_ms": round(median(times["slow"]), 3), "default_ms": round(median(times["default"]), 3),
            "bare_ms": round(median(times["bare"]), 3), "speedup_default": round(ratio["default"], 2),
            "speedup_bare": round(ratio["bare"], 2)}), flush=True)


if __name__ == "__main__":
    main()
