"""Which functions bear derivatives, and so are mutated.

In ops/: `backward` and whatever is named *_backward or *_derivative, what those call in the same
file, what a forward remembers, remake(), and functions composed of differentiable operations. In
nn/: what a layer computes. In base/: matrix products. In engine/: the walk, the accumulation, the graph and saved tensors,
whole, with their guards; and derivatives.cpp, which asks the walk.
"""
import re

from functions import functions_of

ROOTS = re.compile(r"^(backward|\w+_backward|\w+_derivative|\w+_formula|remake|cheap_to_remake"
                   r"|scaled_and_shifted)$")
LAYER = re.compile(r"^(forward|add_to|attend|add_\w+|activate|split_heads|merge_heads|rows_for"
                   r"|packed_heads|weighted_values|position_bias|weigh|embed|encode|decode|words|patches_of"
                   r"|sinusoidal_positions|loss)$")
ENGINE_WHOLE = {"engine/backward.cpp", "engine/accumulate.cpp", "engine/graph.cpp", "engine/apply.h"}
# Products, whole: a wrong one is a wrong gradient. (library.cpp asks a library, backend.cpp decides who.)
PRODUCTS = {f"base/products/{name}" for name in ("matrix.h", "multiply.cpp", "own.cpp", "tile.h", "dots.h", "plain.h")}
WALKS = {"ops/derivatives.cpp"}  # what asks the engine, and what it makes of the answer
ENGINE_PARTS = {
    "engine/graph.h": {"GradMode", "Recorded", "let_op_go"},
    "engine/op.h": {"defined", "kept", "is_whole"},
    "engine/tensor.h": {"owns_alone"},
    "engine/tensor.cpp": {"requires_grad", "is_leaf", "requires_grad_", "grad", "set_grad", "detach",
                          "without_numbers", "backward", "retain_grad", "register_hook",
                          "register_post_accumulate_hook", "reuse_or_empty", "check_writable"},
}
HEADERS = {
    "ops/attention_kernel.h": {"group", "at"},
    "ops/attention_parts.h": {"queries_of", "around", "cut", "parts_of"},
    "ops/attention_rows.h": {"finite_row", "all_finite", "Row", "rows_backward"},
    "ops/attention_scores.h": {"size", "append", "add_visible", "visible_spans", "at", "columns_apart",
                               "hide_around", "hide", "add_bias", "finish_scores", "compute_scores",
                               "compute_few_scores", "draw"},
    "ops/attention_tile.h": {"hide_row", "softmax_rows", "scale_row", "add_row", "drop_row", "dot_rows",
                             "weights_rows_backward", "dropped_row_backward"},
    "ops/vmath.h": {"silu_derivative", "gelu_tanh_derivative", "gelu_erf_derivative"},
    "ops/map.h": {"zip_backward"},
    "ops/rows.h": {"RowSums", "partial", "total"},
    "ops/fold.h": {"kept"},
    "nn/residual.h": {"forward"},
    "nn/sequential.h": {"forward"},
}
ALSO = {  # of what other files call backward, or hand to another function
    "ops/attention.cpp": {"attention_with_weights", "hides"},
    "ops/attention_formula.cpp": {"composed"},
    "ops/attention_kernel.cpp": {"key_head", "attention_forward"},  # who decides what could leak
    "ops/conv.cpp": {"unfold_windows", "fold_windows"},  # each is the other's backward
    "ops/order.cpp": {"sort", "topk"},  # their values are differentiable, positions are not
}
# Not derivatives.h and checkpoint.h, whose functions take functions, nor position_bias.h: constants.
DIFFERENTIABLE_HEADERS = ("activation", "arithmetic", "attention", "attention_measures", "conv", "dropout",
                          "einsum", "indexing", "linear_attention", "logic", "loss", "masked_product", "matmul",
                          "movement", "norm", "reduce", "rotary", "softmax")
NOT_HELPERS = {"forward", "name", "all", "size", "begin", "end", "data"}


def is_check(name):
    return name.startswith(("check_", "require", "fail", "advice", "broadcasts_to"))


def differentiable(tree):
    """Names of the public functions that make a Tensor of Tensors."""
    names = set()
    for header in DIFFERENTIABLE_HEADERS:
        text = (tree / "ops" / f"{header}.h").read_text()
        names |= set(re.findall(r"^Tensor (\w+)\((?:std::string_view \w+, )?const Tensor&", text, re.MULTILINE))
    return names


def files(tree):
    """The sources with anything to mutate, by path from the root of the tree."""
    found = sorted(ENGINE_WHOLE | PRODUCTS | set(ENGINE_PARTS) | set(HEADERS))
    for room in ("nn", "models", "ops"):
        found += sorted(str(p.relative_to(tree)) for p in (tree / room).glob("*.cpp"))
    return [path for path in found if (tree / path).exists()]


def in_scope(source, public):
    """The functions of one source that are mutated."""
    path, functions = source.path, functions_of(source)
    if path in ENGINE_WHOLE | WALKS | PRODUCTS:  # formula_wanted() chooses between two ways to the same numbers
        return [f for f in functions if f.name != "formula_wanted"]
    chosen = ENGINE_PARTS.get(path) or HEADERS.get(path)
    if chosen:
        return [f for f in functions if f.name in chosen]
    if path.startswith(("nn/", "models/")):
        return [f for f in functions if LAYER.match(f.name)]
    return of_operations(functions, public, ALSO.get(path, set()))


def of_operations(functions, public, also):
    wanted = {f.name for f in functions if ROOTS.match(f.name) or f.name in also}
    wanted |= {f.name for f in functions if f.owner is None and f.returns.split()[-1:] == ["Tensor"]
               and f.tensors and f.calls & public - {f.name}}
    while True:
        called = set().union(*(f.calls for f in functions if f.name in wanted)) if wanted else set()
        more = {f.name for f in functions if f.name in called and f.name not in wanted | NOT_HELPERS
                and not is_check(f.name)}
        if not more:
            break
        wanted |= more
    return [f for f in functions
            if f.name in wanted or f.name == "forward" and f.owner and f.owner.saved]
