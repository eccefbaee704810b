"""ctypes binding of the checker's C interface (gradus_check.h)."""
import ctypes
import json
import os

POINTER = ctypes.POINTER(ctypes.c_double)
POINTERS = ctypes.POINTER(POINTER)
FORWARD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, POINTERS, POINTER)
VJP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, POINTERS, POINTER, POINTERS)
VERSION = 2
FAILED, UNIMPLEMENTED, SHAPE = 1, 3, 4


def _load():
    library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libgradus_check.so"))
    if library.gradus_check_version() != VERSION:
        raise ImportError(f"libgradus_check.so has interface version {library.gradus_check_version()}, but this "
                          f"package requires {VERSION}. Install both from the same wheel.")
    text, handle, number = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int
    shape = ctypes.POINTER(ctypes.c_int64)
    for name, result, *arguments in (
            ("new", handle, text), ("free", None, handle), ("error", text, handle),
            ("input", number, handle, text, number, shape, POINTER, number),
            ("output", number, handle, text, number, shape), ("set", number, handle, text, ctypes.c_double),
            ("run", number, handle, FORWARD, VJP, FORWARD, handle), ("says", None, handle, text),
            ("condition", number, handle, number, text, ctypes.POINTER(text)), ("note", number, handle, text),
            ("report", text, handle, text), ("place", number, handle, text, number)):
        function = getattr(library, "gradus_check_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_c = _load()


def _array_at(pointer, size):
    return (ctypes.c_double * size).from_address(ctypes.addressof(pointer.contents)) if size else ()


def copy_list(values, to):
    to[:] = values


class WrongShape(ValueError):
    """A gradient has not as many values as its input."""


class Handle:
    """One check. Functions under test read inputs from ctypes arrays of doubles. `copy(values, to)` copies a result to
    such an array; `to` has as many elements as the result must have."""

    def __init__(self, name, copy=copy_list):
        self._check = ctypes.c_void_p(_c.gradus_check_new(name.encode()))
        self._copy, self._sizes, self._wanted, self._output, self._raised = copy, [], [], 0, None

    def __del__(self):
        _c.gradus_check_free(self._check)

    def _do(self, function, *arguments):
        result = function(self._check, *arguments)
        if result < 0:
            raise ValueError(_c.gradus_check_error(self._check).decode())
        return result

    def input(self, name, shape, values, wanted):
        self._do(_c.gradus_check_input, name.encode(), len(shape), (ctypes.c_int64 * len(shape))(*shape),
                 (ctypes.c_double * len(values))(*values), wanted)
        self._sizes.append(len(values))
        self._wanted.append(wanted)

    def output(self, shape, size, name=None):
        """Adds an output. The functions under test return all outputs in one sequence."""
        self._do(_c.gradus_check_output, name and name.encode(), len(shape), (ctypes.c_int64 * len(shape))(*shape))
        self._output += size

    def set(self, option, value):
        self._do(_c.gradus_check_set, option.encode(), float(value))

    def run(self, forward, vjp, reference):
        """forward(inputs) returns the output; vjp(inputs, dy) returns a gradient or None per input."""
        functions = self._forward(forward), VJP(lambda _, x, dy, dx: self._calls(
            lambda: self._write_gradients(vjp(self._inputs(x), _array_at(dy, self._output)), dx)))
        reference = self._forward(reference) if reference else FORWARD()
        self._do(_c.gradus_check_run, *functions, reference, None)
        if self._raised and not isinstance(self._raised, Exception):
            raise self._raised  # KeyboardInterrupt is not an error of the function

    def condition(self, k, note=None, cause=("", "", "")):
        self._do(_c.gradus_check_condition, k, note and note.encode(),
                 (ctypes.c_char_p * 3)(*(part.encode() for part in cause)))

    def note(self, text):
        self._do(_c.gradus_check_note, text.encode())

    def place(self, file, line):
        self._do(_c.gradus_check_place, file.encode(), line)

    def report(self, form):
        return _c.gradus_check_report(self._check, form.encode()).decode()

    def text(self, colour=False):
        return _c.gradus_check_report(self._check, b"colour" if colour else b"text").decode()

    def json(self):
        return json.loads(_c.gradus_check_report(self._check, b"json"))

    def _inputs(self, x):
        return [_array_at(x[k], size) for k, size in enumerate(self._sizes)]

    def _calls(self, call):
        """Returns 0 if call() succeeds. Otherwise the exception is added to the report."""
        try:
            if self._raised:
                return FAILED
            call()
            return 0
        except BaseException as error:  # exceptions must not cross the C interface
            if not isinstance(error, Exception):
                self._raised = error
            _c.gradus_check_says(self._check, f"{type(error).__name__}: {error}".encode())
            return SHAPE if isinstance(error, WrongShape) else UNIMPLEMENTED if is_unimplemented(error) else FAILED

    def _forward(self, f):
        def call(_, x, y):
            return self._calls(lambda: self._write(f(self._inputs(x)), y, self._output, "forward gives"))
        return FORWARD(call)

    def _write_gradients(self, gradients, dx):
        for k, gradient in enumerate(gradients):
            if self._wanted[k]:
                self._write(gradient, dx[k], self._sizes[k], f"the gradient of input {k} has")

    def _write(self, values, to, size, what):
        if len(values) != size:
            raise (ValueError if what.startswith("forward") else WrongShape)(f"{what} {len(values)} values, not {size}")
        if size:
            self._copy(values, _array_at(to, size))


def is_unimplemented(error):
    """torch raises RuntimeError for a missing derivative."""
    return isinstance(error, NotImplementedError) or (isinstance(error, RuntimeError) and "derivative" in str(error) and
                                                      "not implemented" in str(error))
