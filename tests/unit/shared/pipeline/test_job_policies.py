"""The tables of pipeline.toml about running, limiting, paying for and announcing jobs, and their mistakes."""

from datetime import timedelta
from pathlib import Path

import pytest

from shared.ai.providers import models_address, videos_address
from shared.errors import ConfigurationError
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
from tests.unit.shared.pipeline.loading import SOURCE, cases, load, problems_of

WHOLE = """
[sources.github]
scheme = "github"
secrets = ["GITHUB_WEBHOOK_SECRET"]
limits = { concurrent = 10 }
[sources.github.notify]
url = "https://hooks.example.com:8443/jobs"
secret = "JOBS_SIGNING_SECRET"
[[sources.github.routes]]
event = "issues.*"
task = "generate_video"
delay = "10m"
[tasks.generate_video]
attempt_timeout = "3m"
slow_after = "20s"
publish = "after_review"
[tasks.generate_video.poll]
deadline = "1h"
backoff = ["5s", "30s"]
jitter = 0.5
[tasks.generate_video.budget]
job_money = "2"
day_money = "12.345678"
day_tokens = 1_000_000
[tasks.generate_video.limits]
concurrent = 3
per_minute = 30
by = "user"
[outbound]
allowed_hosts = ["Hooks.example.com:8443"]
[retention]
inputs = "30d"
results = "90d"
[prices."sora-2"]
second = "0.10"
[prices."gpt-small"]
input = "0.15"
output = "0.6"
[providers.videos]
failures = 3
rest = { base = "30s", factor = 3, cap = "10m" }
""".lstrip()


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


# A line of WHOLE (by how it begins) and what stands there instead; then the key and the problem that is told.
MISTAKES = """
limits = { concurrent = 10 } -> limits = { concurrent = 0 }
    sources.github.limits.concurrent: expected at least 1, found 0
limits = { concurrent = 10 } -> limits = { parallel = 10 }
    sources.github.limits.parallel: expected one of concurrent, per_minute, by, found the unknown key
    "parallel"
url = -> url = "http://hooks.example.com:8443/jobs"
    sources.github.notify.url: expected an address that begins with "https://" (http only to this
    machine), without user name, found something else (not shown: it may be a secret)
url = -> url = "https://me@hooks.example.com:8443/"
    sources.github.notify.url: expected an address that begins with "https://" (http only to this
    machine), without user name, found something else (not shown: it may be a secret)
url = -> url = "https://hooks.example.com/T0PS3CRET"
    sources.github.notify.url: expected an address whose host is among the allowed_hosts of
    [outbound], found the host "hooks.example.com"
url = -> url = "https://evil.example.com:8443/T0PS3CRET"
    sources.github.notify.url: expected an address whose host is among the allowed_hosts of
    [outbound], found the host "evil.example.com:8443"
secret = -> secret = "whsec_T0PS3CRET"
    sources.github.notify.secret: expected the name of an app setting in capitals, such as
    "GITHUB_WEBHOOK_SECRET" (never a secret itself), found something else (not shown: it may be a
    secret)
secret = -> # none
    sources.github.notify.secret: expected this key, found none
delay = -> delay = "24h"
    sources.github.routes[0].delay: expected less than the retry.deadline of generate_video (1d),
    found "24h"
delay = -> delay = "soon"
    sources.github.routes[0].delay: expected a duration such as "90s" or "2m", found "soon"
slow_after = -> slow_after = "3m"
    tasks.generate_video.slow_after: expected less than attempt_timeout (3m), found "3m"
attempt_timeout = -> attempt_timeout = "1m59s"
    tasks.generate_video.attempt_timeout: expected at least twice submit_timeout (2m), so that no
    submit is cut, found "1m59s"
publish = -> publish = "never"
    tasks.generate_video.publish: expected one of 'at_once' or 'after_review', found "never"
deadline = -> deadline = "31d"
    tasks.generate_video.poll.deadline: expected a duration from 1s to 30d, found "31d"
backoff = -> backoff = { base = "2m", factor = 2, cap = "1m" }
    tasks.generate_video.poll.backoff.cap: expected at least base (2m), found "1m"
jitter = -> jitter = -1
    tasks.generate_video.poll.jitter: expected at least 0, found -1
job_money = -> job_money = 2
    tasks.generate_video.budget.job_money: expected an amount such as "2.50" (in the currency of all
    prices, at most six decimals), found 2
job_money = -> job_money = "2.0000001"
    tasks.generate_video.budget.job_money: expected an amount such as "2.50" (in the currency of all
    prices, at most six decimals), found "2.0000001"
job_money = -> job_money = "-1"
    tasks.generate_video.budget.job_money: expected an amount such as "2.50" (in the currency of all
    prices, at most six decimals), found "-1"
job_money = -> job_tokens = 2_000_000
    tasks.generate_video.budget.job_tokens: expected at most day_tokens (1000000), found 2000000
day_tokens = -> day_tokens = 0
    tasks.generate_video.budget.day_tokens: expected at least 1, found 0
per_minute = -> per_minute = 100_001
    tasks.generate_video.limits.per_minute: expected at most 100000, found 100001
by = -> by = "tenant"
    tasks.generate_video.limits.by: expected one of 'source' or 'user', found "tenant"
allowed_hosts = -> allowed_hosts = ["https://hooks.example.com:8443"]
    outbound.allowed_hosts[0]: expected a host name such as "hooks.example.com", with a port if it has
    one, found "https://hooks.example.com:8443"
inputs = -> inputs = "30m"
    retention.inputs: expected a duration from 1h to 3650d, found "30m"
results = -> result = "90d"
    retention.result: expected one of inputs, results - did you mean results?, found the unknown key
    "result"
second = -> third = "0.10"
    prices.sora-2.third: expected one of input, output, second, found the unknown key "third"
output = -> output = 0.6
    prices.gpt-small.output: expected an amount such as "2.50" (in the currency of all prices, at most
    six decimals), found 0.6
[providers.videos] -> [providers.sora]
    providers.sora: expected a provider that is called: "azure", "openai", "videos", found "sora"
failures = -> failures = 0
    providers.videos.failures: expected at least 1, found 0
rest = -> rest = { base = "1m", factor = 2, cap = "30s" }
    providers.videos.rest.cap: expected at least base (1m), found "30s"
rest = -> rest = { base = "1m", factor = 2, top = "30s" }
    providers.videos.rest.top: expected one of base, factor, cap, found the unknown key "top"
rest = -> rest = ["1m"]
    providers.videos.rest: expected a table, found ["1m"]
"""


