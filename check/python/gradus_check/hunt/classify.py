"""Checks a call and classifies what is wrong."""
import gradus_check

from .vary import EDGES, SCALES, quaternion_at, repaired, structure_of

ACCURACY = 1e-3  # a smaller error, relative to the largest derivative, is an approximation


def restored(call, args):
    """The arguments as the function takes them, in double precision."""
    import numpy
    if call.kind == "jax function":
        return [a.astype(float) if isinstance(a, numpy.ndarray) and a.dtype == numpy.float32 else a for a in args]
    if not call.kind.startswith("torch"):
        return args
    import torch

    def tensor(a):
        if not isinstance(a, numpy.ndarray):
            return a
        if a.dtype == numpy.float32 and (structure := structure_of(a)):  # unit vectors must be exact
            a = repaired(a.astype(float), structure, quaternion_at(a))
        t = torch.from_numpy(numpy.array(a))
        return t.to(torch.complex128 if t.is_complex() else torch.float64) if a.dtype.kind in "fc" else t
    return [tensor(a) for a in args]


def takes(call, args, kwargs):
    """True if the function accepts the arguments and returns a finite, nonempty, differentiable result. Chooses what is
    differentiated: all floating-point inputs but those for which backward returns None; or, if that fails, those of the
    recorded call."""
    if _takes(call, args, kwargs):
        return True
    if not call.kind.startswith("torch") or call.wanted is not None or not call.asked:
        return False
    call.wanted = call.asked
    if _takes(call, args, kwargs):
        return True
    call.wanted = None
    return False


def _own(args):
    """The arguments, with copies of dicts, because some functions pop from them."""
    return [dict(a) if type(a) is dict else a for a in args]


def _takes(call, args, kwargs):
    import numpy
    try:
        if not call.kind.startswith("torch"):
            y = call.function(*restored(call, args), **kwargs)
            if call.kind == "jax function":
                from jax.tree_util import tree_leaves
                y = tuple(tree_leaves(y))
            parts = [numpy.asarray(v) for v in (y if isinstance(y, tuple) else [y])]
            return any(v.size for v in parts) and all(v.dtype.kind in "fc" and numpy.isfinite(v).all() for v in parts)
        import torch
        inputs = [a.requires_grad_() if isinstance(a, torch.Tensor) and (a.is_floating_point() or a.is_complex())
                  and (call.wanted is None or k in call.wanted) else a for k, a in enumerate(restored(call, args))]
        y = call.function(*_own(inputs), **kwargs)
        every = [v for v in (y if isinstance(y, (list, tuple)) else [y]) if isinstance(v, torch.Tensor)]
        results = [v for v in every if v.requires_grad and v.numel()]
        if call.wanted is None and results:
            _leave_out_constants(call, inputs, results)
        return bool(results) and all(
            bool(torch.isfinite(v).all()) for v in every if v.is_floating_point() or v.is_complex())
    except Exception:  # pylint: disable=broad-except
        return False


def holds_tensors(report):
    """True if the function holds the recorded tensors themselves, and its backward differentiates by them."""
    return "appears to not have been used in the graph" in " ".join(str(report).split())


def _leave_out_constants(call, inputs, results):
    import torch
    at = [k for k, a in enumerate(inputs) if isinstance(a, torch.Tensor) and a.requires_grad]
    try:
        found = torch.autograd.grad(results, [inputs[k] for k in at], [torch.ones_like(v) for v in results],
                                    allow_unused=True)
    except Exception:  # pylint: disable=broad-except
        call.wanted = call.asked or None  # the check will report what fails then
        return
    if None in [g if g is None else 0 for g in found] and any(g is not None for g in found):
        call.constants = [k for k, g in zip(at, found) if g is None]
        call.wanted = tuple(k for k, g in zip(at, found) if g is not None)


def differentiated(call, args):
    """The places of the arrays that a check differentiates by."""
    import numpy
    return [k for k, a in enumerate(args) if isinstance(a, numpy.ndarray) and (call.wanted is None or k in call.wanted)]


def check(call, args, kwargs, budget, conditions, second="auto", mapped=None):
    """The report on one call."""
    names = call.argument_names()
    if call.kind == "autograd primitive":
        return _check_primitive(call, args, kwargs, budget, names, mapped)
    if call.kind == "jax function":
        return _check_jax(call, args, kwargs, budget, names)
    every = restored(call, args)
    at = differentiated(call, args)

    def function(*x, **options):
        full = _own(every)
        for k, value in zip(at, x):
            full[k] = value
        return mapped(call.function, full, options) if mapped else call.function(*full, **options)
    return gradus_check.torch(function, *(every[k] for k in at), kwargs=kwargs, name=call.name,
                              names=[names[k] for k in at], second=second, conditions=conditions, budget=budget)


def _check_primitive(call, args, kwargs, budget, names, mapped):
    import numpy
    from autograd.core import primitive_vjps
    at = [k for k in call.wanted if isinstance(args[k], numpy.ndarray) and args[k].dtype.kind in "fc"]

    def full(x):
        every = list(args)
        for k, value in zip(at, x):
            every[k] = _like_order(value if not mapped or k not in mapped else mapped[k][0](value), args[k])
        return every

    def f(*x):
        return call.function(*full(x), **kwargs)

    def vjp(*arguments):
        *x, dy = arguments
        every = full(x)
        dx = primitive_vjps[call.function](tuple(at), call.function(*every, **kwargs), tuple(every), kwargs)(dy)
        return tuple(mapped[k][1](value, g) if mapped and k in mapped else g for k, value, g in zip(at, x, dx))
    return gradus_check.check(f, vjp, *(args[k] for k in at), name=call.name, names=[names[k] for k in at],
                              conjugate=True, budget=budget)


