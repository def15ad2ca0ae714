"""Every mistake in pipeline.toml is told with its line, its name, what was expected and what was found."""

from pathlib import Path

import pytest

from tests.unit.shared.pipeline.loading import ROUTE, SOURCE, TASK, cases, problems_of

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
