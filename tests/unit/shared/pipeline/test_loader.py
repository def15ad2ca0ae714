"""pipeline.toml: what it means, and what is told where it cannot be read at all."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ConfigurationError
from shared.host_limits import HostLimits
from shared.pipeline import Users
from shared.pipeline.loader import load_pipeline
from shared.retry import BackoffCurve, BackoffList
from shared.settings import APP_ROOT
from tests.unit.shared.pipeline.loading import LIMITS, MARGIN, SOURCE, load, problems_of


def test_the_apps_own_pipeline_holds() -> None:
    pipeline = load_pipeline(APP_ROOT / "pipeline.toml", limits=LIMITS, lease_margin=MARGIN)
    github, events = pipeline.sources["github"], pipeline.sources["events"]
    assert (github.scheme, github.secrets, github.max_body) == (
        "github",
        ("GITHUB_WEBHOOK_SECRET",),
        25 * 1024**2,
    )
    assert github.routes[0].input_ref is not None
    assert github.routes[0].input_ref.search({"client_payload": {"document": "inputs/documents/a"}})
    assert (events.scheme, events.tolerance) == ("standard", timedelta(minutes=5))
    assert [route.event for route in events.routes] == ["document.*", "note.*", "video.*"]
    task = pipeline.tasks["summarize_document"]
    assert task.attempt_timeout == timedelta(minutes=2)
    assert task.options.model_dump() == {"max_document": 20 * 1024**2, "sentences": 5}
    assert (task.retry.attempts, task.retry.deadline, task.retry.jitter) == (5, timedelta(days=1), 0.2)
    assert task.retry.backoff == BackoffList(
        (timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10), timedelta(minutes=30))
    )


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    pipeline = load(tmp_path, SOURCE)
    source, task = pipeline.sources["github"], pipeline.tasks["summarize_document"]
    assert (source.max_body, source.tolerance, source.allowed_inputs) == (1024**2, timedelta(minutes=5), ())
    (route,) = source.routes
    assert (route.input, route.input_ref, route.user) == (None, None, None)
    assert (task.attempt_timeout, task.retry.attempts) == (timedelta(minutes=2), 5)
    assert task.options.model_dump() == {"max_document": 20 * 1024**2, "sentences": 5}
    assert task.retry.backoff == BackoffCurve(base=timedelta(seconds=5), factor=2, cap=timedelta(minutes=5))


def test_a_curve_is_read(tmp_path: Path) -> None:
    text = SOURCE + '[tasks.summarize_document.retry]\nbackoff = { base = "1s", factor = 3, cap = "1m30s" }\n'
    assert load(tmp_path, text).tasks["summarize_document"].retry.backoff == BackoffCurve(
        base=timedelta(seconds=1), factor=3, cap=timedelta(seconds=90)
    )


def test_windows_line_ends_keep_the_lines(tmp_path: Path) -> None:
    text = SOURCE.replace("\n", "\r\n") + "sentences = 0\r\n"
    assert problems_of(tmp_path, text) == [
        "pipeline.toml line 8: tasks.summarize_document.sentences: expected at least 1, found 0"
    ]


def test_the_mapping_cannot_be_changed(tmp_path: Path) -> None:
    pipeline = load(tmp_path, SOURCE)
    with pytest.raises(TypeError):
        pipeline.sources["other"] = pipeline.sources["github"]  # type: ignore[index]  # what is tested


def test_the_default_timeout_is_checked_against_the_host_too(tmp_path: Path) -> None:
    short = HostLimits(function_timeout=timedelta(minutes=2), lock_renewal=timedelta(minutes=5))
    with pytest.raises(
        ConfigurationError, match=r"line 7: tasks\.summarize_document\.attempt_timeout.*less than 1m30s"
    ):
        load(tmp_path, SOURCE, short)
    assert load(tmp_path, SOURCE, None).tasks


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = 1\nb = \n", "pipeline.toml line 2: expected valid TOML, found a mistake (Invalid value)"),
        (
            "a = 1\na = 2\n",
            "pipeline.toml line 2: expected valid TOML, found a mistake (Cannot overwrite a value)",
        ),
        ("a = ", "pipeline.toml at its end: expected valid TOML, found a mistake (Invalid value)"),
        ("a = " + "[" * 5000, "pipeline.toml: expected valid TOML, found values nested too deeply"),
    ],
)
def test_a_mistake_of_syntax_has_its_line(tmp_path: Path, text: str, problem: str) -> None:
    assert problems_of(tmp_path, text) == [problem]


def test_a_missing_file_and_other_bytes_are_told(tmp_path: Path) -> None:
    missing = tmp_path / "absent.toml"
    with pytest.raises(ConfigurationError, match=r"absent\.toml: expected a file at .*AFTERHOOK_PIPELINE"):
        load_pipeline(missing, limits=LIMITS, lease_margin=MARGIN)
    for content, expected in (
        (b"\xff", ", found other"),
        (b"\xef\xbb\xbf", " without a byte order mark, found"),
    ):
        missing.write_bytes(content)
        with pytest.raises(ConfigurationError, match=rf"absent\.toml: expected text in UTF-8{expected}"):
            load_pipeline(missing, limits=LIMITS, lease_margin=MARGIN)


@pytest.mark.fuzz
@given(
    line=st.integers(0, 8),
    row=st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20)
    | st.sampled_from(
        ["sources = 1", "[sources]", "[[tasks]]", "x.y.z = [{a=1}]", "routes = [1]", "[[sources.a]]"]
    ),
)
def test_any_inserted_line_is_read_or_told(
    tmp_path_factory: pytest.TempPathFactory, line: int, row: str
) -> None:
    rows = SOURCE.splitlines()
    rows.insert(line, row)
    folder = tmp_path_factory.mktemp("pipeline")
    try:
        assert load(folder, "\n".join(rows)).sources
    except ConfigurationError as error:
        told = str(error)
    else:
        return
    assert "pipeline.toml" in told
    assert "expected" in told


def test_callers_of_the_api_may_have_numbers_for_users(tmp_path: Path) -> None:
    assert load(tmp_path, SOURCE).api.users is Users.IDS
    assert load(tmp_path, SOURCE + '[api]\nusers = "numbers"\n').api.users is Users.NUMBERS
    assert problems_of(tmp_path, SOURCE + "[api]\nusers = 1\n") == [
        'pipeline.toml line 9: api.users: expected one of "ids", "numbers", found 1'
    ]
