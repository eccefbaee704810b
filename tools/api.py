#!/usr/bin/env python3
"""Writes docs/api.md: the public headers with their names, one per line, from their comments.

  tools/api.py            writes it
  tools/api.py --itself   tests the search for functions without a comment
  tools/api.py --check    exit code 1 if the file is out of date, or if a function has no comment: before it,
                          after it, or before the group of declarations that it belongs to
"""
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPONENTS = ["engine", "ops", "nn", "io", "train", "trace", "check"]
# Internal headers of ops, which are not installed.
PRIVATE = {"kernels", "gemm", "problem.h", "row_kernels.h", "tiling.h"}
NAME = re.compile(
    r"^(?:template <.*> ?)?(?:\[\[nodiscard\]\] )?(?:inline |constexpr |extern )*"
    r"(?:(?:class|struct|enum class|using)(?: \[\[nodiscard\]\])? (?P<type>\w+)\b(?! *;)"
    r"|(?P<result>[\w:<>&*, ]+?[ &*])(?P<function>\w+)\()")
INSIDE = {"core", "detail", "kernel", "platform", "products", "simd", "vmath"}  # namespaces for internal use
NOT_NAMES = {"if", "for", "while", "return", "static_assert", "operator", "namespace"}


def sentence(comment):
    """The first sentence of a comment, on one line."""
    words = " ".join(comment).strip()
    end = re.search(r"[.;](?= |$)", words)
    return (words[:end.start()] if end else words).replace("|", "\\|")


def names(lines):
    """(name, sentence) for each name declared at namespace level, once."""
    found, comment, depth = {}, [], 0
    for line in lines:
        text = line.rstrip("\n")
        if depth == 0 and text.startswith("///"):
            comment.append(text[3:].strip())
            continue
        match = NAME.match(text) if depth == 0 and text[:1] not in (" ", "}", "#", "/", "") else None
        if match:
            name = match["type"] or match["function"]
            beside = text.partition("//")[2].strip()
            if name not in NOT_NAMES and not found.get(name):
                found[name] = sentence(comment) or sentence([beside])
        if not text.startswith("namespace") and not (depth == 0 and text.startswith("}")):
            depth += text.count("{") - text.count("}")
        if text and not text.startswith("template"):
            comment = []
    return found


def without_comment(lines):
    """(line number, name) of functions at namespace level without a comment."""
    found, depth, said, around = [], 0, False, []
    for number, text in enumerate(lines, 1):
        if text.startswith("namespace"):
            around += [set(re.findall(r"\w+", text))] if text.endswith("{") else []
        elif depth == 0 and re.match(r"}(?:  // namespace.*)?$", text):
            around.pop()
        elif depth == 0 and not text.startswith("}"):
            said = said and text != "" or text.startswith("//")
            match = NAME.match(text) if text[:1] not in (" ", "#", "/") else None
            end = next((i for i in range(number - 1, len(lines)) if re.search(r"[;{}](?: *//.*)?$", lines[i])), number)
            beside = any("//" in each for each in lines[number - 1:end + 1])
            public = not INSIDE & set().union(*around)
            if match and match["function"] and public and not said and not beside:
                if match["function"] not in NOT_NAMES:
                    found.append((number, match["function"]))
        if not text.startswith("namespace") and not (depth == 0 and text.startswith("}")):
            depth += text.count("{") - text.count("}")
    return found


def public_headers(component):
    return [each for each in sorted((ROOT / component).rglob("*.h")) if not PRIVATE & set(each.relative_to(ROOT).parts)]


def page():
    out = ["# Every public header", "",
           "Made by `tools/api.py` from the headers; a name leads to its comment there. What PyTorch has under a name",
           "does the same here. Members of a class stand in its header.", ""]
    for component in COMPONENTS:
        out += [f"## {component}", ""]
        for header in public_headers(component):
            path = header.relative_to(ROOT)
            lines = header.read_text(encoding="utf-8").split("\n")
            title = []
            for line in lines:
                if not line.startswith("//"):
                    break
                title.append(line[2:].strip())
            declared = names(lines)
            if not declared:
                continue
            out += [f"### [{path}](../{path})", "", *textwrap.wrap(sentence(title) + ".", 118), ""]
            for name, what in declared.items():
                out += textwrap.wrap(f"- `{name}`" + (f": {what}" if what else ""), 118, subsequent_indent="  ",
                                     break_long_words=False, break_on_hyphens=False)
            out.append("")
    return "\n".join(out).rstrip() + "\n"


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
}  // namespace gradus

namespace gradus::nn {
class Earlier;
}

/// After a forward declaration.
int after();"""


def main():
    target = ROOT / "docs" / "api.md"
    text = page()
    if sys.argv[1:] == ["--check"]:
        silent = [f"{header.relative_to(ROOT)}:{line}: {name} has no comment; describe its result, shapes and "
                  "errors, and the paper or formula" for component in COMPONENTS for header in public_headers(component)
                  if header.parent != ROOT / "check" / "raw" or header.name == "check.h"  # the other headers are internal
                  for line, name in without_comment(header.read_text(encoding="utf-8").split("\n"))]
        if silent:
            sys.exit("\n".join(silent))
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            sys.exit("docs/api.md differs from the headers; run tools/api.py")
    elif sys.argv[1:] == ["--itself"]:
        found = without_comment(SAMPLE.split("\n"))
        if found != [(2, "none"), (11, "defined")] or "after" not in names(SAMPLE.split("\n")):
            sys.exit(f"unexpected names without comment in the sample: {found}")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        target.write_text(text, encoding="utf-8")


main()
