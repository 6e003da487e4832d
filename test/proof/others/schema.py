# Judges documents by a JSON Schema with a validator that nobody here wrote. Reads {"schema", "documents"}; writes one JSON value: the
# version of the validator and, for each document, null or what is wrong with it.
import json
import sys
from importlib.metadata import version

from jsonschema import validators

asked = json.load(sys.stdin)
kind = validators.validator_for(asked["schema"])
kind.check_schema(asked["schema"])
judge = kind(asked["schema"], format_checker=kind.FORMAT_CHECKER)


def fault(document):
    found = next(judge.iter_errors(document), None)
    return None if found is None else f"{found.json_path}: {found.message}"[:300]


print(json.dumps({"version": version("jsonschema"), "faults": [fault(one) for one in asked["documents"]]}))
