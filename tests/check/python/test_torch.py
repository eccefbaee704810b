#!/usr/bin/env python3
"""Tests gradus_check.torch: correct gradients pass, modules are checked by name, subtle faults are detected."""
import inspect
import sys
import unittest
import warnings

try:
    import torch
except ImportError:
    sys.exit(print("SKIPPED: torch is not installed. Run pip install torch"))

import gradus_check

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def function_of(forward, backward):
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *x):
            ctx.save_for_backward(*x)
            return forward(*x)

        @staticmethod
        def backward(ctx, dy):
            return backward(ctx, dy, *ctx.saved_tensors)
    return Function.apply


class Torch(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.x, self.w = torch.randn(3, 4), torch.randn(4, 2)

    def passes(self, report):
        self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual(report.json()["findings"], [], report)

    def fails(self, report, cause):
        self.assertEqual(report.verdict, "FAIL", report)
        self.assertIn(cause, report.causes().values(), report)

    def test_right_functions_pass(self):
        self.passes(gradus_check.torch(torch.matmul, self.x, self.w))
        self.passes(gradus_check.torch(lambda x: torch.softmax(x, -1), self.x.double()))
        self.passes(gradus_check.torch(lambda x: (x.sum(), x.t().exp()), self.x))  # two outputs
        self.passes(gradus_check.torch(lambda x, rows: x[rows], self.x, torch.tensor([2, 0, 2])))
        self.passes(gradus_check.torch(lambda x: x.sum(), self.x))
        self.passes(gradus_check.torch(lambda x, y: x * y, torch.randn(()), torch.randn(3)))

    def test_modules_by_the_names_of_their_parameters(self):
        net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LayerNorm(3), torch.nn.Dropout(0.3))
        before = [p.clone() for p in net.parameters()]
        report = gradus_check.torch(net, self.x)
        self.passes(report)
        self.assertEqual([i["name"] for i in report.json()["inputs"]], ["x0", "0.weight", "0.bias", "1.weight",
                                                                       "1.bias"])
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, net.parameters())))
        self.assertTrue(all(p.grad is None and p.dtype == torch.float32 for p in net.parameters()))
        norm = torch.nn.BatchNorm1d(4)
        self.passes(gradus_check.torch(norm, self.x))
        self.assertEqual(int(norm.num_batches_tracked), 0)

    def test_second_derivatives(self):
        self.passes(gradus_check.torch(torch.tanh, self.x, second=True))

        def backward(ctx, dy, x):
            return 2 * x.detach() * dy
        detached = function_of(lambda x: x * x, backward)
        self.passes(gradus_check.torch(detached, self.x))
        self.assertFalse(gradus_check.torch(detached, self.x, second=True))

    def test_the_place_is_the_backward(self):
        class Half(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * x

            @staticmethod
            def backward(ctx, dy):
                return dy
        line = inspect.getsourcelines(Half.backward)[1] + 1

        class Net(torch.nn.Module):
            def forward(self, x):
                return Half.apply(x) + x
        for function in (Half.apply, lambda x: Half.apply(x) + 1, Net()):
            report = gradus_check.torch(function, self.x)
            (result,) = report.sarif()["runs"][0]["results"]
            place = result["locations"][0]["physicalLocation"]
            self.assertEqual(place["region"]["startLine"], line, report)
            self.assertIn(f"test_torch.py,line={line},", report.annotation())
        self.assertEqual(gradus_check.torch(torch.tanh, self.x).annotation(), "")

    def test_conditions(self):
        def walks(ctx, dy, x):
            flat = torch.empty(0, dtype=dy.dtype).set_(dy.untyped_storage())
            return 2 * x * torch.stack([flat[min(i, flat.numel() - 1)] for i in range(x.numel())]).view(x.shape)
        self.fails(gradus_check.torch(function_of(lambda x: x * x, walks), self.x), "UPSTREAM LAYOUT")

        kept = {}

        def one_buffer(ctx, dy, x):
            return kept.setdefault(x.dtype, torch.empty_like(x)).copy_(2 * x * dy)
        self.fails(gradus_check.torch(function_of(lambda x: x * x, one_buffer), self.x), "ACCUMULATION")

        def unfinished(ctx, dy, x):
            dx = torch.empty_like(x)
            dx[:-1] = (2 * x * dy)[:-1]
            if not dx[-1].isnan().any():
                dx[-1] = (2 * x * dy)[-1]  # correct by chance
            return dx
        self.fails(gradus_check.torch(function_of(lambda x: x * x, unfinished), self.x), "NEVER WRITTEN")

        def clipped(ctx, dy, x):
            return 2 * x * dy.clamp(-1, 1)
        self.fails(gradus_check.torch(function_of(lambda x: x * x, clipped), self.x), "NOT LINEAR")

        def wants(ctx, dy, x, w):
            half = 1.0 if all(ctx.needs_input_grad) else 0.5
            return dy @ w.t() * half, x.t() @ dy * half
        self.fails(gradus_check.torch(function_of(torch.matmul, wants), self.x, self.w), "WANTS")

    def test_float32(self):
        def rough(ctx, dy, x):
            return 2 * x * dy * (1.0 if x.dtype == torch.float64 else 1.001)
        f = function_of(lambda x: x * x, rough)
        self.fails(gradus_check.torch(f, self.x), "PRECISION")
        self.passes(gradus_check.torch(f, self.x.double()))

        def float_only(x):
            if x.dtype != torch.float32:
                raise TypeError("the kernel supports only float32")
            return f(x)
        report = gradus_check.torch(float_only, self.x, reference=lambda x: x * x)
        self.assertEqual(report.verdict, "FAIL", report)
        self.assertTrue(gradus_check.torch(float_only, self.x, resolution=1e-2))

    def test_what_was_set_before_is_set_after(self):
        state = torch.get_rng_state()
        gradus_check.torch(lambda x: torch.nn.functional.dropout(x, 0.5), self.x)
        self.assertTrue(torch.equal(state, torch.get_rng_state()))
        self.assertEqual(torch.get_deterministic_debug_mode(), 0)
        with torch.no_grad():
            self.passes(gradus_check.torch(torch.tanh, self.x))
            self.assertFalse(torch.is_grad_enabled())


if __name__ == "__main__":
    unittest.main()
