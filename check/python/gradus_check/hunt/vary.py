"""Other inputs for a recorded call: sizes, values, layouts and options at which derivatives tend to be wrong."""
import ast
import inspect
import textwrap

import numpy

EDGES = ("zeros", "all zeros", "ties")  # where a function may have no derivative
SCALES = ("tiny", "large")  # where thresholds and rounding matter
MOST_OPTIONS = 6
SMALL = 40  # elements; a larger call is tried with smaller sizes first


def variations(call, others, rng):
    """(label, args, kwargs) of each variation of a call. `others` are calls of the same function, whose options are
    tried too. Many of them are invalid: the caller tries which ones the function takes."""
    arrays = [a for a in call.args if isinstance(a, numpy.ndarray)]
    sizes = sorted({n for a in arrays for n in a.shape if n > 1})
    primes = dict(zip(sizes, _primes(len(sizes))))
    if call.elements() > SMALL:
        small = {n: 1 if n > 7 and len(sizes) > 2 else min(n, 4) for n in sizes}
        for label, other in (("prime sizes", primes), ("small sizes", small)):
            yield label, *resized(call, other, rng)
    yield "as recorded", list(call.args), dict(call.kwargs)
    yield from _options(call, others)
    for n in sizes[:4]:
        for m in (1, next_prime(n), 2):
            if m != n:
                yield f"size {n} is {m}", *resized(call, {n: m}, rng)
    if primes and primes != {n: n for n in sizes} and call.elements() <= SMALL:
        yield "prime sizes", *resized(call, primes, rng)
    if len({a.shape for a in arrays}) == 1 and arrays[0].ndim < 2:  # probably one element at a time
        for label, signs in (("many values", [1]), ("many values of both signs", [1, -1])):
            yield label, [drawn_like(a, (31,), {}, rng) * 10.0**rng.uniform(-1.5, 1.5, 31) * rng.choice(signs, 31)
                          if isinstance(a, numpy.ndarray) and a.dtype.kind in "fc" else a
                          for a in call.args], dict(call.kwargs)
    for k, a in enumerate(call.args):
        if not isinstance(a, numpy.ndarray) or a.dtype.kind not in "fc":
            continue
        for label, values in _values(a, rng):
            yield f"{label} in {k}", _with(call.args, k, values), dict(call.kwargs)
        for axis, n in enumerate(a.shape):
            if n > 1 and len(arrays) > 1:
                yield f"broadcast axis {axis} of {k}", _with(call.args, k, a.take([0], axis)), dict(call.kwargs)
        if len(arrays) > 1:
            other = drawn_like(a, a.shape, {}, rng)
            yield f"a batch for {k}", _with(call.args, k, numpy.stack([a, other])), dict(call.kwargs)
        if a.ndim > 1 and call.kind == "autograd primitive":
            yield f"Fortran order of {k}", _with(call.args, k, numpy.asfortranarray(a)), dict(call.kwargs)


def _with(args, k, value):
    return [*args[:k], value, *args[k + 1:]]


def _primes(count):
    primes = [2, 3, 5, 7, 11, 13]
    return primes[:count] + primes[-1:] * (count - len(primes))


def next_prime(n):
    n += 1
    while any(n % d == 0 for d in range(2, n)):
        n += 1
    return n


def resized(call, sizes, rng):
    """The call with sizes replaced, also where an integer argument equals one. Values are drawn like the recorded
    ones."""
    def renewed(a):
        if isinstance(a, bool) or not isinstance(a, (numpy.ndarray, int, tuple, list)):
            return a
        if isinstance(a, int):
            return sizes.get(a, a)
        if isinstance(a, (tuple, list)):
            return type(a)(map(renewed, a)) if type(a) in (tuple, list) else a
        return drawn_like(a, tuple(sizes.get(n, n) for n in a.shape), sizes, rng)
    return [renewed(a) for a in call.args], {k: renewed(a) for k, a in call.kwargs.items()}


def drawn_like(a, shape, sizes, rng):
    """Random values with the sign, size and type of those in `a`. Indices stay below the new size."""
    if a.dtype.kind == "b":
        return rng.random(shape) < (a.mean() if a.size else 0.5)
    if a.dtype.kind in "iu":
        low, high = (int(a.min()), int(a.max())) if a.size else (0, 0)
        high = min([high, *(m - 1 for n, m in sizes.items() if high < n)]) if low >= 0 else high
        return rng.integers(min(low, high), high + 1, shape).astype(a.dtype)
    structure = structure_of(a)
    if structure == "spd":
        m = rng.standard_normal((*shape[:-1], shape[-1]))
        return (m @ numpy.swapaxes(m, -1, -2) / shape[-1] + numpy.eye(shape[-1]))[..., :shape[-2], :].astype(a.dtype)
    size = float(numpy.sqrt(numpy.mean(numpy.abs(a) ** 2))) if a.size else 1.0
    values = rng.standard_normal(shape)
    if a.dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    elif a.size and (a > 0).all():
        values = numpy.abs(values) + 0.1
        if (a < 1).all():
            values = 0.05 + 0.9 * rng.random(shape)
            size = 1.0
    values = numpy.asarray(values * (size or 1.0))
    return repaired(values, structure, quaternion_at(a)).astype(a.dtype)