def changed(change: str) -> tuple[int, str]:
    """The number of the changed line, and the whole text."""
    begins, instead = change.split(" -> ")
    rows = WHOLE.splitlines()
    (at,) = [number for number, row in enumerate(rows) if row.startswith(begins)]
    rows[at] = instead
    return at + 1, "\n".join(rows)


@pytest.mark.parametrize(("change", "problem"), cases(MISTAKES))
def test_a_mistake_is_told_with_its_line(tmp_path: Path, change: str, problem: str) -> None:
    line, text = changed(change)
    if instead_missing(change):
        line = WHOLE.splitlines().index("[sources.github.notify]") + 1
    told = problems_of(tmp_path, text)
    assert f"pipeline.toml line {line}: {problem}" in told
    assert "T0PS3CRET" not in "".join(told)


def instead_missing(change: str) -> bool:
    return change.endswith("# none")


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


@pytest.mark.parametrize(
    "text",
    [
        "sources = 1\ntasks = 2\nproviders = 3\nprices = 4\noutbound = 5\n",
        "[sources]\na = 1\n[tasks]\ngenerate_video = 1\n[providers]\nopenai = 1\n",
        "[sources.a]\nroutes = 1\nnotify = 1\n[tasks.generate_video]\nretry = 1\npoll = 1\nbudget = 1\n",
        "[sources.a]\nroutes = [1]\n[sources.a.notify]\nurl = 1\n[outbound]\nallowed_hosts = [1]\n",
        '[sources.a.notify]\nurl = "https://a"\n[outbound]\nallowed_hosts = 1\n[prices]\nsora-2 = 1\n',
        "[tasks.generate_video]\nmodel = 1\nbudget = { day_money = 1 }\npoll.backoff.base = 1\n",
    ],
)
def test_the_wrong_shape_is_told_and_nothing_falls_over(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"pipeline\.toml line \d"):
        load(tmp_path, text)
