"""The tables of pipeline.toml about running, limiting, paying for and announcing jobs: what they mean."""

from datetime import timedelta
from pathlib import Path

import pytest

from shared.ai.providers import models_address, videos_address
from shared.pipeline.job_checks import PROVIDERS
from shared.pipeline.policies import (
    POLL_BACKOFF,
    REST,
    BreakerPolicy,
    BudgetPolicy,
    LimitBy,
    NotifyPolicy,
    OutboundPolicy,
    PollPolicy,
    PricePolicy,
    Publish,
    RetentionPolicy,
    TenantLimits,
)
from shared.retry import BackoffCurve, BackoffList
from shared.settings import read_settings
from tests.unit.shared.pipeline.loading import SOURCE, load, problems_of
from tests.unit.shared.pipeline.whole_pipeline import WHOLE, changed


def test_every_table_means_what_it_says(tmp_path: Path) -> None:
    pipeline = load(tmp_path, WHOLE)
    source, task = pipeline.sources["github"], pipeline.tasks["generate_video"]
    assert source.limits == TenantLimits(concurrent=10)
    assert source.notify == NotifyPolicy(
        url="https://hooks.example.com:8443/jobs", secret="JOBS_SIGNING_SECRET"
    )
    assert source.routes[0].delay == timedelta(minutes=10)
    assert (task.slow_after, task.publish) == (timedelta(seconds=20), Publish.AFTER_REVIEW)
    assert task.poll == PollPolicy(
        deadline=timedelta(hours=1),
        backoff=BackoffList((timedelta(seconds=5), timedelta(seconds=30))),
        jitter=0.5,
    )
    assert task.budget == BudgetPolicy(job_micros=2_000_000, day_micros=12_345_678, day_tokens=1_000_000)
    assert task.limits == TenantLimits(concurrent=3, per_minute=30, by=LimitBy.USER)
    assert pipeline.outbound == OutboundPolicy(allowed_hosts=("hooks.example.com:8443",))
    assert pipeline.retention == RetentionPolicy(inputs=timedelta(days=30), results=timedelta(days=90))
    assert pipeline.prices == {
        "sora-2": PricePolicy(second_micros=100_000),
        "gpt-small": PricePolicy(input_micros=150_000, output_micros=600_000),
    }
    rest = BackoffCurve(base=timedelta(seconds=30), factor=3, cap=timedelta(minutes=10))
    assert pipeline.providers == {"videos": BreakerPolicy(failures=3, rest=rest)}


def test_what_is_left_out_limits_nothing_and_waits_as_usual(tmp_path: Path) -> None:
    pipeline = load(tmp_path, SOURCE + "[providers.openai]\n")
    source, task = pipeline.sources["github"], pipeline.tasks["summarize_document"]
    assert (source.notify, source.limits, source.routes[0].delay) == (None, TenantLimits(), None)
    assert (task.slow_after, task.publish) == (timedelta(seconds=8), Publish.AT_ONCE)
    assert task.poll == PollPolicy(deadline=timedelta(hours=2), backoff=POLL_BACKOFF, jitter=0.2)
    assert (task.budget, task.limits) == (BudgetPolicy(), TenantLimits())
    assert (pipeline.outbound, pipeline.retention) == (OutboundPolicy(), RetentionPolicy())
    assert pipeline.prices == {}
    assert pipeline.providers == {"openai": BreakerPolicy(failures=3, rest=REST)}


@pytest.mark.parametrize(
    "url", ["https://hooks.example.com:8443/x", "https://HOOKS.example.com:8443", "https://hooks.example.com"]
)
def test_a_notified_host_is_allowed_with_its_port(tmp_path: Path, url: str) -> None:
    _, text = changed(f'url = -> url = "{url}"')
    plain = text.replace('["Hooks.example.com:8443"]', '["hooks.example.com:8443", "hooks.example.com"]')
    notify = load(tmp_path, plain).sources["github"].notify
    assert notify is not None
    assert notify.url == url


def test_this_machine_may_be_notified_without_https(tmp_path: Path) -> None:
    _, text = changed('url = -> url = "http://127.0.0.1:9000/x"')
    assert load(tmp_path, text.replace("Hooks.example.com:8443", "127.0.0.1:9000")).sources


def test_without_allowed_hosts_nobody_is_notified(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, WHOLE.replace('["Hooks.example.com:8443"]', "[]"))
    assert "sources.github.notify.url" in problem


@pytest.mark.parametrize("url", ["https://[", "https://a:99999/", "ftp://a", "", "https://"])
def test_an_address_that_is_none_is_told_once(tmp_path: Path, url: str) -> None:
    _, text = changed(f'url = -> url = "{url}"')
    (problem,) = problems_of(tmp_path, text)
    assert "sources.github.notify.url: expected an address that begins with" in problem


@pytest.mark.parametrize("deadline", ["10m", "5m"])
def test_a_delay_must_end_before_the_tasks_deadline(tmp_path: Path, deadline: str) -> None:
    (problem,) = problems_of(tmp_path, WHOLE + f'[tasks.generate_video.retry]\ndeadline = "{deadline}"\n')
    assert f"expected less than the retry.deadline of generate_video ({deadline})" in problem


def test_a_budget_of_money_needs_the_price_of_the_tasks_model(tmp_path: Path) -> None:
    no_price = 'tasks.generate_video.budget.job_money: expected a table [prices."sora-3"] with what a second'
    _, text = changed('slow_after = -> model = "sora-3"')
    (problem,) = problems_of(tmp_path, text)
    assert no_price in problem
    (problem,) = problems_of(
        tmp_path, SOURCE + 'budget = { day_money = "5" }\n[prices."sora-2"]\nsecond = "0.1"\n'
    )
    assert "line 8: tasks.summarize_document.budget.day_money: expected a table [prices.MODEL]" in problem
    assert load(tmp_path, SOURCE + 'budget = { day_money = "5" }\n[prices.any]\ninput = "0.1"\n').prices
    assert load(tmp_path, SOURCE + "budget = { day_tokens = 5 }\n").tasks


@pytest.mark.parametrize("given", ["openai", "azure"])
def test_the_known_providers_are_those_that_the_settings_may_name(given: str) -> None:
    environ = {
        "AI_PROVIDER": given,
        "AI_MODEL": "m",
        "AI_API_KEY": "k",
        "AI_BASE_URL": "https://models.example.com/v1",
        "VIDEO_BASE_URL": "https://videos.example.com/v1",
        "VIDEO_API_KEY": "k",
        "AzureWebJobsStorage": "UseDevelopmentStorage=true",
        "ServiceBusConnection": "Endpoint=sb://127.0.0.1/;SharedAccessKeyName=a;SharedAccessKey=b",
    }
    settings, problems = read_settings(environ)
    assert not problems
    models, videos = models_address(settings), videos_address(settings)
    assert models is not None
    assert videos is not None
    assert {models.provider, videos.provider} == {given, "videos"}
    assert {given, "videos"} <= set(PROVIDERS)
