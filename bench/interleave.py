#!/usr/bin/env python3
"""Times engines interleaved, in alternating order, so that drift of the machine affects all equally.

  interleave.py GRADUS_BENCH --config cpu [--dropout P] [--threads N] [--rounds N] [--steps N] --peer PEER...

A peer is pytorch, pytorch-compiled, pytorch-max-autotune or jax. Each engine is a process that times N steps on
request, and only one works at a time. Prints a JSON line per engine, peers first, with the medians of the
interleaved steps. Then prints a line with the ratios to each peer and to the fastest peer, and the ratio of
the memory to that of the first peer.
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
            sys.exit(f"{command[0]} did not start. Check that its dependencies are installed.")
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
        rate = facts["gflops"] * facts["median_ms"]  # millions of flop per step
        facts["median_ms"], facts["min_ms"] = round(median(self.times), 3), round(min(self.times), 3)
        facts["gflops"] = round(rate / facts["median_ms"], 1)
        if "peak_gflops" in facts:
            facts["share_of_peak"] = round(facts["gflops"] / facts["peak_gflops"], 3)
        return facts


def median(values):
    return sorted(values)[len(values) // 2]


PEERS = {"pytorch": ["pytorch_step.py"], "pytorch-compiled": ["pytorch_step.py", "--mode", "compiled"],
         "pytorch-max-autotune": ["pytorch_step.py", "--mode", "max-autotune"], "jax": ["jax_step.py"]}


def ratios_to(peer, ours, steps):
    """The peer's time relative to ours, in total and per round: lowest, median, highest."""
    rounds = [median(peer.times[i:i + steps]) / median(ours.times[i:i + steps])
              for i in range(0, len(ours.times), steps)]
    return {"speedup": round(median(peer.times) / median(ours.times), 3),
            "speedup_rounds": [round(min(rounds), 3), round(median(rounds), 3), round(max(rounds), 3)]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--peer", choices=PEERS, action="append", required=True)
    parser.add_argument("--config", default="cpu")
    parser.add_argument("--dropout", default="0")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=0)
    flags = parser.parse_args()
    common = ["--config", flags.config, "--dropout", flags.dropout, "--threads", str(flags.threads), "--serve"]
    here = os.path.dirname(os.path.abspath(__file__))
    peers = {}
    for name in flags.peer:
        script, *mode = PEERS[name]
        peers[name] = Engine([sys.executable, os.path.join(here, script), *mode, *common])
    ours = Engine([flags.bench, *common])
    engines = [*peers.values(), ours]

    steps = flags.steps or max(1, min(200, round(1000 / max(engine.run(2) for engine in engines))))
    for engine in engines:
        engine.times = []
    for turn in range(flags.rounds):
        for engine in engines if turn % 2 == 0 else reversed(engines):
            engine.run(steps)
    ratios = {name: ratios_to(peer, ours, steps) for name, peer in peers.items()}
    fastest = min(ratios, key=lambda name: ratios[name]["speedup"])
    facts = [engine.finish() for engine in engines]
    for fact in facts:
        print(json.dumps(fact))
    own, first = facts[-1], facts[0]
    print(json.dumps({
        "config": flags.config, "dropout": float(flags.dropout), "rounds": flags.rounds, "steps_a_round": steps,
        "fastest": fastest, **ratios[fastest], "peers": ratios, "share_of_peak": own["share_of_peak"],
        "of_floor": round(own["floor_ms"] / own["median_ms"], 3),
        "of_floor_in_order": round(own["floor_in_order_ms"] / own["median_ms"], 3),
        "memory_ratio": round((own["peak_rss_mb"] - own["base_rss_mb"])
                              / (first["peak_rss_mb"] - first["base_rss_mb"]), 3)}))


if __name__ == "__main__":
    main()
