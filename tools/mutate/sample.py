"""A sample of the mutation run, for the ordinary tests.

    sample.py write FOLDER             writes the mutated sources, FOLDER/tree/ops/…
    sample.py run FOLDER PROGRAM       runs some of their mutants; fails if one survives
"""
import random
import sys
from pathlib import Path

import drivers
from build import Tree
from verdicts import Results

ROOT = Path(__file__).resolve().parents[2]
FILES = ("ops/softmax.cpp", "ops/linear.cpp")
CASES = ("softmax", "log_softmax", "linear", "mistake: ", "test: ")  # whose names begin so
COUNT, SEED = 40, 1


def main(mode, folder, program=None):
    tree = Tree(ROOT, Path(folder), drivers.say, FILES)
    tree.write(2)
    if mode == "write":
        return 0
    every = tree.mutants()
    mutants = {i: every[i] for i in sorted(random.Random(SEED).sample(sorted(every), COUNT))}
    results = Results(mutants, *drivers.run(mutants, 1, program, Path(folder), CASES))
    results.judge()
    print(results.table())
    for i in results.survivors():
        print("survived:", mutants[i].shown())
    return 1 if results.survivors() else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
