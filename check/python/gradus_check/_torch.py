"""check_torch() for torch.autograd.Functions, functions of tensors, and modules."""
import copy

import torch

from ._library import Handle
from ._places import backward_line
from ._report import Report
from ._torch_conditions import Conditions


def check_torch(function, *inputs, name=None, names=(), seed=0x5EED, reference=None, conditions=True, second=False,
                **options):
    """Compares autograd's gradients of function(*inputs) with finite differences, then tests them under conditions
    that often break gradients: strided, expanded and reused upstream gradients, accumulation into .grad, a second
    backward pass, float32. See docs/checking/python.md.

    A module's parameters are inputs too, by name. Tensors that are not floating-point are passed on unchanged. float32
    inputs are checked in float64, and the float32 gradient is compared with that. A function that supports only float32
    needs reference (the same in float64) or resolution=1e-3. second: also checks the gradient of the gradient.
    options: rtol, atol, resolution, full, sampled, as in docs/checking/cpp.md.
    """
    checked = CheckedFunction(function, inputs, names, seed, rough=bool(reference or options.get("resolution")))
    if second:
        return check_torch(*checked.gradient(), name=f"the gradient of {name or checked.name}", seed=seed,
                           conditions=conditions, **options)
    with torch.enable_grad():
        handle = Handle(name or checked.name)
        for k, x in enumerate(checked.x):
            handle.input(checked.names[k], tuple(x.shape), _flat(x), checked.wanted[k])
        y = checked.call(checked.x).detach()
        handle.output(tuple(y.shape), y.numel())
        handle.set("seed", seed)
        handle.set("ulp", torch.finfo(y.dtype).eps)
        for option, value in options.items():
            handle.set(option, value)
        handle.run(lambda values: _flat(checked.call(checked.tensors(values))),
                   lambda values, dy: [None if g is None else _flat(g) for g in checked.run(
                       checked.tensors(values), torch.tensor(dy, dtype=y.dtype).reshape(y.shape))[1]],
                   reference and (lambda values: _flat(checked.output(reference, checked.tensors(
                       values, torch.float64)))))
        if conditions and not any(f["kind"] == "structure" for f in handle.json()["findings"]):
            Conditions(checked, handle, seed).run()
        if handle.json()["verdict"] != "PASS":
            handle.place(*backward_line(function, lambda: checked.call(checked.leaves(checked.x))))
    return Report(handle)


def _flat(tensor):
    return tensor.detach().to(torch.float64).reshape(-1).tolist()


class CheckedFunction:
    """A function whose tensors are all arguments, and its metadata."""

    def __init__(self, function, inputs, names, seed, rough):
        owner = getattr(function, "__self__", None)  # for MyFunction.apply
        self.name = owner.__name__ if isinstance(owner, type) else getattr(function, "__name__", type(function).__name__)
        self._function, self._seed, self.original = function, seed, function
        self.names = [names[k] if k < len(names) else f"x{k}" for k in range(len(inputs))]
        self.given = len(inputs)  # without a module's parameters, whose layout is fixed
        if isinstance(function, torch.nn.Module):
            inputs = inputs + self._open(function)
        self.wanted = [t.is_floating_point() for t in inputs]
        self.float32 = any(t.dtype == torch.float32 for t in inputs) and not rough
        self.dtype = torch.float32 if rough and any(t.dtype == torch.float32 for t in inputs) else torch.float64
        self.x = self.converted(inputs, self.dtype)

    def _open(self, module):
        """Turns the parameters of a copy of the module into inputs. The original is unchanged."""
        module = copy.deepcopy(module)
        parameters, buffers = dict(module.named_parameters()), dict(module.named_buffers())
        self.names += parameters

        def call(*x):
            state = {k: b.to(x[0].dtype) if b.is_floating_point() and x[0].is_floating_point() else b.clone()
                     for k, b in buffers.items()}
            state = {k: b.clone() for k, b in state.items()} | dict(zip(parameters, x[self.given:]))
            return torch.func.functional_call(module, state, x[:self.given])
        self._function = call
        return tuple(parameters.values())

    def gradient(self):
        """(f, *inputs), where f computes the gradient from the inputs and dy."""
        y = self.call(self.x).detach()

        def gradient(*arguments):
            *x, dy = arguments
            with torch.enable_grad():
                x = [t if t.requires_grad or not w else t.detach().requires_grad_() for t, w in zip(x, self.wanted)]
                dx = torch.autograd.grad(self.call(x), [t for t, w in zip(x, self.wanted) if w], dy, create_graph=True,
                                         allow_unused=True)
            return tuple(g for g in dx if g is not None)
        gradient.__wrapped__ = self.original
        generator = torch.Generator().manual_seed(self._seed)
        return gradient, *self.x, torch.randn(y.shape, generator=generator, dtype=y.dtype)

    @staticmethod
    def converted(inputs, dtype):
        return [t.detach().to(dtype if t.is_floating_point() else t.dtype).contiguous().clone() for t in inputs]

    def tensors(self, values, dtype=None):
        return [torch.tensor(v, dtype=dtype or x.dtype).reshape(x.shape) if w else x
                for v, x, w in zip(values, self.x, self.wanted)]

    def call(self, x):
        return self.output(self._function, x)

    def output(self, function, x):
        """Calls function with a fixed random state; several outputs are concatenated."""
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(self._seed)  # torch.manual_seed() is slow (CUDA)
            y = function(*x)
        if isinstance(y, torch.Tensor):
            return y
        return torch.cat([part.reshape(-1) for part in y if part is not None and part.is_floating_point()])

    def leaves(self, x, wanted=None):
        return [t.detach().requires_grad_(w) for t, w in zip(x, wanted or self.wanted)]

    def gradients(self, y, x, dy, **options):
        """One gradient per input: zeros if y does not depend on the input, None if not requested."""
        asked = [t for t in x if t.requires_grad]
        found = [None] * len(asked)
        if y.requires_grad and asked:
            found = list(torch.autograd.grad(y, asked, dy, allow_unused=True, **options))
        found = [torch.zeros_like(t) if g is None else g.detach() for g, t in zip(found, asked)]
        return [found.pop(0) if t.requires_grad else None for t in x]

    def run(self, x, dy, wanted=None):
        x = self.leaves(x, wanted)
        y = self.call(x)
        before = y.detach().clone()  # backward may write to y
        dx = self.gradients(y, x, dy)
        return before, [None if g is None else g.clone() for g in dx]  # backward may keep this memory
