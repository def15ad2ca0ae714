"""What must hold between the parts of pipeline.toml that limit, delay, pay for and announce jobs.

Works on the raw document as `shared.pipeline.checks`: what has the wrong shape is passed over here.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from shared.durations import format_duration, parse_duration
from shared.outbound.targets import named_in
from shared.pipeline.lines import Path
from shared.pipeline.misfits import Misfit, table
from shared.pipeline.sections import RetrySection
from shared.pipeline.task_sections import DEFAULT_ATTEMPT_TIMEOUT, TASK_SECTIONS
from shared.pipeline.values import quoted
from shared.problems import shown
from shared.tasks.options import TASK_OPTIONS

PROVIDERS = ("azure", "openai", "videos")
"""The providers that calls are made to (`shared.ai.providers`): each has a circuit breaker of its own."""
_DEFAULT_DEADLINE: timedelta = RetrySection().deadline
_PORTS = {"https": 443, "http": 80}


def job_misfits(document: Mapping[str, Any]) -> Iterator[Misfit]:
    """Every relation that does not hold."""
    tasks = {name: table(part) for name, part in table(document.get("tasks")).items()}
    for name, source in table(document.get("sources")).items():
        path: Path = ("sources", name)
        yield from _notify_misfits(path, table(source), document)
        yield from _delay_misfits(path, table(source), tasks)
    for name, task in tasks.items():
        if name in TASK_SECTIONS:
            yield from _task_misfits(name, task, table(document.get("prices")))
    for name, provider in table(document.get("providers")).items():
        if name not in PROVIDERS:
            yield Misfit(("providers", name), f"a provider that is called: {quoted(PROVIDERS)}", shown(name))
        yield from _curve_misfits(("providers", name, "rest"), table(provider).get("rest"))


def _notify_misfits(path: Path, source: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Misfit]:
    """An address may hold a secret: only its host is shown."""
    url = table(source.get("notify")).get("url")
    allowed = table(document.get("outbound")).get("allowed_hosts", [])
    if not isinstance(url, str) or not isinstance(allowed, list):
        return
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return
    if not host or parts.scheme not in _PORTS:
        return
    entries = [entry for entry in allowed if isinstance(entry, str)]
    if not named_in(host, _PORTS[parts.scheme] if port is None else port, entries):
        with_port = host if port is None else f"{host}:{port}"
        expected = "an address whose host is among the allowed_hosts of [outbound]"
        yield Misfit((*path, "notify", "url"), expected, f"the host {shown(with_port)}")


def _delay_misfits(
    path: Path, source: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Any]]
) -> Iterator[Misfit]:
    """A job that starts after its deadline would only be buried."""
    routes = source.get("routes")
    for index, route in enumerate(map(table, routes if isinstance(routes, list) else [])):
        delay, task = _duration(route, "delay"), route.get("task")
        if delay is None or not isinstance(task, str):
            continue
        retry = table(tasks.get(task, {}).get("retry"))
        deadline = _duration(retry, "deadline", _DEFAULT_DEADLINE)
        if deadline is not None and delay >= deadline:
            expected = f"less than the retry.deadline of {task} ({format_duration(deadline)})"
            yield Misfit((*path, "routes", index, "delay"), expected, shown(route["delay"]))


def _task_misfits(name: str, task: Mapping[str, Any], prices: Mapping[str, Any]) -> Iterator[Misfit]:
    path: Path = ("tasks", name)
    slow = _duration(task, "slow_after")
    timeout = _duration(task, "attempt_timeout", DEFAULT_ATTEMPT_TIMEOUT)
    if slow is not None and timeout is not None and slow >= timeout:
        expected = f"less than attempt_timeout ({format_duration(timeout)})"
        yield Misfit((*path, "slow_after"), expected, shown(task["slow_after"]))
    yield from _submit_misfits(name, task, timeout)
    for part in ("retry", "poll"):
        yield from _curve_misfits((*path, part, "backoff"), table(task.get(part)).get("backoff"))
    yield from _budget_misfits(name, task, prices)


def _submit_misfits(name: str, task: Mapping[str, Any], timeout: timedelta | None) -> Iterator[Misfit]:
    """Reading the input may take half of an attempt; a submit is not begun without all of its own time."""
    option = TASK_OPTIONS[name].model_fields.get("submit_timeout")
    submit = _duration(task, "submit_timeout", option.default) if option is not None else None
    if submit is None or timeout is None or timeout >= 2 * submit:
        return
    given = "attempt_timeout" if "attempt_timeout" in task else "submit_timeout"
    if given == "attempt_timeout":
        expected = f"at least twice submit_timeout ({format_duration(2 * submit)})"
        expected += ", so that no submit is cut"
    else:
        expected = (
            f"at most half of attempt_timeout ({format_duration(timeout / 2)}), so that no submit is cut"
        )
    yield Misfit(("tasks", name, given), expected, shown(task[given]))


def _curve_misfits(path: Path, curve: object) -> Iterator[Misfit]:
    base, cap = _duration(table(curve), "base"), _duration(table(curve), "cap")
    if base is not None and cap is not None and cap < base:
        yield Misfit((*path, "cap"), f"at least base ({format_duration(base)})", shown(table(curve)["cap"]))


def _budget_misfits(name: str, task: Mapping[str, Any], prices: Mapping[str, Any]) -> Iterator[Misfit]:
    """Without a price every call would count as free, and a budget of money would hold nothing back."""
    budget, path = table(task.get("budget")), ("tasks", name, "budget")
    money = next((key for key in ("job_money", "day_money") if key in budget), None)
    if money is not None and (missing := _missing_price(name, task, prices)):
        yield Misfit((*path, money), missing, "none")
    job, day = budget.get("job_tokens"), budget.get("day_tokens")
    if isinstance(job, int) and isinstance(day, int) and job > day:
        yield Misfit((*path, "job_tokens"), f"at most day_tokens ({day})", shown(job))


def _missing_price(name: str, task: Mapping[str, Any], prices: Mapping[str, Any]) -> str | None:
    """What is missing to know what the task's calls cost."""
    option = TASK_OPTIONS[name].model_fields.get("model")
    if option is None:
        if any({"input", "output"} & table(price).keys() for price in prices.values()):
            return None
        return "a table [prices.MODEL] with what its model costs (input, output)"
    model = task.get("model", option.default)
    if "second" in table(prices.get(str(model))):
        return None
    return f"a table [prices.{shown(model)}] with what a second costs (second)"


def _duration(part: Mapping[str, Any], key: str, default: timedelta | None = None) -> timedelta | None:
    """The duration under `key`; None for none, or for what is told as a problem elsewhere."""
    found = part.get(key)
    if found is None:
        return default
    try:
        return parse_duration(found) if isinstance(found, str) else None
    except ValueError:
        return None
