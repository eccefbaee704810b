"""check() for functions of NumPy arrays or, without NumPy, of lists and floats."""
from ._library import Handle
from ._places import source_line
from ._report import Report

try:
    import numpy
except ImportError:
    numpy = None

FLOAT_ULP = 2.0**-23


def _array(value):
    """A NumPy array or, without NumPy, the list itself."""
    return numpy.asarray(value) if numpy else value


def _shape(value):
    if numpy:
        return numpy.shape(value)
    return (len(value), *_shape(value[0])) if isinstance(value, (list, tuple)) and value else (
        (0,) if isinstance(value, (list, tuple)) else ())


def _real(value):
    """A complex array as real numbers, with an axis of size 2."""
    value = numpy.asarray(value)
    if value.dtype.kind != "c":
        return value.astype(float)
    return numpy.stack([value.real, value.imag], -1).astype(float)


def _flat(value):
    if numpy:
        return _real(value).reshape(-1)
    return [v for part in value for v in _flat(part)] if isinstance(value, (list, tuple)) else [float(value)]


def _bits(value):
    """Compares equal for equal values; NaN equals NaN."""
    if isinstance(value, tuple):
        return [_bits(v) for v in value]
    return _flat(value).tobytes() if numpy else repr(_flat(value))


def _real_shape(value):
    return (*_shape(value), 2) if numpy and numpy.iscomplexobj(value) else _shape(value)


def _copy(values, to):
    if numpy:
        numpy.frombuffer(to)[:] = values
    else:
        to[:] = values


def _nested(values, like, shape):
    """The flat values with the type of `like` and this shape."""
    if numpy:
        dtype = getattr(like, "dtype", numpy.dtype(float))
        array = numpy.asarray(values, dtype=float)
        array = (array[::2] + 1j * array[1::2] if dtype.kind == "c" else array).astype(dtype).reshape(shape)
        return array if hasattr(like, "dtype") or shape else float(array)
    if not shape:
        return type(like)(values[0])
    step = len(values) // shape[0] if shape[0] else 0
    return [_nested(values[i * step:(i + 1) * step], like[i], shape[1:]) for i in range(shape[0])]


def _is_float(value):
    if numpy:
        return numpy.asarray(value).dtype.kind in "fc"
    return _is_float(value[0]) if isinstance(value, (list, tuple)) and value else isinstance(value, float)


def _is_rough(value):
    return numpy is not None and getattr(value, "dtype", None) in (numpy.float32, numpy.float16, numpy.complex64)


def check(f, vjp, *inputs, name=None, names=(), reference=None, conjugate=False, **options):
    """Compares vjp with finite differences of f.

    f(*inputs) returns an array, a number, or a tuple of them. vjp(*inputs, dy) returns the gradients: one, or a tuple
    with one per input or one per floating-point input. Other inputs get no gradient. Complex values are pairs of real
    numbers: the gradient of x = a + ib is da + i db, or da - i db with conjugate=True (JAX, autograd), and dy likewise.
    reference: f in double, if f computes in float32. options: rtol, atol, resolution, budget (seconds), seed, full,
    sampled, as in docs/checking/cpp.md. Raises ValueError if the check is misused.
    """
    inputs = [_array(x) for x in inputs]
    wanted = [_is_float(x) for x in inputs]
    handle = Handle(name or getattr(f, "__name__", "f"), _copy)
    for k, x in enumerate(inputs):
        handle.input(names[k] if k < len(names) else "", _real_shape(x), _flat(x), wanted[k])
    result = f(*inputs)
    outputs = result if isinstance(result, tuple) else (result,)
    for k, y in enumerate(outputs):
        handle.output(_real_shape(y), len(_flat(y)), f"out{k}" if isinstance(result, tuple) else None)
    if any(map(_is_rough, inputs)):
        handle.set("ulp", FLOAT_ULP)
    for option, value in options.items():
        handle.set(option, value)

    def arguments(values):
        return [_nested(v, x, _shape(x)) for v, x in zip(values, inputs)]

    def joined(y):
        return [v for part in y for v in _flat(part)] if isinstance(y, tuple) else _flat(y)

    def forward(values):
        return joined(_unchanged(f, "f", arguments(values)))

    def in_double(values):
        return joined(reference(*(_nested(v, 0.0, _shape(x)) if w else x for v, x, w in zip(values, inputs, wanted))))

    def upstream(values):
        dy = []
        for y in outputs:
            size = len(_flat(y))
            dy.append(_conjugated(_nested(values[:size], y, _shape(y)), conjugate))
            values = values[size:]
        return tuple(dy) if isinstance(result, tuple) else dy[0]

    def gradients(values, dy):
        dx = _unchanged(vjp, "vjp", [*arguments(values), upstream(dy)])
        dx = list(dx) if isinstance(dx, tuple) else [dx]
        if len(dx) == sum(wanted):
            dx = [dx.pop(0) if w else None for w in wanted]
        if len(dx) != len(inputs):
            raise ValueError(f"vjp returns {len(dx)} gradients for {len(inputs)} inputs")
        dx = [_real_if(x, part) for x, part in zip(inputs, dx)]
        return [None if part is None else _flat(_conjugated(part, conjugate)) for part in dx]

    handle.run(forward, gradients, reference and in_double)
    handle.place(*source_line(vjp))
    return Report(handle)


def _real_if(x, gradient):
    """The gradient as real numbers, if x is real and all imaginary parts are 0."""
    if numpy and numpy.iscomplexobj(gradient) and not numpy.iscomplexobj(x) and not numpy.imag(gradient).any():
        return numpy.real(gradient)
    return gradient


def _conjugated(value, conjugate):
    return numpy.conj(value) if conjugate and numpy else value


def _unchanged(f, what, arguments):
    """Calls f(*arguments). Raises ValueError if f changes an argument."""
    before = [_bits(x) for x in arguments]
    result = f(*arguments)
    for k, x in enumerate(arguments):
        if _bits(x) != before[k]:
            raise ValueError(f"{what} changes its argument {k}, which it must only read")
    return result


def jacobian(derivative):
    """Converts a function that returns a scalar's gradient, or one Jacobian per input (y's axes first), to a vjp."""
    def vjp(*arguments):
        *inputs, dy = arguments
        matrices = derivative(*inputs)
        matrices = matrices if isinstance(matrices, tuple) else (matrices,)
        axes = numpy.ndim(dy)
        return tuple(numpy.tensordot(dy, m, axes=axes) for m in matrices)
    vjp.__wrapped__ = derivative
    return vjp
