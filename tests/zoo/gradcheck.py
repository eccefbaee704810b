#!/usr/bin/env python3
"""What torch.autograd.gradcheck says of the fault zoo: which wrong derivatives it notices.

  cmake --build build/release --target gradus_zoo_server
  tests/zoo/gradcheck.py [SERVER]        needs PyTorch; SERVER: build/release/tests/gradus_zoo_server

Each beast becomes a torch.autograd.Function whose forward and backward ask the server. gradcheck
runs at its defaults, slow and fast (fast: one random projection of the Jacobian). Prints a table by
cause, as a Markdown table, and the names of what slow mode lets pass.
"""
import collections
import os
import subprocess
import sys
import warnings

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Server:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.process.stdout.readline().rstrip("\n")

    def beasts(self):
        line = self.ask("list")
        while line:
            yield line.split("\t")
            line = self.process.stdout.readline().rstrip("\n")

    def numbers(self, *words):
        answer = self.ask(*words)
        if answer.startswith("error"):
            raise RuntimeError(answer)
        return answer


def array(text):
    shape, values = text.split(":")
    return torch.tensor([float(v) for v in values.split()], dtype=torch.float64).reshape(
        [int(n) for n in shape.split()])


def words(tensors):
    return " ".join(repr(v) for t in tensors for v in t.reshape(-1).tolist())


def function_of(server, number):
    class Beast(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *x):
            ctx.save_for_backward(*x)
            return array(server.numbers("forward", number, words(x)))

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, dy):
            x = ctx.saved_tensors
            answer = server.numbers("backward", number, words(x), "|", words([dy]))
            flat = torch.tensor([float(v) for v in answer.split()], dtype=torch.float64)
            parts = torch.split(flat, [t.numel() for t in x])
            return tuple(p.reshape(t.shape) for p, t in zip(parts, x))

    return Beast.apply


def notices(f, inputs, fast):
    try:
        return not torch.autograd.gradcheck(f, inputs, fast_mode=fast, raise_exception=False)
    except Exception:  # what the server or gradcheck itself throws is noticed too
        return True


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    server = Server(sys.argv[1] if len(sys.argv) > 1 else
                    os.path.join(ROOT, "build/release/tests/gradus_zoo_server"))
    table = collections.defaultdict(lambda: [0, 0, 0])
    passed, second = [], 0
    for number, (name, family, cause, order, inputs) in enumerate(list(server.beasts())):
        if order == "2":
            second += 1
            continue
        x = [array(text).requires_grad_() for text in inputs.split(";")]
        f = function_of(server, number)
        slow, fast = notices(f, x, False), notices(f, x, True)
        row = table[cause or "(no single cause)"]
        row[0] += 1
        row[1] += slow
        row[2] += fast
        if not slow:
            passed.append(f"{name} ({family}, {cause})")
    print("| cause | beasts | gradcheck, slow | gradcheck, fast |\n|---|---|---|---|")
    for cause, row in sorted(table.items()):
        print("|", cause, "|", " | ".join(map(str, row)), "|")
    print("| all |", " | ".join(str(sum(r[i] for r in table.values())) for i in range(3)), "|")
    print(f"\n{second} beasts whose second derivatives alone are wrong were left out.")
    print("Slow mode lets pass:", *passed, sep="\n  ")


if __name__ == "__main__":
    main()
