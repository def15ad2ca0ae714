"""A source's folders, secrets and routes in pipeline.toml."""

from pathlib import Path

import pytest

from tests.unit.shared.pipeline.loading import ROUTE, SOURCE, load, problems_of


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


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("lenght(a)", "there is no function lenght()"),
        ("[?foo(@)]", "there is no function foo()"),
        ("{a: b, c: sort_by(d, &nope(e))}", "there is no function nope()"),
        ("length()", "the number of arguments of length() is 1, not 0"),
        ("a.join(b)", "the number of arguments of join() is 2, not 1"),
        ("merge()", "the number of arguments of merge() is 1 or more, not 0"),
    ],
)
def test_a_call_that_could_never_work_is_told(tmp_path: Path, expression: str, told: str) -> None:
    text = SOURCE.replace("[tasks", f"input = '{expression}'\n[tasks", 1)
    (problem,) = problems_of(tmp_path, text)
    assert f"{ROUTE}.input: expected a JMESPath expression ({told})" in problem


@pytest.mark.parametrize(
    "expression", ["merge(a, b, c)", "sort_by(a, &b)[0:2]", "a[?b == `[1]`] | length(@)"]
)
def test_a_call_that_can_work_is_taken(tmp_path: Path, expression: str) -> None:
    load(tmp_path, SOURCE.replace("[tasks", f"input = '{expression}'\n[tasks", 1))


@pytest.mark.parametrize("event", ["[issues", "issues.[ab", "[]", "a[b]c["])
def test_a_set_without_an_end_is_told(tmp_path: Path, event: str) -> None:
    (problem,) = problems_of(tmp_path, SOURCE.replace('event = "issues.*"', f'event = "{event}"'))
    assert f"{ROUTE}.event: expected a pattern whose" in problem


@pytest.mark.parametrize("event", ["[]a]", "[[]", "issues.[!ab]", "[ab][cd]*"])
def test_a_set_with_its_end_is_taken(tmp_path: Path, event: str) -> None:
    load(tmp_path, SOURCE.replace('event = "issues.*"', f'event = "{event}"'))


def test_a_route_has_one_input(tmp_path: Path) -> None:
    text = SOURCE.replace("[tasks", 'input = "a"\ninput_ref = "b"\n[tasks', 1)
    assert problems_of(tmp_path, text) == [
        f'pipeline.toml line 7: {ROUTE}.input: expected "input" or "input_ref", found both'
    ]


def with_routes(*events: str) -> str:
    """SOURCE, whose own route is the first, with further ones."""
    routes = (f'[[sources.github.routes]]\nevent = "{one}"\ntask = "summarize_document"\n' for one in events)
    return SOURCE.replace("[tasks", "".join(routes) + "[tasks", 1)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [("*", "push"), ("push", "push"), ("a.*", "a.b"), ("a.*", "a.?.*"), ("a*c", "a.[bc].*.c"), ("*", "*")],
)
def test_a_route_that_an_earlier_one_hides_is_told(tmp_path: Path, earlier: str, later: str) -> None:
    (problem,) = problems_of(tmp_path, with_routes(earlier, later))
    assert problem.startswith("pipeline.toml line 11: sources.github.routes[2].event:")
    assert "routes[1] hides" in problem


@pytest.mark.parametrize(
    ("earlier", "later"), [("push", "*"), ("a.b", "a.*"), ("a.?", "a.*"), ("a.[*]", "a.*"), ("A.*", "a.b")]
)
def test_a_route_that_matches_more_than_an_earlier_one_is_taken(
    tmp_path: Path, earlier: str, later: str
) -> None:
    assert len(load(tmp_path, with_routes(earlier, later)).sources["github"].routes) == 3


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
