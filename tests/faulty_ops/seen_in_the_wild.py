#!/usr/bin/env python3
"""Wrong derivatives that were released, each reproduced in a few lines, with the results of two checkers.

  tests/faulty_ops/seen_in_the_wild.py              tries all; exit code 1 if a result is not the expected one
  tests/faulty_ops/seen_in_the_wild.py --markdown   writes docs/found/seen_in_the_wild.md

The code is ours and contains only the mistake that the linked thread describes.
"""
import inspect
import os
import sys
import warnings

try:
    import torch
except ImportError:
    sys.exit(print("SKIPPED: torch is not installed. Run pip install torch"))

import gradus_check

DOCUMENT = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "docs",
                        "found", "seen_in_the_wild.md")


def function_of(forward, backward):
    """An autograd.Function of a forward and a backward(dy, *x)."""
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *x):
            ctx.save_for_backward(*x)
            return forward(*x)

        @staticmethod
        def backward(ctx, dy):
            return backward(dy, *ctx.saved_tensors)
    return Function.apply


def as_kernels_read(t):
    """Consecutive values of t's memory from its first element on, as a kernel reads them through data_ptr()."""
    memory = torch.empty(0, dtype=t.dtype).set_(t.untyped_storage())
    return torch.stack([memory[min(t.storage_offset() + i, memory.numel() - 1)] for i in range(t.numel())]).view(t.shape)


def flash_attention():
    def forward(q, k, v):
        return torch.softmax(q @ k.T, -1) @ v

    def backward(do, q, k, v):
        do = as_kernels_read(do)  # the kernel assumes that do's last stride is 1 and its others are out's
        p = torch.softmax(q @ k.T, -1)
        dp = do @ v.T
        ds = p * (dp - (p * dp).sum(-1, keepdim=True))
        return ds @ k, ds.T @ q, p.T @ do
    return function_of(forward, backward), (torch.randn(3, 2), torch.randn(4, 2), torch.randn(4, 2))


def warp_interop():
    def backward(dy, x):
        dx = 2 * x * dy
        dy.zero_()  # the tape shares dy's memory and clears the adjoint of its output after use
        return dx
    return function_of(lambda x: x * x, backward), (torch.randn(4),)


def reshape_of_expanded():
    def backward(dy, x, w):
        flat = as_kernels_read(x)  # memory that holds one row, expanded to all rows
        return dy @ w.T, flat.T @ dy
    return function_of(lambda x, w: x @ w, backward), (torch.randn(3, 2), torch.randn(2, 2))


def max_pool_sizes():
    def forward(x):
        return x.unfold(0, 2, 2).unfold(1, 2, 2).amax((-1, -2))

    def backward(dy, x):
        rows, columns = dy.shape
        rows, columns = min(rows, columns), min(columns, rows)  # a grid of [columns, rows] for [rows, columns]
        dx = torch.zeros_like(x)
        for i in range(rows):
            for j in range(columns):
                block = x[2 * i:2 * i + 2, 2 * j:2 * j + 2]
                at = divmod(int(block.reshape(-1).argmax()), 2)
                dx[2 * i + at[0], 2 * j + at[1]] = dy[i, j]
        return dx
    return function_of(forward, backward), (torch.randn(4, 8),)


def normal_covariance():
    def forward(x, s):
        return -0.5 * (x @ torch.linalg.solve(s, x) + torch.logdet(s))

    def backward(dy, x, s):
        u = torch.linalg.solve(s, x)
        return -dy * u, 0.5 * dy * (torch.linalg.inv(s) - torch.outer(u, u))  # ds has the wrong sign
    a = torch.randn(3, 3)
    return function_of(forward, backward), (torch.randn(3), a @ a.T + torch.eye(3))


def log_sigmoid_at_zero():
    def backward(dy, x):
        at_most = torch.where(x < 0, 1.0, 0.0)  # min(x, 0) - log1p(exp(-|x|)): |x| has gradient 0 at 0
        return dy * (at_most + torch.sign(x) * torch.exp(-x.abs()) / (1 + torch.exp(-x.abs())))
    return function_of(torch.nn.functional.logsigmoid, backward), (torch.tensor([0.0, 0.5, -2.0]),)


def ldexp_at_zero():
    def forward(x):
        return torch.where(x == 0, x, 2 * x)  # keeps the sign of zero

    def backward(dy, x):
        return torch.where(x == 0, dy, 2 * dy)
    return function_of(forward, backward), (torch.tensor([0.0, 1.5, -2.0]),)


def squared_difference():
    return function_of(lambda x, y: (x - y)**2, lambda dz, x, y: (x.clone(), y.clone())), (
        torch.randn(2, 3), torch.randn(2, 3))


def cauchy_weight():
    def forward(r2):
        return torch.log1p(r2 / 4.0)

    def backward(dy, r2):
        return dy / (1 + r2 / 4.0)  # the derivative by r2 / 4, not by r2
    return function_of(forward, backward), (torch.tensor([0.3, 2.0, 7.5]),)


def layer_norm_without_backward():
    def forward(x, gamma):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma)

    def backward(dy, x, gamma):
        return torch.zeros_like(x), (dy * forward(x, torch.ones_like(gamma))).sum(0)
    return function_of(forward, backward), (torch.randn(3, 4), torch.randn(4))


