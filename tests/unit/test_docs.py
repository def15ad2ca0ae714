"""The documentation names files that are there, and every code that the app can answer with."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from devhost.paths import ROOT
from shared.pipeline.loader import load_pipeline
from shared.pipeline.policies import BreakerPolicy
from shared.settings import Settings

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "devhost/README.md"])
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_PATH = re.compile(r"`((?:shared|tests|devhost|docs)/[\w./-]*)`")
_CODE = re.compile(r'(?:code: ClassVar\[str\] = |code=|code = |problem\(\d+, |unavailable\()"([a-z_]+)"')
_EXAMPLES = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/webhooks.md").read_text(), re.DOTALL)
BASE_CODES = {"refused", "webhook_rejected"}
NO_ENDS = {
    *("transient", "permanent", "delivery_unfit"),  # what others derive from
    *("claim_lost", "conflict", "illegal_transition", "dead_lettered"),  # never a job's own end
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text()
    named = [page.parent / found for found in _LINK.findall(text)] + [ROOT / p for p in _PATH.findall(text)]
    assert [str(path) for path in named if not path.exists()] == []


def test_every_code_of_the_http_interface_is_explained() -> None:
    files = [*(ROOT / "shared/http").glob("*.py"), ROOT / "shared/deadletters/refusals.py",
             ROOT / "shared/webhooks/rejections.py", ROOT / "shared/webhooks/secrets.py",
             ROOT / "shared/webhooks/large_bodies.py",
             ROOT / "shared/callbacks.py", ROOT / "shared/reviews.py", ROOT / "shared/submission.py",
             ROOT / "shared/uploads.py"]  # fmt: skip
    codes = {code for file in files for code in _CODE.findall(file.read_text())} - BASE_CODES
    explained = (ROOT / "docs/operating.md").read_text()
    assert {"already_done", "bad_cursor", "unhealthy", "method_not_allowed"} <= codes
    assert sorted(code for code in codes if f"`{code}`" not in explained) == []


def test_every_code_of_a_document_is_explained() -> None:
    codes = _CODE.findall((ROOT / "shared/documents/errors.py").read_text())
    explained = (ROOT / "docs/operating.md").read_text()
    shown = {code for code in codes if code not in {"document_unusable", "document_reader_unavailable"}}
    assert sorted(code for code in shown if f"`{code}`" not in explained) == []


def test_every_code_of_a_video_is_explained() -> None:
    codes = _CODE.findall((ROOT / "shared/video/errors.py").read_text())
    explained = (ROOT / "docs/operating.md").read_text()
    assert "video_unfit" in codes
    assert sorted(code for code in codes if f"`{code}`" not in explained) == []


def test_every_code_of_a_run_that_did_not_succeed_is_explained() -> None:
    files = [*(ROOT / "shared/calls").glob("*.py"), ROOT / "shared/decisions.py", ROOT / "shared/errors.py"]
    codes = {code for file in files for code in _CODE.findall(file.read_text())} - NO_ENDS
    explained = (ROOT / "docs/operating.md").read_text()
    assert {"budget_exceeded", "provider_call_failed", "result_overdue", "no_time_left"} <= codes
    assert sorted(code for code in codes if f"`{code}`" not in explained) == []


def test_the_table_that_the_page_of_videos_shows_can_be_copied(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/video.md").read_text(), re.DOTALL)
    path = tmp_path / "pipeline.toml"
    source = '[sources.events]\nscheme = "standard"\nsecrets = ["EVENTS_WEBHOOK_SECRET"]\n'
    path.write_text(source + example, encoding="utf-8")
    pipeline = load_pipeline(path, limits=None, lease_margin=timedelta(seconds=30))
    assert pipeline.prices["sora-2"].second_micros == 100_000
    assert pipeline.tasks["generate_video"].publish == "after_review"


def test_every_setting_is_in_the_readme_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| (.+?) \|", (ROOT / "README.md").read_text(), re.MULTILINE))
    for field in Settings.model_fields.values():
        if isinstance(field.validation_alias, str):
            default = rows.pop(field.validation_alias).strip("`")
            assert default in {str(field.default), "none", "the source's secret"} or str(
                field.default
            ).endswith(default)
    assert rows == {"SWEEP_SCHEDULE": "`0 * * * * *`", "RETENTION_SCHEDULE": "`0 20 * * * *`"}


@pytest.mark.parametrize("example", _EXAMPLES)
def test_every_source_that_the_docs_show_can_be_copied_into_the_pipeline(
    example: str, tmp_path: Path
) -> None:
    found = re.search(r"\[sources\.([a-z-]+)", example)
    name = found[1] if found else "hooks"
    lines = [example, "[tasks.summarize_document]"]
    if not example.startswith("[sources"):
        lines.insert(0, f"[sources.{name}]")
    if ".routes]]" not in example:
        lines.append(f'[[sources.{name}.routes]]\nevent = "*"\ntask = "summarize_document"')
    path = tmp_path / "pipeline.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert name in load_pipeline(path, limits=None, lease_margin=timedelta(seconds=30)).sources


def test_the_docs_show_sources() -> None:
    assert len(_EXAMPLES) >= 6


def test_the_tables_that_the_page_of_limits_shows_can_be_copied(tmp_path: Path) -> None:
    examples = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/limits.md").read_text(), re.DOTALL)
    path = tmp_path / "pipeline.toml"
    source = '[sources.events]\nscheme = "standard"\nsecrets = ["EVENTS_WEBHOOK_SECRET"]\n'
    routes = '[[sources.events.routes]]\nevent = "*"\ntask = "summarize_document"\n'
    path.write_text(source + routes + "".join(examples), encoding="utf-8")
    pipeline = load_pipeline(path, limits=None, lease_margin=timedelta(seconds=30))
    assert pipeline.providers["openai"] == BreakerPolicy()
    assert pipeline.tasks["summarize_document"].budget.day_micros == 25_000_000
    assert pipeline.sources["events"].limits.per_minute == 120