def repaired(values, structure, at=None):
    """Values with a structure, from values that nearly have it."""
    if structure == "unit":
        return values / numpy.linalg.norm(values, axis=-1, keepdims=True)
    if structure == "quaternion" and values.shape[-1] >= at + 4:
        part = values[..., at:at + 4]
        values[..., at:at + 4] = part / numpy.linalg.norm(part, axis=-1, keepdims=True)
    if structure in ("symmetric", "spd") and values.ndim > 1 and values.shape[-1] == values.shape[-2]:
        return (values + numpy.swapaxes(values, -1, -2)) / 2
    if structure == "lower" and values.ndim > 1:
        return numpy.tril(values) + numpy.eye(*values.shape[-2:])
    if structure == "simplex" and values.ndim:
        return values / values.sum(-1, keepdims=True)
    return numpy.sort(values, -1) if structure == "sorted" else values


def quaternion_at(a):
    """Where unit quaternions begin in the rows of an array, or None."""
    if a.dtype.kind == "f" and a.ndim and a.size:
        for i in range(a.shape[-1] - 3):
            if numpy.abs(numpy.linalg.norm(a[..., i:i + 4], axis=-1) - 1).max() < 1e-5:
                return i
    return None


def structure_of(a):
    """The property of all rows or matrices of an array: lower, spd, symmetric, simplex, unit, quaternion, sorted, or
    ""."""
    if a.dtype.kind != "f" or a.ndim == 0 or a.size < 2 or not numpy.isfinite(a).all():
        return ""
    rounding = 1e-5 * max(1.0, float(numpy.abs(a).max()))
    square = a.ndim > 1 and a.shape[-1] == a.shape[-2] > 1
    if square and not numpy.triu(a, 1).any() and numpy.tril(a, -1).any():
        return "lower"
    if square and numpy.abs(a - numpy.swapaxes(a, -1, -2)).max() < rounding:
        return "spd" if numpy.linalg.eigvalsh(a).min() > 0 else "symmetric"
    if a.shape[-1] > 1:
        if (a >= 0).all() and numpy.abs(a.sum(-1) - 1).max() < 1e-5:
            return "simplex"
        if numpy.abs(numpy.linalg.norm(a, axis=-1) - 1).max() < 1e-5:
            return "unit"
        if quaternion_at(a) is not None:
            return "quaternion"
        if a.shape[-1] > 2 and (numpy.diff(a, axis=-1) > 0).all():
            return "sorted"
    return ""


def _values(a, rng):
    noisy = a + 0.1 * (float(numpy.abs(a).mean()) or 1.0) * rng.standard_normal(a.shape).astype(a.dtype)
    yield "other values", drawn_like(a, a.shape, {}, rng)
    if structure_of(a) in ("lower", "simplex", "unit", "quaternion"):
        return
    yield "tiny", noisy * 1e-6
    yield "large", noisy * 30
    yield "many sizes", noisy * 10.0**rng.uniform(-1.5, 1.5, a.shape)
    if a.size > 1:
        zero = numpy.array(noisy)
        zero.flat[::2] = 0
        yield "zeros", zero
        tied = numpy.array(noisy)
        tied.flat[1::2] = tied.flat[:a.size // 2 * 2:2]
        yield "ties", tied
    yield "all zeros", numpy.zeros_like(a)


def _options(call, others):
    """Other values of flags, names and small integers: those of other calls, and those that the source compares
    with."""
    known = constants_in(call.source)
    seen = set()
    places = [(k, a) for k, a in enumerate(call.args)] + list(call.kwargs.items())
    for place, value in places:
        if isinstance(value, bool):
            values = [not value]
        elif isinstance(value, (str, int)):
            values = [_at(other, place) for other in others] + [c for c in known if type(c) is type(value)]
            values += [value + 1, value - 1, -1 - value] if isinstance(value, int) else []
        elif value is None:
            values = [_at(other, place) for other in others] + known[:2]
        else:
            continue
        for option in [v for v in values if isinstance(v, (bool, str, int, float)) and v != value][:MOST_OPTIONS]:
            if (place, repr(option)) in seen:
                continue
            seen.add((place, repr(option)))
            if isinstance(place, int):
                yield f"option {place} is {option!r}", _with(call.args, place, option), dict(call.kwargs)
            else:
                yield f"{place}={option!r}", list(call.args), {**call.kwargs, place: option}


def _at(call, place):
    if isinstance(place, int):
        return call.args[place] if place < len(call.args) else None
    return call.kwargs.get(place)


def constants_in(function):
    """The strings and integers that a function's source compares with, and all strings of its module's conditions."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return []
    return list(dict.fromkeys(
        node.value for compare in ast.walk(tree) if isinstance(compare, ast.Compare) for node in ast.walk(compare)
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, int)) and not isinstance(node.value, bool)))
