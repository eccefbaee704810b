"""Conditions under which otherwise correct gradients may be wrong. Each one compares two gradients."""
import contextlib
import math
import time
import warnings

import torch

LAYOUT = ("LAYOUT", "the same values with other strides or another offset give another result",
          "call x.contiguous() before data_ptr(), or use stride()")
UPSTREAM = ("UPSTREAM LAYOUT", "dy is read as if it were row-major, but it may have other strides",
            "call dy.contiguous() before data_ptr(), or use dy.stride(): sum() and expand() return strides of 0, "
            "transpose() returns them swapped")
ACCUMULATION = ("ACCUMULATION", "correct as the only gradient, wrong when added to another",
                "return the gradient in a separate buffer that is neither kept nor reused")
STATE = ("KEEPS STATE", "the state that forward saves for backward is overwritten by the next forward call",
         "use ctx.save_for_backward, which saves separately for each call")
SAME_INPUT = ("SAME INPUT TWICE", "correct for two inputs, wrong if both are the same tensor",
              "do not compare tensors or their storage")
WANTS = ("WANTS", "correct if all inputs require a gradient, wrong if only some do",
         "check ctx.needs_input_grad: a sum, a product or a saved tensor that another input needs is missing")
AGAIN = ("NOT DETERMINISTIC", "the same inputs give different results in different runs",
         "fix the random seed, keep no state between calls, and look for uninitialized memory")
FORWARDS = ("TWO FORWARDS", "forward gives another result if nothing is recorded",
            "both must compute the same; only the saved tensors may depend on recording")
FRESH = ("NEVER WRITTEN", "some results are uninitialized memory",
         "do the loops reach every element? torch.empty is uninitialized: use torch.zeros where sums begin and where "
         "the gradient is 0")
LINEAR = ("NOT LINEAR", "the gradient of a sum is not the sum of the gradients",
          "look for abs, max, clamp, a square, or a constant applied to dy")
WRITES = ("WRITES TO ITS INPUTS", "a tensor changes that must only be read",
          "write to a clone() or to a separate buffer")
PRECISION = ("PRECISION", "correct in float64, but the error in float32 exceeds rounding",
             "sum in double where terms cancel, subtract the maximum before exp, and check constants that float32 "
             "cannot represent: an eps of 1e-10, a mask of -1e300")


def laid_out(x, how):
    """Copies x into a larger buffer of NaN: "a slice", "transposed", or "every second" element."""
    if how == "transposed":
        return x.permute(list(reversed(range(x.dim())))).contiguous().permute(list(reversed(range(x.dim()))))
    step, margin = (2, 0) if how == "every second" else (1, 2)
    sizes = [n + 2 * margin + 1 for n in x.shape[:-1]] + [n * step + 2 * margin + 1 for n in x.shape[-1:]]
    nan = x.is_floating_point() or x.is_complex()
    frame = torch.full(sizes or [5], math.nan if nan else 0, dtype=x.dtype)
    view = frame[tuple(slice(margin, margin + n * (step if i == x.dim() - 1 else 1), step if i == x.dim() - 1 else 1)
                       for i, n in enumerate(x.shape))] if x.dim() else frame[2]
    return view.copy_(x)


def repeated(x, axis=None):
    """Repeats x's first entry along an axis, or its first element, with strides of 0."""
    if axis is None:
        return x.reshape(-1)[:1].reshape([1] * x.dim()).expand(x.shape)
    return x.narrow(axis, 0, 1).expand(x.shape)


@contextlib.contextmanager
def nan_in_fresh_memory():
    before = torch.get_deterministic_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.set_deterministic_debug_mode("warn")  # fills torch.empty with NaN
        try:
            yield
        finally:
            torch.set_deterministic_debug_mode(before)


