#!/usr/bin/env python3
"""Tests gradus_check.check on NumPy functions, and on lists without NumPy."""
import functools
import math
import subprocess
import sys
import unittest

import gradus_check

try:
    import numpy as np
except ImportError:
    np = None


def product(x):
    return x[0] * x[1]


class Lists(unittest.TestCase):
    """Tests that also run with NumPy hidden."""

    def test_lists_and_numbers(self):
        right = gradus_check.check(product, lambda x, dy: [x[1] * dy, x[0] * dy], [2.0, 3.0])
        self.assertEqual(right.verdict, "PASS", right)
        wrong = gradus_check.check(product, lambda x, dy: [x[0] * dy, x[1] * dy], [2.0, 3.0])
        self.assertEqual(wrong.verdict, "FAIL", wrong)
        self.assertTrue(gradus_check.check(math.tanh, lambda x, dy: dy * (1 - math.tanh(x)**2), 0.3))

    def test_nested_lists(self):
        def rows(m):
            return [sum(v * v for v in row) for row in m]

        def vjp(m, dy):
            return [[2 * v * dy[i] for v in row] for i, row in enumerate(m)]
        self.assertTrue(gradus_check.check(rows, vjp, [[1.0, 2.0, 3.0], [-1.0, 0.5, 4.0]]))


@unittest.skipUnless(np, "NumPy is not installed. Run pip install numpy")
class Arrays(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(3).normal(size=(3, 4))

    def test_verdict_report_and_cause(self):
        def softmax(x):
            e = np.exp(x - x.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)
        report = gradus_check.check(softmax, lambda x, dy: softmax(x) * dy, self.x, names=["x"])
        self.assertFalse(report)
        self.assertEqual(report.causes(), {"x": "MISSING TERM"})
        self.assertIn("GRADCHECK FAIL  softmax", str(report))
        self.assertEqual(report.json()["inputs"][0]["shape"], [3, 4])
        self.assertIn("\x1b[", report.text(colour=True))
        with self.assertRaisesRegex(AssertionError, "MISSING TERM"):
            report.require()

    def test_the_place_is_the_derivative(self):
        def gradient(x):
            return x
        line = gradient.__code__.co_firstlineno
        for vjp in (gradus_check.jacobian(gradient), functools.partial(lambda k, x, dy: k * x * dy, 1.0)):
            self.assertIn(f"test_arrays.py,line={line},", gradus_check.check(
                lambda x: (x * x).sum(), vjp, self.x).annotation())
            line += 3
        builtin = gradus_check.check(np.sin, gradus_check.jacobian(np.sin), 0.5)
        self.assertIn(f"test_arrays.py,line={line + 1},", builtin.annotation())  # the caller's

    def test_several_outputs_of_different_shapes(self):
        def f(x):
            return x * x, x.sum()

        def vjp(x, dy):
            return 2 * x * dy[0] + dy[1]
        self.assertTrue(gradus_check.check(f, vjp, self.x))
        self.assertFalse(gradus_check.check(f, lambda x, dy: 2 * x * dy[0] - dy[1], self.x))

    def test_a_gradient_without_imaginary_part_is_real(self):
        self.assertTrue(gradus_check.check(lambda x: x * x, lambda x, dy: 2 * x * dy + 0j, self.x))
        self.assertFalse(gradus_check.check(lambda x: x * x, lambda x, dy: 2 * x * dy + 1j, self.x))

    def test_several_inputs_and_indices(self):
        rows = np.array([2, 0, 2])

        def vjp(x, w, at, dy):
            dx = np.zeros_like(x)
            np.add.at(dx, at, dy @ w.T)
            return dx, x[at].T @ dy
        w = self.x[:, :2].T @ self.x
        self.assertTrue(gradus_check.check(lambda x, w, at: x[at] @ w, vjp, self.x, w.T, rows))

        def assigned(x, w, at, dy):
            dx = np.zeros_like(x)
            dx[at] = dy @ w.T
            return dx, x[at].T @ dy
        wrong = gradus_check.check(lambda x, w, at: x[at] @ w, assigned, self.x, w.T, rows)
        self.assertEqual(wrong.causes(), {"x0": "PARTIAL SUM"}, wrong)

    def test_jacobian_and_gradient(self):
        a = self.x[:, :3]
        self.assertTrue(gradus_check.check(lambda v: a @ v, gradus_check.jacobian(lambda v: a), np.ones(3)))
        self.assertFalse(gradus_check.check(lambda v: a @ v, gradus_check.jacobian(lambda v: a.T), np.ones(3)))
        self.assertTrue(gradus_check.check(np.sum, gradus_check.jacobian(np.ones_like), self.x))

    def test_float32(self):
        x = self.x.astype(np.float32)

        def vjp(x, dy):
            return np.cos(x) * dy
        self.assertEqual(gradus_check.check(np.sin, vjp, x).verdict, "INCONCLUSIVE")
        self.assertTrue(gradus_check.check(np.sin, vjp, x, resolution=1e-2))
        self.assertTrue(gradus_check.check(np.sin, vjp, x, reference=np.sin))
        self.assertFalse(gradus_check.check(np.sin, lambda x, dy: 1.001 * vjp(x, dy), x, reference=np.sin))

    def test_what_goes_wrong_inside_is_a_line_of_the_report(self):
        def vjp(x, dy):
            raise RuntimeError("no such branch")
        report = gradus_check.check(np.sin, vjp, self.x)
        self.assertEqual(report.verdict, "FAIL")
        self.assertIn("RuntimeError: no such branch", str(report))
        self.assertIn("changes its argument 0", str(gradus_check.check(np.sin, lambda x, dy: x.__imul__(dy), self.x)))
        self.assertIn("not 12", str(gradus_check.check(np.sin, lambda x, dy: dy[0], self.x)))

    def test_wrong_calls(self):
        with self.assertRaisesRegex(ValueError, "unknown option 'rtoll'"):
            gradus_check.check(np.sin, lambda x, dy: dy, self.x, rtoll=1)
        with self.assertRaisesRegex(ValueError, "none of the 1 inputs is differentiable"):
            gradus_check.check(np.abs, lambda x, dy: dy, np.arange(3))

    def test_an_interrupt_is_no_fault_of_the_function(self):
        def vjp(x, dy):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            gradus_check.check(np.sin, vjp, self.x)

    def test_lists_where_numpy_is_hidden(self):
        hidden = "import sys; sys.modules['numpy'] = None; sys.argv = ['x', 'Lists']; import runpy; "
        subprocess.run([sys.executable, "-c", hidden + f"runpy.run_path({__file__!r}, run_name='__main__')"],
                       check=True)


if __name__ == "__main__":
    unittest.main()
