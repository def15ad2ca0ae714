"""The host's data as it travels to a worker.

`Datum` is the library's name for a value with its wire type.
"""

import json

from azure.functions.meta import Datum


def text(value: str) -> Datum:
    return Datum(value, "string")


def as_json(value: object) -> Datum:
    """Numbers, dates and dictionaries travel as JSON text."""
    return Datum(json.dumps(value), "json")
