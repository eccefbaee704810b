"""Programs that show a finding with differences only, for people who do not have this package."""
import contextlib
import importlib
import io
import math

import numpy

from .record import path_of


class NoProgram(Exception):
    """An argument cannot be written down."""


def program(call, args, kwargs, wrong, order):
    """The text of a program that prints the derivative by argument `wrong` and a difference quotient. Raises
    NoProgram."""
    imports, lines = {}, []
    jax, autograd = call.kind == "jax function", not call.kind.startswith("torch")
    names = [f"x{k}" if isinstance(a, numpy.ndarray) else _literal(a, imports) for k, a in enumerate(args)]
    options = [f"{k}={_literal(v, imports)}" for k, v in kwargs.items()]
    module, _, name = call.name.rpartition(".")
    function = name if autograd and not jax else _importable(call.function, imports)
    for k, a in enumerate(args):
        if isinstance(a, numpy.ndarray):
            lines.append(f"x{k} = {_array(a, autograd)}")
    x = f"x{wrong}"
    if autograd:
        head = ["import numpy", "import autograd.numpy as np", "from autograd import grad",
                f"from {module} import {name}"]
        if jax:
            head = ["import jax, numpy", "import jax.numpy as np", "from jax import grad",
                    'jax.config.update("jax_enable_x64", True)',
                    *(f"from {module} import {name}" for name, module in imports.items())]
        value = f"{function}({', '.join(names + options)})"
        if autograd and not jax and isinstance(call.function(*args, **kwargs), tuple):
            value = f"np.concatenate([np.ravel(np.real(v)) for v in {value}])"
        if jax:
            value = f"np.concatenate([np.ravel(v) for v in jax.tree_util.tree_leaves({value})])"
        lines = [*head, *lines, f"f = lambda {x}: {value}",
                 f"w = numpy.cos(numpy.arange(numpy.size(f({x})))).reshape(numpy.shape(f({x})))",
                 f"loss = lambda {x}: np.sum(np.real(f({x})) * w)",
                 f"g = grad(loss)({x})",
                 f"e = numpy.eye({x}.size).reshape(-1, *{x}.shape) * 1e-6",
                 f"at = lambda v: numpy.add({x}, v, out=numpy.empty_like({x}))  # keeps the memory order",
                 f"d = numpy.array([(loss(at(v)) - loss(at(-v))) / 2e-6 for v in e]).reshape({x}.shape)",
                 'print("shapes", g.shape, d.shape)', 'print("autograd   ", numpy.real(g).ravel()[:8])',
                 'print("differences", d.ravel()[:8])']
        return "\n".join(lines) + "\n"
    head = ["import torch", *(f"from {module} import {name}" for name, module in imports.items()),
            "torch.manual_seed(0); torch.set_default_dtype(torch.float64)"]
    body = [f"def f({x}):", f"    y = {function}({', '.join(names + options)})",
            "    y = [y] if isinstance(y, torch.Tensor) else [v for v in y if isinstance(v, torch.Tensor)]",
            "    y = torch.cat([(torch.view_as_real(v) if v.is_complex() else v).flatten()",
            "                   for v in y if v.is_complex() or v.is_floating_point()])",
            "    return (y * torch.cos(torch.arange(y.numel()))).sum()"]
    if order == 2:
        body += [f"def F({x}):", f"    g, = torch.autograd.grad(f({x}), {x}, create_graph=True)",
                 f"    return (g * torch.cos(torch.arange(g.numel())).reshape(g.shape)).sum()"]
    of = "F" if order == 2 else "f"
    body += [f"s = {of}({x}.requires_grad_())",
             f"g, = torch.autograd.grad(s, {x}) if s.requires_grad else [torch.zeros_like({x})]  # or detached",
             f"e = torch.eye({x}.numel()).reshape(-1, *{x}.shape) * 1e-5",
             f"d = torch.stack([({of}({x} + v) - {of}({x} - v)) / 2e-5 for v in e]).reshape({x}.shape)",
             "worst = (g - d).abs().flatten().argsort(descending=True)[:8]",
             'print("autograd   ", g.flatten()[worst].tolist())', 'print("differences", d.flatten()[worst].tolist())']
    return "\n".join(head + lines + body) + "\n"


def shows(text, throws=False):
    """Runs the program and returns whether the two lines differ, or whether it throws if it should, with what it
    printed."""
    out = io.StringIO()
    try:
        import torch
        default = torch.get_default_dtype()
    except ImportError:
        torch = None
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(text, "reproduction", "exec"), {"__name__": "reproduction"})  # pylint: disable=exec-used
    except Exception as error:  # pylint: disable=broad-except
        return throws, out.getvalue() + f"{type(error).__name__}: {error}\n"
    finally:
        if torch:
            torch.set_default_dtype(default)
    lines = [line.partition(" ")[2].strip(" []") for line in out.getvalue().splitlines()]
    numbers = [[float(v) for v in line.replace(",", " ").split()] for line in lines if "(" not in line]
    if len(numbers) != 2 or len(numbers[0]) != len(numbers[1]):
        return True, out.getvalue()
    largest = max((abs(v) for v in numbers[1] if math.isfinite(v)), default=0)
    differ = any(not abs(a - b) <= 1e-4 * largest + 1e-8 for a, b in zip(*numbers))
    return differ, out.getvalue()


def _array(a, autograd):
    text = repr(numpy.round(a, 3).tolist()) if a.dtype.kind in "fc" and _rounds(a) else repr(a.tolist())
    if autograd:
        order = ', order="F"' if a.flags.f_contiguous and not a.flags.c_contiguous else ""
        return f"numpy.array({text}{order})" if a.ndim else f"numpy.array({text})"
    kind = {"b": ", dtype=torch.bool", "i": ", dtype=torch." + a.dtype.name}.get(a.dtype.kind, "")
    return f"torch.tensor({text}{kind})" if a.size else f"torch.zeros({a.shape}{kind})"


def _rounds(a):
    return a.size > 0 and bool((numpy.abs(a) >= 0.05).all()) and float(numpy.abs(a).max()) < 100


def _literal(value, imports):
    if isinstance(value, numpy.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if type(value) in (list, tuple):
        inner = ", ".join(_literal(v, imports) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_literal(v, imports)}" for k, v in value.items()) + "}"
    if hasattr(value, "detach"):
        raise NoProgram("a tensor inside another argument")
    if type(value).__module__ == "torch":
        return f"torch.device({str(value)!r})" if type(value).__name__ == "device" else repr(value)
    return _importable(value, imports)


def _importable(value, imports):
    owner = getattr(value, "__self__", None)  # Class.apply
    at = owner if isinstance(owner, type) else value
    module, name = getattr(at, "__module__", None), getattr(at, "__qualname__", "")
    if not name:  # a custom op
        module, _, name = path_of(at, lambda _: True).rpartition(".")
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        if found is not at:
            raise AttributeError
    except (AttributeError, ImportError, TypeError, ValueError) as error:
        raise NoProgram(f"{type(value).__name__} {name or value!r} cannot be imported") from error
    imports[name.split(".")[0]] = module
    return f"{name}.{value.__name__}" if at is owner else name
