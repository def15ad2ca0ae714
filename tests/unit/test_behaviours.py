"""The table of the broker's behaviours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.broker.conformance.sdk import Sdk
from tests.support.behaviours import (
    BEGIN,
    END,
    README,
    Behaviour,
    behaviours,
    main,
    put_into,
    sentence,
    table,
)


def test_the_readme_shows_the_behaviours_that_the_tests_show() -> None:
    text = README.read_text(encoding="utf-8")
    assert put_into(text, table(behaviours())) == text, "run: python -m tests.support.behaviours --write"


def test_there_are_behaviours_of_every_theme_and_no_sentence_twice_in_one() -> None:
    found = behaviours()
    assert len(found) >= 100
    assert len({(behaviour.theme, behaviour.sentence) for behaviour in found}) == len(found)
    assert all(behaviour.theme and "\n" not in behaviour.theme for behaviour in found)


def test_a_name_becomes_a_sentence() -> None:
    assert sentence("test_a_broker_s_word_counts") == "A broker's word counts"


def test_a_behaviour_is_a_row_under_its_theme_with_a_dash_where_an_sdk_cannot_show_it() -> None:
    rows = table(
        [
            Behaviour("Sending", "One", (Sdk.AIO, Sdk.SYNC)),
            Behaviour("Sending", "Two", (Sdk.AIO,)),
            Behaviour("Peeking", "Three", (Sdk.SYNC,)),
        ]
    ).splitlines()
    assert "3 behaviours" in rows[1]
    assert rows[rows.index("| **Sending** | | |") :][:5] == [
        "| **Sending** | | |",
        "| One | yes | yes |",
        "| Two | yes | \N{EN DASH} |",
        "| **Peeking** | | |",
        "| Three | \N{EN DASH} | yes |",
    ]


def test_only_what_is_between_the_markers_is_replaced() -> None:
    assert put_into(f"before\n{BEGIN}old{END}\nafter", "new") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter"


@pytest.mark.parametrize("text", ["", BEGIN, END, f"{BEGIN}{END}{BEGIN}{END}"])
def test_a_text_without_the_markers_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="once"):
        put_into(text, "new")


def test_the_command_writes_the_readme_or_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"{BEGIN}{END}")
    monkeypatch.setattr("sys.argv", ["behaviours"])
    main(readme)
    printed = capsys.readouterr().out.strip()
    monkeypatch.setattr("sys.argv", ["behaviours", "--write"])
    main(readme)
    assert readme.read_text(encoding="utf-8") == f"{BEGIN}\n\n{printed}\n\n{END}"
