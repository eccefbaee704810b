#!/usr/bin/env python3
"""The speedrun of bench/records/README.md: seconds from the start of a process to its last weight.

  ./bench.sh speedrun ROW --text FILE [--seeds 1,2,3] [--without TRICK]... [--out DIR] [--peer pytorch]

Checks the text, starts one process per seed on two cores, and prints a JSON line for each. Then prints a summary:
the mean loss, and the probability p that a recipe whose true mean is above the target does as well. With --out,
an interrupted run resumes, and its seconds include all of its processes. --peer runs row A's recipe in PyTorch.
"""
import argparse
import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time

SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"  # checksum of tiny Shakespeare
TARGETS = {"A": (1.88, 8), "B": (1.4697, 3)}  # nats per character, seeds
CORES = 2
HERE = os.path.dirname(os.path.abspath(__file__))


def processor():
    with open("/proc/cpuinfo") as info:
        facts = dict(line.split(":", 1) for line in info if ":" in line)
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    widths = [name for name in ("avx512f", "avx2") if name in facts.get("flags", "").split()]
    return f"{facts.get('model name', 'unknown')}, {(widths + ['neither AVX2 nor AVX-512'])[0]}"


def chance(losses, target):
    """One-sided p of Student's t: the probability of a mean this far below the target if the true mean is the target."""
    n = len(losses)
    mean = sum(losses) / n
    variance = sum((x - mean) ** 2 for x in losses) / max(n - 1, 1)
    if n < 2 or variance == 0:
        return None
    t, freedom = (mean - target) / math.sqrt(variance / n), n - 1
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    step, steps = abs(t) / 20000, 20000  # the midpoint rule from 0 to |t|
    area = sum((1 + ((i + 0.5) * step) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(steps)) * step * scale
    return 0.5 - area if t < 0 else 0.5 + area


def one_run(program, row, text, seed, directory, more):
    seconds_file = os.path.join(directory, "seconds")
    before = float(open(seconds_file).read()) if os.path.exists(seconds_file) else 0.0
    command = [*program, row, "--text", text, "--seed", str(seed), "--out", directory, *more]
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    seconds = before + time.perf_counter() - start
    with open(seconds_file, "w") as out:
        out.write(f"{seconds}\n")
    if done.returncode:
        sys.exit(done.returncode)
    facts = json.loads(done.stdout)
    with open(os.path.join(directory, "model.safetensors"), "rb") as weights:
        facts["sha256"] = hashlib.sha256(weights.read()).hexdigest()
    return facts | {"seconds": round(seconds, 2)}


def main():
    parser = argparse.ArgumentParser(prog="./bench.sh speedrun")
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("row", choices=TARGETS)
    parser.add_argument("--text", required=True)
    parser.add_argument("--seeds")
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--out", help="directory for the runs, one subdirectory per seed")
    parser.add_argument("--peer", choices=["pytorch"])
    flags = parser.parse_args()
    try:
        with open(flags.text, "rb") as text:
            found = hashlib.sha256(text.read()).hexdigest()
    except OSError as error:
        parser.error(f"cannot read {flags.text}: {error.strerror}")
    if found != SHA256:
        parser.error(f"{flags.text} must be tiny Shakespeare (sha256 {SHA256}), got sha256 {found}")
    target, seeds = TARGETS[flags.row]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the program handles Ctrl-C: it saves and ends with an error
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    more = [word for trick in flags.without for word in ("--without", trick)]
    more += ["--steps", str(flags.steps)] if flags.steps else []
    # Other settings use another directory.
    names = [word.lstrip("-") for word in [flags.peer or "", *more] if word]
    program = [os.path.join(flags.build, "speedrun")]
    if flags.peer:
        program = [sys.executable, os.path.join(HERE, "records", f"{flags.peer}_speedrun.py")]
    runs = []
    with tempfile.TemporaryDirectory() as scratch:
        for seed in flags.seeds.split(",") if flags.seeds else range(1, seeds + 1):
            directory = os.path.join(flags.out or scratch, "-".join([flags.row, str(seed), *names]))
            os.makedirs(directory, exist_ok=True)
            runs.append(one_run(program, flags.row, flags.text, seed, directory, more))
            print(json.dumps(runs[-1]), flush=True)
    losses = [run["held_out"] for run in runs]
    p = chance(losses, target)
    seconds = sorted(run["seconds"] for run in runs)
    print(json.dumps({"row": flags.row, "target": target, "seeds": len(runs), "mean": round(sum(losses) / len(runs), 4),
                      "p": p and float(f"{p:.2g}"), "median_seconds": seconds[len(seconds) // 2],
                      "most_seconds": seconds[-1], "engine": flags.peer or "gradus", "without": flags.without, "processor": processor(),
                      "cores": len(os.sched_getaffinity(0))}))


if __name__ == "__main__":
    main()
