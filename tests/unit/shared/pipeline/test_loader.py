"""pipeline.toml: what it means, and every mistake with its line."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ConfigurationError
from shared.host_limits import HostLimits
from shared.pipeline import Pipeline, Users
from shared.pipeline.loader import load_pipeline
from shared.retry import BackoffCurve, BackoffList
from shared.settings import APP_ROOT

LIMITS = HostLimits(function_timeout=timedelta(minutes=30), lock_renewal=timedelta(minutes=40))
MARGIN = timedelta(seconds=30)
SOURCE = """
[sources.github]
scheme = "github"
secrets = ["GITHUB_WEBHOOK_SECRET"]
[[sources.github.routes]]
event = "issues.*"
task = "summarize_document"
[tasks.summarize_document]
""".lstrip()


def load(folder: Path, text: str, limits: HostLimits | None = LIMITS) -> Pipeline:
    path = folder / "pipeline.toml"
    path.write_bytes(text.encode())
    return load_pipeline(path, limits=limits, lease_margin=MARGIN)


def problems_of(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(folder, text)
    first, *others = str(caught.value).splitlines()
    return [line.removeprefix("- ") for line in others] or [first]


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


ROUTE = "sources.github.routes[0]"
TASK = "tasks.summarize_document"

# A line of SOURCE (from 1) and what stands there instead; then the problem that is told.
MISTAKES = """
2: scheme = "githab"
    sources.github.scheme: expected one of "azure-monitor", "event-grid", "fal", "github", "hmac", "meta",
    "shopify", "slack", "standard", "stripe", "twilio", found "githab"
2: scheme = 5
    sources.github.scheme: expected one of "azure-monitor", "event-grid", "fal", "github", "hmac", "meta",
    "shopify", "slack", "standard", "stripe", "twilio", found 5
3: secrets = []
    sources.github.secrets: expected the names of 1 to 5 app settings, found none
3: secrets = ["A","B","C","D","E","F"]
    sources.github.secrets: expected at most 5 entries, found 6
3: secrets = ["A", "A"]
    sources.github.secrets: expected each setting once, found one twice
3: secrets = "A"
    sources.github.secrets: expected a list, found something else (not shown: it may be a secret)
3: secrets = [1]
    sources.github.secrets[0]: expected the name of an app setting in capitals, such as
    "GITHUB_WEBHOOK_SECRET" (never a secret itself), found 1
5: event = ""
    sources.github.routes[0].event: expected a pattern of event types such as "issues.*" (at most
    200 characters), found ""
6: task = "summarise"
    sources.github.routes[0].task: expected a task with a table of its own ("summarize_document"),
    found "summarise"
6: task = 1
    sources.github.routes[0].task: expected text, found 1
8: attempt_timeout = 5
    tasks.summarize_document.attempt_timeout: expected a duration such as "90s" or "2m", found 5
8: attempt_timeout = "5"
    tasks.summarize_document.attempt_timeout: expected a duration such as "90s" or "2m", found "5"
8: attempt_timeout = "500ms"
    tasks.summarize_document.attempt_timeout: expected a duration from 1s to 10h, found "500ms"
8: attempt_timeout = "29m30s"
    tasks.summarize_document.attempt_timeout: expected less than 29m30s (functionTimeout 30m of
    host.json without the lease margin of 30s), found "29m30s"
8: max_document = "20MB"
    tasks.summarize_document.max_document: expected a size such as "512KiB" or "20MiB", found "20MB"
8: max_document = "0B"
    tasks.summarize_document.max_document: expected a size from 1B to 1GiB, found "0B"
8: sentences = 51
    tasks.summarize_document.sentences: expected at most 50, found 51
8: sentences = 1.5
    tasks.summarize_document.sentences: expected a whole number, found 1.5
8: sentences = true
    tasks.summarize_document.sentences: expected a whole number, found true
8: sentences = "5"
    tasks.summarize_document.sentences: expected a whole number, found "5"
8: sentence = 5
    tasks.summarize_document.sentence: expected one of max_document, sentences, attempt_timeout,
    slow_after, publish, retry, poll, budget, limits - did you mean sentences?, found the unknown key
    "sentence"
8: retry = 5
    tasks.summarize_document.retry: expected a table, found 5
8: retry.attempts = 0
    tasks.summarize_document.retry.attempts: expected at least 1, found 0
