from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from devhost.servicebus.config import ConfigError, load_config, parse_config
from devhost.servicebus.model import QueuePolicy

QUEUES = "UserConfig.Namespaces[0].Queues"


def document(*queues: dict[str, Any], **namespace: Any) -> str:
    return json.dumps(
        {"UserConfig": {"Namespaces": [{"Name": "n", "Queues": list(queues), **namespace}], "Logging": {}}}
    )


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(text)
    return list(caught.value.problems)


def test_the_projects_own_configuration_is_read() -> None:
    (policy,) = load_config(Path("devhost/servicebus.json"))
    assert policy == QueuePolicy(
        "ai-jobs",
        lock_seconds=60,
        max_delivery_count=5,
        default_ttl_ms=14 * 24 * 3600 * 1000,
        dead_letter_on_expiration=True,
        duplicate_window_seconds=600,
    )


def test_what_is_left_out_has_the_services_defaults() -> None:
    assert parse_config(document({"Name": "q"})) == [QueuePolicy("q", 60, 10, None, False, None)]


def test_the_longest_time_to_live_means_for_ever() -> None:
    given = {"DefaultMessageTimeToLive": "P10675199DT2H48M5.4775807S", "LockDuration": "PT1.5S"}
    (policy,) = parse_config(document({"Name": "q", "Properties": given}))
    assert (policy.default_ttl_ms, policy.lock_seconds) == (None, 1.5)


def test_all_problems_are_told_at_once_with_place_and_finding() -> None:
    given = {
        "LockDuration": "1 minute",
        "MaxDeliveryCount": 0,
        "Typo": True,
        "RequiresDuplicateDetection": "yes",
    }
    found = problems(document({"Name": "q", "Properties": given}, {"Name": "-"}))
    assert len(found) == 5
    properties = f"{QUEUES}[0].Properties"
    assert (
        f'{properties}.LockDuration: expected an ISO 8601 duration such as PT1M or P14D; found "1 minute"'
        in found
    )
    assert f"{properties}.MaxDeliveryCount: expected greater than or equal to 1; found 0" in found
    assert f"{properties}.Typo: not a property known here (a typing error?)" in found
    assert f'{properties}.RequiresDuplicateDetection: expected a valid boolean; found "yes"' in found
    assert any(problem.startswith(f"{QUEUES}[1].Name: ") for problem in found)


def test_problems_are_told_in_words_of_the_file_not_of_a_library() -> None:
    assert problems(document()) == [f"{QUEUES}: expected at least one entry; found none"]
    two = {"UserConfig": {"Namespaces": [{"Name": name, "Queues": [{"Name": "q"}]} for name in "ab"]}}
    assert problems(json.dumps(two)) == ["UserConfig.Namespaces: expected one entry; found 2"]
    (named,) = problems(document({"Name": "q/$deadletterqueue"}))
    assert "expected letters, digits and . _ - /" in named
    assert named.endswith('found "q/$deadletterqueue"')


def test_a_property_given_twice_is_refused() -> None:
    text = document({"Name": "q"}).replace('"Name": "q"', '"Name": "q", "Name": "r"')
    assert problems(text) == ["Name: expected once in its object, found again"]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"RequiresSession": True}, "sessions are not supported"),
        ({"ForwardTo": "other"}, "forwarding is not supported"),
        ({"ForwardDeadLetteredMessagesTo": "other"}, "forwarding is not supported"),
        ({"LockDuration": "PT6M"}, "at most 0:05:00"),
        ({"LockDuration": "PT0S"}, "over zero"),
        ({"DuplicateDetectionHistoryTimeWindow": "P8D"}, "at most 7 days"),
    ],
)
def test_what_the_broker_cannot_do_is_refused(given: dict[str, Any], word: str) -> None:
    (problem,) = problems(document({"Name": "q", "Properties": given}))
    assert problem.startswith(f"{QUEUES}[0].Properties.{next(iter(given))}: ")
    assert word in problem


def test_topics_are_refused() -> None:
    (problem,) = problems(document({"Name": "q"}, Topics=[{"Name": "t"}]))
    assert "topics are not supported" in problem


def test_a_queue_named_twice_is_refused_whatever_the_case() -> None:
    (problem,) = problems(document({"Name": "Jobs"}, {"Name": "jobs"}))
    assert problem == f"{QUEUES}[1].Name: expected a name of its own; found 'jobs' again"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("{", "not JSON: "),
        ("[]", "document: expected an object"),
        ("{}", "UserConfig: expected, but missing"),
        ('{"UserConfig": {"Namespaces": []}}', "UserConfig.Namespaces: "),
        (document(), f"{QUEUES}: "),
    ],
)
def test_what_is_no_configuration_is_said_to_be_none(text: str, start: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith(start)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no\.json: cannot be read"):
        load_config(tmp_path / "no.json")


def test_problems_of_a_file_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bus.json"
    path.write_text("{}")
    with pytest.raises(ConfigError, match=r"bus\.json: UserConfig: expected, but missing"):
        load_config(path)
