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


def _flat(value):
    if numpy:
        return numpy.asarray(value, dtype=float).reshape(-1).tolist()
    return [v for part in value for v in _flat(part)] if isinstance(value, (list, tuple)) else [float(value)]


def _nested(values, like, shape):
    """The flat values with the type of `like` and this shape."""
    if numpy:
        array = numpy.array(values, dtype=getattr(like, "dtype", float)).reshape(shape)
        return array if hasattr(like, "dtype") or shape else float(array)
    if not shape:
        return type(like)(values[0])
    step = len(values) // shape[0] if shape[0] else 0
    return [_nested(values[i * step:(i + 1) * step], like[i], shape[1:]) for i in range(shape[0])]


def _is_float(value):
    if numpy:
        return numpy.asarray(value).dtype.kind == "f"
    return _is_float(value[0]) if isinstance(value, (list, tuple)) and value else isinstance(value, float)


def _is_rough(value):
    return numpy is not None and getattr(value, "dtype", None) in (numpy.float32, numpy.float16)


def check(f, vjp, *inputs, name=None, names=(), reference=None, **options):
    """Compares vjp with finite differences of f.

    f(*inputs) returns an array or a number. vjp(*inputs, dy) returns the gradients: one, or a tuple with one per
    input or one per floating-point input. Other inputs get no gradient. reference: f in double, if f computes in
    float32. options: rtol, atol, resolution, seed, full, sampled, as in docs/checking/cpp.md.
    Raises ValueError if the check is misused.
    """
    inputs = [_array(x) for x in inputs]
    wanted = [_is_float(x) for x in inputs]
    handle = Handle(name or getattr(f, "__name__", "f"))
    for k, x in enumerate(inputs):
        handle.input(names[k] if k < len(names) else "", _shape(x), _flat(x), wanted[k])
    output = f(*inputs)
    handle.output(_shape(output), len(_flat(output)))
    if any(map(_is_rough, inputs)):
        handle.set("ulp", FLOAT_ULP)
    for option, value in options.items():
        handle.set(option, value)

    def arguments(values):
        return [_nested(v, x, _shape(x)) for v, x in zip(values, inputs)]

    def forward(values):
        return _unchanged(f, "f", arguments(values))

    def in_double(values):
        return _flat(reference(*(_nested(v, 0.0, _shape(x)) if w else x for v, x, w in zip(values, inputs, wanted))))

    def gradients(values, dy):
        dx = _unchanged(vjp, "vjp", [*arguments(values), _nested(dy, output, _shape(output))], parts=True)
        dx = list(dx) if isinstance(dx, tuple) else [dx]
        if len(dx) == sum(wanted):
            dx = [dx.pop(0) if w else None for w in wanted]
        if len(dx) != len(inputs):
            raise ValueError(f"vjp returns {len(dx)} gradients for {len(inputs)} inputs")
        return [None if part is None else _flat(part) for part in dx]

    handle.run(forward, gradients, reference and in_double)
    handle.place(*source_line(vjp))
    return Report(handle)


def _unchanged(f, what, arguments, parts=False):
    """Calls f(*arguments). Raises ValueError if f changes an argument."""
    before = [_flat(x) for x in arguments]
    result = f(*arguments)
    for k, x in enumerate(arguments):
        if repr(_flat(x)) != repr(before[k]):
            raise ValueError(f"{what} changes its argument {k}, which it must only read")
    return result if parts else _flat(result)


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
