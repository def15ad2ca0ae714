"""Route templates."""

import pytest

from devhost.functions.routes import RouteTemplate


@pytest.mark.parametrize(
    ("template", "path", "expected"),
    [
        ("api/jobs", "/api/jobs", {}),
        ("api/jobs", "/API/Jobs/", {}),
        ("api/jobs", "/api/jobs/1", None),
        ("api/jobs", "/api", None),
        ("api/jobs/{job_id}", "/api/jobs/Job_1", {"job_id": "Job_1"}),
        ("api/jobs/{job_id}", "/api/jobs/", None),
        ("api/jobs/{job_id}/result", "/api/jobs/a/result", {"job_id": "a"}),
        ("api/jobs/{job_id}/result", "/api/jobs//result", None),
        ("api/{name?}", "/api", {}),
        ("api/{name?}", "/api/x", {"name": "x"}),
        ("api/{name=all}", "/api", {"name": "all"}),
        ("api/{name=all}", "/api/x", {"name": "x"}),
        ("api/{*rest}", "/api", {}),
        ("api/{*rest}", "/api/a/b", {"rest": "a/b"}),
        ("api/{**rest}", "/api/a/b", {"rest": "a/b"}),
        ("{*rest}", "/", {}),
        ("files/{name}.{extension}", "/files/a.b.txt", {"name": "a.b", "extension": "txt"}),
        ("files/v{version}", "/files/v2", {"version": "2"}),
        ("files/v{version}", "/files/v", None),
        ("x/{id:int}", "/x/12", {"id": "12"}),
        ("x/{id:int}", "/x/2147483648", None),
        ("x/{id:long}", "/x/2147483648", {"id": "2147483648"}),
        ("x/{id:int:min(10)}", "/x/9", None),
        ("x/{id:int:min(10)}", "/x/10", {"id": "10"}),
        ("x/{id:range(1,3)}", "/x/4", None),
        (
            "x/{id:guid}",
            "/x/0f8fad5b-d9cb-469f-a165-70867728950e",
            {"id": "0f8fad5b-d9cb-469f-a165-70867728950e"},
        ),
        ("x/{id:guid}", "/x/1", None),
        ("x/{id:alpha}", "/x/ab1", None),
        ("x/{id:bool}", "/x/True", {"id": "True"}),
        ("x/{id:decimal}", "/x/1.5", {"id": "1.5"}),
        ("x/{id:length(2,3)}", "/x/a", None),
        ("x/{id:length(2)}", "/x/ab", {"id": "ab"}),
        ("x/{id:minlength(2)?}", "/x", {}),
        ("x/{id:maxlength(2)}", "/x/abc", None),
        (r"x/{id:regex(^\d{{3}}$)}", "/x/123", {"id": "123"}),
        (r"x/{id:regex(^\d{{3}}$)}", "/x/1234", None),
        (r"x/{id:regex(^(a|b)=?$)}", "/x/b", {"id": "b"}),
    ],
)
def test_a_path_is_matched_as_the_host_matches_it(
    template: str, path: str, expected: dict[str, str] | None
) -> None:
    assert RouteTemplate(template).match(path) == expected


@pytest.mark.parametrize(
    "template",
    [
        "a//b",
        "{id",
        "id}",
        "{}",
        "{a}/{A}",
        "{*rest}/x",
        "{id:nonsense}",
        "{id:int(3)}",
        "{id:min}",
        "a?b",
        "{a}{*b}",
    ],
)
def test_a_template_that_makes_no_sense_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match=r"rout|constraint"):
        RouteTemplate(template)
