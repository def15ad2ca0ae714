"""The keys that a source has for its scheme alone: what they mean, and every mistake with its line."""

from datetime import timedelta
from pathlib import Path

import pytest

from shared.errors import ConfigurationError
from shared.pipeline import SourcePolicy, Users
from shared.pipeline.loader import load_pipeline
from shared.webhooks.fal import FalOptions
from shared.webhooks.hmac_options import HmacOptions

HEAD = '[sources.hooks]\nscheme = "{scheme}"\n'
TAIL = """
[[sources.hooks.routes]]
event = "*"
task = "summarize_document"
[tasks.summarize_document]
"""
SECRETS = 'secrets = ["HOOKS_SECRET"]'


def load(folder: Path, scheme: str, *lines: str) -> SourcePolicy:
    path = folder / "pipeline.toml"
    path.write_text(HEAD.format(scheme=scheme) + "\n".join(lines) + TAIL, encoding="utf-8")
    return load_pipeline(path, limits=None, lease_margin=timedelta(seconds=30)).sources["hooks"]


def problems_of(folder: Path, scheme: str, *lines: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(folder, scheme, *lines)
    first, *others = str(caught.value).splitlines()
    return [line.removeprefix("- ") for line in others] or [first]


@pytest.mark.parametrize("scheme", ["github", "stripe", "slack", "shopify", "standard"])
def test_these_schemes_need_secrets_only(tmp_path: Path, scheme: str) -> None:
    assert load(tmp_path, scheme, SECRETS).secrets == ("HOOKS_SECRET",)
    assert problems_of(tmp_path, scheme) == [
        "pipeline.toml line 1: sources.hooks.secrets: expected the names of 1 to 5 app settings, found none"
    ]


@pytest.mark.parametrize("scheme", ["github", "stripe", "slack", "shopify", "standard", "fal"])
def test_a_key_of_another_scheme_is_unknown(tmp_path: Path, scheme: str) -> None:
    (problem,) = problems_of(tmp_path, scheme, *([] if scheme == "fal" else [SECRETS]), 'prefix = "v1="')
    assert "sources.hooks.prefix: expected one of scheme, secrets, max_body" in problem
    assert problem.endswith('found the unknown key "prefix"')


@pytest.mark.parametrize(
    ("scheme", "lines"),
    [
        ("stripe", [SECRETS]),
        ("slack", [SECRETS]),
        ("standard", [SECRETS]),
        ("fal", []),
        (
            "hmac",
            [SECRETS, 'header = "X-A"', 'signed = "{timestamp}{body}"', 'timestamp_header = "X-B"'],
        ),
    ],
)
def test_a_tolerance_is_for_schemes_that_sign_a_time(tmp_path: Path, scheme: str, lines: list[str]) -> None:
    assert load(tmp_path, scheme, *lines).tolerance == timedelta(minutes=5)
    assert load(tmp_path, scheme, *lines, 'tolerance = "1h"').tolerance == timedelta(hours=1)


@pytest.mark.parametrize(
    ("scheme", "lines"),
    [("github", [SECRETS]), ("shopify", [SECRETS]), ("hmac", [SECRETS, 'header = "X-A"'])],
)
def test_a_tolerance_where_no_time_is_signed_is_a_mistake(
    tmp_path: Path, scheme: str, lines: list[str]
) -> None:
    (problem,) = problems_of(tmp_path, scheme, *lines, 'tolerance = "1h"')
    assert problem == (
        f"pipeline.toml line {3 + len(lines)}: sources.hooks.tolerance: expected no such key: scheme"
        f' "{scheme}" signs no time, found "1h"'
    )


def test_fal_has_the_address_of_its_keys_and_no_secrets(tmp_path: Path) -> None:
    assert load(tmp_path, "fal").options == FalOptions(keys_url="https://rest.fal.ai/.well-known/jwks.json")
    other = 'keys_url = "https://rest.alpha.fal.ai/.well-known/jwks.json"'
    assert load(tmp_path, "fal", other).options != FalOptions()
    (problem,) = problems_of(tmp_path, "fal", SECRETS)
    assert problem == (
        'pipeline.toml line 3: sources.hooks.secrets: expected no such key: scheme "fal" has no secrets,'
        " found 1"
    )


@pytest.mark.parametrize(
    "address", ["http://fal.example/keys", "keys", "https://", "https://u:p@fal.example/k", "file:///k"]
)
def test_an_address_of_keys_is_an_https_one(tmp_path: Path, address: str) -> None:
    (problem,) = problems_of(tmp_path, "fal", f'keys_url = "{address}"')
    assert problem.startswith(
        "pipeline.toml line 3: sources.hooks.keys_url: expected an https address, found"
    )


def test_a_sender_is_described_in_full(tmp_path: Path) -> None:
    source = load(
        tmp_path,
        "hmac",
        SECRETS,
        'header = "X-Signature"',
        'prefix = "v0="',
        'algorithm = "sha512"',
        'encoding = "base64"',
        'key_encoding = "hex"',
        'signed = "v0:{timestamp}:{id}:{body}"',
        'timestamp_header = "X-Time"',
        'timestamp_format = "iso8601"',
        'id_header = "X-Id"',
        'type = "event.type"',
        'account = "team.id"',
        'id = "event.id"',
        'time = "event.at"',
    )
    assert source.options == HmacOptions(
        header="x-signature",
        prefix="v0=",
        algorithm="sha512",
        encoding="base64",
        key_encoding="hex",
        signed="v0:{timestamp}:{id}:{body}",
        timestamp_header="x-time",
        timestamp_format="iso8601",
        id_header="x-id",
        type="event.type",
        account="team.id",
        id="event.id",
        time="event.at",
    )


def test_a_sender_needs_the_name_of_its_signatures_header_only(tmp_path: Path) -> None:
    assert load(tmp_path, "hmac", SECRETS, 'header = "X-A"').options == HmacOptions(header="x-a")
    assert problems_of(tmp_path, "hmac", SECRETS) == [
        "pipeline.toml line 1: sources.hooks.header: expected this key, found none"
    ]


# A line of the source, and the problem that is told.
MISTAKES = [
    ('heeder = "X-A"', 'did you mean header?, found the unknown key "heeder"'),
    ('header = "X A"', 'header: expected the name of a header, such as "X-Signature", found "X A"'),
    ("header = 5", "header: expected text, found 5"),
    ('algorithm = "md5"', 'algorithm: expected one of "sha256", "sha512", "sha1", found "md5"'),
    ("algorithm = 256", 'algorithm: expected one of "sha256", "sha512", "sha1", found 256'),
    ('encoding = "HEX"', 'encoding: expected one of "hex", "base64", found "HEX"'),
    ('key_encoding = "raw"', 'key_encoding: expected one of "text", "base64", "hex", found "raw"'),
    (
        'timestamp_format = "ms"',
        'timestamp_format: expected one of "seconds", "milliseconds", "iso8601", found "ms"',
    ),
    (
        'signed = "{timestamp}"',
        "signed: expected a text with {body} once, and at most once {timestamp} and {id}",
    ),
    ('signed = "{body}{body}"', "signed: expected a text with {body} once"),
    ('signed = "{url}{body}"', "signed: expected a text with {body} once"),
    ('signed = "{body"', "signed: expected a text with {body} once"),
    (f'signed = "{"x" * 200}{{body}}"', "signed: expected a text with {body} once"),
    (f'prefix = "{"x" * 65}"', "prefix: expected a text of at most 64 characters"),
    ('id = "a b"', "id: expected a JMESPath expression"),
    ('signed = "{timestamp}.{body}"', 'expected "timestamp_header", as "signed" names {timestamp}'),
    ('signed = "{id}.{body}"', 'expected "id_header", as "signed" names {id}'),
    ('type = "a"\ntype_header = "X-B"', 'expected "type" or "type_header", not both'),
    ('timestamp_format = "iso8601"', 'expected "timestamp_header" beside "timestamp_format"'),
]


@pytest.mark.parametrize(("line", "expected"), MISTAKES)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, line: str, expected: str) -> None:
    given = [] if line.startswith("header") else ['header = "X-A"']
    found = problems_of(tmp_path, "hmac", SECRETS, *given, line)
    (problem,) = [problem for problem in found if expected in problem]
    line_of_the_key = f"pipeline.toml line {4 + len(given)}: sources.hooks."
    assert problem.startswith((line_of_the_key, "pipeline.toml line 1: sources.hooks: "))


