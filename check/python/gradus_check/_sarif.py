"""Joins SARIF documents."""


def merged(documents):
    """One SARIF 2.1.0 document with one run, as GitHub requires, and the results of all documents."""
    runs = [run for document in documents for run in document["runs"]]
    rules = {rule["id"]: rule for run in runs for rule in run["tool"]["driver"]["rules"]}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
            "runs": [{"tool": {"driver": {"name": "gradus-check", "rules": list(rules.values())}},
                      "results": [result for run in runs for result in run["results"]]}]}
