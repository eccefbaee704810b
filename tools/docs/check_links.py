#!/usr/bin/env python3
"""Checks that each link of a built site leads to a file and an anchor that exist.

  check_links.py SITE    exit code 1, with a line per dead link"""
import re
import sys
import urllib.parse
from pathlib import Path

LINK = re.compile(r'<(?:a|link|img|script|iframe)\b[^>]*?(?:href|src)="([^"]+)"')
ANCHOR = re.compile(r'\b(?:id|name)="([^"]+)"')


def main():
    site = Path(sys.argv[1]).resolve()
    pages = {path: path.read_text(encoding="utf-8", errors="replace") for path in site.rglob("*.html")
             if "traces" not in path.parts}
    anchors = {path: set(ANCHOR.findall(text)) for path, text in pages.items()}
    dead = []
    for path, text in pages.items():
        for link in set(LINK.findall(text)):
            url = urllib.parse.urlsplit(link.replace("&amp;", "&"))
            if url.scheme or url.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            fragment = urllib.parse.unquote(url.fragment)
            if not target.is_file():
                dead.append(f"{path.relative_to(site)}: {link} does not exist")
            elif fragment and target in anchors and fragment not in anchors[target]:
                dead.append(f"{path.relative_to(site)}: {link} has no such anchor")
    sys.exit("\n".join(sorted(dead)) or 0)


main()
