"""A pipeline.toml with every table about jobs."""

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


def changed(change: str) -> tuple[int, str]:
    """The number of the changed line, and the whole text."""
    begins, instead = change.split(" -> ")
    rows = WHOLE.splitlines()
    (at,) = [number for number, row in enumerate(rows) if row.startswith(begins)]
    rows[at] = instead
    return at + 1, "\n".join(rows)
