"""Pages of the source files that the documentation links to."""
import subprocess
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

LARGEST = 100_000  # bytes
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="{up}source.css"></head>
<body><main><h1>{title}</h1>
{body}</main></body></html>
"""
STYLE = """body { margin: 1rem; font-family: sans-serif; color: #1a1a1a; background: #fff; }
h1 { font-size: 1.1rem; }
pre { line-height: 1.35; overflow-x: auto; }
a { color: #0645ad; }
.linenos { color: #595959; padding-right: 1em; }
:target { background: #ffef9e; }
"""


def page(path, title, body, folder):
    path.parent.mkdir(parents=True, exist_ok=True)
    up = "../" * (len(path.relative_to(folder).parts) - 1)
    path.write_text(PAGE.format(title=title, body=body, up=up), encoding="utf-8")


def file_page(root, folder, file, formatter):
    try:
        lexer = get_lexer_for_filename(file.name)
    except ClassNotFound:
        lexer = TextLexer()
    body = highlight((root / file).read_text(encoding="utf-8", errors="replace"), lexer, formatter)
    page(folder / f"{file}.html", file, body, folder)


def folder_page(folder, path, files):
    names = sorted(each.relative_to(path) for each in files)
    links = "".join(f'<li><a href="{each}.html">{each}</a></li>\n' for each in names)
    page(folder / path / "index.html", path, f"<ul>\n{links}</ul>\n", folder)


def write(root, folder, linked):
    """Writes FOLDER/PATH.html for each linked file, with lines as anchors, and FOLDER/PATH/index.html for folders."""
    tracked = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    small = [Path(each) for each in tracked.splitlines()
             if (root / each).is_file() and (root / each).stat().st_size < LARGEST]
    formatter = HtmlFormatter(style="default", linenos="inline", linespans="L")
    shown = set()
    for path in map(Path, linked):
        within = [each for each in small if path in each.parents]
        if within:
            folder_page(folder, path, within)
        shown.update(within or [path])
    for file in shown:
        file_page(root, folder, file, formatter)
    (folder / "source.css").write_text(formatter.get_style_defs() + "\n" + STYLE)
