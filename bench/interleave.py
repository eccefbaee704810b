#!/usr/bin/env python3
"""Times two engines in turn, A B B A, so that a drifting machine is fair to both.

  interleave.py GRADUS_BENCH --config cpu [--dropout P] [--threads N] [--rounds N] [--steps N] --peer pytorch

Each engine is a process that times N steps whenever it is asked to; only one works at a time. Prints each
engine's JSON line, with the medians of the interleaved steps, and a last line with the ratio of medians.
"""
import argparse
import json
import os
import subprocess
import sys
import time


class Engine:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            sys.exit(f"{command[0]} did not start; is everything it needs installed?")
        self.times = []

    def run(self, steps):
        time.sleep(0.3)  # lets the other engine's idle threads stop spinning
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        times = [float(ms) for ms in self.process.stdout.readline().split()]
        self.times += times
        return median(times)

    def finish(self):
        self.process.stdin.write("0\n")
        self.process.stdin.close()
        facts = json.loads(self.process.stdout.readline())
        self.process.wait()
        rate = facts["gflops"] * facts["median_ms"]  # flop of a step, whatever was timed
        facts["median_ms"], facts["min_ms"] = round(median(self.times), 3), round(min(self.times), 3)
        facts["gflops"] = round(rate / facts["median_ms"], 1)
        if "peak_gflops" in facts:
            facts["share_of_peak"] = round(facts["gflops"] / facts["peak_gflops"], 3)
        return facts


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--peer", choices=["pytorch"], required=True)
    parser.add_argument("--config", default="cpu")
    parser.add_argument("--dropout", default="0")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=0)
    flags = parser.parse_args()
    common = ["--config", flags.config, "--dropout", flags.dropout, "--threads", str(flags.threads), "--serve"]
    here = os.path.dirname(os.path.abspath(__file__))
    peer = Engine([sys.executable, os.path.join(here, f"{flags.peer}_step.py"), *common])
    ours = Engine([flags.bench, *common])

    steps = flags.steps or max(1, min(200, round(1000 / max(ours.run(2), peer.run(2)))))
    ours.times, peer.times = [], []
    ratios = []
    for turn in range(flags.rounds):
        pair = [ours, peer] if turn % 2 == 0 else [peer, ours]
        result = {id(engine): engine.run(steps) for engine in pair}
        ratios.append(result[id(peer)] / result[id(ours)])
    facts = [peer.finish(), ours.finish()]
    for fact in facts:
        print(json.dumps(fact))
    print(json.dumps({
        "config": flags.config, "dropout": float(flags.dropout), "rounds": flags.rounds, "steps_a_round": steps,
        "speedup": round(facts[0]["median_ms"] / facts[1]["median_ms"], 3),
        "speedup_rounds": [round(min(ratios), 3), round(median(ratios), 3), round(max(ratios), 3)],
        "share_of_peak": facts[1]["share_of_peak"],
        "of_floor": round(facts[1]["floor_ms"] / facts[1]["median_ms"], 3),
        "of_floor_in_order": round(facts[1]["floor_in_order_ms"] / facts[1]["median_ms"], 3),
        "memory_ratio": round((facts[1]["peak_rss_mb"] - facts[1]["base_rss_mb"])
                              / (facts[0]["peak_rss_mb"] - facts[0]["base_rss_mb"]), 3)}))


if __name__ == "__main__":
    main()
