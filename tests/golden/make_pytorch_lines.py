#!/usr/bin/env python3
"""Writes pytorch_lines.json: PyTorch's result of each line of tests/train/pytorch_lines.inc. Needs torch; the
tests do not."""
import json
import pathlib
import re

import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).parent
NAMES = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64", torch.bool: "bool"}


def prelude():
    x = torch.arange(6.0).reshape(2, 3) - 2.5
    b = torch.arange(24.0).reshape(2, 3, 4) / 10
    w = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])
    return {
        "torch": torch, "nn": nn, "F": F, "x": x, "y": torch.arange(6.0).reshape(2, 3) * 0.5 + 0.25, "b": b, "w": w,
        "h": b.unsqueeze(1), "v": torch.tensor([1.0, -2.0, 3.0]), "ids": torch.tensor([2, 0, 1]),
        "at": torch.tensor([[0], [2]]), "labels": torch.tensor([2, 0]), "table": w, "n": torch.arange(5) - 2,
        "values": [1.0, 2.0, 4.0],
    }


def result(line):
    names = prelude()
    *before, last = line.split("; ")
    for statement in before:
        exec(statement, names)
    return eval(last, names).detach()


def main():
    text = (HERE.parent / "train" / "pytorch_lines.inc").read_text(encoding="utf-8")
    found = {}
    for strings in re.findall(r'^LINES?\(((?:"[^"]*"\s*)+),', text, flags=re.M):
        line = "".join(re.findall(r'"([^"]*)"', strings))
        y = result(line)
        found[line] = {"dtype": NAMES[y.dtype], "shape": list(y.shape), "values": y.double().flatten().tolist()}
    lines = ",\n".join(f" {json.dumps(line)}: {json.dumps(what)}" for line, what in found.items())
    (HERE / "pytorch_lines.json").write_text("{\n" + lines + "\n}\n", encoding="utf-8")
    print(len(found), "lines")


main()
