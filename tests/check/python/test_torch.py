#!/usr/bin/env python3
"""Tests gradus_check.torch: correct gradients pass, modules are checked by name, subtle faults are detected."""
import inspect
import sys
import time
import unittest
import warnings

try:
    import torch
except ImportError:
    sys.exit(print("SKIPPED: torch is not installed. Run pip install torch"))

import torch.utils.checkpoint

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

        def shifted(x):
            x -= x.max()  # does not change the softmax
            return torch.softmax(x, -1)

        def softmax(ctx, dy, x):
            y = torch.softmax(x, -1)
            return y * (dy - (y * dy).sum(-1, keepdim=True))
        self.fails(gradus_check.torch(function_of(shifted, softmax), self.x), "WRITES TO ITS INPUTS")

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

    def test_modules_that_call_forward_again_in_backward(self):
        class Checkpointed(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 2)

            def forward(self, x):
                return torch.utils.checkpoint.checkpoint(lambda z: torch.tanh(self.linear(z)), x, use_reentrant=False)
        self.passes(gradus_check.torch(Checkpointed(), self.x))

        def reentrant(x, w):  # torch.autograd.grad() refuses it
            return torch.utils.checkpoint.checkpoint(lambda x, w: torch.tanh(x @ w), x, w, use_reentrant=True)
        report = gradus_check.torch(reentrant, self.x, self.w)
        self.passes(report)
        self.assertIn("backward()", " ".join(report.json()["notes"]))

    def test_parameters_that_two_modules_share(self):
        first = torch.nn.Linear(3, 3, bias=False)
        second = torch.nn.Linear(3, 3, bias=False)
        second.weight = first.weight
        report = gradus_check.torch(torch.nn.Sequential(first, torch.nn.Tanh(), second), self.x[:, :3])
        self.passes(report)
        self.assertEqual([i["name"] for i in report.json()["inputs"]], ["x0", "0.weight"])

    def test_results_that_differ_by_rounding_are_deterministic(self):
        calls = [0]

        def wobbles(x):
            calls[0] += 1
            return x.exp() * (1 + 2.0**-52 * (calls[0] % 3))
        self.passes(gradus_check.torch(wobbles, self.x.double()))

        def changes(x):
            calls[0] += 1
            return x.exp() * (1 + 1e-9 * (calls[0] % 3))
        self.assertEqual(gradus_check.torch(changes, self.x.double()).verdict, "INCONCLUSIVE")

    def test_a_resolution_holds_for_derivatives_of_zero(self):
        def approximate(ctx, dy, x):
            return 2 * x * dy + 1e-6 * dy.roll(1)  # off the diagonal, where the derivative is 0
        x = torch.tensor([0.0, 0.7, -1.3, 2.1], dtype=torch.float64)
        f = function_of(lambda x: x * x, approximate)
        self.assertTrue(gradus_check.torch(f, x, resolution=1e-3))
        self.assertEqual(gradus_check.torch(f, x).verdict, "FAIL")

    def test_complex_tensors_are_pairs_of_real_numbers(self):
        z = torch.randn(3, 2, dtype=torch.complex128)
        report = gradus_check.torch(lambda z: z * z.exp(), z)
        self.passes(report)
        self.assertEqual(report.json()["inputs"][0]["shape"], [3, 2, 2])
        self.passes(gradus_check.torch(torch.polar, self.x.double().abs(), self.x.double()))
        self.passes(gradus_check.torch(lambda z: (z.abs(), z.conj(), z.real), z))
        self.passes(gradus_check.torch(torch.matmul, z.to(torch.complex64), z.to(torch.complex64).t()))
        self.passes(gradus_check.torch(lambda z: z * z, z, second="auto"))

        def forgets_to_conjugate(ctx, dy, z):
            return 2 * z * dy
        report = gradus_check.torch(function_of(lambda z: z * z, forgets_to_conjugate), z)
        self.assertEqual(report.verdict, "FAIL", report)

    def test_a_function_that_computes_in_float32_is_inconclusive(self):
        calls = [0]

        def float_inside(x):
            calls[0] += 1
            return x.float().exp().double()
        report = gradus_check.torch(float_inside, self.x.double())
        self.assertEqual(report.verdict, "INCONCLUSIVE", report)
        self.assertIn("float", str(report))
        self.assertLess(calls[0], 10)
        self.passes(gradus_check.torch(lambda x: (x > 0).double() + 0 * x, self.x.double()))

    def test_a_missing_derivative_has_a_verdict_of_its_own(self):
        def missing(ctx, dy, x):
            raise NotImplementedError("no rule for this yet")
        report = gradus_check.torch(function_of(lambda x: x * x, missing), self.x)
        self.assertEqual(report.verdict, "UNIMPLEMENTED", report)
        self.assertFalse(report)

    def test_causes_of_exceptions_and_shapes(self):
        def throws(ctx, dy, x):
            raise TypeError("no")
        self.fails(gradus_check.torch(function_of(lambda x: x * x, throws), self.x), "THROWS")
        report = gradus_check.check(lambda x: x * 2, lambda x, dy: dy[:1], [1.0, 2.0, 3.0])
        self.fails(report, "SHAPE")

    def test_reports_name_outputs_and_the_size_of_errors(self):
        def slightly(ctx, dy, x):
            return 2 * x * dy * (1 + 3e-5)
        square = function_of(lambda x: x * x, slightly)
        report = gradus_check.torch(lambda x: {"sum": x.sum(), "square": square(x)}, self.x)
        self.assertEqual({f["output_name"] for f in report.json()["findings"]}, {"out.square"}, report)
        self.assertAlmostEqual(report.json()["inputs"][0]["error"], 3e-5, delta=1e-6)
        report = gradus_check.torch(lambda x: (x.exp(), None, x > 0, x.detach() * 2), self.x)
        self.assertTrue(report)
        for name in ("out1", "out2", "out3"):
            self.assertIn(name, " ".join(report.json()["notes"]))
        self.assertEqual(gradus_check.torch(lambda x: x.detach() * 2, self.x).verdict, "FAIL")

    def test_a_detached_gradient_is_named(self):
        constant = function_of(torch.square, lambda ctx, dy, x: (2 * x * dy).detach())
        self.assertIn("no graph", str(gradus_check.torch(constant, self.x, second="auto").second))

    def test_second_auto_checks_both_derivatives(self):
        def backward(ctx, dy, x):
            return 2 * x.detach() * dy
        report = gradus_check.torch(function_of(lambda x: x * x, backward), self.x, second="auto")
        self.assertEqual(report.verdict, "FAIL", report)
        self.assertEqual({f["output_name"] for f in report.second.json()["findings"]}, {"dx0"})
        self.assertIn("::error", report.annotation())
        self.assertEqual(len(report.sarif()["runs"][0]["results"]), 1)
        self.assertEqual(gradus_check.torch(torch.tanh, self.x, second="auto").second.verdict, "PASS")

        class Once(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, dy):
                return 2 * ctx.saved_tensors[0] * dy
        report = gradus_check.torch(Once.apply, self.x, second="auto")
        self.passes(report)
        self.assertIsNone(report.second)

    def test_other_arguments_are_passed_on(self):
        self.passes(gradus_check.torch(torch.nn.functional.gelu, self.x, kwargs={"approximate": "tanh"}))
        self.passes(gradus_check.torch(torch.cumsum, self.x, 1))
        report = gradus_check.torch(torch.nn.functional.linear, self.x, kwargs={"weight": self.w.t()})
        self.passes(report)
        self.assertEqual([i["name"] for i in report.json()["inputs"]], ["x0", "weight"])

    def test_a_budget_ends_the_check(self):
        def slow(x):
            time.sleep(0.01)
            return x.exp()
        begin = time.monotonic()
        report = gradus_check.torch(slow, torch.randn(40, dtype=torch.float64), budget=1)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertIn("budget", " ".join(report.json()["notes"]) + str(report))

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