def starting_point():
    def forward(w):
        q = 1 - w  # the density depends on the distance from the other bound
        return -q * q / 2 + torch.log(q)

    def backward(dy, w):
        q = 1 - w
        return dy * (-q + 1 / q)  # the derivative by q; the factor dq/dw = -1 is missing
    return function_of(forward, backward), (torch.tensor([0.3, 0.55, 0.8]),)


def tape_reads_now():
    held = torch.zeros(3, dtype=torch.float64)

    def forward(x):
        held.copy_(x)  # one array for all steps of a loop
        return x * x

    def backward(dy, x):
        return 2 * held * dy  # the current value, not that of the forward pass
    return function_of(forward, backward), (torch.tensor([0.5, -1.5, 2.0]),)


# function, description, source, expected cause ("": none), does gradcheck detect it
CASES = [
    (flash_attention, "flash-attention reads the upstream gradient as if it were contiguous",
     "Dao-AILab/flash-attention#355", "UPSTREAM LAYOUT", False),
    (warp_interop, "Warp's tape zeroes the gradient that PyTorch passes to it, so a second backward pass returns zeros",
     "NVIDIA/warp#1732", "WRITES TO ITS INPUTS", False),
    (tape_reads_now, "Warp's tape reads arrays during backward, not their values from the forward pass",
     "NVIDIA/warp#1350", "KEEPS STATE", False),
    (reshape_of_expanded, "PyTorch's reshape of an expanded tensor is wrong on CUDA, which also breaks einsum",
     "pytorch/pytorch#30303", "LAYOUT", False),
    (max_pool_sizes, "PyTorch's max_pool3d on CUDA swaps height and width in one call", "pytorch/pytorch#36820",
     "LEFT OUT", True),
    (starting_point, "Stan's wiener_lpdf has the wrong sign for its starting point", "stan-dev/math#3322", "SIGN", True),
    (normal_covariance, "autograd's multivariate normal has the wrong sign for its covariance", "HIPS/autograd#412",
     "SIGN", True),
    (log_sigmoid_at_zero, "JAX's log_sigmoid has gradient 0 at 0", "jax-ml/jax#2140", "LEFT OUT", True),
    (ldexp_at_zero, "JAX's ldexp has gradient 1 at 0 for every exponent", "jax-ml/jax#37992", "SUBSET", True),
    (squared_difference, "TensorFlow.NET's squared_difference returns its inputs as gradients",
     "SciSharp/TensorFlow.NET#787", "UPSTREAM IGNORED", True),
    (cauchy_weight, "PoseLib's Cauchy loss uses a weight that is not its derivative", "PoseLib/PoseLib#97", "SCALE", True),
    (layer_norm_without_backward, "candle's fused layer_norm has no backward, so earlier layers never train",
     "huggingface/candle#3011", "NO GRADIENT", True),
]


def judged(make):
    """The report, and gradcheck's error with its defaults ("" if it passes)."""
    torch.manual_seed(0)
    f, inputs = make()
    inputs = [x.double() for x in inputs]
    report = gradus_check.torch(f, *inputs, name=make.__name__)
    try:
        torch.autograd.gradcheck(f, [x.requires_grad_() for x in inputs])
        return report, ""
    except Exception as error:  # pylint: disable=broad-except
        return report, str(error)


def link(thread):
    repository, number = thread.split("#")
    return f"[{thread}](https://github.com/{repository}/issues/{number})"


HEAD = """# Seen in the wild

Gradus finds and explains all of these released bugs. `torch.autograd.gradcheck` with its defaults, in float64, passes
four of them. `tests/faulty_ops/seen_in_the_wild.py` reproduces each in a few lines, and a test checks them all.
"""


def table(title, rows):
    return ["", f"## {title}", "", "| bug | issue | cause that Gradus names |", "|---|---|---|", *rows]


def document():
    rows, parts = {False: [], True: []}, ["", "## Code and reports"]
    for make, what, thread, cause, noticed in CASES:
        report, message = judged(make)
        rows[bool(message)].append(f"| {what} | {link(thread)} | {cause or 'none'} |")
        code = inspect.getsource(make).rstrip()
        parts += ["", f"### {what}", "", link(thread), "", "```python", code, "```", "", "```text",
                  str(report).rstrip(), "```", "", "gradcheck: " + (
                      f"`{message.splitlines()[0][:100]}`" if message else "passes.")]
    return HEAD + "\n".join(table("Bugs that gradcheck passes", rows[False]) +
                            table("Bugs that both detect", rows[True]) + parts) + "\n"


def main():
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["--markdown"]:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(document())
        return
    with open(DOCUMENT, encoding="utf-8") as file:
        written = file.read()
    wrong = []
    for make, what, thread, cause, noticed in CASES:
        report, message = judged(make)
        causes = set(report.causes().values())
        result = f"{report.verdict} {' '.join(sorted(causes))}; gradcheck {'fails' if message else 'passes'}"
        fine = report.verdict == "FAIL" and (cause in causes if cause else True) and bool(message) == noticed
        fine = fine and link(thread) in written and inspect.getsource(make).rstrip() in written
        fine = fine and len(inspect.getsource(make).splitlines()) <= 20
        print("ok   " if fine else "WRONG", thread, result)
        if not fine:
            wrong.append(thread)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
