"""The failure of a job that no run concluded."""

from typing import Any

from shared.abandoned import abandoned
from shared.jobs import Category, Failure
from tests.support.application import new_job
from tests.support.fakes import World
from tests.support.fakes.time import START


def failure(**job: Any) -> Failure:
    return abandoned(
        new_job(World(), **job),
        START,
        code="crashed",
        category=Category.CRASHED,
        text="The worker ended.",
        worker="host-1",
        app_version="1.0",
    )


def test_without_an_open_effect_it_is_what_its_finder_says() -> None:
    found = failure(attempt=2)
    assert (found.code, found.category, found.message) == ("crashed", Category.CRASHED, "The worker ended.")
    assert (found.at, found.attempts, found.worker, found.app_version) == (START, 2, "host-1", "1.0")


def test_an_open_effect_outweighs_the_reason_and_says_what_to_do() -> None:
    found = failure(open_effects=("create_video", "announce"))
    assert (found.code, found.category) == ("outcome_unknown", Category.RECONCILE)
    assert found.message == (
        "The worker ended. The outcome of create_video, announce is not known: look at the provider, then"
        " reconcile."
    )
