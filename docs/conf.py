"""Sphinx configuration: Markdown pages of the entire repository, and API pages from the headers. See tools/docs.sh."""
import os
import posixpath
import re
import sys
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "docs"
sys.path.insert(0, str(ROOT / "tools" / "docs"))
import sources  # noqa: E402

project = "Gradus"
author = "The Gradus authors"
project_copyright = ""
release = ".".join(re.findall(r"VERSION_\w+ (\d+)", (ROOT / "engine/base/version.h").read_text()))

extensions = ["myst_parser", "breathe", "sphinx_reredirects"]
include_patterns = ["docs/**.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md",
                    "examples/exercises/README.md", "examples/own_model/README.md",
                    "bench/records/README.md"]
exclude_patterns = ["build", "runs", ".*"]  # build has links to the tree
root_doc = "docs/index"
myst_heading_anchors = 4
myst_enable_extensions = ["substitution"]
play_is_built = (BUILD / "extra" / "play.html").exists()  # copied by tools/docs.sh
myst_substitutions = {"play": '<a href="../../play.html">Open the playground.</a>' if play_is_built else ""}
myst_url_schemes = ["http", "https", "mailto", "source", "trace"]
suppress_warnings = ["duplicate_declaration.cpp"]  # each API page names the namespace gradus

breathe_projects = {"gradus": str(BUILD / "doxygen" / "xml")}
breathe_default_project = "gradus"
breathe_show_include = False

highlight_language = "text"  # the default, Python, colors words in transcripts
html_theme = "furo"
html_title = f"Gradus {release}"
html_static_path = ["site"]
html_css_files = ["gradus.css"]
html_extra_path = [str(BUILD / "extra")]  # traces of the lessons
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_permalinks_icon = "#"

redirects = {  # addresses of earlier versions
    "index": "docs/index.html",
    "docs/course": "course/index.html",
    "docs/from_query_to_transformer": "explanation/from_query_to_transformer.html",
    "docs/attention": "explanation/attention.html",
    "docs/applications": "guides/applications.html",
    "docs/real_models": "guides/pretrained_models.html",
    "docs/from_pytorch": "guides/from_pytorch.html",
    "docs/own_operation": "guides/custom_operation.html",
    "docs/mistakes": "guides/troubleshooting.html",
    "docs/tracing": "guides/tracing.html",
    "docs/scale": "guides/distributed.html",
    "docs/checking": "checking/cpp.html",
    "docs/checking_from_python": "checking/python.html",
    "docs/checking_method": "checking/method.html",
    "docs/causes": "checking/causes.html",
    "docs/seen_in_the_wild": "found/seen_in_the_wild.html",
    "docs/files": "reference/files.html",
    "docs/trace_format": "reference/trace_format.html",
    "docs/testing": "dev/testing.html",
    "docs/where": "dev/where.html",
    "docs/migration": "dev/migration.html",
}

linked = set()  # files of the tree that pages link to
LINK = re.compile(r"(\]\()([^)\s#]+)(#[\w-]*)?\)")
TRACE = re.compile(r"\]\(\.\./traces/([^)\s]+)\)")


def source_links(app, docname, text):
    """Links to files that are not pages become source:PATH, those to traces trace:PATH; see resolve_sources()."""
    if docname == "docs/derivations":
        text[0] += "\n## All derivations\n\n```{toctree}\n:glob:\n\nderivations/*\n```\n"
    if docname == "docs/index":  # the home page is the README
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        readme = LINK.sub(lambda m: m[0] if ":" in m[2] else
                          f"]({posixpath.relpath(m[2], 'docs')}{m[3] or ''})", readme)
        text[0] = readme + text[0][text[0].index("\n```{toctree}"):]
    folder = posixpath.dirname(docname)

    def replaced(match):
        path = posixpath.normpath(posixpath.join(folder, match[2]))
        is_page = path.endswith(".md") or path.startswith("docs/") and not (ROOT / path).is_dir()
        if ":" in match[2] or is_page or not (ROOT / path).exists():
            return match[0]
        return f"](source:{path}{match[3] or ''})"

    text[0] = LINK.sub(replaced, TRACE.sub(r"](trace:\1)", text[0]))


def resolve_sources(app, doctree, docname):
    for reference in doctree.findall(nodes.reference):
        uri = reference.get("refuri", "")
        if uri.startswith("trace:"):  # html_extra_path
            reference["refuri"] = os.path.relpath("docs/traces/" + uri[len("trace:"):], posixpath.dirname(docname))
        if uri.startswith("source:"):
            path, _, anchor = uri[len("source:"):].partition("#")
            linked.add(path)
            page = f"source/{path}/index.html" if (ROOT / path).is_dir() else f"source/{path}.html"
            reference["refuri"] = os.path.relpath(page, posixpath.dirname(docname)) + (anchor and "#" + anchor)


# What axe-core reports about pages of the theme.
ACCESSIBLE = [('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
              ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Pages">'),
              ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="Sections">'),
              ("<pre>", '<pre tabindex="0">'),
              ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
              ('<th class="head"><p></p></th>', '<td></td>')]


def finish(app, exception):
    if exception:
        return
    site = Path(app.outdir)
    sources.write(ROOT, site / "source", linked)
    for path in site.rglob("*.html"):
        if "traces" not in path.parts:
            text = path.read_text(encoding="utf-8")
            for before, after in ACCESSIBLE:
                text = text.replace(before, after)
            path.write_text(text, encoding="utf-8")


def setup(app):
    app.add_lexer("gdb", TextLexer)
    app.connect("source-read", source_links)
    app.connect("doctree-resolved", resolve_sources)
    app.connect("build-finished", finish)
