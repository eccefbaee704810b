"""check_torch() for torch.autograd.Functions, functions of tensors, and modules."""
import copy
import time

import torch

from ._library import Handle, is_unimplemented
from ._places import backward_line
from ._report import Report
from ._torch_conditions import Conditions, real


def check_torch(function, *inputs, kwargs=None, name=None, names=(), seed=0x5EED, reference=None, conditions=True,
                second=False, budget=None, **options):
    """Compares autograd's gradients of function(*inputs, **kwargs) with finite differences, then tests them under
    conditions that often break gradients: strided, expanded and reused upstream gradients, accumulation into .grad, a
    second backward pass, float32. See docs/checking/python.md.

    Floating-point and complex tensors are checked, complex ones as pairs of real numbers. Other arguments are passed on
    unchanged. A module's parameters are inputs too, by name. float32 inputs are checked in float64, and the float32
    gradient is compared with that. A function that supports only float32 needs reference (the same in float64) or
    resolution=1e-3.

    Random sums of outputs and directions of inputs are compared first; their report states what they may miss. If they
    fail, or with full=True, every derivative is compared.

    second: True checks the gradient of the gradient instead; "auto" checks both, the latter if the function supports it.
    budget: time limit in seconds. options: rtol, atol, resolution, full, sampled, as in docs/checking/cpp.md.
    """
    began = time.monotonic()
    rough = bool(reference or options.get("resolution"))
    checked = CheckedFunction(function, inputs, kwargs or {}, name, names, seed, rough)
    with torch.enable_grad(), torch.random.fork_rng(devices=[]):
        if second is True:
            checked = checked.gradient()
        handle = _compare(checked, reference, budget, options)
        if conditions and not any(f["kind"] == "structure" for f in handle.json()["findings"]):
            until = began + budget if budget else None
            Conditions(checked, handle, seed, options.get("resolution", 0), until).run()
        for note in checked.notes:
            handle.note(note)
        report = Report(handle)
        if second == "auto" and report and checked.twice_differentiable():
            left = budget and max(0.1, began + budget - time.monotonic())
            gradient = checked.gradient()
            handle = _compare(gradient, None, left, options)
            for note in gradient.notes:
                handle.note(note)
            report.second = Report(handle)
        if not report:
            handle.place(*backward_line(function, lambda: checked.call(checked.leaves(checked.x))))
    return report


def _compare(checked, reference, budget, options):
    handle = Handle(checked.name, _copy)
    for k, x in enumerate(checked.x):
        handle.input(checked.names[k], real(x).shape, _flat(x).tolist(), checked.wanted[k])
    y = checked.call(checked.leaves([t.clone() for t in checked.x])).detach()
    for part, shape in checked.parts:
        handle.output(shape, shape.numel(), part)
    handle.set("seed", checked.seed)
    handle.set("ulp", torch.finfo(y.dtype).eps)
    for option, value in {"quick": True, "budget": budget, **options}.items():
        if value is not None:
            handle.set(option, value)
    handle.run(lambda values: _flat(checked.call(checked.tensors(values))),
               lambda values, dy: [None if g is None else _flat(g) for g in checked.run(
                   checked.tensors(values), _tensor(dy, y))[1]],
               reference and (lambda values: _flat(checked.output(reference, checked.tensors(values, double=True)))))
    return handle


def _flat(tensor):
    return real(tensor.detach()).to(torch.float64).reshape(-1)


def _tensor(values, like, dtype=None):
    """A copy of the values in the shape of `like`."""
    flat = torch.frombuffer(values, dtype=torch.float64) if len(values) else torch.empty(0, dtype=torch.float64)
    flat = torch.view_as_complex(flat.reshape(-1, 2)) if like.is_complex() else flat
    return flat.to(dtype or like.dtype, copy=True).reshape(like.shape)


def _copy(tensor, to):
    torch.frombuffer(to, dtype=torch.float64).copy_(tensor)


def _named_parts(y, name=""):
    """(name, tensor) of each output: out, or out0, out1[0] … in sequences, out.key in dicts."""
    if isinstance(y, dict):
        return [part for k, each in y.items() for part in _named_parts(each, f"{name or 'out'}.{k}")]
    if isinstance(y, (list, tuple)):
        return [part for k, each in enumerate(y) for part in _named_parts(each, f"{name}[{k}]" if name else f"out{k}")]
    return [(name or "out", y)]