def real(tensor):
    """A complex tensor as real numbers, with an axis of size 2."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


class Conditions:
    """Adds its findings to the handle's report. Skips conditions after `until` on the monotonic clock."""

    def __init__(self, checked, handle, seed, resolution, until):
        self._s, self._handle, self._random = checked, handle, torch.Generator().manual_seed(seed + 100)
        self._reported, self._resolution, self._until, self._skipped = set(), resolution, until, 0
        self._moved = None  # results at inputs nearby
        self.x = checked.x
        y = checked.call([t.clone() for t in self.x]).detach()
        self.dy = self._other(y)
        self.y, self.dx = checked.run([t.clone() for t in self.x], self.dy.clone())

    def run(self):
        self._run()
        if self._skipped:
            self._handle.note(f"the budget left no time for {self._skipped} conditions")

    def _run(self):
        failed = len(self._reported)
        if not self._writes():
            return  # the inputs have changed
        self._same("in a second run", AGAIN, lambda: self._s.run(self.x, self.dy))
        with nan_in_fresh_memory():
            self._same("with fresh memory filled with NaN", FRESH, lambda: self._s.run(self.x, self.dy))
        self._unrecorded()
        self._sum_of_upstreams()
        if len(self._reported) > failed:
            return  # without reproducible results, other conditions mean nothing
        self._layouts()
        self._accumulation()
        self._same_twice()
        self._subsets()
        if self._s.float32:
            self._float32()

    def _other(self, like, size=1.0):
        """Random values in ±[1.5, 2.5) size."""
        shape = (*like.shape, 2) if like.is_complex() else like.shape
        sign = torch.rand(shape, generator=self._random) < 0.5
        values = (1.5 + torch.rand(shape, generator=self._random)) * (1 - 2.0 * sign) * size
        return (torch.view_as_complex(values) if like.is_complex() else values).to(like.dtype)

    def _same(self, what, cause, run, expected=None):
        """Compares run(), which returns (y or None, dx), with `expected` or the result without the condition."""
        if self._until and time.monotonic() > self._until:
            self._skipped += 1
            return True
        y, dx = expected or (self.y, self.dx)
        try:
            found_y, found = run()
        except Exception as error:  # pylint: disable=broad-except
            return self._report(0, cause, f"{what} the function throws: {type(error).__name__}: {error}")
        right = found_y is None or self._compare(what, cause, None, found_y, y)
        for k, (a, b) in enumerate(zip(found, dx)):
            if a is not None and b is not None:
                right = self._compare(what, cause, k, a, b) and right
        return right

    def _compare(self, what, cause, k, found, expected, rounding=None):
        """Two orders of n additions differ by √n roundings of the added values; 64 allows for a sequence of operations.
        The added values may be larger than the sum (|dy| |y| / |x|), and rounding errors of the inputs propagate."""
        if torch.equal(found, expected):
            return self._report(k or 0)
        name = "out" if k is None else "d" + self._s.names[k]
        if found.shape != expected.shape:
            return self._report(k or 0, cause, f"{what}: {name} has the shape {list(found.shape)}, not "
                                             f"{list(expected.shape)}")
        a, b = real(found.detach()).double(), real(expected.detach()).double()
        apart = torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, (a - b).abs().nan_to_num(math.inf, math.inf))
        if apart.numel() == 0 or not apart.max() > 0:
            return self._report(k or 0)
        if rounding is None:
            n = max(self.y.numel(), *(t.numel() for t in self.x))
            rounding = 64 * math.sqrt(n) * torch.finfo(self.y.dtype).eps
            largest = b.abs().nan_to_num(0, 0, 0).max()
            rounding = rounding * (largest + self._carried(k)) + self._resolution * largest
        if torch.is_tensor(rounding) and rounding.dim() and found.is_complex():
            rounding = rounding.unsqueeze(-1).expand(a.shape)
        worst = (apart / rounding).argmax() if torch.is_tensor(rounding) and rounding.dim() else apart.argmax()
        limit = rounding.reshape(-1)[worst] if torch.is_tensor(rounding) and rounding.dim() else rounding
        if apart.reshape(-1)[worst] <= limit:
            return self._report(k or 0)
        at = [int(i) for i in torch.unravel_index(worst, apart.shape)] if apart.dim() else ""
        return self._report(k or 0, cause, f"{what}: {name}{at} is {float(a.reshape(-1)[worst]):.10g}, not "
                                         f"{float(b.reshape(-1)[worst]):.10g}")

    def _report(self, k, cause=None, note=None):
        if note is None or (k, cause) in self._reported:
            self._handle.condition(k)
            return note is None
        self._reported.add((k, cause))
        self._handle.condition(k, note, cause)
        return False

    def _carried(self, k):
        """The change of gradient k per relative change of the inputs, plus the size of its terms."""
        nudge = 2.0**-30 if self.y.dtype in (torch.float64, torch.complex128) else 2.0**-12
        if self._moved is None:
            x = [t * (1 + nudge * self._other(t) / 2) if w else t for t, w in zip(self.x, self._s.wanted)]
            self._moved = self._s.run(x, self.dy)
        y, dx = self._moved
        moved, before = (y, self.y) if k is None else (dx[k], self.dx[k])
        change = (moved - before).abs().nan_to_num(0, 0, 0).max()
        terms = 0
        if k is not None and self.y.numel():
            unit = float(self.x[k].detach().abs().square().mean().sqrt()) or 1.0
            terms = self.dy.abs().max() * self.y.abs().nan_to_num(0, 0, 0).max() / unit
        return change / nudge + terms

    def _unrecorded(self):
        def run():
            with torch.no_grad():
                return self._s.call(self.x), []
        self._same("under no_grad()", FORWARDS, run)

    def _writes(self):
        x, dy = self._s.leaves([t.clone() for t in self.x]), self.dy.clone()
        y = self._s.call(x)
        right = self._unchanged("forward", x)
        before = y.detach().clone()
        self._s.gradients(y, x, dy)
        right = self._compare("after backward, in the output of forward", WRITES, None, y, before, 0.0) and right
        if not torch.equal(dy, self.dy):
            right = self._report(0, WRITES, "backward changes dy, which it must only read")
        return self._unchanged("backward", x) and right

    def _unchanged(self, what, x):
        right = True
        for k, t in enumerate(x):
            if not torch.equal(t, self.x[k]):
                right = self._report(k, WRITES, f"{what} changes {self._s.names[k]}, which it must only read")
        return right

    def _sum_of_upstreams(self):
        for _ in range(3):  # a threshold matters only if one term is much smaller than the other
            other = self._other(self.dy)
            dx = self._s.run(self.x, other)[1]
            self._same("for a sum of two upstream gradients", LINEAR, lambda: (None, self._s.run(
                self.x, self.dy + other)[1]), (None, self._added(dx, self.dx)))

    @staticmethod
    def _added(a, b):
        return [None if g is None else g + h for g, h in zip(a, b)]

    @staticmethod
    def _result(run):
        try:
            return run()
        except Exception:  # pylint: disable=broad-except
            return None

    def _equal(self, result):
        """True if the results have the same bits as without the condition."""
        return all(a is None or torch.equal(a, b) for a, b in zip([result[0], *result[1]], [self.y, *self.dx]))

    def _layouts(self):
        for how, inputs, upstream in (
                ("slice", "inputs that are slices of larger ones", "an upstream gradient that is a slice of a larger one"),
                ("transposed", "transposed inputs", "a transposed upstream gradient"),
                ("every second", "inputs of every second element in memory",
                 "an upstream gradient of every second element in memory")):
            x = [laid_out(t, how) if k < self._s.given else t for k, t in enumerate(self.x)]
            dy = laid_out(self.dy, how)
            both = self._result(lambda: self._s.run(x, dy))  # one run for two conditions, if they hold
            same = both and self._equal(both)
            self._same("for " + inputs, LAYOUT, lambda: both if same else self._s.run(x, self.dy))
            self._same("for " + upstream, UPSTREAM, lambda: both if same else self._s.run(self.x, dy))
        views = [next((repeated(t, i) for i in range(t.dim()) if t.shape[i] > 1 and k < self._s.given), t)
                 for k, t in enumerate(self.x)]
        with contextlib.suppress(Exception):  # the function may reject equal rows
            expected = self._s.run([t.clone(memory_format=torch.contiguous_format) for t in views], self.dy)
            self._same("for inputs that expand() repeats", LAYOUT, lambda: self._s.run(views, self.dy), expected)
        if self.dy.numel() == 0:
            return
        for axis in [None, *(i for i in range(self.dy.dim()) if self.dy.dim() > 1 and self.dy.shape[i] > 1)]:
            view = repeated(self.dy, axis)
            what = "of one repeated value, as from sum()" if axis is None else f"repeated along axis {axis}"
            self._same(f"for an upstream gradient {what}", UPSTREAM, lambda: self._s.run(self.x, view), self._s.run(
                self.x, view.clone(memory_format=torch.contiguous_format)))

    def _backward(self, upstream, before=None, beside=None, graphs=1):
        """Returns .grad after one backward pass per entry of `upstream`, through `graphs` graphs in turn."""
        leaves = self._s.leaves(self.x)
        for t, g in zip(leaves, before or leaves):
            t.grad = g.clone() if before and g is not None else None
        x = [t * 1.0 if beside and t.requires_grad and k < self._s.given else t for k, t in enumerate(leaves)]
        outputs = [self._s.call(x) for _ in range(graphs)]
        if beside:
            outputs += [t for t in x if t.requires_grad]
            torch.autograd.backward(outputs, upstream + [g for g in beside if g is not None])
        else:
            for i, dy in enumerate(upstream):
                outputs[i % graphs].backward(dy, retain_graph=True)
        return None, [t.grad if t.grad is not None else torch.zeros_like(t) if t.requires_grad else None
                      for t in leaves]

    def _accumulation(self):
        if not any(self._s.wanted) or not self._s.call(self._s.leaves(self.x)).requires_grad:
            return
        size = [1.0 if g is None else float(g.abs().nan_to_num(0, 0, 0).max()) or 1.0 for g in self.dx]
        other = [None if g is None else self._other(g, s) for g, s in zip(self.dx, size)]
        thrice = [None if g is None else 3 * g for g in self.dx]
        self._same("with an existing .grad", ACCUMULATION, lambda: self._backward(
            [self.dy], before=other), (None, self._added(self.dx, other)))
        repeats = self._s.grad is torch.autograd.grad  # functions that need backward() may free their state in it
        if repeats:
            self._same("for repeated backward passes with the same dy", ACCUMULATION, lambda: self._backward(
                [self.dy, self.dy, self.dy]), (None, thrice))
        self._same("after a call of f with other inputs", STATE, self._after_another_call)
        self._same("for the sum of f(x) and 2 f(x)", ACCUMULATION, lambda: self._backward(
            [self.dy, 2 * self.dy], graphs=2), (None, thrice))
        self._same("with x also used outside f", ACCUMULATION, lambda: self._backward(
            [self.dy], beside=other), (None, self._added(self.dx, other)))

        def first_stay():
            x = self._s.leaves(self.x)
            y = self._s.call(x)
            first = self._s.gradients(y, x, self.dy, retain_graph=True)
            self._s.gradients(y, x, 2 * self.dy)
            return None, first
        if repeats:
            self._same("in the gradients of the first backward pass after a second one", ACCUMULATION, first_stay)

    def _after_another_call(self):
        x = self._s.leaves(self.x)
        y = self._s.call(x)
        # Parameters stay, because a backward pass that calls forward again reads them.
        others = [t * (1 + self._other(t) / 8) if w and k < self._s.given else x[k]
                  for k, (t, w) in enumerate(zip(self.x, self._s.wanted))]
        with contextlib.suppress(Exception):  # the function may reject them
            self._s.call(others)
        return None, self._s.gradients(y, x, self.dy)

    def _same_twice(self):
        pairs = [(i, j) for i in range(len(self.x)) for j in range(i + 1, len(self.x)) if self._s.wanted[i]
                 and self._s.wanted[j] and self.x[i].shape == self.x[j].shape]
        for i, j in pairs[:3]:
            copies = [self.x[i].clone() if k == j else t for k, t in enumerate(self.x)]

            def run():
                x = self._s.leaves(copies)
                x[j] = x[i]
                y = self._s.call(x)
                return y.detach(), [g if k == i else None for k, g in enumerate(self._s.gradients(y, x, self.dy))]
            with contextlib.suppress(Exception):
                y, dx = self._s.run(copies, self.dy)
                self._same(f"with one tensor for {self._s.names[i]} and {self._s.names[j]}", SAME_INPUT, run,
                           (y, [dx[i] + dx[j] if k == i else None for k in range(len(dx))]))

    def _subsets(self):
        wanted = [k for k, w in enumerate(self._s.wanted) if w]
        for k in wanted if len(wanted) > 1 else []:
            alone = [i == k for i in range(len(self.x))]
            others = [w and i != k for i, w in enumerate(self._s.wanted)]
            self._same(f"when only {self._s.names[k]} requires a gradient", WANTS, lambda: self._s.run(
                self.x, self.dy, alone))
            self._same(f"when {self._s.names[k]} requires no gradient", WANTS, lambda: self._s.run(
                self.x, self.dy, others))

    def _float32(self):
        """|g32 - g64| <= 8 √n 2⁻²⁴ (|J|ᵀ|dy| + effect of rounding x); see check/precision.cpp."""
        rough = self._s.converted(self.x, False)
        dy = self._s.converted([self.dy], False)[0]
        found = self._s.run(rough, dy)[1]
        there = Conditions.__new__(Conditions)
        there.__dict__.update(self.__dict__, x=self._s.converted(rough, True), dy=self._s.converted([dy], True)[0])
        there.y, there.dx = self._s.run(there.x, there.dy)
        there._moved = None
        rows = torch.diag(there.dy.reshape(-1)) if there.dy.numel() <= 256 else there.dy.reshape(1, -1)
        parts = [self._s.run(there.x, row.reshape(there.dy.shape))[1] for row in rows]
        rounding = 8 * math.sqrt(max(t.numel() for t in [self.y, *self.x])) * 2.0**-24
        for k, g in enumerate(found):
            if g is not None:
                size = sum(part[k].abs() for part in parts) * math.sqrt(there.dy.numel() / len(parts) / max(
                    1, len(rows))) if len(rows) == 1 else sum(part[k].abs() for part in parts)
                there._compare("in float32", PRECISION, k, g, there.dx[k], rounding * (
                    size + there._carried(k)) + 1e-36)
