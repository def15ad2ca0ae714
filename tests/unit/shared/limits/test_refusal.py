"""What a case of the category `budget` says: which limit, and the figures to decide by."""

import pytest

from shared.calls.calling import NO_COST, BudgetExceeded, Usage
from shared.limits.budget import Limit, Shard
from shared.limits.budgets import reserve
from shared.limits.refusal import Span, money, refusal
from tests.support.application import TASK, build_services, new_job
from tests.support.fakes import World
from tests.unit.shared.limits.budgeted import policy

SHARDS = [Shard(number=0, tokens=600, micros=1_250_000), Shard(number=1, tokens=380)]


WHOSE = {Span.DAY: "all jobs of a day (UTC)", Span.JOB: "each release of a job"}
INSTEAD = {
    Span.DAY: "or wait for the next day (UTC), then resubmit.",
    Span.JOB: "or resubmit as it is: a release has a budget of its own.",
}


@pytest.mark.parametrize(
    ("span", "limit", "amount", "figures", "options"),
    [
        (
            Span.DAY,
            Limit(tokens=1000),
            Usage(tokens=60),
            "day_tokens is 1000, used or reserved 980, the call may need 60",
            "day_tokens",
        ),
        (
            Span.JOB,
            Limit(micros=1_300_000),
            Usage(micros=400_000),
            "job_money is 1.30, used or reserved 1.25, the call may need 0.40",
            "job_money",
        ),
        (
            Span.JOB,
            Limit(tokens=1000, micros=1_250_001),
            Usage(tokens=21, micros=2),
            (
                "job_tokens is 1000, used or reserved 980, the call may need 21;"
                " job_money is 1.250001, used or reserved 1.25, the call may need 0.000002"
            ),
            "job_tokens and job_money",
        ),
        (
            Span.DAY,
            Limit(tokens=980, micros=9_000_000),
            NO_COST,
            "day_tokens is 980, used or reserved 980, the call has no estimate",
            "day_tokens",
        ),
    ],
    ids=["day", "money", "both", "no estimate"],
)
def test_a_refusal_names_the_limit_its_figures_and_what_to_do(
    span: Span, limit: Limit, amount: Usage, figures: str, options: str
) -> None:
    told = refusal(TASK, span, SHARDS, limit, amount)
    assert told.startswith(f"The budget of {TASK} for {WHOSE[span]} has no room for the call: {figures}. ")
    assert told.endswith(f" Raise {options} in pipeline.toml, {INSTEAD[span]}")


@pytest.mark.parametrize("span", Span)
def test_a_call_larger_than_the_limit_is_not_told_to_wait(span: Span) -> None:
    told = refusal(TASK, span, SHARDS, Limit(tokens=1000), Usage(tokens=1001))
    assert told.endswith(f" Raise {span}_tokens in pipeline.toml, then resubmit.")


@pytest.mark.parametrize(
    ("micros", "text"), [(0, "0.00"), (1, "0.000001"), (12_500_000, "12.50"), (1_000_000, "1.00")]
)
def test_money_is_shown_as_an_amount(micros: int, text: str) -> None:
    assert money(micros) == text


async def test_the_figures_are_those_of_the_counter_that_refused() -> None:
    world = World()
    services, both = build_services(world), policy(job_tokens=100, day_tokens=150)
    await reserve(services, new_job(world), both, Usage(tokens=90))
    with pytest.raises(BudgetExceeded) as refused:
        await reserve(services, new_job(world, "evt_2"), both, Usage(tokens=70))
    assert "day_tokens is 150, used or reserved 90, the call may need 70" in str(refused.value)
    assert "job_tokens" not in str(refused.value)
