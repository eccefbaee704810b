"""What is mutated: every function of the library. And which of them bear derivatives: of those no mutant
may survive.

In engine/ all do. In ops/ it is `backward` and whatever is named *_backward, *_derivative or *_formula,
what those call in the same file, recompute(), and functions composed of differentiable operations; in nn/
and models/ what a layer computes.
"""
import re

ROOMS = ("base", "engine", "ops", "nn", "models", "train", "io", "trace", "check")
APART = re.compile(  # tests of other programs reach it
    r"train/distributed/(mpi/|faults/side_channel)|check/adapters/|base/products/library")
ROOTS = re.compile(r"^(backward|\w+_backward|\w+_derivative|\w+_formula|recompute|is_recomputable)$")
LAYER = re.compile(r"^(forward|add_to|attend|activate|add_\w+|embed|encode|decode|loss)$")
DIFFERENTIABLE = re.compile(r"^Tensor (\w+)\((?:std::string_view \w+, )?const Tensor&", re.MULTILINE)


def files(tree):
    """By path from the root of the tree."""
    return sorted(str(p.relative_to(tree)) for room in ROOMS for p in (tree / room).rglob("*")
                  if p.suffix in (".cpp", ".h") and not APART.search(str(p)))


def differentiable(tree):
    """Names of the public functions that make a Tensor of Tensors."""
    return {name for path in (tree / "ops").rglob("*.h") for name in DIFFERENTIABLE.findall(path.read_text())}


def bears_derivatives(path, functions, public):
    """Those of one source that do."""
    if path.startswith("engine/"):
        return functions
    if path.startswith(("nn/", "models/")):
        return [f for f in functions if LAYER.match(f.name)]
    return of_operations(functions, public) if path.startswith("ops/") else []


def of_operations(functions, public):
    wanted = {f.name for f in functions if ROOTS.match(f.name)}
    wanted |= {f.name for f in functions if f.owner is None and f.returns.split()[-1:] == ["Tensor"]
               and f.tensors and f.calls & public - {f.name}}
    while True:
        called = set().union(*(f.calls for f in functions if f.name in wanted)) if wanted else set()
        more = {f.name for f in functions if f.name in called} - wanted - {"forward"}
        if not more:
            return [f for f in functions if f.name in wanted]
        wanted |= more
