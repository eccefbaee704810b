#!/usr/bin/env python3
"""Joins the playground into one file that works offline:  tools/play.py BUILD OUT.html

BUILD contains play.js and play.wasm, made by preset wasm. The page allows only its own script and
style (by hash), its worker and its WebAssembly module."""
import base64
import gzip
import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VIEWER = ROOT / "trace" / "viewer"
PLAY = ROOT / "docs" / "play"
SCRIPTS = ["elements", "engine", "form", "training", "exercises", "link", "selftest", "play"]


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


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    build, out = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        glue, module = (build / "play.js").read_text(), (build / "play.wasm").read_bytes()
    except OSError as error:
        sys.exit(f"play.py: {error.filename}: {error.strerror}. Run tools/play.sh, which builds it.")
    style = joined([*sorted(VIEWER.glob("*.css")), PLAY / "play.css"])
    script = joined([*viewer_scripts(), *(PLAY / f"{name}.js" for name in SCRIPTS)])
    body = (VIEWER / "page.html").read_text().split("<!-- viewer -->")[1]
    parts = {
        "STYLEHASH": hash_of(style), "SCRIPTHASH": hash_of(script), "STYLE": style, "SCRIPT": script,
        "VIEWER": body, "GLUE": inside_script(glue),
        "WORKER": inside_script((PLAY / "worker.js").read_text()),
        "MODULE": base64.b64encode(gzip.compress(module, 9, mtime=0)).decode(),
    }
    pieces = (PLAY / "page.html").read_text().split("@")
    page = "".join(parts[piece] if at % 2 else piece for at, piece in enumerate(pieces))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page)
    print(f"{out}: {len(page.encode()) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
