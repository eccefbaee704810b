#!/usr/bin/env python3
"""Tests runs with several processes under mpirun on this machine.

    run.py CASE --mpirun MPIRUN --program PROGRAM --gpt GPT [--times 20]

CASE: bits, gpt, kill, or a fault: die, stop, throw, diverge, binary, settings. PROGRAM is tests/mpi/program.cpp.
kill repeats the following --times times: kill a process, and resume the run.
"""
import argparse
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

OPTIONS = ["--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "self,vader",
           "--mca", "btl_vader_single_copy_mechanism", "none", "--mca", "oob_tcp_if_include", "lo"]
SECONDS = 10  # time limit of a run with a fault, including its start
LINE = r"^gradus: rank {rank} on host \S+, at step {step}, {doing}: {what}$"


class Runs:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                            "OMP_NUM_THREADS": "1", "TMPDIR": "/tmp"}

    def mpirun(self, *groups):
        """groups: (processes, command …). Returns exit code, output, error output, seconds."""
        command = [self.arguments.mpirun, *OPTIONS]
        for i, (processes, *rest) in enumerate(groups):
            command += [":"] * (i > 0) + ["-np", str(processes), *map(str, rest)]
        begin = time.monotonic()
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr, time.monotonic() - begin

    def good(self, *groups):
        code, out, error, _ = self.mpirun(*groups)
        expect(code == 0, f"exit code {code} of {groups}:\n{error}")
        return out

    def faulty(self, groups, rank, step, doing, what):
        code, _, error, seconds = self.mpirun(*groups)
        expect(code != 0, "a run with a fault succeeded")
        expect(seconds < SECONDS, f"the run took {seconds:.1f} s to end")
        lines = [line for line in error.splitlines() if line.startswith("gradus: ")]
        expect(len(lines) == 1, "expected one line, got:\n" + error)
        pattern = LINE.format(rank=rank, step=step, doing=doing, what=what)
        expect(re.match(pattern, lines[0]), f"{lines[0]}\ndoes not match\n{pattern}")
        print(f"{seconds:.1f} s: {lines[0]}")

    def program(self, processes, name, *rest):
        return processes, self.arguments.program, self.folder / name, *rest


def expect(holds, what):
    if not holds:
        sys.exit(what)


def bits(runs):
    single = runs.good(runs.program(1, "1"))
    expect("optimizer.exp_avg" in single and "model." in single, "no result: " + single)
    for processes in (2, 3, 4):
        expect(runs.good(runs.program(processes, str(processes))) == single, f"{processes} processes differ from one")


def train_gpt(runs, name, processes, *rest, threads="1"):
    text = runs.folder / "text.txt"
    if not text.exists():
        text.write_text("".join(chr(97 + i * i % 23) for i in range(9000)))
    return (processes, runs.arguments.gpt, "train", text, "--out", runs.folder / name, "--config", "toy", "--steps", "20",
            "--shards", "8", "--eval-every", "9", "--no-trial", "--threads", threads, *rest)


def gpt(runs):
    for dropout, counts in ("0", (1, 3)), ("0.2", (1, 2, 3, 4)):
        digests = set()
        for processes in counts:
            name = f"{processes}-{dropout}"
            runs.good(train_gpt(runs, name, processes, "--dropout", dropout))
            digests.add(tuple(hashlib.sha256((runs.folder / name / file).read_bytes()).hexdigest()
                              for file in ("model.safetensors", "checkpoint.safetensors", "metrics.jsonl")))
        expect(len(digests) == 1, f"dropout {dropout}: the files of {counts} processes differ")


def kill(runs):
    """Kills a process at a random step and resumes with another number of processes."""
    whole = runs.good(runs.program(1, "whole"))
    for i in range(runs.arguments.times):
        processes = random.randint(2, 4)
        rank, step = random.randrange(processes), random.randrange(20)
        others = random.choice([n for n in (1, 2, 3, 4) if n != processes])
        print(f"rank {rank} of {processes} dies at step {step}; {others} resume", flush=True)
        runs.faulty([runs.program(processes, str(i), "die", rank, step)], rank, r"\d+", ".*", "has ended")
        expect(runs.good(runs.program(others, str(i), "resume")) == whole, "the result differs")


def fault(runs):
    name = runs.arguments.case
    forward = "in the forward and backward pass"
    if name == "die":
        runs.faulty([runs.program(3, "run", name, 1, 5)], 1, r"\d+", ".*", "has ended")
        runs.faulty([runs.program(3, "zero", name, 0, 5)], 0, r"\d+", ".*", "has ended")
    if name == "stop":
        runs.faulty([runs.program(3, "run", name, 2, 5)], 2, r"\d+", ".*", r"has been silent for 5 s: .*")
        runs.faulty([runs.program(3, "zero", name, 0, 5)], 0, r"\d+", ".*", r"has been silent for 5 s: .*")
    if name == "throw":
        runs.faulty([runs.program(3, "run", name, 1, 5)], 1, 5, forward, "thrown by the test")
    if name == "diverge":
        runs.faulty([runs.program(3, "run", name, 2, 50)], 2, 50, "comparing parameters",
                    "has different values in up.bias than rank 0: the processes have diverged")
    if name == "binary":
        other = runs.folder / "other"
        shutil.copy(runs.arguments.program, other)
        with open(other, "ab") as file:
            file.write(b"\0")
        runs.faulty([runs.program(1, "run"), (1, other, runs.folder / "run")], 1, 0, "starting",
                    "has a different program than rank 0: .*")
    if name == "settings":
        runs.faulty([train_gpt(runs, "run", 2), train_gpt(runs, "run", 1, "--lr", "0.5")], 2, 0, "starting",
                    "--lr 0.5 contradicts the run in .*")
        runs.faulty([train_gpt(runs, "more", 2), train_gpt(runs, "more", 1, threads="2")], 2, 0, "starting",
                    "has a different run than rank 0: threads: 2, not threads: 1")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--gpt", default="")
    parser.add_argument("--times", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gradus-mpi-") as folder:
        {"bits": bits, "gpt": gpt, "kill": kill}.get(arguments.case, fault)(Runs(arguments, pathlib.Path(folder)))


if __name__ == "__main__":
    main()
