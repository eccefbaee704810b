#!/usr/bin/env python3
"""Prints the sizes of the parts, next to those of other engines, and the largest files and functions.

    tools/size.py            lines of code, without blank lines and comments
    tools/size.py --most N   the largest N files and functions (default 15)"""
import argparse
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPENS = re.compile(r"^( {0,2})(?!namespace|class|struct|union|enum|extern|else|try|do\b|for|if|while|switch|[}/# ])\S.*\{$")
CPP = (".h", ".cpp", ".inc")
SCRIPTS = (".py", ".sh", ".js")
# Lines of code, all counted in 2026 without blank lines, comments, tests, docstrings and generated
# files.
PEERS = [
    ("micrograd", "all of it; scalars only", 107),
    ("llm.c", "train_gpt2.c: a GPT without autograd", 893),
    ("tinygrad", "tensor, mixin, nn, dtype; kernels come from a compiler", 3520),
    ("tinygrad", "the same with its compiler and CPU runtime", 10849),
    ("DyNet", "without CUDA; matmuls come from Eigen", 21148),
    ("flashlight", "fl/ without cuDNN; arrays come from ArrayFire or oneDNN", 24032),
    ("candle", "core and nn, without CUDA and Metal", 25400),
    ("ggml", "core, allocator, optimizer, CPU operations in f32", 32892),
    ("MLX", "C++ core, io, CPU; Python nn and optimizers", 48640),
    ("burn", "autodiff, tensor, nn, two CPU backends", 64430),
]


def files():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return names.splitlines()


def code(name):
    """Lines with code in them."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if name.endswith(CPP):
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        return sum(1 for line in text.splitlines() if re.sub(r"//.*", "", line).strip())
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith(("#", "//")))


def parts(names):
    """(name, lines) of the parts of the design."""
    def lines(*folders, kinds=CPP):
        return sum(code(name) for name in names
                   if name.endswith(kinds) and name.startswith(tuple(f"{folder}/" for folder in folders)))
    gemm, leaves = lines("engine/gemm"), lines("nn/models", "nn/extras")
    return [("core: engine, ops, nn without gemm, models and extras", lines("engine", "ops", "nn") - gemm - leaves),
            ("engine/gemm", gemm), ("nn/models, nn/extras", leaves), ("check", lines("check")),
            ("train without distributed", lines("train") - lines("train/distributed")),
            ("train/distributed", lines("train/distributed")), ("io", lines("io")), ("trace", lines("trace")),
            ("library", lines("engine", "ops", "nn", "check", "train", "io", "trace")),
            ("examples", lines("examples")), ("bench", lines("bench")),
            ("tests", lines("tests", kinds=CPP + SCRIPTS) - lines("tests/golden", kinds=CPP + SCRIPTS))]


def functions(lines):
    """(name, first line, lines) of functions; clang-format closes bodies in the column where they open."""
    for start, line in enumerate(lines):
        match = OPENS.match(line)
        if not match or line.endswith("= {"):
            continue
        close = match[1] + "}"
        for end in range(start + 1, len(lines)):
            if lines[end].startswith(close):
                head = " ".join(each.strip() for each in lines[max(0, start - 2):start + 1])
                name = re.findall(r"([\w~:]+)\(", head) or ["?"]
                yield name[-1] if len(name) == 1 else name[0], start + 1, end - start - 1
                break


def show(title, rows):
    print(f"\n{title}")
    for number, what in rows:
        print(f"{number:8,}  {what}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=15)
    most = parser.parse_args().most
    names = files()
    sources = [name for name in names if name.endswith((".h", ".cpp"))]
    bodies = [(length, f"{name}:{first} {function}") for name in sources
              for function, first, length in functions((ROOT / name).read_text().splitlines())]
    print("lines of code")
    for what, lines in parts(names):
        print(f"{lines:8,}  {what}")
    show("other engines", [(lines, f"{name}: {what}") for name, what, lines in PEERS])
    show("largest files", sorted(((code(name), name) for name in sources), reverse=True)[:most])
    show("longest functions", sorted(bodies, reverse=True)[:most])


if __name__ == "__main__":
    main()
