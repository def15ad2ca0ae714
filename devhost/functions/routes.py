"""Route templates as the Functions host matches them: literals without case, `{name}`, `{name?}`,
`{name=value}`, `{*rest}`, inline constraints, several parameters in one segment. Values stay text.

Source: https://learn.microsoft.com/aspnet/core/fundamentals/routing
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from devhost.functions.route_constraints import Check, parse_constraint

MASK = "***"
_PARAMETER = re.compile(r"\{((?:[^{}]|\{\{|\}\})+)\}")


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    checks: tuple[Check, ...]
    default: str | None
    optional: bool
    catch_all: bool

    def accepts(self, value: str) -> bool:
        return all(check(value) for check in self.checks)


@dataclass(frozen=True, slots=True)
class _Segment:
    pattern: re.Pattern[str]
    parameters: tuple[_Parameter, ...]

    @property
    def skippable(self) -> bool:
        """Whether the path may end before this segment."""
        return all(p.optional or p.catch_all or p.default is not None for p in self.parameters) and bool(
            self.parameters
        )


class RouteTemplate:
    """One compiled template. Raises ValueError for a template the host would refuse."""

    def __init__(self, template: str) -> None:
        self.template = template.strip("/")
        parts = _split(self.template)
        self._segments = [_segment(part) for part in parts]
        names = [p.name.lower() for s in self._segments for p in s.parameters]
        if len(set(names)) != len(names):
            raise ValueError(f"route {template!r} names a parameter twice")
        catch_alls = [i for i, s in enumerate(self._segments) if any(p.catch_all for p in s.parameters)]
        if catch_alls not in ([], [len(parts) - 1]):
            raise ValueError(f"route {template!r}: a catch-all parameter must be the last segment")

    def match(self, path: str) -> dict[str, str] | None:
        """The parameters of `path` (decoded, a trailing slash ignored), or None when it does not fit."""
        pieces = path.strip("/").split("/") if path.strip("/") else []
        values: dict[str, str] = {}
        for index, segment in enumerate(self._segments):
            if segment.parameters and segment.parameters[0].catch_all:
                return _take(segment.parameters[0], "/".join(pieces[index:]), values)
            if index >= len(pieces):
                if not segment.skippable:
                    return None
                if _take(segment.parameters[0], "", values) is None:
                    return None
                continue
            found = segment.pattern.fullmatch(pieces[index])
            if found is None:
                return None
            for parameter in segment.parameters:
                if _take(parameter, found[parameter.name], values) is None:
                    return None
        return values if len(pieces) <= len(self._segments) else None

    def masked(self, path: str, secret: frozenset[str]) -> str | None:
        """`path` without the segment of a parameter of these names (in lower case) and what follows it.

        None where none of them stands for a part of it.
        """
        pieces = path.strip("/").split("/")
        for index, (segment, piece) in enumerate(zip(self._segments, pieces, strict=False)):
            if any(parameter.name.lower() in secret for parameter in segment.parameters):
                return "/" + "/".join([*pieces[:index], MASK])
            if segment.pattern.fullmatch(piece) is None:
                return None
        return None


def _take(parameter: _Parameter, value: str, values: dict[str, str]) -> dict[str, str] | None:
    """Add one parameter's value, or its default; None when a constraint refuses it."""
    chosen = value or parameter.default
    if chosen is None:
        return values if parameter.optional or parameter.catch_all else None
    if not parameter.accepts(chosen):
        return None
    values[parameter.name] = chosen
    return values


def _split(template: str) -> Sequence[str]:
    """Split at the slashes that are outside braces."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(template):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "/" and depth == 0:
            parts.append(template[start:index])
            start = index + 1
    if template:
        parts.append(template[start:])
    return parts


def _segment(text: str) -> _Segment:
    if not text:
        raise ValueError("a route must not contain an empty segment")
    pattern, parameters, end = "", [], 0
    for match in _PARAMETER.finditer(text):
        pattern += _literal(text[end : match.start()])
        parameter = _parameter(match[1].replace("{{", "{").replace("}}", "}"))
        parameters.append(parameter)
        pattern += f"(?P<{parameter.name}>.+)"
        end = match.end()
    pattern += _literal(text[end:])
    if len(parameters) > 1 and any(p.catch_all for p in parameters):
        raise ValueError(f"route segment {text!r}: a catch-all parameter must stand alone")
    return _Segment(re.compile(pattern, re.IGNORECASE | re.DOTALL), tuple(parameters))


def _literal(text: str) -> str:
    if "{" in text or "}" in text or "?" in text:
        raise ValueError(f"route text {text!r} holds a brace or '?' that belongs to no parameter")
    return re.escape(text)


def _parameter(text: str) -> _Parameter:
    """Read the inside of the braces: `*name:constraint(..):constraint=default?`."""
    match = re.fullmatch(
        r"(\*{0,2})(\w+)((?::(?:\((?:[^()]|\([^()]*\))*\)|[^:=?(])+)*)(?:=(.*?))?(\?)?", text, re.DOTALL
    )
    if match is None:
        raise ValueError(f"route parameter {text!r} cannot be read")
    stars, name, constraints, default, optional = match.groups()
    found = re.findall(r":((?:\((?:[^()]|\([^()]*\))*\)|[^:(])+)", constraints)
    return _Parameter(name, tuple(parse_constraint(c) for c in found), default, bool(optional), bool(stars))
