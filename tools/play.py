#!/usr/bin/env python3
"""Joins the playground into one file that works offline:  tools/play.py BUILD OUT.html

BUILD contains play.js and play.wasm, made by preset wasm. The page allows only its own script and
style (by hash), its worker and its WebAssembly module."""
import base64
import gzip
import hashlib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VIEWER = ROOT / "trace" / "viewer"
PLAY = ROOT / "docs" / "play"
SCRIPTS = ["elements", "engine", "form", "names", "predict", "training", "exercises", "link", "selftest", "play"]


def viewer_scripts():
    """trace.js is first, app.js last, as in a trace's page."""
    names = sorted(path.stem for path in VIEWER.glob("*.js"))
    middle = [name for name in names if name not in ("trace", "app")]
    return [VIEWER / f"{name}.js" for name in ["trace", *middle, "app"]]


def joined(paths):
    return "".join(path.read_text() + "\n" for path in paths)


def hash_of(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def inside_script(text):
    """Text in a script element must not end it."""
    return text.replace("</script", "<\\/script")


def without_names(module):
    """Drops the custom sections of a WebAssembly module: names of functions, address of the map."""
    out, at = bytearray(module[:8]), 8
    while at < len(module):
        size, shift, end = 0, 0, at + 1
        while True:
            byte = module[end]
            size |= (byte & 127) << shift
            shift, end = shift + 7, end + 1
            if byte < 128:
                break
        if module[at] != 0:
            out += module[at:end + size]
        at = end + size
    return bytes(out)


DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def numbers(segment):
    """Decodes the base64 VLQ numbers of a source map's segment."""
    value = shift = 0
    for digit in map(DIGITS.index, segment):
        value |= (digit & 31) << shift
        shift += 5
        if digit < 32:
            yield -(value >> 1) if value & 1 else value >> 1
            value = shift = 0


def places(source_map):
    """Returns the lessons' files and, for each piece of code, [offset, file or -1, line]."""
    files = [f"examples/{Path(source).name}" if re.search(r"examples/\d\d_", source) else None
             for source in source_map["sources"]]
    kept = sorted({file for file in files if file})
    table, offset, source, line = [], 0, 0, 0
    for segment in source_map["mappings"].split(","):
        moves = list(numbers(segment))
        offset += moves[0]
        if len(moves) >= 3:
            source, line = source + moves[1], line + moves[2]
        file = files[source] if len(moves) >= 3 else None
        row = [kept.index(file), line + 1] if file else [-1, 0]
        if not table or table[-1][1:] != row:
            table.append([offset, *row])
    return {"files": kept, "table": table}


def packed(data):
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    build, out = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        glue, module = (build / "play.js").read_bytes(), (build / "play.wasm").read_bytes()
        source_map = json.loads((build / "play.wasm.map").read_text())
    except OSError as error:
        sys.exit(f"play.py: {error.filename}: {error.strerror}. Run tools/play.sh, which builds it.")
    style = joined([*sorted(VIEWER.glob("*.css")), PLAY / "play.css"])
    script = (f"const app = (() => {{\n{joined(viewer_scripts())}return app;\n}})();\n" +
              joined(PLAY / f"{name}.js" for name in SCRIPTS))
    parts = {
        "STYLEHASH": hash_of(style), "SCRIPTHASH": hash_of(script), "STYLE": style, "SCRIPT": script,
        "GLUE": packed(glue),
        "WORKER": inside_script((PLAY / "worker.js").read_text()),
        "MODULE": packed(without_names(module)),
        "PLACES": packed(json.dumps(places(source_map), separators=(",", ":")).encode()),
    }
    pieces = (PLAY / "page.html").read_text().split("@")
    page = "".join(parts[piece] if at % 2 else piece for at, piece in enumerate(pieces))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page)
    print(f"{out}: {len(page.encode()) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
