"""An operator of thousands of jobs who tells the truth: the outside's counters."""

import threading
from collections import Counter

from devhost.outside import Outside
from tests.flows.driver import Flow, Reply

_LOOK_SECONDS = 2.0


class Operator:
    """Settles the cases there are, again and again; `settled` counts what was decided."""

    def __init__(self, flow: Flow, outside: Outside) -> None:
        self._flow = flow
        self._outside = outside
        self.settled: Counter[str] = Counter()

    def work(self, over: threading.Event) -> None:
        """Until it is over."""
        while not over.wait(_LOOK_SECONDS):
            reply = self._flow.get("dead-letters?state=open&limit=100")
            if reply.status != 200:
                continue
            for case in reply.document["cases"]:
                self._settle(case)

    def _settle(self, case: dict[str, str]) -> None:
        """Say what the outside's counters say of an effect whose outcome is open; else let it try again."""
        job_id, flow = case["job_id"], self._flow
        detail = flow.get(f"dead-letters/{job_id}")
        if detail.status != 200:
            return
        standing = [effect for effect in detail.document["effects"] if effect["state"] == "intended"]
        for effect in standing:
            happened = self._outside.effects()[effect["action"]].by_reference.get(effect["key"], 0)
            word = {"outcome": "done", "external_id": "seen"} if happened else {"outcome": "not_done"}
            key = f"{job_id}-{effect['generation']}"
            reply = flow.decide(job_id, "reconcile", key, effect=effect["action"], **word)
            self._count(reply, f"reconcile {word['outcome']}")
        if not standing:
            reply = flow.decide(job_id, "resubmit", f"{job_id}-{case['release']}")
            self._count(reply, f"resubmit {case['code']}")

    def _count(self, reply: Reply, told: str) -> None:
        if reply.status in (200, 202):
            self.settled[told] += 1