def _differentiable(value):
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


DETACHED = "the gradient has no graph: a second backward pass takes it for a constant"


class CheckedFunction:
    """A function whose tensors are all arguments, and its metadata."""

    prefix = ""  # of the outputs' names

    def __init__(self, function, inputs, kwargs, name, names, seed, rough):
        owner = getattr(function, "__self__", None)  # for MyFunction.apply
        self.name = name or (owner.__name__ if isinstance(owner, type) else
                             getattr(function, "__name__", type(function).__name__))
        self.seed, self.notes, self.parts, self.grad = seed, [], [], torch.autograd.grad
        values = [*inputs, *kwargs.values()]
        at = [i for i, value in enumerate(values) if isinstance(value, torch.Tensor)]
        every = [*(names[k] if k < len(names) else f"x{k}" for k in range(len(inputs))), *kwargs]
        self.names, inputs = [every[i] for i in at], [values[i] for i in at]
        self.given = len(inputs)  # without a module's parameters, whose layout is fixed
        called = function
        if isinstance(function, torch.nn.Module):
            called, parameters = self._open(function)
            inputs += parameters

        def call(f, x):
            arguments = list(values)
            for i, tensor in zip(at, x):
                arguments[i] = tensor
            positional = len(values) - len(kwargs)
            return f(*arguments[:positional], **dict(zip(kwargs, arguments[positional:])))
        self._call = call
        self.function = called
        self.wanted = [_differentiable(t) for t in inputs]
        single = any(t.dtype in (torch.float32, torch.complex64) for t in inputs)
        self.float32 = single and not rough
        self.double = not (rough and single)
        self.x = self.converted(inputs, self.double)

    def _open(self, module):
        """Turns the parameters of a copy of the module into inputs. The parameters stay in place after a call, because
        a backward pass may call forward again."""
        module = copy.deepcopy(module)
        buffers = [(owner, name, b) for owner in module.modules() for name, b in owner._buffers.items() if b is not None]
        places, parameters = {}, {}
        for name, parameter in module.named_parameters(remove_duplicate=False):
            owner, _, last = name.rpartition(".")
            places.setdefault(parameter, []).append((module.get_submodule(owner), last))
            parameters.setdefault(parameter, name)
        self.names += parameters.values()

        def call(*arguments, **kwargs):
            double = not any(t.dtype in (torch.float32, torch.complex64) for t in self._now)
            for owner, name, b in buffers:
                owner._buffers[name] = self.converted([b], double)[0]
            for (parameter, owners), tensor in zip(places.items(), self._now[self.given:]):
                for owner, name in owners:
                    owner._parameters[name] = tensor
            return module(*arguments, **kwargs)
        return call, list(parameters)

    def gradient(self):
        """The function that computes the gradient from the inputs and dy."""
        y = self.call(self.x).detach()

        def gradient(*arguments):
            *x, dy = arguments
            with torch.enable_grad():
                x = [t if t.requires_grad or not w else t.detach().requires_grad_() for t, w in zip(x, self.wanted)]
                dx = torch.autograd.grad(self.call(x), [t for t, w in zip(x, self.wanted) if w], dy, create_graph=True,
                                         allow_unused=True)
            names = [name for name, w in zip(self.names, self.wanted) if w]
            return {name: g for name, g in zip(names, dx) if g is not None}
        generator = torch.Generator().manual_seed(self.seed)
        dy = torch.randn(y.shape, generator=generator, dtype=y.dtype)
        result = CheckedFunction(gradient, [*self.x, dy], {}, f"the gradient of {self.name}", [*self.names, "dy"],
                                 self.seed, not self.double)
        result.prefix = "d"
        return result

    def twice_differentiable(self):
        """False if backward is declared not to be differentiable."""
        if self.grad is not torch.autograd.grad:
            return False
        x = self.leaves(self.x)
        y = self.call(x)
        dy = torch.ones_like(y, requires_grad=True)
        asked = [t for t in x if t.requires_grad]
        return not _ends(torch.autograd.grad(y, asked, dy, create_graph=True, allow_unused=True))

    @staticmethod
    def converted(inputs, double):
        kinds = (torch.float64, torch.complex128) if double else (torch.float32, torch.complex64)
        return [t.detach().to(kinds[t.is_complex()] if _differentiable(t) else t.dtype).contiguous().clone()
                for t in inputs]

    def tensors(self, values, double=False):
        def like(x):
            return self.converted([x], double)[0].dtype if double else x.dtype
        return [_tensor(v, x, like(x)) if w else x for v, x, w in zip(values, self.x, self.wanted)]

    def call(self, x):
        return self.output(self.function, x)

    def output(self, function, x):
        """Calls function with a fixed random state; several outputs are concatenated."""
        torch.default_generator.manual_seed(self.seed)  # torch.manual_seed() is slow (CUDA)
        self._now = x
        y = self._call(function, x)
        if isinstance(y, torch.Tensor):
            self.parts = self.parts or [(None, real(y).shape)]
            return y
        every = _named_parts(y)
        if not self.parts:
            self._choose(every)
        return torch.cat([real(part).reshape(-1) for (_, part), chosen in zip(every, self._chosen) if chosen])

    def _choose(self, every):
        """Chooses the outputs to check. Those marked as not differentiable are left out, unless all are."""
        floating = [_differentiable(part) for _, part in every]
        marked = [f and not part.requires_grad for f, (_, part) in zip(floating, every)]
        if self.prefix or marked == floating:
            marked = [False] * len(every)
        self._chosen = [f and not m for f, m in zip(floating, marked)]
        for (name, part), chosen, m in zip(every, self._chosen, marked):
            kind = "requires no gradient" if m else "is None" if part is None else "is not a floating-point tensor"
            if chosen:
                self.parts.append((self.prefix + name[len("out."):] if self.prefix else name, real(part).shape))
            else:
                self.notes.append(f"{name} {kind}, and is not checked")
        if not self.parts:
            raise ValueError(f"{self.name}: no output is a floating-point tensor")

    def leaves(self, x, wanted=None):
        return [t.detach().requires_grad_(w) for t, w in zip(x, wanted or self.wanted)]

    def gradients(self, y, x, dy, **options):
        """One gradient per input: zeros if y does not depend on the input, None if not requested."""
        asked = [t for t in x if t.requires_grad]
        found = [None] * len(asked)
        if self.prefix and not y.requires_grad and DETACHED not in self.notes:
            self.notes.append(DETACHED)
        if y.requires_grad and asked:
            found = list(self.grad(y, asked, dy, allow_unused=True, **options))
            if any(g is None for g in found) and _ends([y]):
                raise NotImplementedError("a backward is marked once_differentiable, or has no derivative")
        found = [torch.zeros_like(t) if g is None else g.detach() for g, t in zip(found, asked)]
        return [found.pop(0) if t.requires_grad else None for t in x]

    def run(self, x, dy, wanted=None):
        """(y, dx). A function that refuses torch.autograd.grad, such as a reentrant checkpoint, gets backward()."""
        try:
            return self._run(x, dy, wanted)
        except RuntimeError as refused:
            if self.grad is not torch.autograd.grad or is_unimplemented(refused):
                raise
            self.grad = _backward
            try:
                result = self._run(x, dy, wanted)
            except Exception:
                self.grad = torch.autograd.grad
                raise refused from None
            self.notes.append(f"torch.autograd.grad() fails here, so gradients are those of backward(): {refused}")
            return result

    def _run(self, x, dy, wanted):
        x = self.leaves(x, wanted)
        y = self.call(x)
        before = y.detach().clone()  # backward may write to y
        dx = self.gradients(y, x, dy)
        return before, [None if g is None else g.clone() for g in dx]  # backward may keep this memory


def _ends(tensors):
    """True if a part of the graph refuses to be differentiated. torch.autograd.grad() returns None there."""
    nodes, seen = [t.grad_fn for t in tensors if t is not None], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if type(node).__name__ in ("Error", "NotImplemented"):
            return True
        nodes += [each for each, _ in node.next_functions]
    return False


def _backward(y, inputs, dy, allow_unused, **options):  # pylint: disable=unused-argument
    """torch.autograd.grad() by backward()."""
    for t in inputs:
        t.grad = None
    y.backward(dy, **options)
    return [t.grad for t in inputs]
