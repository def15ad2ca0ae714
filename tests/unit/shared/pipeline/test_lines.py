"""Where keys stand in a TOML text."""

import json
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.pipeline.lines import Path, line_of, scan_lines
from shared.settings import APP_ROOT

SAMPLE = (
    '''# a comment with [brackets] and = signs

title = "a # in text, [and] {braces}"   # 3
"quoted key" = 1
a.b . "c.d" = 2
[sources.github]  # 6
secrets = [       # 7
  "A", # 8
  # nothing
  "B",
  ["deep", { inner = 1, other = 2 }],
]
text = """
[not.a.table]
key = "no"
\\"""
end"""
literal = \'\'\'
x = 1
\'\'\'
inline = { base = "5s", curve.cap = [1, 2] }
[[sources.github.routes]]
event = "x"
[[sources.github.routes]]
event = 1979-05-27 07:32:00
[sources.github.routes.more]
number = -0.5e3
["odd.table".'lit']
last = 'it'''
    "'"
)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 3),
        (("quoted key",), 4),
        (("a",), 5),
        (("a", "b", "c.d"), 5),
        (("sources", "github"), 6),
        (("sources", "github", "secrets"), 7),
        (("sources", "github", "secrets", 0), 8),
        (("sources", "github", "secrets", 1), 10),
        (("sources", "github", "secrets", 2, 1, "inner"), 11),
        (("sources", "github", "secrets", 2, 1, "other"), 11),
        (("sources", "github", "text"), 13),
        (("sources", "github", "literal"), 18),
        (("sources", "github", "inline", "base"), 21),
        (("sources", "github", "inline", "curve", "cap", 1), 21),
        (("sources", "github", "routes"), 22),
        (("sources", "github", "routes", 0), 22),
        (("sources", "github", "routes", 0, "event"), 23),
        (("sources", "github", "routes", 1), 24),
        (("sources", "github", "routes", 1, "event"), 25),
        (("sources", "github", "routes", 1, "more", "number"), 27),
        (("odd.table", "lit", "last"), 29),
    ],
)
def test_every_key_of_a_hard_text_is_found(path: Path, line: int) -> None:
    assert scan_lines(SAMPLE)[path] == line


def test_the_hard_text_is_valid() -> None:
    assert set(paths(tomllib.loads(SAMPLE))) <= set(scan_lines(SAMPLE))


def test_what_does_not_stand_in_the_text_is_at_the_nearest_thing_around_it() -> None:
    lines = scan_lines("[a]\nb = 1\n[[c]]\nd = [1]\n")
    assert line_of(lines, ("a", "missing")) == 1
    assert line_of(lines, ("c", 0, "missing", 4)) == 3
    assert line_of(lines, ("c", 0, "d", 7)) == 4
    assert line_of(lines, ("missing",)) is None


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every key path of a parsed document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield (*path, key)
        yield from paths(child, (*path, key))


@pytest.mark.parametrize("name", ["pipeline.toml", "pyproject.toml"])
def test_every_path_of_a_real_file_has_its_line(name: str) -> None:
    text = (APP_ROOT / name).read_text("utf-8")
    lines = scan_lines(text)
    document = tomllib.loads(text)
    rows = text.splitlines()
    for path in paths(document):
        assert path in lines
        key = path[-1]
        if isinstance(key, str):
            assert key in rows[lines[path] - 1]


def written(value: Any, *, flat: bool = False) -> str:
    """A value as TOML; JSON's escapes are TOML's too, apart from DEL. Inline tables stay on one line."""
    if isinstance(value, dict):
        pairs = (f"{written(key)} = {written(child, flat=True)}" for key, child in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list) and flat:
        return "[" + ", ".join(written(child, flat=True) for child in value) + "]"
    if isinstance(value, list):
        return "[\n" + "".join(f"  {written(child)},  # ] }}\n" for child in value) + "]"
    return json.dumps(value)


TEXTS = st.text(st.characters(codec="ascii", exclude_characters="\x7f"), max_size=8)
VALUES = st.recursive(
    st.booleans() | st.integers(-999, 999) | st.floats(-10, 10, width=16) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(
    tables=st.dictionaries(TEXTS, st.dictionaries(TEXTS, VALUES, max_size=4), max_size=4),
    gap=st.integers(0, 3),
)
def test_every_path_of_a_generated_file_has_its_line(tables: dict[str, dict[str, Any]], gap: int) -> None:
    text = ""
    expected: dict[Path, int] = {}
    for table, pairs in tables.items():
        text += "\n" * gap + "# [comment\n"
        expected[table,] = text.count("\n") + 1
        text += f"[{written(table)}]\n"
        for key, value in pairs.items():
            expected[table, key] = text.count("\n") + 1
            text += f"{written(key)} = {written(value)}\n"
    lines = scan_lines(text)
    assert set(paths(tomllib.loads(text))) <= set(lines)
    assert {path: lines[path] for path in expected} == expected