@pytest.mark.parametrize(
    ("signed", "first", "second"),
    [
        ("{timestamp}{id}{body}", "timestamp", "id"),
        ("v0:{timestamp}{id}.{body}", "timestamp", "id"),
        ("{timestamp}.{id}{body}", "id", "body"),
        ("{body}{id}{timestamp}", "body", "id"),
    ],
)
def test_signed_places_that_could_be_parted_in_several_ways_are_a_mistake(
    tmp_path: Path, signed: str, first: str, second: str
) -> None:
    headers = ['header = "X-A"', 'timestamp_header = "X-B"', 'id_header = "X-C"']
    assert problems_of(tmp_path, "hmac", SECRETS, *headers, f'signed = "{signed}"') == [
        (
            f"pipeline.toml line 7: sources.hooks.signed: expected something between {{{first}}} and"
            f" {{{second}}}, as in {{{first}}}.{{{second}}}: one signature would stand for every way to part"
            f' them, found "{signed}"'
        )
    ]


@pytest.mark.case(59)
def test_a_time_that_is_not_signed_is_a_mistake(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, "hmac", SECRETS, 'header = "X-A"', 'timestamp_header = "X-B"')
    assert 'expected "signed" with {timestamp}: a time that is not signed proves nothing' in problem


@pytest.mark.parametrize(
    ("scheme", "key", "line"),
    [
        ("meta", "verify_token", 'verify_token = "an invented token"'),
        (
            "twilio",
            "shared_keys.key-1",
            (
                'public_url = "https://hooks.example.com/"\n'
                f'accounts = ["AC{"0" * 32}"]\n'
                'shared_keys = { key-1 = "an invented token" }'
            ),
        ),
    ],
)
def test_what_stands_where_a_secrets_setting_is_named_is_not_shown(
    tmp_path: Path, scheme: str, key: str, line: str
) -> None:
    (problem,) = problems_of(tmp_path, scheme, SECRETS, line)
    assert f"sources.hooks.{key}: expected the name of an app setting" in problem
    assert "invented" not in problem


