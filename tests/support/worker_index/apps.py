"""Reads apps.txt: the small apps on which the two workers are compared."""

import re
from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).with_name("apps.txt")


@dataclass(frozen=True, slots=True)
class SmallApp:
    """One app. `expected` is the heading it stands under: what comes of it on either worker."""

    name: str
    expected: str
    source: str
    settings: dict[str, str]


def read_apps() -> list[SmallApp]:
    """All apps; one with a `def fn(` is there twice, the second time with async functions."""
    _, head, *groups = re.split(r"^## (\w+)\n", _FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    start = groups.pop(0)
    apps = []
    for expected, group in zip(groups[::2], groups[1::2], strict=True):
        for text in re.split(r"^### ", group, flags=re.MULTILINE)[1:]:
            title, _, source = text.partition("\n")
            apps += _variants(title, expected, start, source)
    assert head == "head"
    return apps


def _variants(title: str, expected: str, head: str, source: str) -> list[SmallApp]:
    name, _, setting = title.partition(" | ")
    key, _, value = setting.partition("=")
    settings = {key: value} if key else {}
    apps = [SmallApp(name, expected, head + source, settings)]
    if "\ndef fn(" in source and expected != "refused":
        later = source.replace("\ndef fn(", "\nasync def fn(")
        apps.append(SmallApp(f"{name}, async", expected, head + later, settings))
    return apps
