"""`dev.py bench`: the benchmarks, as a table and as JSON."""

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from devhost import paths
from devhost.azurite import install
from devhost.bench import broker, imports, large_bodies, webhooks
from devhost.bench.figures import Figure, as_document, as_table
from devhost.progress import say, step
from devhost.provision import provision
from devhost.stack import Stack, StackOptions

_APP = paths.ROOT / "devhost" / "bench" / "app"
_ALONE: dict[str, tuple[str, Callable[[], list[Figure]]]] = {
    "imports": ("Cold start", imports.run),
    "broker": ("The local broker", broker.run),
}
_ON_STACK: dict[str, tuple[str, Callable[[Stack], list[Figure]]]] = {
    "webhooks": ("Webhooks", webhooks.run),
    "memory": ("Memory of the host with large bodies", large_bodies.run),
}


def main(arguments: Sequence[str]) -> int:
    """Run those that are named, or all."""
    options = _parse(arguments)
    wanted = options.names or [*_ALONE, *_ON_STACK]
    figures: dict[str, Sequence[Figure]] = {}
    for name in [name for name in _ALONE if name in wanted]:
        title, run = _ALONE[name]
        with step(f"Measuring: {title}"):
            figures[title] = run()
    if any(name in wanted for name in _ON_STACK):
        install.ensure(paths.AZURITE_HOME)
        with (
            tempfile.TemporaryDirectory() as folder,
            Stack(StackOptions(state=Path(folder), app=_APP)) as stack,
        ):
            provision(stack.storage)
            for name in [name for name in _ON_STACK if name in wanted]:
                title, measure = _ON_STACK[name]
                with step(f"Measuring: {title}"):
                    figures[title] = measure(stack)
    say(as_table(figures))
    target = options.json or paths.LOCAL / "bench.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(as_document(figures), indent=2) + "\n", encoding="utf-8")
    say(f"\nAs JSON: {target}")
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    names = [*_ALONE, *_ON_STACK]
    parser = argparse.ArgumentParser(
        prog="dev.py bench", description="Measures on this machine; compare ratios, not absolute figures."
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        choices=[*names, []],
        help=f"some of: {', '.join(names)} (default: all)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the JSON goes (default: .local/)")
    return parser.parse_args(arguments)
