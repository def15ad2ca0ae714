"""Configuration problems: where, what was expected, what was found; reported all at once."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from shared.errors import ConfigurationError

LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, in the words an operator needs to put it right."""

    where: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, found {self.found}"


def shown(value: object) -> str:
    """`value` as one short line. Not for secrets."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def configuration_error(problems: Iterable[Problem]) -> ConfigurationError:
    """The error that lists every problem, one a line."""
    lines = [str(problem) for problem in problems]
    if len(lines) == 1:
        return ConfigurationError(lines[0])
    return ConfigurationError("\n".join([f"{len(lines)} problems:", *(f"- {line}" for line in lines)]))
