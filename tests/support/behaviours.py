"""The table of the broker's behaviours in `devhost/README.md`, made from the tests that show them.

``python -m tests.support.behaviours`` prints it, ``--write`` puts it into the README between its markers.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from devhost.paths import ROOT
from tests.broker import conformance
from tests.broker.conformance.sdk import Sdk

README = ROOT / "devhost/README.md"
BEGIN = "<!-- behaviours: written by `python -m tests.support.behaviours --write` -->"
END = "<!-- end of behaviours -->"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One test: what it shows, and with which SDKs."""

    theme: str
    sentence: str
    sdks: tuple[Sdk, ...]


def behaviours() -> list[Behaviour]:
    """Every behaviour, in the order of the modules' names and of their text."""
    names = sorted(found.name for found in pkgutil.iter_modules(conformance.__path__))
    modules = [importlib.import_module(f"{conformance.__name__}.{name}") for name in names]
    return [behaviour for module in modules for behaviour in _of_module(module)]


def _of_module(module: ModuleType) -> Iterator[Behaviour]:
    tests = [value for name, value in vars(module).items() if name.startswith("test_")]
    for test in sorted(tests, key=lambda test: int(test.scenario.__code__.co_firstlineno)):
        yield Behaviour(str(module.__doc__), sentence(test.__name__), test.sdks)


def sentence(name: str) -> str:
    """A test's name as English."""
    words = name.removeprefix("test_").replace("_s_", "'s_").replace("_", " ")
    return words[0].upper() + words[1:]


def table(found: list[Behaviour]) -> str:
    """The behaviours as markdown, with how many there are."""
    count = (
        f"{len(found)} behaviours of the service, each shown by a test of its own through the unmodified SDK"
    )
    lines = ["<details>", f"<summary>{count}</summary>", ""]
    lines += [
        "The tests are in `tests/broker/conformance/`. A dash: the SDK's blocking handlers are not to be"
    ]
    lines += ["used by several threads at once.", ""]
    lines += ["| behaviour | " + " | ".join(f"`{sdk}`" for sdk in Sdk) + " |"]
    lines += ["|---|" + "---|" * len(Sdk)]
    theme = ""
    for behaviour in found:
        if behaviour.theme != theme:
            theme = behaviour.theme
            lines.append(f"| **{theme}** |" + " |" * len(Sdk))
        cells = ("yes" if sdk in behaviour.sdks else "–" for sdk in Sdk)  # noqa: RUF001 - a dash is meant
        lines.append(f"| {behaviour.sentence} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", "</details>"])


def put_into(text: str, content: str) -> str:
    """The text with the content between its markers, which must be there once each, or ``ValueError``."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{README.name} must hold each of these lines once: {BEGIN} and {END}")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{content}\n\n{END}{after}"


def main(readme: Path = README) -> None:
    """Print the table or write it."""
    parser = argparse.ArgumentParser(description="The table of the broker's behaviours.")
    parser.add_argument("--write", action="store_true", help=f"put it into {README.name}")
    content = table(behaviours())
    if parser.parse_args().write:
        readme.write_text(put_into(readme.read_text(encoding="utf-8"), content), encoding="utf-8")
    else:
        print(content)


if __name__ == "__main__":
    main()
