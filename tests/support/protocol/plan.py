"""What a trace may hold: the adversary's shares, and the rules that its jobs run under."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

from shared.failpoints import Point
from shared.pipeline import Pipeline
from shared.pipeline.policies import BreakerPolicy, BudgetPolicy, Publish, TenantLimits
from shared.retry import BackoffCurve
from shared.settings import Settings
from tests.support.application import SOURCE, TASK, pipeline
from tests.support.notify import telling_pipeline
from tests.support.protocol.chance import Chance
from tests.support.protocol.effects import PROVIDERS

JOB_TOKENS = 100
DAY_TOKENS = 350
SETTINGS = Settings.model_validate(
    {
        "PUBLIC_BASE_URL": "https://jobs.example.com",
        "AFTERHOOK_CALLBACK_KEY": "an invented secret of enough length",
    }
)
_BREAKER = BreakerPolicy(
    failures=2, rest=BackoffCurve(base=timedelta(seconds=20), factor=2, cap=timedelta(minutes=2))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the adversary may do; the figures are shares of its moves, unless they say of what else."""

    moves: int = 160
    events: int = 2
    webhooks: float = 0.02
    kills: float = 0.025
    outages: float = 0.02
    operators: float = 0.04
    closes: float = 0.25  # of the decisions on cases
    expiries: float = 0.01
    cancels: float = 0.006
    callbacks: float = 0.015
    frozen: float = 0.02
    waits: float = 0.2  # of the moments in which a task may wait
    effects: float = 0.5  # of the jobs: those that do something to the outside
    failures: float = 0.5  # of the runs: those that end with an error
    faults: float = 0.15  # of the calls to the outside
    void: float = 0.06  # of the effects: those that come to nothing afterwards
    told: float = 0.5  # of the traces: the source is told how its jobs end
    reviewed: float = 0.2  # of the traces: results wait for a review
    resting: float = 0.4  # of the traces: providers rest after two failures
    budgets: float = 0.3  # of the traces: what the calls may cost is limited
    tenants: float = 0.3  # of the traces: jobs wait for each other
    timed: float = 0.5  # of the traces: calls and attempts time out
    sweeps: float = 0.01  # none at all if it is zero, not even in the end
    time: float = 0.03
    kill_at: frozenset[Point] = field(default_factory=frozenset)  # besides chance, where a function is
    freeze_at: frozenset[Point] = field(default_factory=frozenset)  # once, longer than a lease
    aim: float = 0.3  # of the times that a function comes to such a point


def rules(plan: Plan, chance: Chance) -> Pipeline:
    """The rules of one trace."""
    usual = telling_pipeline() if chance.random() < plan.told else pipeline()
    source, task = usual.sources[SOURCE], usual.tasks[TASK]
    if chance.random() < plan.reviewed:
        task = replace(task, publish=Publish.AFTER_REVIEW)
    if chance.random() < plan.budgets:
        task = replace(task, budget=BudgetPolicy(job_tokens=JOB_TOKENS, day_tokens=DAY_TOKENS))
    if chance.random() < plan.tenants:
        source = replace(source, limits=TenantLimits(concurrent=1))
        task = replace(task, limits=TenantLimits(per_minute=1))
    providers = dict.fromkeys(PROVIDERS, _BREAKER) if chance.random() < plan.resting else {}
    return replace(usual, sources={SOURCE: source}, tasks={TASK: task}, providers=providers)
