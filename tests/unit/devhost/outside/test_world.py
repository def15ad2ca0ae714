"""The outside's state: kept, taken up again, reset."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devhost.outside import journal as journal_module
from devhost.outside.journal import Journal, JournalFullError
from devhost.outside.messages import Call
from devhost.outside.settings import Settings
from devhost.outside.world import World
from tests.unit.devhost.outside.calls import BEARER, Caller, refusal

VIDEOS = "/v1/videos"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Caller]:
    caller = Caller(tmp_path / "state")
    yield caller
    caller.journal.close()


def shown(caller: Caller) -> dict[str, Any]:
    return {
        "effects": caller.world.effects.snapshot(),
        "videos": caller.get(VIDEOS)["data"],
        "found": caller.get("/effects/findable", query={"reference": "r"}),
        "settings": caller.world.settings,
        "now": caller.world.now,
    }


def test_another_life_knows_what_happened(kept: Caller) -> None:
    kept.world.configure({"polls_queued": 0, "key_window_seconds": 100})
    video = kept.post(VIDEOS, {"prompt": "a kettle"}, reply={"creation_fails": "out_of_film"})
    other = kept.post(VIDEOS, {"prompt": "a cup"})
    assert kept.get(f"{VIDEOS}/{video['id']}")["status"] == "in_progress"
    kept.world.finish(other["id"], fails="", callback_url="")
    keyed = kept.post("/effects/keyed", {}, key="k")
    kept.post("/effects/findable", {"reference": "r"})
    kept.world.advance(7)
    before = shown(kept)
    kept.restart()
    assert shown(kept) == before
    assert kept.post("/effects/keyed", {}, key="k") == keyed
    assert kept.get(f"{VIDEOS}/{video['id']}")["error"]["code"] == "out_of_film"
    assert kept.post(VIDEOS, {"prompt": "new"})["id"] not in (video["id"], other["id"])


def test_a_line_that_was_not_written_to_its_end_is_left_out(kept: Caller) -> None:
    assert kept.path is not None
    kept.post("/effects/blind", {})
    whole = kept.path.read_bytes()
    kept.post("/effects/blind", {})
    kept.path.write_bytes(kept.path.read_bytes()[:-5])
    kept.restart()
    assert kept.count("blind") == 1
    assert kept.path.read_bytes() == whole
    kept.post("/effects/blind", {})
    kept.restart()
    assert kept.count("blind") == 2


def test_after_a_reset_nothing_happened_and_no_id_comes_again(kept: Caller) -> None:
    kept.world.configure({"polls_queued": 9})
    kept.world.advance(5)
    first = kept.post("/effects/blind", {})
    kept.world.reset()
    for _ in range(2):
        assert (kept.count("blind"), kept.world.settings, kept.world.now) == (0, Settings(), kept.moment)
        kept.restart()
    second = kept.post("/effects/blind", {})
    kept.world.reset()
    assert len({effect["id"] for effect in (first, second, kept.post("/effects/blind", {}))}) == 3


def test_two_outsides_give_different_ids() -> None:
    assert Caller().post("/effects/blind", {})["id"] != Caller().post("/effects/blind", {})["id"]


def test_what_cannot_be_kept_does_not_happen(kept: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "MOST_BYTES", 10)
    assert "--state" in refusal(kept.call("POST", "/effects/blind", {}), 507)["detail"]
    assert kept.count("blind") == 0


def test_a_full_journal_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "MOST_BYTES", 10)
    kept = Journal(tmp_path / "state")
    kept.append({"more than": "ten bytes"})
    with pytest.raises(JournalFullError):
        kept.append({})
    kept.close()


@pytest.mark.parametrize("line", ["{}", '{"call": {}}', "not json", '{"finish": {"id": "x"}}', "[]"])
def test_a_file_that_is_no_state_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "state"
    path.write_text(line + "\n")
    with pytest.raises(ValueError, match="line 1"), closing(Journal(path)) as journal:
        World(journal, lambda: 0.0)


def test_calls_are_counted_by_operation(caller: Caller) -> None:
    for path in (f"{VIDEOS}/1", f"{VIDEOS}/2", "/elsewhere"):
        caller.world.arrived(Call("GET", path, 0.0))
    assert caller.world.calls == {"GET /v1/videos/*": 2, "unknown": 1}


def test_an_error_is_said_as_the_called_service_says_it(caller: Caller) -> None:
    def error(path: str, status: int, code: str = "") -> Any:
        return json.loads(caller.world.routes.error(Call("GET", path, 0.0), status, code).body)

    assert error("/v1/videos/1", 429)["error"]["code"] == "rate_limit_exceeded"
    assert error("/v1/videos/1", 400, "moderation_blocked")["error"]["code"] == "moderation_blocked"
    assert error("/2010-04-01/Accounts/AC/Messages.json", 429)["code"] == 20429
    assert error("/2010-04-01/Accounts/AC/Messages.json", 400, "63016")["code"] == 63016
    assert error("/effects/blind", 503)["status"] == 503


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["prompt", "seconds", "messages", "role", "content", "input", "model", "reference"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
PATHS = st.sampled_from(
    [
        "/v1/chat/completions",
        "/v1/embeddings",
        VIDEOS,
        f"{VIDEOS}/x",
        "/v1/videos/x/content",
        "/2010-04-01/Accounts/AC/Messages.json",
        "/2010-04-01/Accounts/AC/Messages/SM",
        "/effects/keyed",
        "/effects/findable",
        "/effects/blind",
        "/callbacks",
    ]
)


@settings(max_examples=120)
@given(
    PATHS,
    st.sampled_from(["GET", "POST", "DELETE"]),
    JSON | st.binary(max_size=50),
    st.dictionaries(
        st.sampled_from(["limit", "after", "Page", "DateSent", "reference"]), st.text(max_size=9)
    ),
)
def test_whatever_is_sent_gets_an_answer_that_blames_the_caller(
    path: str, method: str, body: object, query: dict[str, str]
) -> None:
    headers = {**BEARER} if path.startswith("/v1") else {"authorization": "Basic ***"}
    assert Caller().call(method, path, body, headers=headers, query=query).status < 500