8: retry.deadline = "31d"
    tasks.summarize_document.retry.deadline: expected a duration from 1s to 30d, found "31d"
8: retry.jitter = 1.5
    tasks.summarize_document.retry.jitter: expected at most 1, found 1.5
8: retry.jitter = nan
    tasks.summarize_document.retry.jitter: expected a finite number, found NaN
8: retry.backoff = []
    tasks.summarize_document.retry.backoff: expected at least 1 entry, found []
8: retry.backoff = 5
    tasks.summarize_document.retry.backoff: expected a list, found 5
8: retry.backoff = ["1s", "x"]
    tasks.summarize_document.retry.backoff[1]: expected a duration such as "90s" or "2m", found "x"
8: retry.backoff = { base = "1s", factor = 2 }
    tasks.summarize_document.retry.backoff.cap: expected this key, found none
8: retry.backoff = { base = "1s", factor = 0.5, cap = "1m" }
    tasks.summarize_document.retry.backoff.factor: expected at least 1, found 0.5
8: [tasks.paint]
    tasks.paint: expected one of summarize_document, generate_video, found the unknown key "paint"
8: [alerts]
    alerts: expected one of sources, tasks, api, outbound, retention, prices, providers, found the
    unknown key "alerts"
8: [sources.Git_Hub]
    sources.Git_Hub: expected a name of lower-case letters, digits and hyphens (at most 63), found
    "Git_Hub"
"""

# A row put into [sources.github]; then the problem that is told.
SOURCE_MISTAKES = """
max_body = "26MiB"
    sources.github.max_body: expected a size from 1B to 25MiB, found "26MiB"
tolerance = "5m"
    sources.github.tolerance: expected no such key: scheme "github" signs no time, found "5m"
tolerance = "0s"
    sources.github.tolerance: expected a duration from 1s to 1d, found "0s"
colour = 1
    sources.github.colour: expected one of scheme, secrets, max_body, tolerance, allowed_inputs,
    users, notify, limits, routes, found the unknown key "colour"
allowed_inputs = [1]
    sources.github.allowed_inputs[0]: expected a folder "container/folder/" ending with "/", found 1
