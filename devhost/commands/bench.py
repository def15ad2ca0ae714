"""`dev.py bench`: the benchmarks, as a table and as JSON."""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from devhost import paths
from devhost.azurite import install
from devhost.bench import broker, imports, jobs, large_bodies, webhooks
from devhost.bench.effort import Effort
from devhost.bench.figures import Figure, as_document, as_table
from devhost.bench.measured_stack import measured_stack
from devhost.progress import say, step
from devhost.stack import Stack

_ALONE: Mapping[str, tuple[str, Callable[[Effort], list[Figure]]]] = {
    "imports": ("Cold start", imports.run),
    "broker": ("The local broker", broker.run),
}
_ON_STACK: Mapping[str, tuple[str, Callable[[Stack, Effort], list[Figure]]]] = {
    "webhooks": ("Webhooks", webhooks.run),
    "memory": ("Memory of the host with large bodies", large_bodies.run),
    "jobs": ("Jobs", jobs.run),
}
NAMES = (*_ALONE, *_ON_STACK)


def main(arguments: Sequence[str], effort: Effort | None = None) -> int:
    """Run those that are named, or all."""
    options = _parse(arguments)
    target: Path = options.json
    figures = measure(options.names or NAMES, effort or Effort())
    print(as_table(figures), flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(as_document(figures), indent=2) + "\n", encoding="utf-8")
    say(f"\nAs JSON: {target}")
    return 0


def measure(names: Sequence[str], effort: Effort) -> dict[str, Sequence[Figure]]:
    """The figures of these benchmarks, by title."""
    figures: dict[str, Sequence[Figure]] = {}
    for name in [name for name in _ALONE if name in names]:
        title, alone = _ALONE[name]
        with step(f"Measuring: {title}"):
            figures[title] = alone(effort)
    wanted = [name for name in _ON_STACK if name in names]
    if not wanted:
        return figures
    install.ensure(paths.AZURITE_HOME)
    with measured_stack() as stack:
        for name in wanted:
            title, on_stack = _ON_STACK[name]
            with step(f"Measuring: {title}"):
                figures[title] = on_stack(stack, effort)
    return figures


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="dev.py bench",
        description="Measures on this machine, in a few minutes; compare ratios, not figures.",
    )
    parser.add_argument(
        "names", nargs="*", type=_name, metavar="NAME", help=f"some of: {', '.join(NAMES)} (default: all)"
    )
    default = paths.LOCAL / "bench.json"
    parser.add_argument(
        "--json",
        type=Path,
        default=default,
        metavar="FILE",
        help="where the JSON goes (default: %(default)s)",
    )
    return parser.parse_args(arguments)


def _name(text: str) -> str:
    if text not in NAMES:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(NAMES)}, found {text!r}")
    return text
