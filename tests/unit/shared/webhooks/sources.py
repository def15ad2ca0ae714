"""A source for each scheme, and for each way that a scheme can be set up, as pipeline.toml would have it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.pipeline import Route, SourcePolicy
from shared.webhooks.base import Jwk, Options, Scheme
from shared.webhooks.registry import scheme_named
from shared.webhooks.secrets import SourceKeys, load_keys
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, STANDARD_SECRET

TENANT = "11112222-3333-4444-5555-666677778888"
ACCOUNT_SID = "AC" + "0123456789abcdef" * 2
PUBLIC_KEY = "1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """`table` holds the scheme's own keys, `settings` the app settings that the source names."""

    scheme: str
    table: Mapping[str, Any] = field(default_factory=dict)
    secrets: tuple[str, ...] = ("A_SECRET",)
    settings: Mapping[str, str] = field(default_factory=dict)
    published: tuple[Jwk, ...] = ()

    @property
    def implementation(self) -> Scheme[Any]:
        return scheme_named(self.scheme)

    @property
    def options(self) -> Options:
        return self.implementation.options.model_validate(dict(self.table))

    def policy(self, name: str = "source", routes: tuple[Route, ...] = ()) -> SourcePolicy:
        return SourcePolicy(
            name=name,
            scheme=self.scheme,
            secrets=self.secrets,
            max_body=1024 * 1024,
            tolerance=FIVE_MINUTES,
            allowed_inputs=(),
            routes=routes,
            options=self.options,
        )

    def keys(self) -> SourceKeys:
        """All of the source's keys; each of them is usable."""
        found = load_keys(self.policy(), self.settings)
        assert found.problems == ()
        return found


TEXT = {"A_SECRET": "an invented secret of the tests"}
WEBHOOK = {"A_SECRET": STANDARD_SECRET}
ED25519_JWK: Jwk = {"kty": "OKP", "crv": "Ed25519", "x": PUBLIC_KEY.rstrip("=")}

EXAMPLES: Mapping[str, Example] = {
    "azure-monitor-header": Example(
        scheme="azure-monitor", table={"secret_header": "x-afterhook-secret"}, settings=TEXT
    ),
    "azure-monitor-query": Example(scheme="azure-monitor", table={"secret_query": "code"}, settings=TEXT),
    "azure-monitor-token": Example(
        scheme="azure-monitor",
        table={
            "token": {
                "tenant": TENANT,
                "audience": ["api://afterhook"],
                "app_id": "461e8683-5575-4561-ac7f-899cc907d62a",
                "role": "ActionGroupsSecureWebhook",
            }
        },
        secrets=(),
    ),
    "event-grid-header": Example(
        scheme="event-grid", table={"secret_header": "x-afterhook-secret"}, settings=TEXT
    ),
    "event-grid-query": Example(scheme="event-grid", table={"secret_query": "code"}, settings=TEXT),
    "event-grid-token": Example(
        scheme="event-grid",
        table={"token": {"tenant": TENANT, "audience": ["api://afterhook"], "role": "Subscriber"}},
        secrets=(),
    ),
    "fal": Example(scheme="fal", secrets=(), published=(ED25519_JWK,)),
    "github": Example(scheme="github", settings=TEXT),
    "hmac": Example(scheme="hmac", table={"header": "X-Signature"}, settings=TEXT),
    "hmac-everything": Example(
        scheme="hmac",
        table={
            "header": "X-Signature",
            "prefix": "v3=",
            "algorithm": "sha512",
            "encoding": "base64",
            "key_encoding": "hex",
            "signed": "{id}.{timestamp}.{body}",
            "timestamp_header": "X-Time",
            "id_header": "X-Id",
            "type": "event",
            "account": "owner.id",
            "time": "at",
        },
        settings={"A_SECRET": "00112233445566778899aabbccddeeff" * 2},
    ),
    "meta": Example(
        scheme="meta",
        table={"verify_token": "A_VERIFY_TOKEN"},
        settings={**TEXT, "A_VERIFY_TOKEN": "an invented token of the tests"},
    ),
    "shopify": Example(scheme="shopify", settings=TEXT),
    "slack": Example(scheme="slack", settings=TEXT),
    "standard": Example(scheme="standard", settings=WEBHOOK),
    "standard-public": Example(scheme="standard", settings={"A_SECRET": f"whpk_{PUBLIC_KEY}"}),
    "stripe": Example(scheme="stripe", settings=WEBHOOK),
    "twilio": Example(
        scheme="twilio",
        table={"public_url": "https://hooks.example.com/api/webhooks/twilio", "accounts": [ACCOUNT_SID]},
        settings=TEXT,
    ),
    "twilio-shared-key": Example(
        scheme="twilio",
        table={
            "public_url": "https://hooks.example.com/api/webhooks/twilio",
            "accounts": [ACCOUNT_SID],
            "shared_keys": {"key-1": "A_SHARED_KEY"},
        },
        settings={**TEXT, "A_SHARED_KEY": "another invented secret of the tests"},
    ),
}
