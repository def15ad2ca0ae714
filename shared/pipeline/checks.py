"""What must hold between the parts of pipeline.toml, and between it and the host.

Works on the raw document, so that these problems are found beside those of its shape; what has the wrong
shape is passed over here.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any

from shared.durations import format_duration, parse_duration
from shared.host_limits import HostLimits
from shared.pipeline.lines import Path
from shared.pipeline.misfits import Misfit, table
from shared.pipeline.model import API
from shared.pipeline.task_sections import DEFAULT_ATTEMPT_TIMEOUT, TASK_SECTIONS
from shared.pipeline.values import SOURCE_NAME, SOURCE_NAME_EXPECTED, quoted
from shared.problems import shown


def misfits(document: Mapping[str, Any], limits: HostLimits | None, margin: timedelta) -> Iterator[Misfit]:
    """Every cross-reference that does not hold. Without `limits` the host's times are not checked."""
    given = table(document.get("tasks"))
    tasks = {name: given[name] for name in TASK_SECTIONS if name in given}
    for name, source in table(document.get("sources")).items():
        yield from _source_misfits(name, table(source), tuple(tasks))
    if limits is not None:
        for name, task in tasks.items():
            yield from _timeout_misfits(name, table(task), limits, margin)


def _source_misfits(name: str, source: Mapping[str, Any], tasks: tuple[str, ...]) -> Iterator[Misfit]:
    path: Path = ("sources", name)
    if not SOURCE_NAME.fullmatch(name):
        yield Misfit(path, SOURCE_NAME_EXPECTED, shown(name))
    if name == API:
        yield Misfit(path, "another name: this one is that of POST /jobs", shown(name))
    secrets = source.get("secrets")
    if isinstance(secrets, list) and len({str(secret) for secret in secrets}) < len(secrets):
        yield Misfit((*path, "secrets"), "each setting once", "one twice")
    routes = source.get("routes")
    if isinstance(routes, list):
        yield from _route_misfits(path, [table(route) for route in routes], tasks)


def _route_misfits(source: Path, routes: list[Mapping[str, Any]], tasks: tuple[str, ...]) -> Iterator[Misfit]:
    earlier: dict[str, int] = {}
    for index, route in enumerate(routes):
        path: Path = (*source, "routes", index)
        if {"input", "input_ref"} <= route.keys():
            yield Misfit((*path, "input"), '"input" or "input_ref"', "both")
        task = route.get("task")
        if isinstance(task, str) and task not in tasks:
            known = (
                f"a task with a table of its own ({quoted(tasks)})"
                if tasks
                else "a table [tasks.NAME] for it"
            )
            yield Misfit((*path, "task"), known, shown(task))
        event = route.get("event")
        if not isinstance(event, str):
            continue
        hiding = next((number for pattern, number in earlier.items() if _hides(pattern, event)), None)
        if hiding is not None:
            yield Misfit((*path, "event"), "a pattern that can match", f"one that routes[{hiding}] hides")
        earlier.setdefault(event, index)


def _hides(pattern: str, event: str) -> bool:
    """Whether `pattern`, of an earlier route, matches whatever the pattern `event` does.

    That is so where it matches the other's text, unless it takes one of the other's stars for a character.
    """
    return pattern == event or (not {"?", "["} & set(pattern) and fnmatchcase(event, pattern))


def _timeout_misfits(
    name: str, task: Mapping[str, Any], limits: HostLimits, margin: timedelta
) -> Iterator[Misfit]:
    """A lease (timeout and margin) that outlives the invocation would keep others waiting for a dead one."""
    found = task.get("attempt_timeout", format_duration(DEFAULT_ATTEMPT_TIMEOUT))
    try:
        timeout = parse_duration(found) if isinstance(found, str) else None
    except ValueError:
        return
    if timeout is not None and timeout + margin >= limits.function_timeout:
        room = format_duration(limits.function_timeout - margin)
        expected = (
            f"less than {room} (functionTimeout {format_duration(limits.function_timeout)} of host.json"
            f" without the lease margin of {format_duration(margin)})"
        )
        yield Misfit(("tasks", name, "attempt_timeout"), expected, shown(found))
