"""What the source of an autograd.Function suggests, without running it."""
import ast
import inspect
import textwrap


def hints(cls):
    """Sentences about forward and backward of an autograd.Function that often go with a wrong derivative."""
    forward, backward = (_tree(cls.__dict__.get(name)) for name in ("forward", "backward"))
    if forward is None or backward is None:
        return []
    found = []
    if not _declared_once(cls):
        arguments = {a.arg for a in forward.args.args + forward.args.kwonlyargs}
        arguments |= {forward.args.vararg.arg} if forward.args.vararg else set()
        returned = {n.id for r in ast.walk(forward) if isinstance(r, ast.Return) and r.value
                    for n in ast.walk(r.value) if isinstance(n, ast.Name)}
        saved = {a.id for call in _calls(forward, "save_for_backward") for a in call.args if isinstance(a, ast.Name)}
        lost = sorted(saved - arguments - returned)
        if lost:
            found.append(f"saves {', '.join(lost)}, neither an input nor an output: a second derivative takes it for a "
                         "constant. Mark backward once_differentiable, or compute it in backward")
        cut = sorted({n.attr for n in ast.walk(backward) if isinstance(n, ast.Attribute)} & {"detach", "numpy", "data"})
        if cut:
            found.append(f"backward uses .{', .'.join(cut)}: a second derivative misses that part")
    return found


def _declared_once(cls):
    try:
        return "once_differentiable" in inspect.getsource(cls)
    except (OSError, TypeError):
        return False


def _tree(function):
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(getattr(function, "__func__", function)))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None


def _calls(tree, name):
    return (n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
            and n.func.attr == name)
