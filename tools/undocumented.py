#!/usr/bin/env python3
"""Lists functions and types in public headers without a comment: before them, after them, or before the group of
declarations that they belong to. Exit code 1 if there are any.

  tools/undocumented.py            all headers that are installed
  tools/undocumented.py --itself   tests the search
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPONENTS = ["engine", "ops", "nn", "io", "train", "trace", "check"]
# Internal headers of ops, which are not installed.
PRIVATE = {"kernels", "gemm", "problem.h", "row_kernels.h", "tiling.h"}
NAME = re.compile(
    r"^(?:template <.*> ?)?(?:\[\[nodiscard\]\] )?(?:inline |constexpr |extern )*"
    r"(?:(?:class|struct|enum class)(?: \[\[nodiscard\]\])? (?P<type>[\w:]+)\b(?! *;|<)"
    r"|using (?P<alias>\w+) ="
    r"|(?P<result>[\w:<>&*, ]+?[ &*])(?P<function>\w+)\("
    r"|(?!class |struct |enum |using )(?P<kind>[\w:<>&*,() ]+?[ &*])(?P<variable>\w+)(?:\[\])?(?: = |{|;))")
INSIDE = {"core", "detail", "kernel", "platform", "products", "simd", "vmath"}  # namespaces for internal use
NOT_NAMES = {"const", "if", "for", "namespace", "noexcept", "operator", "return", "static_assert", "while"}


def declarations(lines):
    """(line number, enclosing namespaces, name, whether it has a comment) of declarations at namespace level."""
    depth, said, around = 0, False, []
    for number, text in enumerate(lines, 1):
        if text.startswith("namespace"):
            around += [re.findall(r"\w+", text)[1:]] if text.endswith("{") else []
        elif depth == 0 and re.match(r"}(?:  // namespace.*)?$", text):
            around.pop()
        elif depth == 0 and not text.startswith("}"):
            said = said and text != "" or text.startswith("//")
            match = NAME.match(text) if text[:1] not in (" ", "#", "/") else None
            end = next((i for i in range(number - 1, len(lines)) if re.search(r"[;{}](?: *//.*)?$", lines[i])), number)
            beside = any("//" in each for each in lines[number - 1:end + 1])
            name = match and (match["function"] or match["type"] or match["alias"] or match["variable"])
            if name and name not in NOT_NAMES:
                yield number, sum(around, []), name, said or beside
        if not text.startswith("namespace") and not (depth == 0 and text.startswith("}")):
            depth += text.count("{") - text.count("}")


def undocumented(lines):
    """(line number, name) of public declarations without a comment."""
    return [(number, name) for number, around, name, documented in declarations(lines)
            if not documented and not INSIDE & set(around)]


def installed_headers():
    return [each for component in COMPONENTS for each in sorted((ROOT / component).rglob("*.h"))
            if not PRIVATE & set(each.relative_to(ROOT).parts)]


SAMPLE = """namespace gradus {
int none(int x);

int beside();  // of it

/// Before it.
int before();
int among(int x,
          int y);

inline int defined(int x) {
  return x;
}

namespace kernel {
int inside();
}  // namespace kernel
class Later;
using other::function;

template <class T>
struct Trait<T*> {
};

using Size = int;

struct Options {
  int size;
};
}  // namespace gradus

namespace gradus::nn {
class Earlier;
}

/// After a forward declaration.
int after();"""


def main():
    if sys.argv[1:] == ["--itself"]:
        found = undocumented(SAMPLE.split("\n"))
        if found != [(2, "none"), (11, "defined"), (25, "Size"), (27, "Options")]:
            sys.exit(f"{found} have no comment in the sample")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        headers = [each for each in installed_headers()
                   if each.parent != ROOT / "check" / "raw" or each.name == "check.h"]  # the others are internal
        silent = [f"{header.relative_to(ROOT)}:{line}: {name} has no comment. State what it does, shapes, errors, and "
                  "the paper or formula." for header in headers
                  for line, name in undocumented(header.read_text(encoding="utf-8").split("\n"))]
        if silent:
            sys.exit("\n".join(silent))


if __name__ == "__main__":
    main()
