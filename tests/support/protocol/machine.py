"""The protocol as a Hypothesis state machine: the moves of the simulation, each choice drawn.

A failing trace is made shorter by leaving out moves and by drawing what is nearer to "nothing happens".
Hypothesis leaves out some rules in each trace, so after every move the application goes on by itself.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shared.jobs import JobState, Review
from tests.support.protocol.chance import DrawnChance
from tests.support.protocol.checks import Broken
from tests.support.protocol.gates import Verdict
from tests.support.protocol.plan import Plan
from tests.support.protocol.simulation import Simulation

PLAN = Plan(outages=0.0, timed=0.5)
LOST = (Verdict.FAIL, Verdict.CONFLICT)
MOST_GATES = 120
gates = st.integers(0, MOST_GATES)
yes = st.booleans()


class ProtocolMachine(RuleBasedStateMachine):
    """Deliveries, duplicates, lost answers, kills, zombies, time, outages, operators, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self._simulation: Simulation | None = None
        self._runner: asyncio.Runner | None = None
        self._broken = False

    @initialize(data=st.data(), told=yes, reviewed=yes, resting=yes, tenants=yes)
    def begin(self, data: st.DataObject, told: bool, reviewed: bool, resting: bool, tenants: bool) -> None:
        self._chance = DrawnChance(lambda most: data.draw(st.integers(0, most)))
        wanted = replace(PLAN, told=told, reviewed=reviewed, resting=resting, tenants=tenants)
        self._simulation = Simulation(self._chance, wanted)
        self._runner = asyncio.Runner(loop_factory=self._simulation.loop)
        self._simulation.begin()
        self._do(self._simulation.send_webhook())
        self._do(self._simulation.go_on(MOST_GATES))

    @property
    def trace(self) -> Simulation:
        assert self._simulation is not None
        return self._simulation

    def _do(self, move: Coroutine[Any, Any, object]) -> None:
        assert self._runner is not None
        try:
            self._runner.run(move)
        except BaseException:
            self._broken = True
            raise

    def _play(self, move: Coroutine[Any, Any, object], far: int) -> None:
        """The move, and then what goes on by itself, for about `far` gates."""
        self._do(move)
        self._do(self.trace.progress(far))

    # --- what goes on by itself

    @precondition(lambda self: self.trace.busy)
    @rule(far=gates)
    def a_function_goes_on(self, far: int) -> None:
        self._play(self.trace.go_on(far), far)

    @precondition(lambda self: self.trace.deliverable(dead=False))
    @rule(far=gates)
    def a_message_is_delivered(self, far: int) -> None:
        self._play(self.trace.deliver(), far)

    @precondition(lambda self: self.trace.deliverable(dead=True))
    @rule(far=gates)
    def a_dead_letter_is_delivered(self, far: int) -> None:
        self._play(self.trace.deliver_dead(), far)

    @rule(far=gates)
    def the_sender_sends_again(self, far: int) -> None:
        self._play(self.trace.send_webhook(), far)

    @rule(far=gates)
    def the_sweep_runs(self, far: int) -> None:
        self._play(self.trace.sweep(), far)

    @precondition(lambda self: bool(self.trace.outside.callbacks))
    @rule(far=gates)
    def a_provider_calls_back(self, far: int) -> None:
        self._play(self.trace.call_back(), far)

    @rule(seconds=st.sampled_from([1, 5, 30, 45, 100, 300]))
    def time_passes(self, seconds: int) -> None:
        self.trace.advance(seconds)
        self._do(self.trace.progress(MOST_GATES))

    # --- what operators and senders ask for

    def _in(self, *states: JobState) -> list[Any]:
        return [job for job in self.trace.world.jobs.all_jobs() if job.state in states]

    @precondition(lambda self: self._in(JobState.DEAD))
    @rule(far=gates)
    def an_operator_resubmits(self, far: int) -> None:
        self._play(self.trace.resubmit(self._chance.choice(self._in(JobState.DEAD))), far)

    @precondition(lambda self: self._in(JobState.DEAD))
    @rule(far=gates)
    def an_operator_closes(self, far: int) -> None:
        self._play(self.trace.close(self._chance.choice(self._in(JobState.DEAD))), far)

    @precondition(lambda self: any(job.open_effects for job in self._in(JobState.DEAD)))
    @rule(far=gates)
    def an_operator_reconciles(self, far: int) -> None:
        unknown = [job for job in self._in(JobState.DEAD) if job.open_effects]
        self._play(self.trace.reconcile(self._chance.choice(unknown)), far)

    @precondition(lambda self: any(job.review is Review.PENDING for job in self._in(JobState.SUCCEEDED)))
    @rule(far=gates)
    def an_operator_reviews(self, far: int) -> None:
        pending = [job for job in self._in(JobState.SUCCEEDED) if job.review is Review.PENDING]
        self._play(self.trace.review(self._chance.choice(pending)), far)

    @rule(far=gates, really=yes)
    def somebody_cancels(self, far: int, really: bool) -> None:
        if really:
            self._play(self.trace.cancel(), far)

    # --- what the adversary does

    @precondition(lambda self: self.trace.busy)
    @rule(after=st.integers(0, 20), lost=st.sampled_from(LOST))
    def an_answer_will_be_lost(self, after: int, lost: Verdict) -> None:
        self.trace.plant(after, lost)
        self._do(self.trace.progress(MOST_GATES))

    @precondition(lambda self: self.trace.busy)
    @rule(far=gates)
    def something_is_killed(self, far: int) -> None:
        self._play(self.trace.kill(), far)

    @precondition(lambda self: self.trace.busy)
    @rule(far=gates)
    def something_freezes(self, far: int) -> None:
        self._play(self.trace.freeze(), far)

    @precondition(lambda self: self.trace.busy)
    @rule(far=gates)
    def a_lock_is_lost(self, far: int) -> None:
        self._play(self.trace.lose_lock(), far)

    @precondition(lambda self: self.trace.deliverable(dead=False))
    @rule(expires=st.booleans(), far=gates)
    def a_message_is_doubled_or_expires(self, expires: bool, far: int) -> None:
        self._play(self.trace.expire() if expires else self.trace.copy(), far)

    @precondition(lambda self: self.trace.busy)
    @rule(far=gates, seconds=st.sampled_from([0, 10, 60]))
    def an_outage_comes_and_goes(self, far: int, seconds: int) -> None:
        self._do(self.trace.toggle_outage())
        self._do(self.trace.go_on(far))
        self.trace.advance(seconds)
        self._do(self.trace.go_on(far))
        self._do(self.trace.toggle_outage())

    # --- what must hold

    @invariant()
    def nothing_is_broken(self) -> None:
        if self._simulation is not None:
            try:
                self._simulation.check()
            except Broken:
                self._broken = True
                raise

    def teardown(self) -> None:
        if self._simulation is None or self._runner is None:
            return
        self._chance.settled = True
        try:
            if not self._broken:
                self._do(self._simulation.settle())
        finally:
            self._runner.run(self._simulation.end())
            self._runner.close()