"""


def cases(table: str) -> list[tuple[str, str]]:
    """The rows of a table above, each with the indented text under it as one line."""
    blocks = re.split(r"\n(?! )", table.strip())
    return [(row, " ".join(text.split())) for row, text in (block.split("\n", 1) for block in blocks)]


@pytest.mark.parametrize(("change", "problem"), cases(MISTAKES))
def test_a_mistake_is_told_with_line_name_expected_and_found(
    tmp_path: Path, change: str, problem: str
) -> None:
    line, instead = change.split(": ", 1)
    rows = SOURCE.splitlines()
    rows[int(line) - 1 : int(line)] = [instead]
    assert f"pipeline.toml line {line}: {problem}" in problems_of(tmp_path, "\n".join(rows))


@pytest.mark.parametrize(("row", "problem"), cases(SOURCE_MISTAKES))
def test_a_mistake_in_a_source_is_told(tmp_path: Path, row: str, problem: str) -> None:
    text = SOURCE.replace("[[", f"{row}\n[[", 1)
    assert f"pipeline.toml line 4: {problem}" in problems_of(tmp_path, text)


@pytest.mark.parametrize(
    "prefix",
    ["documents", "documents/a", "/documents/", "d/../e/", "docs//", "Docs/", "d\\e/", "docs/./", ""],
)
def test_an_allowed_input_is_a_folder(tmp_path: Path, prefix: str) -> None:
    row = f"allowed_inputs = ['{prefix}']"
    (problem,) = problems_of(tmp_path, SOURCE.replace("[[", f"{row}\n[[", 1))
    assert 'expected a folder "container/folder/" ending with "/"' in problem


@pytest.mark.parametrize("prefix", ["inputs/", "inputs/job_abc/", "results/", "protected/a/"])
def test_no_source_may_read_other_jobs_or_protected_data(tmp_path: Path, prefix: str) -> None:
    row = f'allowed_inputs = ["{prefix}"]'
    (problem,) = problems_of(tmp_path, SOURCE.replace("[[", f"{row}\n[[", 1))
    assert "no other job's inputs, results or protected data" in problem


@pytest.mark.parametrize("prefix", ["documents/", "inputs/documents/", "docs/a b/ü/"])
def test_other_folders_may_be_allowed(tmp_path: Path, prefix: str) -> None:
    text = SOURCE.replace("[[", f'allowed_inputs = ["{prefix}"]\n[[', 1)
    assert load(tmp_path, text).sources["github"].allowed_inputs == (prefix,)


@pytest.mark.parametrize(
    "secret", ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a long secret text", "0a1b2c3d4e5f"]
)
def test_a_secret_written_into_the_file_is_refused_and_not_shown(tmp_path: Path, secret: str) -> None:
    (problem,) = problems_of(tmp_path, SOURCE.replace("GITHUB_WEBHOOK_SECRET", secret))
    assert "never a secret itself" in problem
    for instead in (f'"{secret}"', f'{{ a = "{secret}" }}', str([secret] * 6)):
        for told in problems_of(tmp_path, SOURCE.replace('["GITHUB_WEBHOOK_SECRET"]', instead)):
            assert secret not in told
    assert secret not in problem


@pytest.mark.parametrize("key", ["input", "input_ref", "user"])
@pytest.mark.parametrize("expression", ["a[", "a.", "foo(", "", "a b"])
def test_a_broken_expression_is_told(tmp_path: Path, key: str, expression: str) -> None:
    text = SOURCE.replace("[tasks", f'{key} = "{expression}"\n[tasks', 1)
    (problem,) = problems_of(tmp_path, text)
    assert problem.startswith(f"pipeline.toml line 7: {ROUTE}.{key}: expected a JMESPath expression (")
    assert len(problem.splitlines()) == 1


def test_a_route_has_one_input(tmp_path: Path) -> None:
    text = SOURCE.replace("[tasks", 'input = "a"\ninput_ref = "b"\n[tasks', 1)
    assert problems_of(tmp_path, text) == [
        f'pipeline.toml line 7: {ROUTE}.input: expected "input" or "input_ref", found both'
    ]


@pytest.mark.parametrize("earlier", ["*", "push"])
def test_a_route_that_an_earlier_one_hides_is_told(tmp_path: Path, earlier: str) -> None:
    routes = f'[[sources.github.routes]]\nevent = "{earlier}"\ntask = "summarize_document"\n'
    routes += '[[sources.github.routes]]\nevent = "push"\ntask = "summarize_document"\n'
    (problem,) = problems_of(tmp_path, SOURCE.replace("[tasks", f"{routes}[tasks", 1))
    assert problem.startswith("pipeline.toml line 11: sources.github.routes[2].event:")
    assert "routes[1] hides" in problem


def test_a_source_without_routes_or_secrets_is_told_at_its_header(tmp_path: Path) -> None:
    assert problems_of(tmp_path, '# first\n[sources.github]\nscheme = "github"\n') == [
        "pipeline.toml line 2: sources.github.routes: expected this key, found none",
        "pipeline.toml line 2: sources.github.secrets: expected the names of 1 to 5 app settings, found none",
    ]


def test_a_task_without_a_table_is_told(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, SOURCE.replace("[tasks.summarize_document]\n", ""))
    assert problem == (
        f"pipeline.toml line 6: {ROUTE}.task: expected a table [tasks.NAME] for it,"
        ' found "summarize_document"'
    )


def test_the_default_timeout_is_checked_against_the_host_too(tmp_path: Path) -> None:
    short = HostLimits(function_timeout=timedelta(minutes=2), lock_renewal=timedelta(minutes=5))
    with pytest.raises(
        ConfigurationError, match=r"line 7: tasks\.summarize_document\.attempt_timeout.*less than 1m30s"
    ):
        load(tmp_path, SOURCE, short)
    assert load(tmp_path, SOURCE, None).tasks


def test_all_problems_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        SOURCE.replace('"github"', '"githab"')
        .replace("GITHUB_WEBHOOK_SECRET", "lower case")
        .replace('"summarize_document"', '"nothing"')
        + 'attempt_timeout = "40m"\nsentences = 0\n'
    )
    found = [problem.split(": ")[:2] for problem in problems_of(tmp_path, text)]
    assert found == [
        ["pipeline.toml line 2", "sources.github.scheme"],
        ["pipeline.toml line 3", "sources.github.secrets[0]"],
        ["pipeline.toml line 6", f"{ROUTE}.task"],
        ["pipeline.toml line 8", f"{TASK}.attempt_timeout"],
        ["pipeline.toml line 9", f"{TASK}.sentences"],
    ]


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
    missing.write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match=r"absent\.toml: expected text in UTF-8"):
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