def test_an_unknown_key_in_a_table_of_options_is_no_such_key(tmp_path: Path) -> None:
    token = 'tenant = "00000000-0000-0000-0000-000000000000", audience = ["a"], role = "r"'
    (problem,) = problems_of(tmp_path, "azure-monitor", f"token = {{ {token}, rolle = 1 }}")
    assert problem.endswith('sources.hooks.token.rolle: expected no such key, found the unknown key "rolle"')


def test_secrets_beside_a_token_are_a_mistake(tmp_path: Path) -> None:
    token = 'tenant = "00000000-0000-0000-0000-000000000000", audience = ["a"], role = "r"'
    (problem,) = problems_of(tmp_path, "event-grid", SECRETS, f"token = {{ {token} }}")
    assert problem == (
        'pipeline.toml line 3: sources.hooks.secrets: expected no such key: scheme "event-grid" has no'
        ' secrets beside "token", found 1'
    )


def test_a_source_says_whether_its_users_are_numbers(tmp_path: Path) -> None:
    for written, users in (("ids", Users.IDS), ("numbers", Users.NUMBERS)):
        assert load(tmp_path, "stripe", SECRETS, f'users = "{written}"').users is users
    assert load(tmp_path, "stripe", SECRETS).users is None
    assert problems_of(tmp_path, "stripe", SECRETS, 'users = "people"') == [
        'pipeline.toml line 4: sources.hooks.users: expected one of "ids", "numbers", found "people"'
    ]


def test_a_scheme_whose_users_are_numbers_takes_nothing_else(tmp_path: Path) -> None:
    token = 'verify_token = "HOOKS_TOKEN"'
    assert load(tmp_path, "meta", SECRETS, token, 'users = "numbers"').users is Users.NUMBERS
    assert problems_of(tmp_path, "meta", SECRETS, token, 'users = "ids"') == [
        (
            'pipeline.toml line 5: sources.hooks.users: expected no such key: scheme "meta" names people by'
            ' their telephone numbers, found "ids"'
        )
    ]
