"""Records calls of functions with hand-written derivatives: torch.autograd.Function, torch.library custom ops with
register_autograd, primitives of autograd (defvjp), and jax.custom_vjp."""
import contextlib
import inspect
import sys

import numpy

PER_FUNCTION = 12  # calls with the same options, of different ranks or types
MOST_ELEMENTS = 100_000


class Call:
    """A recorded call. Arrays among the arguments are NumPy arrays; classify.restored()
    turns them into what `function` takes."""

    def __init__(self, kind, name, function, args, kwargs, source, wanted=None):
        self.kind, self.name, self.function, self.kwargs, self.source = kind, name, function, kwargs, source
        self.args = [_plain(a) for a in args]
        self.asked = tuple(k for k, a in enumerate(args) if getattr(a, "requires_grad", False))
        self.wanted = wanted  # the arguments that are differentiated; None for all
        self.constants = []  # arguments for which backward returns None

    def key(self):
        """Equal for calls that differ only in sizes and values."""
        return (self.name, tuple(_kind(a) for a in self.args), tuple((k, _kind(a)) for k, a in self.kwargs.items()),
                self.wanted)

    def elements(self):
        return sum(a.size for a in self.args if isinstance(a, numpy.ndarray))

    def argument_names(self):
        try:
            parameters = list(inspect.signature(self.source).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        if self.kind == "torch function":
            parameters = [p for p in parameters if p.name != "ctx"]
        names = []
        for k in range(len(self.args)):
            p = parameters[min(k, len(parameters) - 1)] if parameters else None
            extra = p is None or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY) or k >= len(parameters)
            names.append(f"x{k}" if extra else p.name)
        return names


def _plain(value):
    while hasattr(value, "primal") and hasattr(value, "tangent"):  # inside jax.grad
        value = value.primal
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        return numpy.array(value.detach().cpu().resolve_conj().resolve_neg().numpy())
    if isinstance(value, numpy.ndarray) or (hasattr(value, "__array__") and hasattr(value, "at")):  # jax
        return numpy.array(value)
    return dict(value) if type(value) is dict else value  # functions pop from the options that they are given


def _kind(value):
    if isinstance(value, numpy.ndarray):
        return value.dtype.kind, value.ndim
    return repr(value) if isinstance(value, (bool, str, type(None), float, int, tuple)) else type(value).__name__


class Recorder:
    """Keeps the smallest call of each kind."""

    def __init__(self, owns):
        self.owns, self.calls, self.seen, self.off = owns, {}, {}, False
        self.large = set()  # functions with a call of more than MOST_ELEMENTS

    def before(self, *call):
        """A copy of the arguments, for add() if the call succeeds; None if they cannot be copied."""
        with contextlib.suppress(Exception):  # a tensor without values: meta, fake, inside torch.func
            return None if self.off else Call(*call)

    def add(self, call):
        try:
            if call is None or not any(_kind(a)[0] in ("f", "c") for a in call.args):
                return
            if call.elements() > MOST_ELEMENTS:
                self.large.add(call.name)
                return
            self.seen[call.name] = self.seen.get(call.name, 0) + 1
            key = call.key()
            kept = [c for c in self.calls.values() if c.name == call.name and c.kwargs.keys() == call.kwargs.keys()]
            if key in self.calls and self.calls[key].elements() <= call.elements():
                return
            if key in self.calls or len(kept) < PER_FUNCTION:
                self.calls[key] = call
        except Exception:  # pylint: disable=broad-except
            pass  # an argument whose repr() fails


@contextlib.contextmanager
def recording(recorder):
    """Patches the libraries that are installed. Start it before the package is imported, because packages keep
    references such as f = Function.apply."""
    with contextlib.ExitStack() as stack:
        for patch in (_torch_functions, _torch_ops, _autograd_primitives, _jax_functions):
            with contextlib.suppress(ImportError):
                stack.enter_context(patch(recorder))
        yield


@contextlib.contextmanager
def _replaced(owner, name, value):
    before = owner.__dict__[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _torch_functions(recorder):
    import torch
    original = torch.autograd.Function.__dict__["apply"]  # a classmethod, of Python or of C

    def apply(cls, *args, **kwargs):
        seen = recorder.owns(cls.__module__) and recorder.before(
            "torch function", f"{cls.__module__}.{cls.__qualname__}", cls.apply, args, kwargs, cls.forward)
        y = original.__get__(None, cls)(*args, **kwargs)
        recorder.add(seen or None)
        return y
    return _replaced(torch.autograd.Function, "apply", classmethod(apply))


def _torch_ops(recorder):
    import torch
    original = torch.library.CustomOpDef.__call__

    def call(op, *args, **kwargs):
        forward = op._init_fn
        owned = op._backward_fn is not None and recorder.owns(forward.__module__)
        seen = owned and recorder.before("torch op", op._qualname, op, args, kwargs, forward)
        y = original(op, *args, **kwargs)
        recorder.add(seen or None)
        return y
    return _replaced(torch.library.CustomOpDef, "__call__", call)


def _autograd_primitives(recorder):
    from autograd import core
    original, known = core.VJPNode.__init__, {}

    def init(node, value, fun, args, kwargs, parent_argnums, parents):
        if fun not in known:
            known[fun] = path_of(fun, recorder.owns)
        if name := known[fun]:
            recorder.add(recorder.before("autograd primitive", name, fun, args, kwargs, getattr(fun, "fun", fun),
                                         tuple(parent_argnums)))
        return original(node, value, fun, args, kwargs, parent_argnums, parents)
    return _replaced(core.VJPNode, "__init__", init)


def path_of(function, owns):
    """The shortest name by which Python imports a function from modules that are owned, or ""."""
    found = [f"{name}.{key}" for name, module in list(sys.modules.items()) if owns(name)
             for key, value in list(vars(module).items()) if value is function]
    return min(found, key=len, default="")


def _jax_functions(recorder):
    import jax
    original = jax.custom_vjp.__call__

    def call(function, *args, **kwargs):
        forward = function.fun
        seen = recorder.owns(forward.__module__) and recorder.before(
            "jax function", f"{forward.__module__}.{forward.__qualname__}", function, args, kwargs, forward)
        y = original(function, *args, **kwargs)
        recorder.add(seen or None)
        return y
    return _jax_patch(jax, call)


@contextlib.contextmanager
def _jax_patch(jax, call):
    with _replaced(jax.custom_vjp, "__call__", call), jax.disable_jit():  # jit passes no values
        yield


def subclasses_of_function():
    """All autograd.Functions that are defined now, also inside functions, by name."""
    import torch
    found, todo = {}, [torch.autograd.Function]
    while todo:
        for cls in todo.pop().__subclasses__():
            todo.append(cls)
            if "Backward" not in cls.__name__ or cls.__dict__.get("forward"):
                found[f"{cls.__module__}.{cls.__qualname__}"] = cls
    return found
