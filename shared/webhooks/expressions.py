"""JMESPath on what a stranger wrote."""

from collections.abc import Mapping
from typing import Any

from jmespath.exceptions import JMESPathError

from shared.webhooks.json_documents import in_full

EVALUATION_ERRORS = (
    JMESPathError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What evaluating an expression may raise: its functions meet values of every type."""


def searched(expression: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """What to look for the expression in: functions take no long value of a large body (`large_json`)."""
    return in_full(payload) if "(" in expression else payload
