"""Calls functions that no test calls, with arguments that fit their signatures often enough. The recorder keeps the
calls of derivatives that this reaches."""
import contextlib
import inspect
import itertools
import types

SHAPES = ((3,), (3, 3), (2, 3), (2, 3, 3), (1, 2, 6), (1, 2, 6, 6), ())
MOST_TRIES = 60
BY_NAME = {"dim": -1, "axis": -1, "eps": 1e-6, "tol": 1e-6, "n": 2, "k": 2, "order": 1, "p": 2.0, "alpha": 1.5,
           "beta": 0.7, "gamma": 0.7, "temperature": 0.7, "tau": 0.7, "n_iter": 50, "max_iter": 50, "c": 1.0,
           "scale": 0.7}
INDICES = ("target", "targets", "label", "labels", "y_true", "index", "indices", "idx")


def call_everything(modules, classes, again, limit):
    """Calls the public functions of modules and the given autograd.Functions until `again()` is false. `limit` is a
    context manager for one call."""
    import torch
    functions = list(classes)
    for module in modules:
        for name, value in sorted(vars(module).items()):
            ours = getattr(value, "__module__", None) == module.__name__
            if ours and not name.startswith("_") and isinstance(value, types.FunctionType):
                functions.append(value)
            elif ours and isinstance(value, type) and issubclass(value, torch.nn.Module):
                with contextlib.suppress(BaseException), limit():
                    functions.append(value().double())
    for function in functions:
        if again():
            _try(function, limit)


def _try(function, limit):
    target = function.apply if isinstance(function, type) else function
    source = function if isinstance(function, types.FunctionType) else function.forward
    try:
        parameters = [p for p in inspect.signature(source).parameters.values()
                      if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        return
    if isinstance(function, type):
        parameters = parameters[1:]  # ctx
        fixed = [p for p in parameters if p.default is not p.empty]  # apply() takes no keywords
    else:
        fixed = []
        parameters = [p for p in parameters if p.default is p.empty]
    tries = itertools.islice(_arguments(parameters, fixed), MOST_TRIES)
    reached = 0
    for arguments in tries:
        with contextlib.suppress(BaseException), limit():
            y = target(*arguments)
            reached += any(getattr(v, "requires_grad", False) for v in (y if isinstance(y, (tuple, list)) else [y]))
        if reached >= 2:
            return


def _arguments(parameters, fixed):
    """Lists of arguments: tensors of one shape, numbers for parameters whose name or annotation asks for one."""
    for shape in SHAPES:
        for positive in (True, False):
            yield [_value(p, shape, positive, False) if p not in fixed else p.default for p in parameters]
    for shape in SHAPES[:4]:
        for numbers in range(1, len(parameters)):  # the last ones are numbers
            yield [p.default if p in fixed else _value(p, shape, True, k >= len(parameters) - numbers)
                   for k, p in enumerate(parameters)]


def _value(parameter, shape, positive, number):
    import torch
    name, kind = parameter.name.lower(), parameter.annotation
    if kind is bool:
        return True
    if kind is str or name == "mode":
        return "zero"
    if name in INDICES:
        return torch.randint(0, 2, shape[:-1])
    if name in BY_NAME and (number or kind in (int, float, inspect.Parameter.empty)):
        return BY_NAME[name]
    if kind is int or (number and kind is not torch.Tensor):
        return 2
    if kind is float:
        return 0.7
    values = torch.rand(shape, dtype=torch.float64) * 0.8 + 0.1 if positive else torch.randn(shape, dtype=torch.float64)
    if positive and len(shape) > 1 and shape[-1] == shape[-2]:  # also positive definite
        values = values @ values.mT / shape[-1] + torch.eye(shape[-1], dtype=torch.float64) / 2
    return values.requires_grad_()
