"""JMESPath on what a stranger wrote."""

from jmespath.exceptions import JMESPathError

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
