"""The protocol as a Hypothesis state machine: the moves of the simulation, each choice drawn.

A failing trace is made shorter by leaving out moves and by drawing what is nearer to "nothing happens".
Hypothesis leaves out some rules in each trace, so after every move the application goes on by itself. Most
moves choose a job in the state that they need, or lay a trap for the next function that comes to a gate.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shared.callbacks import WAITING
from shared.failpoints import Point
from shared.jobs import FINAL, Job, JobState, Review
from tests.support.protocol.adversary import Harm
from tests.support.protocol.chance import DrawnChance
from tests.support.protocol.checks import Broken
from tests.support.protocol.gates import GATES
from tests.support.protocol.plan import Plan
from tests.support.protocol.reach import Reach
from tests.support.protocol.simulation import Simulation
from tests.support.protocol.stage import Trap

PLAN = Plan(outages=0.0, timed=0.5, events=3, effects=0.8, waits=0.4, faults=0.2, failures=0.4, void=0.1)
MOST_GATES = 120
gates = st.sampled_from([MOST_GATES, 80, 80, 40, 40, 20, 10, 5, 2, 1, 0])
yes = st.booleans()
UNFINISHED = tuple(state for state in JobState if state not in FINAL | {JobState.DEAD})
Trapped = tuple[str, Trap] | None
STOPS = st.sampled_from([Trap.KILL, Trap.KILL, Trap.FREEZE])
AT_CALLS = st.tuples(st.sampled_from(GATES), st.sampled_from([Trap.KILL, Trap.KILL, *Trap]))
SLEEPY = (
    *(Point.EFFECT_BEFORE_INTENT, Point.EFFECT_AFTER_INTENT, Point.EFFECT_AFTER_CALL),
    *(Point.WORKER_BEFORE_TURN_SENT, Point.WORKER_BEFORE_RESULT_BLOB, Point.CASE_AFTER_JOB_MARKED),
)
"""Where it matters most that the world goes on meanwhile."""
TRAPS = st.tuples(st.sampled_from(Point), STOPS) | AT_CALLS


def traps(*areas: str) -> st.SearchStrategy[Trapped]:
    """For what runs after a move: none, or at a call, or at a point of `areas` (of any without)."""
    points = [point for point in Point if not areas or point.name.partition("_")[0] in areas]
    at_points = st.tuples(st.sampled_from(points), STOPS)
    return st.none() | at_points | (at_points if areas else AT_CALLS) | AT_CALLS


class ProtocolMachine(RuleBasedStateMachine):
    """Deliveries, duplicates, lost answers, kills, zombies, time, outages, operators, in any order."""

    plan: ClassVar[Plan] = PLAN
    safety_net: ClassVar[bool] = True  # sweeps, and operators whose decisions need them

    def __init__(self) -> None:
        super().__init__()
        self._simulation: Simulation | None = None
        self._runner: asyncio.Runner | None = None
        self._broken = False

    @initialize(
        data=st.data(), told=yes, reviewed=yes, resting=yes, tenants=yes, laid=st.lists(TRAPS, max_size=8)
    )
    def begin(
        self,
        data: st.DataObject,
        told: bool,
        reviewed: bool,
        resting: bool,
        tenants: bool,
        laid: list[tuple[str, Trap]],
    ) -> None:
        self._chance = DrawnChance(lambda most: data.draw(st.integers(0, most)))
        wanted = replace(self.plan, told=told, reviewed=reviewed, resting=resting, tenants=tenants)
        self._simulation = Simulation(self._chance, wanted)
        self._runner = asyncio.Runner(loop_factory=self._simulation.loop)
        self._simulation.begin()
        for trap in laid:
            self._simulation.trap(*trap)
        self._do(self._simulation.send_webhook())
        self._do(self._simulation.go_on(MOST_GATES))

    @property
    def trace(self) -> Simulation:
        assert self._simulation is not None
        return self._simulation

    def _do(self, move: Coroutine[Any, Any, object]) -> None:
        assert self._runner is not None
        try:
            self._runner.get_loop().run_until_complete(move)
        except BaseException as error:
            self._broken = True
            if isinstance(error, Broken):
                error.add_note(self.trace.told_so_far())
            raise

    def _play(self, move: Coroutine[Any, Any, object], far: int, trap: Trapped = None) -> None:
        """The move, and then what goes on by itself, for about `far` gates twice."""
        if trap is not None:
            self.trace.trap(*trap)
        self._do(move)
        self._do(self.trace.progress(far))
        self._do(self.trace.progress(far))

    # --- what goes on by itself

    @rule(seconds=st.sampled_from([0, 0, 1, 30, 100, 300]), far=gates, trap=traps())
    def things_go_on(self, seconds: int, far: int, trap: Trapped) -> None:
        self.trace.advance(seconds)
        self._play(self.trace.progress(far), far, trap)

    @precondition(lambda self: self.trace.deliverable())
    @rule(far=gates, trap=traps("WORKER", "EFFECT", "TASK", "CASE"))
    def a_message_is_delivered(self, far: int, trap: Trapped) -> None:
        self._play(self.trace.deliver_any(), far, trap)

    @rule(again=yes, far=gates, trap=traps("INTAKE"))
    def a_sender_sends(self, far: int, again: bool, trap: Trapped) -> None:
        self._play(self.trace.send_webhook(again=again), far, trap)

    @precondition(lambda self: self.safety_net and self.trace.world.open.keys())
    @rule(far=gates, trap=traps("SWEEP", "NOTIFY", "CASE", "FINISH"))
    def the_sweep_runs(self, far: int, trap: Trapped) -> None:
        self._play(self.trace.sweep(), far, trap)

    @precondition(lambda self: self.trace.outside.callbacks and self._in(*WAITING))
    @rule(far=gates, trap=traps("CALLBACK"))
    def a_provider_calls_back(self, far: int, trap: Trapped) -> None:
        self._play(self.trace.call_back(), far, trap)

    # --- what operators and senders ask for

    def _in(self, *states: JobState) -> list[Job]:
        return [job for job in self.trace.jobs() if job.state in states]

    def _dead(self) -> list[Job]:
        """Those that wait for a person; while there are any, only the ones whose filing is not through."""
        dead, listed = self._in(JobState.DEAD), self.trace.world.open.keys()
        return [job for job in dead if job.case_filed and (job.job_id, job.release) in listed] or dead

    def _unknown(self) -> list[Job]:
        return [job for job in self._in(JobState.DEAD) if job.open_effects]

    def _to_review(self) -> list[Job]:
        return [job for job in self._in(JobState.SUCCEEDED) if job.review is Review.PENDING]

    @precondition(lambda self: self.safety_net and (self._in(JobState.DEAD) or self._to_review()))
    @rule(far=gates, trap=traps("RESUBMIT", "RECONCILE", "REVIEW", "NOTIFY"))
    def an_operator_decides(self, far: int, trap: Trapped) -> None:
        self._play(self.trace.operate(), far, trap)

    @precondition(lambda self: self.safety_net and self._in(JobState.DEAD))
    @rule(far=gates, trap=traps("RESUBMIT"))
    def an_operator_resubmits(self, far: int, trap: Trapped) -> None:
        self._play(self.trace.resubmit(self._chance.choice(self._dead())), far, trap)

    @precondition(lambda self: self.safety_net and self._in(JobState.DEAD))
    @rule(far=gates, trap=traps("CLOSE"))
    def an_operator_closes(self, far: int, trap: Trapped) -> None:
        self._play(self.trace.close(self._chance.choice(self._dead())), far, trap)

    @precondition(lambda self: self.safety_net and self._unknown())
    @rule(far=gates, trap=traps("RECONCILE"))
    def an_operator_reconciles(self, far: int, trap: Trapped) -> None:
        self._play(self.trace.reconcile(self._chance.choice(self._unknown())), far, trap)

    @precondition(lambda self: self.safety_net and self._to_review())
    @rule(far=gates, trap=traps("REVIEW", "NOTIFY"))
    def an_operator_reviews(self, far: int, trap: Trapped) -> None:
        self._play(self.trace.review(self._chance.choice(self._to_review())), far, trap)

    @precondition(lambda self: len(self._in(*UNFINISHED)) > 1)  # something else has to go on
    @rule(far=gates, trap=traps("CANCEL", "WORKER"))
    def somebody_cancels(self, far: int, trap: Trapped) -> None:
        unknown = self._in(JobState.OUTCOME_UNKNOWN)  # seldom, and cancelled otherwise than the rest
        states = (JobState.OUTCOME_UNKNOWN,) if unknown else UNFINISHED
        self._play(self.trace.cancel(*states), far, trap)

    # --- what the adversary does

    @rule(where=st.sampled_from(SLEEPY), far=gates)
    def something_will_oversleep_its_lease(self, where: Point, far: int) -> None:
        self._play(self.trace.progress(far), far, (where, Trap.FREEZE))

    @precondition(lambda self: self.trace.busy)
    @rule(what=st.sampled_from([*Harm, Harm.KILL, Harm.FREEZE]), far=gates)
    def something_goes_wrong(self, what: Harm, far: int) -> None:
        self._play(self.trace.harm(what), far)

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
        self.ended(self._simulation.reach)

    def ended(self, reach: Reach) -> None:
        """The trace kept every promise; this is what it came to."""


class MessagesAlone(ProtocolMachine):
    """Neither sweeps nor operators: what messages alone must bring to an end."""

    plan = replace(PLAN, sweeps=0.0, operators=0.0)
    safety_net = False
