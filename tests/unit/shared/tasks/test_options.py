"""What the tables of the task types may say."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from shared.errors import ConfigurationError
from shared.pipeline.loader import load_pipeline
from shared.tasks.options import GenerateVideoOptions
from shared.worker.results import RESULT_LIMIT

MARGIN = timedelta(seconds=30)


def table(tmp_path: Path, row: str) -> GenerateVideoOptions:
    path = tmp_path / "pipeline.toml"
    path.write_text(f"[tasks.generate_video]\n{row}\n")
    options = load_pipeline(path, limits=None, lease_margin=MARGIN).tasks["generate_video"].options
    assert isinstance(options, GenerateVideoOptions)
    return options


@pytest.mark.parametrize(
    ("row", "name", "value"),
    [
        ("", "link_hosts", []),
        ("", "key_window", None),
        ('max_video = "64MiB"', "max_video", RESULT_LIMIT),
        ('key_window = "24h"', "key_window", timedelta(hours=24)),
        (
            'link_hosts = ["Media.example.com", "10.0.0.5:8443"]',
            "link_hosts",
            ["media.example.com", "10.0.0.5:8443"],
        ),
        ("pass_callback_url = true", "pass_callback_url", True),
        ('attempt_timeout = "6s"\nsubmit_timeout = "3s"', "submit_timeout", timedelta(seconds=3)),
    ],
)
def test_the_table_of_videos_is_read(tmp_path: Path, row: str, name: str, value: Any) -> None:
    assert getattr(table(tmp_path, row), name) == value


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ('max_video = "65MiB"', "max_video"),
        ('seconds = "5"', "seconds"),
        ("seconds = 4", "seconds"),
        ('size = "big"', "size"),
        ('link_hosts = ["https://media.example.com/"]', "link_hosts"),
        ('key_window = "long"', "key_window"),
        ('model = ""', "model"),
        ('attempt_timeout = "119s"', "attempt_timeout"),
        ('submit_timeout = "61s"', "submit_timeout"),
    ],
)
def test_a_mistake_in_it_is_told_with_its_line(tmp_path: Path, row: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"line 2: tasks\.generate_video\.{problem}"):
        table(tmp_path, row)


def test_the_options_do_not_change() -> None:
    with pytest.raises(ValidationError):
        setattr(GenerateVideoOptions(), "model", "other")  # noqa: B010  mypy knows that it is frozen
