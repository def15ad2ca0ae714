"""Mistakes in the tables of pipeline.toml about jobs, each told with its line."""

from pathlib import Path

import pytest

from shared.errors import ConfigurationError
from tests.unit.shared.pipeline.loading import cases, load, problems_of
from tests.unit.shared.pipeline.whole_pipeline import WHOLE, changed

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