def _like_order(value, like):
    import numpy
    return numpy.asfortranarray(value) if like.flags.f_contiguous and not like.flags.c_contiguous else value


def _check_jax(call, args, kwargs, budget, names):
    import jax
    import numpy
    args = restored(call, args)
    at = [k for k, a in enumerate(args) if isinstance(a, numpy.ndarray) and a.dtype.kind in "fc"]

    def f(*x):
        every = list(args)
        for k, value in zip(at, x):
            every[k] = value
        return tuple(jax.tree_util.tree_leaves(call.function(*every, **kwargs)))

    def vjp(*arguments):
        *x, dy = arguments
        return tuple(numpy.asarray(g) for g in jax.vjp(f, *x)[1](dy))
    return gradus_check.check(f, vjp, *(args[k] for k in at), name=call.name, names=[names[k] for k in at],
                              conjugate=True, budget=budget)


def on_the_manifold(call, args, torch):
    """Maps that keep inputs and their changes on the manifold of the recorded ones: a wrapper of torch functions, or
    pairs of a map and its vjp for NumPy. None if no input has a structure."""
    import numpy
    structures = {k: structure_of(a) or _square(a) and structure_of(call.args[k]) for k, a in enumerate(args)
                  if isinstance(a, numpy.ndarray)}
    chosen = {k: _MAPS[s] for k, s in structures.items() if s in _MAPS}
    if not chosen or not torch:
        return chosen or None
    return lambda f, x, options: f(*(chosen[k][0](t) if k in chosen else t for k, t in enumerate(x)), **options)


def _square(a):
    return a.ndim > 1 and a.shape[-1] == a.shape[-2]


def _symmetric(x):
    return (x + x.swapaxes(-1, -2)) / 2


def _lower(x):
    import numpy
    return numpy.tril(x) if isinstance(x, numpy.ndarray) else x.tril()


def _sum(x):
    return x.sum(-1)[..., None]


_MAPS = {"lower": (_lower, lambda x, g: _lower(g)),
         "spd": (_symmetric, lambda x, g: _symmetric(g)), "symmetric": (_symmetric, lambda x, g: _symmetric(g)),
         "simplex": (lambda x: x / _sum(x), lambda x, g: (g - _sum(g * x) / _sum(x)) / _sum(x)),
         "unit": (lambda x: x / _sum(x * x)**0.5, lambda x, g: (g - x * _sum(g * x) / _sum(x * x)) / _sum(x * x)**0.5)}


def without_gauge(f, x, options):
    """Orthonormal columns Q of a result, which are right up to a rotation, as the projection Q Qᵀ."""
    import torch

    def projected(y):
        if isinstance(y, (list, tuple)):
            return tuple(projected(v) for v in y)
        if not isinstance(y, torch.Tensor) or y.dim() < 2 or y.shape[-1] >= y.shape[-2] or not y.is_floating_point():
            return y
        gram = y.detach().mT @ y.detach()
        return y @ y.mT if torch.allclose(gram, torch.eye(y.shape[-1], dtype=y.dtype)) else y
    return projected(f(*x, **options))


def is_tangent(call, report, args, kwargs):
    """True for the convention of Lie group libraries, whose gradients live in the tangent space: the failing inputs
    hold unit quaternions and their gradients have a component that is always 0, or the output holds unit
    quaternions."""
    import numpy
    names = call.argument_names()
    if call.kind.startswith("torch"):
        y = call.function(*restored(call, args), **kwargs)
        if hasattr(y, "detach") and quaternion_at(y.detach().numpy()) is not None:
            return True
    failing = [i for i in report.json()["inputs"] if i["wrong"]]
    for entry in failing:
        a = args[names.index(entry["name"])] if entry["name"] in names else None
        if not isinstance(a, numpy.ndarray) or a.ndim == 0 or a.shape[-1] < 4:
            return False
        width, marks = a.shape[-1], entry["map"]
        columns = [set(marks[c::width]) for c in range(width)]
        if quaternion_at(a) is None or not any(c <= {"0", "."} and "0" in c for c in columns):
            return False
    return bool(failing)


def classified(report, label):
    """(order, class, error, causes, names of wrong inputs, text) of a report that is not a PASS."""
    order = 1 if report.second is None or report.json()["verdict"] != "PASS" else 2
    found = report.json() if order == 1 else report.second.json()
    causes = {i["name"]: i["cause"] for i in found["inputs"] if i["cause"]}
    wrong = [i["name"] for i in found["inputs"] if i["wrong"] or i["cause"]]
    error = max((i["error"] for i in found["inputs"] if i["wrong"]), default=0)
    if found["verdict"] == "UNIMPLEMENTED":
        kind = "unimplemented"
    elif "THROWS" in causes.values():
        kind = "throws"
    elif label.startswith(EDGES) or set(causes.values()) == {"LEAK"} or (label.startswith(SCALES) and not causes):
        kind = "edge"
    elif set(causes.values()) == {"PRECISION"} or (0 < error < ACCURACY and not set(causes.values()) & {
            "WANTS", "SHAPE", "ACCUMULATION", "KEEPS STATE", "NOT A NUMBER"}):
        kind = "accuracy"
    else:
        kind = "wrong"
    return order, kind, error, causes, wrong, str(report)
