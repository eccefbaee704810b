#!/usr/bin/env python3
"""Changes what Breathe does not accept in Doxygen's XML.

  fix_xml.py XML    the folder with index.xml; its files are rewritten"""
import os
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def main():
    folder = Path(sys.argv[1])
    paths = {}
    for path in folder.glob("*.xml"):
        tree = ET.parse(path)
        for compound in tree.iter("compounddef"):
            paths[compound.get("id")] = os.path.relpath(compound.find("location").get("file")) \
                if compound.find("location") is not None else None
        for compound in tree.iter("compounddef"):
            for section in [each for each in compound.findall("sectiondef") if each.get("kind").startswith("private")]:
                compound.remove(section)
        for section in tree.iter("sectiondef"):
            section.set("kind", section.get("kind") or "friend")
            for friend in [each for each in section.findall("memberdef") if each.get("kind") == "friend"]:
                section.remove(friend)
        for member in tree.iter("memberdef"):
            value = member.find("initializer")
            if value is not None and re.search(r"{\s*(\.|if)", "".join(value.itertext())):
                member.remove(value)
        tree.write(path)
    index = ET.parse(folder / "index.xml")
    for compound in index.getroot():
        if compound.get("kind") == "file":  # base names are not unique
            compound.find("name").text = paths[compound.get("refid")]
    index.write(folder / "index.xml")


main()
