#!/usr/bin/env python3
"""nanoGPT's CPU recipe in both engines, interleaved: the same text, model, steps and evaluations.

  ./bench.sh recipe FILE [--steps N] [--seeds 1,2,3]

Both are timed from reading the text to the last evaluation. The time of Gradus includes trial steps and checkpoints;
PyTorch's time excludes its import. Prints a JSON line per run, then the ratio of the medians and the median of the
best held-out losses.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

GPT2 = ["--optimizer", "adamw", "--positions", "learned", "--norm", "layer", "--qk-norm=false", "--bias",
        "--zero-init=false"]  # nanoGPT's model and optimizer, not gpt's defaults
HERE = os.path.dirname(os.path.abspath(__file__))


def ours(gpt, file, steps, seed):
    with tempfile.TemporaryDirectory() as directory:
        command = [gpt, "train", file, "--config", "cpu", "--steps", str(steps), "--seed", str(seed),
                   "--out", os.path.join(directory, "run"), *GPT2]
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if done.returncode:
            sys.exit(done.stderr)
        text = done.stdout + done.stderr
        best = float(re.search(r"held-out loss ([\d.]+) nats", text).group(1))
        return {"engine": "gradus", "steps": steps, "seed": seed, "seconds": round(seconds, 2), "held_out": best}


def peer(file, steps, seed):
    command = [sys.executable, os.path.join(HERE, "pytorch_recipe.py"), file, "--steps", str(steps), "--seed",
               str(seed), "--threads", str(len(os.sched_getaffinity(0)))]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("file")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seeds", default="1,2,3")
    flags = parser.parse_args()
    runs = {"gradus": [], "pytorch": []}
    for turn, seed in enumerate(flags.seeds.split(",")):
        pair = [("gradus", lambda: ours(os.path.join(flags.build, "gpt"), flags.file, flags.steps, int(seed))),
                ("pytorch", lambda: peer(flags.file, flags.steps, int(seed)))]
        for name, run in pair if turn % 2 == 0 else reversed(pair):
            runs[name].append(run())
            print(json.dumps(runs[name][-1]), flush=True)
    seconds = {name: median([run["seconds"] for run in found]) for name, found in runs.items()}
    print(json.dumps({"steps": flags.steps, "share_of_pytorchs_time": round(seconds["gradus"] / seconds["pytorch"], 3),
                      "held_out": median([run["held_out"] for run in runs["gradus"]]),
                      "held_out_pytorch": median([run["held_out"] for run in runs["pytorch"]])}))


if __name__ == "__main__":
    main()
